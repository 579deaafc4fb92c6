"""The static proof: nothing to find in what the planners write, and one rule for every way to spoil it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcusim.errors import DoesNotFit, ProgramError
from mcusim.finding_rules import PROGRAM
from mcusim.kernels import load_profile
from mcusim.machine import load_machine
from mcusim.plan import PlanOptions, plan
from mcusim.program import read_program
from mcusim.program.program import Compute, Maintain, Program, Span, Task, Transfer
from mcusim.verification.proof import Finding, prove
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.paths import REPOSITORY
from tests.support.programs.plans import DISCOS, FILES, SWIFTNET, ZOO, board, model, planned

POLICIES = ("internal", "external", "tinyops")
QUICK = ("ds-cnn", "vww_96_int8", "figure-1")
SUBSETS = (("input",), ("filter",), ("bias", "quant"), ("input", "filter"), ("filter", "bias", "quant"))
MAINTAINED = REPOSITORY / "traces" / "cache-maintenance.jsonl"
F746 = "stm32f746g-disco"
SETTINGS = {
    "short transfers": {"dma.dma2.max_units": "1000"},
    "one stream": {"dma.dma2.streams": "1"},
    "no cache": {"cache.data.size": "0 B"},
    "write-through": {"cache.data.policy": "write-through"},
    "SDRAM as a device": {"memory.sdram.base": "0xC0000000"},
}


def clean(name: str, machine: str, policy: str) -> None:
    try:
        program = planned(name, machine, policy)
    except DoesNotFit:
        return
    assert prove(program, board(machine)) == []


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("name", QUICK)
def test_planned_programs_are_right(name: str, machine: str, policy: str) -> None:
    clean(name, machine, policy)


@few(10)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("name", sampled([*ZOO, *FILES, SWIFTNET], 5))
def test_all_planned_programs_are_right(name: str, machine: str, policy: str) -> None:
    clean(name, machine, policy)


@pytest.mark.parametrize("subset", SUBSETS, ids="+".join)
@pytest.mark.parametrize("machine", DISCOS)
def test_any_overlay_is_right(machine: str, subset: tuple[str, ...]) -> None:
    assert prove(planned("figure-1", machine, "tinyops", overlay=frozenset(subset)), board(machine)) == []


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_dma_and_caches(name: str) -> None:
    machine = load_machine(F746, SETTINGS[name])
    program = plan(model("vww_96_int8"), machine, "tinyops", load_profile("cmsis-2021-gcc9"), PlanOptions())
    assert prove(program, machine) == []


@pytest.mark.parametrize("path", sorted((REPOSITORY / "traces").glob("[!b]*.jsonl")), ids=lambda path: path.stem)
def test_samples_are_right(path: object) -> None:
    program = read_program(path)  # type: ignore[arg-type]
    assert prove(program, load_machine(program.header.machine)) == []


def spoiled(change: dict[int, Task | None]) -> Program:
    """The sample with cache maintenance, tasks replaced by id; None drops one and its edges."""
    program = read_program(MAINTAINED)
    gone = {number for number, task in change.items() if task is None}
    tasks = [change.get(task.id, task) for task in program.tasks]
    kept = [replace(t, after=tuple(a for a in t.after if a not in gone)) for t in tasks if t is not None]
    return replace(program, tasks=tuple(kept))


def sample(number: int) -> Task:
    return next(task for task in read_program(MAINTAINED).tasks if task.id == number)


def found(program: Program, machine: str = F746) -> dict[str, list[Finding]]:
    rules: dict[str, list[Finding]] = {}
    for finding in prove(program, load_machine(machine)):
        assert finding.rule in PROGRAM and finding.text and finding.fix and finding.low < finding.high
        rules.setdefault(finding.rule, []).append(finding)
    return rules


def test_a_missing_clean_is_named_with_its_transfer() -> None:
    assert isinstance(sample(7), Maintain)
    rules = found(spoiled({7: None}))
    assert list(rules) == ["missing-clean"]
    assert rules["missing-clean"][0].tasks == (8,)
    assert rules["missing-clean"][0].buffers == ("tensor0",)


def test_a_clean_that_the_transfer_does_not_wait_for() -> None:
    task = sample(8)
    rules = found(spoiled({8: replace(task, after=tuple(a for a in task.after if a != 7))}))
    assert [f.tasks for f in rules["missing-clean"]] == [(7, 8)]
    assert "add 7 to `after` of task 8" in rules["missing-clean"][0].fix


def test_a_missing_invalidate_names_transfer_and_call() -> None:
    rules = found(spoiled({14: None}))
    assert {f.tasks for f in rules["missing-invalidate"]} == {(8, 15)}
    assert {f.tasks for f in rules["unordered"]} == {(8, 15)}  # the call waited for the transfer behind its invalidate


def test_an_invalidate_before_the_transfer_has_ended() -> None:
    rules = found(spoiled({14: replace(sample(14), after=()), 15: replace(sample(15), after=(8,))}))
    assert [f.tasks for f in rules["missing-invalidate"]] == [(8, 14, 15)]
    assert list(rules) == ["missing-invalidate"]


def test_no_cache_findings_where_nothing_is_cached() -> None:
    bare = spoiled({task.id: None for task in read_program(MAINTAINED).tasks if isinstance(task, Maintain)})
    waiting = [replace(t, after=tuple(p.id for p in bare.tasks[:i])) for i, t in enumerate(bare.tasks)]
    bare = replace(bare, tasks=tuple(waiting))
    assert set(found(bare)) == {"missing-clean", "missing-invalidate"}
    assert prove(bare, load_machine(F746, {"cache.data.size": "0 B"})) == []
    sdram_only = prove(bare, load_machine(F746, {"memory.sdram.attribute": "uncached"}))
    assert {finding.rule for finding in sdram_only} == {"missing-invalidate"}  # SRAM1 is cached all the same


def moved(program: Program, low: int, high: int, by: int) -> Program:
    """Every span of a task that begins at ``low`` to ``high`` moved by ``by``."""

    def there(span: Span) -> Span:
        return replace(span, address=span.address + by) if low <= span.address < high else span

    def one(task: Task) -> Task:
        if isinstance(task, Compute):
            return replace(task, operands=tuple(replace(o, span=there(o.span)) for o in task.operands))
        if isinstance(task, Transfer):
            return replace(task, source=there(task.source), destination=there(task.destination))
        return replace(task, span=there(task.span))

    return replace(program, tasks=tuple(one(task) for task in program.tasks))


def test_a_buffer_that_shares_a_line_with_the_core() -> None:
    program = read_program(MAINTAINED)
    shift, scratch = 0x2001_3F40, 0x2001_3FA0
    assert prove(moved(program, scratch, scratch + 1, -32), board(F746)) == []  # next to each other, on lines
    edge = moved(moved(program, scratch, scratch + 1, 8), shift, shift + 1, 0x2B0)  # the line 0x200141e0 has both
    rules = found(edge)
    assert set(rules) == {"shared-line"}
    assert (15, 18) in {f.tasks for f in rules["shared-line"]}  # the last call's scratch, the next shifts
    assert all(0x2001_41E0 <= f.low < f.high <= 0x2001_4200 for f in rules["shared-line"])


def test_transfers_against_the_controller() -> None:
    task = sample(6)
    assert isinstance(task, Transfer)
    long = replace(task, source=replace(task.source, bytes=70_000), destination=replace(task.destination, bytes=70_000))
    assert {f.tasks for f in found(spoiled({6: long}))["units"]} == {(6,)}
    itcm = replace(task, destination=Span("itcm", 0, 16_384), source=replace(task.source, bytes=16_384))
    assert "does not reach region 'itcm'" in found(spoiled({6: itcm}))["reach"][0].text
    flash = replace(task, destination=Span("flash", 0x0800_0000, task.destination.bytes))
    assert "cannot be written" in found(spoiled({6: flash}))["bounds"][0].text
    words = load_machine(F746, {"dma.dma2.beat": "4 B"})
    odd = replace(task, source=replace(task.source, address=task.source.address + 2))
    assert "alignment" in {f.rule for f in prove(spoiled({6: odd}), words)}


def test_a_malformed_program_stays_an_error() -> None:
    with pytest.raises(ProgramError, match="the id is used twice"):
        prove(spoiled({7: replace(sample(7), id=6)}), board(F746))
    with pytest.raises(ProgramError, match=r"no stream 'dma2\.s9'"):
        prove(spoiled({6: replace(sample(6), lane="dma2.s9")}), board(F746))  # type: ignore[arg-type]


@only_with_all_cases
def test_forty_thousand_tasks_are_proved() -> None:
    machine = load_machine(F746, {"dma.dma2.max_units": "16"})
    program = plan(model("vww_96_int8"), machine, "tinyops", load_profile("cmsis-2021-gcc9"), PlanOptions())
    assert len(program.tasks) > 30_000
    assert prove(program, machine) == []


def test_weights_of_another_operator_of_the_same_size() -> None:
    program = planned("figure-1", "stm32f469i-disco", "tinyops")
    spans = {b.name: b.span for b in program.header.buffers}
    wrong = next(t for t in program.tasks if isinstance(t, Transfer) and t.source == spans["tensor16"])
    tasks = tuple(replace(t, source=spans["tensor13"]) if t is wrong else t for t in program.tasks)
    (finding,) = prove(replace(program, tasks=tasks), board("stm32f469i-disco"))
    assert finding.rule == "wrong-data" and wrong.id in finding.tasks
    assert "tensor16" in finding.text and "tensor13" in finding.text


def test_a_table_that_no_kernel_reads_proves_nothing() -> None:
    """Small constants may be a STRIDED_SLICE's: two operators then may share weights of the same size."""
    program = planned("figure-1", "stm32f469i-disco", "tinyops")
    spans = {b.name: b.span for b in program.header.buffers}
    assert spans["tensor14"].bytes == spans["tensor17"].bytes == 64
    shared = [
        replace(t, source=spans["tensor14"]) if isinstance(t, Transfer) and t.source == spans["tensor17"] else t
        for t in program.tasks
    ]
    wrong = replace(program, tasks=tuple(shared))
    assert [f.rule for f in prove(wrong, board("stm32f469i-disco"))] == ["wrong-data"]
    for kind in ("STRIDED_SLICE", "RESHAPE", "NOT_KNOWN"):
        *others, last = program.header.operators
        header = replace(program.header, operators=(*others, replace(last, type=kind)))
        assert prove(replace(wrong, header=header), board("stm32f469i-disco")) == []


def test_a_dirty_line_under_a_transfer() -> None:
    """The kernel's scratch in an overlay that a transfer fills next: a line written back late destroys the filter."""
    task = sample(15)
    assert isinstance(task, Compute)
    own = [replace(o, span=Span("sram1", 0x2001_3E80, 64)) if o.role == "scratch" else o for o in task.operands]
    program = spoiled({15: replace(task, operands=tuple(own))})
    assert (15, 16) in {f.tasks for f in found(program)["dirty-target"]}


@only_with_all_cases
def test_a_program_in_very_many_pieces_is_refused() -> None:
    """A thousand times one byte, read whole by thousands of calls."""
    program = read_program(REPOSITORY / "traces" / "ping-pong-four-tiles.jsonl")
    transfer = next(t for t in program.tasks if isinstance(t, Transfer) and t.kind == "input")
    call = next(t for t in program.tasks if isinstance(t, Compute))
    tasks: list[Task] = []
    for n in range(9216):
        source, target = transfer.source.address + n, transfer.destination.address + n
        ends = {"source": Span("sdram", source, 1), "destination": Span("sram1", target, 1)}
        tasks.append(replace(transfer, id=n, after=(), **ends))  # type: ignore[arg-type]
    constants = [t for t in program.tasks if isinstance(t, Transfer) and t.kind not in ("input", "input1")]
    tasks += [replace(t, id=9216 + n, after=()) for n, t in enumerate(constants)]
    waits = (9215, tasks[-1].id)
    tasks += [replace(call, id=10_000 + n, after=waits) for n in range(900)]
    with pytest.raises(ProgramError, match="so many pieces"):
        prove(replace(program, tasks=tuple(tasks)), board("stm32f469i-disco"))
