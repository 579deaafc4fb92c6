"""Imports run downwards and in no circle, and the command line starts without the heavy packages."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from tests.support.floors import FLOORS
from tests.support.imports import FILES, MODULES, PACKAGE, circles, imported, parsed
from tests.support.other_processes import LONGEST_WAIT

HEAVY = ("numpy", "numba", "simpy", "tflite", "plotly", "unicorn")

# imports that run upwards today, by file; each is cut in a change of its own
# names of files and folders: a replacement policy is one file, a part family one folder
UPWARDS = {"machine/schema.py": {"memory"}, "machine/parts.py": {"soc"}}


def above(path: Path) -> set[str]:
    """What a file imports from higher floors; the public face may import from everywhere."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own == "__init__":
        return set()
    names = {name.split(".")[1] for name in imported(path) if name != "mcusim"}
    return {name for name in names if FLOORS[name] > FLOORS[own]}


def test_imports_only_downwards() -> None:
    upwards = {str(path.relative_to(PACKAGE)): above(path) for path in FILES}
    assert len(upwards) > 500
    assert {file: names for file, names in upwards.items() if names} == UPWARDS


def test_no_file_reaches_itself_by_its_imports() -> None:
    """Imports inside functions count, those for type checkers and by strings too."""
    assert circles({name: imported(path) for name, path in MODULES.items()}) == []


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("start", ["import mcusim", "from mcusim.commands.app import main; main(['--help'])"])
def test_starts_without_heavy_packages(start: str) -> None:
    code = f"import sys\n{start}\nprint('heavy:', [name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONGEST_WAIT
    )
    assert done.stderr.splitlines()[-1] == "heavy: []"


def test_native_code_keeps_to_public_interfaces() -> None:
    """What they export: so that native code is built by more than one release of numba."""
    public = {"numba", "numba.types", "numba.extending", "llvmlite.ir", "llvmlite.binding"}
    used: set[str] = set()
    for path in (PACKAGE / "native").glob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = str(node.module)
                used |= (
                    {f"{module}.{alias.name}" for alias in node.names} if module in ("numba", "llvmlite") else {module}
                )
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
                used.add("numba" if hasattr(numba, node.attr) and node.attr != "core" else f"numba.{node.attr}")
    ours = {name for name in used if name.partition(".")[0] in ("numba", "llvmlite")}
    assert ours and ours <= public
