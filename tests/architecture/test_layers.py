"""A file imports from its own floor or a lower one, and the command line starts without the heavy packages."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mcusim

PACKAGE = Path(mcusim.__file__).parent
ORDER = """
    errors units text files processes _version | native | machine | model | memory | cpu | kernels | program | plan
    | engine | request | results | report | verification | api | evidence | sweeps | labs | commands __main__
"""
FLOORS = {name: floor for floor, names in enumerate(ORDER.split("|")) for name in names.split()}
HEAVY = ("numpy", "numba", "simpy", "tflite", "plotly", "unicorn")
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imported(path: Path) -> list[str]:
    """First name below ``mcusim`` of everything a file imports, imports inside functions included."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            names += [f"mcusim.{a.name}" for a in node.names] if node.module == "mcusim" else [node.module or ""]
    return [name.split(".")[1] for name in names if name.startswith("mcusim.")]


# imports that run upwards today; each is cut in a change of its own
UPWARDS = {
    "api/__init__.py": "evidence",
    "api/compare.py": "evidence",
    "api/simulate.py": "evidence",
    "engine/emulated_core.py": "verification",
    "engine/warm_start.py": "verification",
    "results/emulation.py": "report",
    "results/result.py": "report",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_downwards(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    above = {name for name in imported(path) if FLOORS[name] > FLOORS[own]}
    assert above == set(UPWARDS.get(str(path.relative_to(PACKAGE)), "").split()), f"{own} imports {above}"


@pytest.mark.parametrize("start", ["import mcusim", "from mcusim.commands.app import main; main(['--help'])"])
def test_starts_without_heavy_packages(start: str) -> None:
    code = f"import sys\n{start}\nprint('heavy:', [name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.splitlines()[-1] == "heavy: []"
