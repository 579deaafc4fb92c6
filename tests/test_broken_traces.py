"""The catalogue of broken overlays: each is refuted with the right diagnosis, its repaired twin is proven."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from conftest import REPOSITORY

from mcusim.machine import load_machine
from mcusim.plan import read_program
from mcusim.plan.program import Program
from mcusim.plan.proof import Finding, prove

SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "make_broken_traces.py"))
CASES = list(enumerate(SCRIPT["BROKEN"], 1))
FOLDER = REPOSITORY / "traces"


def findings(program: Program) -> list[Finding]:
    return prove(program, load_machine(program.header.machine))


def test_the_files_are_what_the_script_writes(tmp_path: Path) -> None:
    assert len(CASES) >= 12
    SCRIPT["main"](tmp_path)
    kept = [*FOLDER.glob("broken-*.jsonl"), FOLDER / "README.md"]
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {p.name: p.read_bytes() for p in kept}


@pytest.mark.parametrize(("number", "case"), CASES, ids=lambda x: f"{x:02d}" if isinstance(x, int) else x.rule)
def test_broken_programs_are_refuted(number: int, case: object) -> None:
    found = findings(read_program(FOLDER / f"broken-{number:02d}.jsonl"))
    assert (case.rule, case.tasks) in {(f.rule, f.tasks) for f in found}  # type: ignore[attr-defined]
    assert len(found) <= 6, "one fault, few consequences"


@pytest.mark.parametrize("sample", sorted({case.sample for _, case in CASES}))
def test_repaired_twins_are_proven(sample: str) -> None:
    assert findings(read_program(FOLDER / f"{sample}.jsonl")) == []


def test_every_rule_of_order_data_and_caches_has_an_example() -> None:
    ruled = {case.rule for _, case in CASES}
    assert ruled >= {"unordered", "wrong-data", "missing-clean", "missing-invalidate", "shared-line", "units", "reach"}
