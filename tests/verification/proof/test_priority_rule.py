"""Rule priority: an input tile that gives way to what is needed later, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcusim.program import read_program
from mcusim.program.program import Program, Task, Transfer
from mcusim.verification.proof import Finding, prove
from tests.support.cases import few
from tests.support.paths import REPOSITORY
from tests.support.programs.plans import DISCOS, board, planned

F469 = "stm32f469i-disco"
SAMPLE = REPOSITORY / "traces" / "next-filter.jsonl"  # filters and arrays 0 to 4, tiles 5 and 6, calls 7 and 8; ...


def changed(priority: dict[int, int], after: dict[int, tuple[int, ...]] | None = None) -> Program:
    program = read_program(SAMPLE)
    tasks: list[Task] = []
    for task in program.tasks:
        edges = (after or {}).get(task.id, task.after)
        if isinstance(task, Transfer):
            tasks.append(replace(task, after=edges, priority=priority.get(task.id, task.priority)))
        else:
            tasks.append(replace(task, after=edges))
    return replace(program, tasks=tuple(tasks))


def found(program: Program) -> list[Finding]:
    findings = prove(program, board(F469))
    assert {f.rule for f in findings} <= {"priority"}
    return findings


def test_a_filter_for_later_goes_before_the_tiles() -> None:
    findings = found(changed({4: 2}))
    assert [f.tasks for f in findings] == [(5, 4), (6, 4)]
    text, fix = findings[0].text, findings[0].fix
    assert "task 5 (input transfer, operator 0 tile 1) has priority 1 and task 7 (kernel call" in text
    assert "which task 14 (kernel call, operator 1 tile 1) waits for, has priority 2" in text
    assert "at least the priority of task 4" in fix and "add 5 to its `after`" in fix
    assert findings[0].buffers == ("tile0",)


@pytest.mark.parametrize(
    ("priority", "after"),
    [
        ({4: 1}, {}),  # equal ones go by turns
        ({0: 2, 1: 2, 2: 2, 3: 2}, {}),  # the same call waits for both
        ({4: 2}, {5: (4,)}),  # the tiles wait for it
        ({9: 2, 10: 2, 11: 2}, {}),
    ],
    ids=("equal", "the same call", "ordered", "needed as soon"),
)
def test_what_is_no_finding(priority: dict[int, int], after: dict[int, tuple[int, ...]]) -> None:
    assert found(changed(priority, after)) == []


def test_a_transfer_that_is_read_without_a_wait_is_needed_then() -> None:
    """The missing wait is the finding; the priority is not one more."""
    program = changed({3: 2}, {6: (0, 1, 2), 7: (0, 1, 2, 5)})
    assert {f.rule for f in prove(program, board(F469))} == {"unordered"}


def test_a_transfer_that_no_task_needs() -> None:
    program = changed({4: 2})
    findings = found(replace(program, tasks=program.tasks[:9]))
    assert [f.tasks for f in findings] == [(5, 4), (6, 4)]
    assert "which no task waits for" in findings[0].text


@few(4)
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("overlay", [("input",), ("input", "filter"), ("input", "filter", "quant")])
@pytest.mark.parametrize("name", ["figure-1", "vww_96_int8", "mobilenet-v2-w0.35-r096"])
def test_planners_let_tiles_go_first(name: str, machine: str, overlay: tuple[str, ...]) -> None:
    program = planned(name, machine, "tinyops", overlay=frozenset(overlay), sram_budget=128 << 10)
    assert prove(program, board(machine)) == []


def test_many_transfers_that_nothing_orders() -> None:
    program = read_program(SAMPLE)
    tile = next(t for t in program.tasks if t.id == 5)
    call = next(t for t in program.tasks if t.id == 7)
    assert isinstance(tile, Transfer)
    ends = {"source": replace(tile.source, bytes=1), "destination": replace(tile.destination, bytes=1)}
    tasks: list[Task] = []
    for n in range(0, 30_000, 2):
        tasks.append(replace(tile, id=n, lane="dma2.s0", priority=1, after=(), **ends))  # type: ignore[arg-type]
        tasks.append(replace(tile, id=n + 1, lane="dma2.s1", priority=2, after=(), **ends))  # type: ignore[arg-type]
    tasks.append(replace(call, id=30_000, after=(29_998,)))
    rules = {f.rule for f in prove(replace(program, tasks=tuple(tasks)), board(F469))}
    assert "unordered" in rules
