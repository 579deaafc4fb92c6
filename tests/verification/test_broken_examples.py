"""The catalogue of broken overlays: what the proof, a run under the sanitizer and its output say is what the table has.

Their repaired twins are proven, and right from any start.
"""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim.api.simulate import replay
from mcusim.engine.disturbance import Disturbance
from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.errors import ProgramError
from mcusim.finding_rules import PROGRAM
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph
from mcusim.program import check_program, read_program
from mcusim.program.program import Program
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.model_lookup import model_of
from mcusim.verification.proof import Finding, prove
from mcusim.verification.sanitizer.monitor import make_monitor
from mcusim.verification.sanitizer.observation import Observation
from tests.support.cases import few, sampled
from tests.support.graphs.litert import LiteRT
from tests.support.paths import REPOSITORY

SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "traces" / "make_broken.py"))
CASES = list(enumerate(SCRIPT["BROKEN"], 1))
EXECUTABLE = [(number, case) for number, case in CASES if not case.refused]
REFUSED = [(number, case) for number, case in CASES if case.refused]
TWINS = sorted({case.sample for _, case in CASES})
FOLDER = REPOSITORY / "traces"
Array = np.ndarray[Any, Any]


def named(value: object) -> str:
    return f"{value:02d}" if isinstance(value, int) else (value.static or ("no rule",))[0]  # type: ignore[attr-defined]


def findings(program: Program) -> list[Finding]:
    return prove(program, load_machine(program.header.machine))


def graph_of(path: Path) -> Graph:
    graph = model_of(read_program(path), path, None)
    assert graph is not None
    return graph


def run(path: Path, warm: int | None, seed: int | None = None) -> tuple[list[Array], list[Observation]]:
    """Outputs of the program in that file, and what the sanitizer saw; ``seed`` disturbs the timing."""
    program, graph = read_program(path), graph_of(path)
    machine, kernels = load_machine(program.header.machine), load_set("cmsis")
    check_program(program, machine)
    options = Options(observer=make_monitor("report"), warm=warm)
    core = EmulatedCore(program, machine, graph, kernels, random_inputs(graph), options)
    run_program(program, machine, core, kernels.name, "emulate", disturb=None if seed is None else Disturbance(seed))
    return [core.tensor(t) for t in graph.outputs], core.observed


@cache
def right(sample: str) -> list[Array]:
    """What LiteRT computes for the twin's model."""
    graph = graph_of(FOLDER / f"{sample}.jsonl")
    return LiteRT((FOLDER / f"{graph.name}.tflite").read_bytes()).run(*random_inputs(graph))


def same(one: list[Array], other: list[Array]) -> bool:
    return [values.tolist() for values in one] == [values.tolist() for values in other]


def test_the_files_are_what_the_script_writes(tmp_path: Path) -> None:
    assert len(CASES) >= 17
    assert any(case.seed is not None for _, case in CASES)
    SCRIPT["main"](tmp_path)
    kept = FOLDER.glob("broken-*.jsonl")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {p.name: p.read_bytes() for p in kept}


@pytest.mark.parametrize(("number", "case"), CASES, ids=named)
def test_the_proof_names_the_fault(number: int, case: Any) -> None:
    found = findings(read_program(FOLDER / SCRIPT["file_name"](number)))
    if case.static is None:
        assert found == []
    else:
        assert case.static in {(f.rule, f.tasks) for f in found}
        assert len(found) <= 6, "one fault, few consequences"


@few(4)
@pytest.mark.parametrize(("number", "case"), sampled(EXECUTABLE, 8), ids=named)
def test_a_run_shows_what_the_table_says(number: int, case: Any) -> None:
    outputs, observed = run(FOLDER / SCRIPT["file_name"](number), warm=1)
    assert same(outputs, right(case.sample)) is not case.differs
    if case.observed is None:
        assert observed == []
    else:
        assert case.observed in {(o.finding.rule, o.finding.tasks) for o in observed}
        assert {o.finding.rule for o in observed} == {case.observed[0]}, "one fault, one kind of consequence"


@pytest.mark.parametrize(("number", "case"), [one for one in EXECUTABLE if one[1].seed is not None], ids=named)
def test_disturbed_timing_shows_what_the_timing_hides(number: int, case: Any) -> None:
    outputs, observed = run(FOLDER / SCRIPT["file_name"](number), case.seed, case.seed)
    assert not same(outputs, right(case.sample))
    assert case.static in {(o.finding.rule, o.finding.tasks) for o in observed}
    outputs, observed = run(FOLDER / f"{case.sample}.jsonl", case.seed, case.seed)
    assert same(outputs, right(case.sample))
    assert observed == []


@pytest.mark.parametrize(("number", "case"), REFUSED, ids=named)
def test_what_is_not_run_is_refused(number: int, case: Any) -> None:
    reasons = {
        "does not compute its model": "no task computes rows 63 to 63",
        "no stream takes it": "73728 B in one transfer",
        "no DMA reaches it": "does not reach region",
    }
    with pytest.raises(ProgramError, match=reasons[case.refused]):
        run(FOLDER / SCRIPT["file_name"](number), warm=1)


@pytest.mark.parametrize("sample", TWINS)
def test_twins_are_proven(sample: str) -> None:
    assert findings(read_program(FOLDER / f"{sample}.jsonl")) == []


@few(3)
@pytest.mark.parametrize("warm", sampled([None, 1, 2, 3, 4, 5], 2))
@pytest.mark.parametrize("twin", TWINS)
def test_twins_are_right_from_any_start(twin: str, warm: int | None) -> None:
    outputs, observed = run(FOLDER / f"{twin}.jsonl", warm)
    assert observed == []
    assert same(outputs, right(twin))


def test_what_the_starved_tile_costs() -> None:
    """The figures of the documentation, by the command that is next to them."""
    text = SCRIPT["page"]()
    found = re.search(r"`(broken-15[\w-]+)\.jsonl` costs (\d+)%: ([\d,]+) cycles, its repaired twin ([\d,]+)", text)
    assert found is not None
    cycles = []
    for name in (found[1], "next-filter"):
        path = FOLDER / f"{name}.jsonl"
        program = read_program(path)
        result = replay(program, load_machine(program.header.machine), "emulate", model=graph_of(path))
        cycles.append(result.run.cycles)  # type: ignore[union-attr]
    assert [f"{n:,}" for n in cycles] == [found[3], found[4]]
    assert round(100 * (cycles[0] / cycles[1] - 1)) == int(found[2]) > 5


def test_every_rule_that_a_transfer_of_these_machines_can_break_has_an_example() -> None:
    """Beats of 1 B are always aligned; bytes outside the memory are no overlay."""
    assert {case.static[0] for _, case in CASES if case.static} == set(PROGRAM) - {
        "alignment",
        "bounds",
        "kernel-fault",
    }
    seen = {case.observed[0] for _, case in CASES if case.observed}
    assert seen == {"unordered", "missing-clean", "missing-invalidate", "dirty-target", "shared-line", "lost-store"}


def test_some_faults_one_of_them_alone_finds() -> None:
    proof_alone = [case for _, case in EXECUTABLE if case.static and not case.observed]
    output_alone = [case for _, case in EXECUTABLE if not case.static and not case.observed]
    assert {case.differs for case in proof_alone} == {True, False}
    assert [case.differs for case in output_alone] == [True, True]
