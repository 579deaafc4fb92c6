"""What a command imports: a package that it does not need is poisoned, for its workers too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcusim.native import library
from mcusim.native.objects import OBJECTS, PACKAGE
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import REPOSITORY

COMPILER = ["numba", "scipy"]
TABLES = ["pandas", "pyarrow", "plotly"]
EMULATION = ["unicorn", "capstone"]
POISON = """
from pathlib import Path
Path(__file__).with_suffix(".imported").touch()
raise ImportError(f"{__name__} is not needed here")
"""
COMMANDS = """
import shlex, sys
from mcusim.commands.app import main
for line in sys.argv[1:]:
    print(line, main(shlex.split(line)), file=sys.stderr)
"""
STUDY = """
models = ["figure-1", "ds-cnn"]
machines = ["stm32f746g-disco"]
policies = ["internal", "tinyops"]
"""


@pytest.mark.parametrize(
    ("poisoned", "lines"),
    [
        (
            COMPILER + TABLES + EMULATION,
            [
                "run ds-cnn -m f746",
                "run ds-cnn -m f746 --policy tinyops --json run.json",
                "compare ds-cnn figure-1 -m f746,f469",
                "plan ds-cnn -m f746 -o program.jsonl",
                "replay program.jsonl",
                "memory ds-cnn",
                "diff run.json run.json",
            ],
        ),
        (["pydantic"], ["run ds-cnn -m f746", "memory figure-1", "--version"]),
        (COMPILER + EMULATION, ["sweep study.toml -o study.parquet --jobs 2"]),
        (
            COMPILER + TABLES,
            [
                "run figure-1 -m f746 --fidelity emulate",
                f"emulate {REPOSITORY}/mcusim/kernels/test_programs/elf/conv-cortex-m7.elf -m f746",
                "verify figure-1 -m f746",
                "lab check overlap",
            ],
        ),
    ],
)
def test_a_command_imports_what_it_needs(poisoned: list[str], lines: list[str], tmp_path: Path) -> None:
    for name in OBJECTS:
        library.prepared(name)
    for name in poisoned:
        (tmp_path / f"{name}.py").write_text(POISON)
    (tmp_path / "study.toml").write_text(STUDY)
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *lines],
        text=True, capture_output=True, timeout=LONGEST_WAIT, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PACKAGE.parent}"},
    )  # fmt: skip
    assert [line for line in lines if f"{line} 0\n" not in done.stderr] == [], done.stderr[-2000:]
    assert [path.name for path in tmp_path.glob("*.imported")] == []
