"""The sanitizer: each way to read another's bytes is named with its rule, its tasks and its place; nothing else is."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.engine.run import Run
from mcusim.errors import SanitizerHalt, UsageError
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph, load_model
from mcusim.plan import plan, plan_options
from mcusim.program import read_program
from mcusim.program.program import Compute, Maintain, Program, Task, Transfer
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.proof import prove
from mcusim.verification.sanitizer.monitor import make_monitor
from mcusim.verification.sanitizer.observation import Observation
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.paths import REPOSITORY
from tests.support.programs.program_faults import with_tasks

TRACES = REPOSITORY / "traces"
PING_PONG, CACHED = "ping-pong-four-tiles", "cache-maintenance"


@cache
def sample(name: str) -> tuple[Program, Graph]:
    program = read_program(TRACES / f"{name}.jsonl")
    return program, load_model(TRACES / f"{program.header.model}.tflite")


def run(name: str, program: Program, sanitize: str = "report", warm: int | None = None) -> tuple[EmulatedCore, Run]:
    graph, machine = sample(name)[1], load_machine(program.header.machine)
    options = Options(observer=make_monitor(sanitize), warm=warm)
    core = EmulatedCore(program, machine, graph, load_set("cmsis"), random_inputs(graph), options)
    return core, run_program(program, machine, core, "cmsis", "emulate")


def task(program: Program, number: int) -> Task:
    return next(one for one in program.tasks if one.id == number)


def spoiled(name: str, number: int, change: object) -> Program:
    """The sample with task ``number`` changed, None: dropped."""
    program = sample(name)[0]
    made = change(task(program, number)) if callable(change) else None
    return with_tasks(program, {number: made})


def without(edge: int) -> object:
    return lambda one: replace(one, after=tuple(a for a in one.after if a != edge))


def at_once(one: Task) -> Task:
    return replace(one, after=())


def calls_and_transfers(program: Program) -> tuple[list[Compute], list[Transfer]]:
    return (
        [one for one in program.tasks if isinstance(one, Compute)],
        [one for one in program.tasks if isinstance(one, Transfer) and one.kind == "input"],
    )


@few(2)
@pytest.mark.parametrize("warm", sampled([1, None, 2, 3], 1))
@pytest.mark.parametrize("name", [PING_PONG, CACHED, "split-transfer", "filters-alternate", "add-second-input"])
def test_samples_show_nothing_and_take_the_same_time(name: str, warm: int | None) -> None:
    program = sample(name)[0]
    watched, seen = run(name, program, "report", warm)
    plain, bare = run(name, program, "off", warm)
    assert watched.observed == [] and plain.observed == []
    assert seen.cycles == bare.cycles and seen.counters == bare.counters
    last = sample(name)[1].outputs[0]
    assert (watched.tensor(last) == plain.tensor(last)).all()


def only(observed: list[Observation]) -> Observation:
    assert len({(one.finding.rule, one.finding.tasks) for one in observed}) == 1, observed
    return observed[0]


def test_a_call_that_does_not_wait_reads_torn_bytes() -> None:
    program = sample(PING_PONG)[0]
    calls, inputs = calls_and_transfers(program)
    first, call = inputs[0], calls[0]
    observed = run(PING_PONG, spoiled(PING_PONG, call.id, at_once))[0].observed
    found = next(one for one in observed if one.finding.tasks == (first.id, call.id))
    assert found.finding.rule == "unordered"
    assert (found.operator, found.tile, found.tiles, found.type) == (0, 0, 4, "CONV_2D")
    assert found.buffer == "tile0" and found.finding.buffers == ("tile0",)
    assert first.destination.address <= found.address < first.destination.end
    assert "had not begun" in found.finding.text or "was under way" in found.finding.text
    assert f"add {first.id} to `after` of task {call.id}" in found.finding.fix
    assert found.pc is not None and re.fullmatch(r"\w+\.[ch]:\d+", str(found.source))
    assert found.line is None, "there is no data cache"
    assert found.cycle is not None and found.times > 0


def test_a_buffer_reused_too_early_is_told_with_who_reads_it_still() -> None:
    calls, inputs = calls_and_transfers(sample(PING_PONG)[0])
    found = only(run(PING_PONG, spoiled(PING_PONG, inputs[2].id, without(calls[0].id)))[0].observed)
    assert (found.finding.rule, found.finding.tasks) == ("unordered", (calls[0].id, inputs[2].id))
    assert found.tile == 0 and "already written over" in found.finding.text


@only_with_all_cases
def test_a_transfer_may_read_what_the_core_has_not_written() -> None:
    program, _ = sample(CACHED)
    out = next(one for one in program.tasks if isinstance(one, Transfer) and one.operator == 1 and one.kind == "input")
    assert out.after, "the second operator's input is the first one's output"
    early = spoiled(CACHED, out.id, at_once)
    found = [one.finding for one in run(CACHED, early)[0].observed]
    writer = next(call for call in calls_and_transfers(program)[0] if call.operator == 0)
    assert ("unordered", (writer.id, out.id)) in [(one.rule, one.tasks) for one in found]


def test_halt_stops_at_the_first_and_off_at_none() -> None:
    broken = spoiled(PING_PONG, calls_and_transfers(sample(PING_PONG)[0])[0][0].id, at_once)
    first = run(PING_PONG, broken)[0].observed[0]
    with pytest.raises(SanitizerHalt, match=r"^unordered, operator 0 CONV_2D, tile 1 of 4: task ") as halt:
        run(PING_PONG, broken, "halt")
    seen = halt.value.observed
    assert (seen.address, seen.pc, seen.cycle, seen.finding.rule) == (first.address, first.pc, first.cycle, "unordered")
    assert seen.times < first.times, "it went no further"
    assert run(PING_PONG, broken, "off")[0].observed == []
    with pytest.raises(UsageError, match="sanitize = 'loud': must be one of off, report, halt"):
        run(PING_PONG, broken, "loud")


def test_its_json_has_the_finding_and_the_place() -> None:
    call = calls_and_transfers(sample(PING_PONG)[0])[0][0]
    found = run(PING_PONG, spoiled(PING_PONG, call.id, at_once))[0].observed[0].to_json()
    assert {"rule", "tasks", "buffers", "bytes", "text", "fix", "operator", "tile", "address", "line", "pc", "source",
            "cycle"} <= set(found)  # fmt: skip
    assert found["bytes"][0] == found["address"] < found["bytes"][1]


def test_an_invalidate_where_the_clean_belongs_loses_the_stores() -> None:
    """Named with the task that destroys them, by the proof and by the run."""
    name = "cached-filters"
    program = sample(name)[0]
    writers = {one.id for one in calls_and_transfers(program)[0]}
    lost = []
    for clean in [one for one in program.tasks if isinstance(one, Maintain) and one.action == "clean"][2:]:
        wrong = spoiled(name, clean.id, lambda one: replace(one, action="invalidate"))
        proven = [found for found in prove(wrong, load_machine(wrong.header.machine)) if found.rule == "lost-store"]
        assert any(clean.id in found.tasks for found in proven)
        seen = [one.finding for one in run(name, wrong, warm=1)[0].observed if one.finding.rule == "lost-store"]
        for found in seen:
            assert found.tasks[0] in writers and found.tasks[1] == clean.id
            assert found.tasks in {one.tasks for one in proven}
            assert found.fix == f"clean them before task {clean.id}, or leave that out"
        lost += seen
    assert lost


@pytest.mark.parametrize("weights", ["flash", "qspi"])
@pytest.mark.parametrize("machine", ["stm32f469i-disco", "stm32f746g-disco"])
def test_the_dma_reads_memory_that_nobody_writes(machine: str, weights: str) -> None:
    graph, board, kernels = load_model(TRACES / "sample-mobile-block.tflite"), load_machine(machine), load_set("cmsis")
    program = plan(graph, board, "tinyops", kernels, plan_options(weights=weights))
    sources = {one.source.region for one in program.tasks if isinstance(one, Transfer)}
    assert weights in sources
    core = EmulatedCore(
        program, board, graph, kernels, random_inputs(graph), Options(observer=make_monitor("report"), warm=1)
    )
    run_program(program, board, core, "cmsis", "emulate")
    assert core.observed == []


def test_halt_inside_a_transfer_is_the_same_error() -> None:
    """What a process of the simulation raises is made again on its way out."""
    program = read_program(TRACES / "broken-16-missing-input-clean.jsonl")
    with pytest.raises(SanitizerHalt, match=r"^missing-clean, operator 0 ") as halt:
        run("cached-filters", program, "halt", warm=1)
    assert halt.value.observed.pc is None
