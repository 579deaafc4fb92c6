"""Variant 2023: the next operator's first tile is requested as soon as its rows are there, and no row earlier."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from mcusim import simulate
from mcusim.commands.app import main
from mcusim.engine.run import Run
from mcusim.errors import UsageError
from mcusim.kernels import load_profile
from mcusim.model import Graph
from mcusim.plan import plan, plan_options
from mcusim.program import check_program
from mcusim.program.program import Compute, Maintain, Program, Transfer
from mcusim.verification.proof import prove
from tests.plan.policies.test_tinyops import assert_operands, by_kind
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.paths import REPOSITORY
from tests.support.programs.plan_proof import assert_coherent, assert_race_free
from tests.support.programs.plans import DISCOS, KIB, board, calls, model, planned, transfers

F469, F746 = DISCOS
NETWORKS = ("ds-cnn", "mobilenet-v2-w0.35-r096", "mbv3-w0.40-r096", "proxyless-w0.25-r160")
Sketch = run_path(str(REPOSITORY / "scripts" / "traces" / "make.py"))["Sketch"]


def of_graph(graph: Graph, machine: str = F469, **options: object) -> Program:
    chosen = plan_options(variant="2023", **options)  # type: ignore[arg-type]
    return plan(graph, board(machine), "tinyops", load_profile("cmsis-2021-gcc9"), chosen)


def chain(*kernels: int, rows: int = 8) -> Graph:
    """Convolutions of stride 1 over ``rows`` rows, one for each of ``kernels``."""
    sketch = Sketch("chain", (1, rows, 8, 4))
    for kernel in kernels:
        sketch.conv(4, kernel)
    return sketch.graph()


def place(program: Program, kind: type, operator: int, tile: int) -> int:
    """Where in the list the task is; of transfers those of input tiles."""
    found = [
        at
        for at, task in enumerate(program.tasks)
        if isinstance(task, kind) and (task.operator, task.tile) == (operator, tile)
        if getattr(task, "kind", "input") == "input"
    ]
    return found[0]


@pytest.mark.parametrize(
    ("first", "second", "there", "needs"), [(1, 1, 4, 4), (1, 2, 4, 5), (3, 2, 5, 5), (3, 3, 5, 6)]
)
def test_a_first_tile_waits_for_its_last_row(first: int, second: int, there: int, needs: int) -> None:
    """All rows there: requested before the last call of the operator before. One row missing: after it."""
    program = of_graph(chain(first, second))
    assert [(c.operator, c.tiles) for c in calls(program)] == [(0, 2), (0, 2), (1, 2), (1, 2)]
    assert calls(program)[0].rows.out_rows == there
    at = place(program, Transfer, 1, 0)
    tile = program.tasks[at]
    assert isinstance(tile, Transfer) and tile.source.bytes == needs * 8 * 4
    assert (at < place(program, Compute, 0, 1)) is (needs <= there)
    wrote = program.tasks[place(program, Compute, 0, 0 if needs <= there else 1)]
    assert wrote.id in tile.after


def test_an_operator_of_one_tile_leaves_no_row_before_its_last() -> None:
    """A filter as high as the input."""
    program = of_graph(chain(8, 1))
    assert [c.tiles for c in calls(program)] == [1, 2, 2]
    assert place(program, Transfer, 1, 0) > place(program, Compute, 0, 0)


def test_a_first_tile_of_an_older_result_waits_for_nothing() -> None:
    """Its producer ended long ago, so even an operator of one tile does not hold it back."""
    sketch = Sketch("branch", (1, 8, 8, 4))
    older = sketch.conv(4, 1)
    sketch.conv(4, 8)
    sketch.conv(4, 1, source=older)
    program = of_graph(sketch.graph())
    assert place(program, Transfer, 2, 0) < place(program, Compute, 1, 0)
    assert prove(program, board(F469)) == []


@pytest.mark.parametrize(("kernels", "early"), [((1, 1), False), ((), True)])
def test_two_inputs_wait_for_the_filter_and_the_scratch_of_the_call_that_runs(
    kernels: tuple[int, ...], early: bool
) -> None:
    """Their second tiles go where those are; after an ADD, which has neither, they do not wait."""
    sketch = Sketch("add", (1, 8, 8, 4))
    last = sketch.conv(4, 1)
    for kernel in kernels:
        last = sketch.conv(4, kernel)
    if not kernels:
        last = sketch.add(last, last)
    sketch.add(last, 0)
    program = of_graph(sketch.graph())
    end = len(program.header.operators) - 1
    assert (place(program, Transfer, end, 0) < place(program, Compute, end - 1, 1)) is early
    assert prove(program, board(F469)) == []


def test_one_filter_buffer_is_filled_when_the_operator_before_has_ended() -> None:
    program = planned("proxyless-w0.30-r144", F469, "tinyops", variant="2023", sram_budget=256 * KIB)
    (home,) = [b.span for b in program.header.buffers if b.name == "second0"]
    filters = [(at, t) for at, t in enumerate(program.tasks) if isinstance(t, Transfer) and t.kind == "filter"]
    assert len(filters) == 61 and {t.destination.address for _, t in filters} == {home.address}
    for at, task in filters:
        assert all(c.operator < task.operator for c in program.tasks[:at] if isinstance(c, Compute))
        assert all(c.operator >= task.operator for c in program.tasks[at:] if isinstance(c, Compute))


def test_the_copies_of_the_published_plan() -> None:
    """Order and buffers are other ones than in 2022; what is copied is not: every byte once, halo rows aside."""
    plans = [
        planned("proxyless-w0.30-r144", F469, "tinyops", variant=year, sram_budget=256 * KIB)
        for year in ("2022", "2023")
    ]
    assert by_kind(plans[0]) == by_kind(plans[1])
    assert len(transfers(plans[1])) == 420 and sum(t.source.bytes for t in transfers(plans[1])) == 1_460_100
    parts = Counter(c.tiles for c in calls(plans[1]) if c.tile == 0)
    assert parts == {3: 1, 2: 69, 1: 7}  # RESHAPE is one of the seven


@few(2)
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("name", NETWORKS)
def test_programs_are_sound(name: str, machine: str) -> None:
    program = planned(name, machine, "tinyops", variant="2023", sram_budget=128 * KIB)
    check_program(program, board(machine))
    assert_race_free(program)
    assert_operands(model(name), program)
    if machine == F746:
        assert_coherent(program, 32, {"sdram", "sram1", "sram2"})
    assert prove(program, board(machine)) == []
    early = [
        at
        for at, t in enumerate(program.tasks)
        if isinstance(t, Transfer) and t.kind == "input" and t.tile == 0
        if any(isinstance(c, Compute) and c.operator < t.operator for c in program.tasks[at:])
    ]
    assert len(early) > 3


def test_the_proof_sees_an_early_tile_that_does_not_wait_for_its_rows() -> None:
    program = of_graph(chain(1, 1))
    tile = program.tasks[place(program, Transfer, 1, 0)]
    broken = replace(program, tasks=tuple(replace(t, after=()) if t is tile else t for t in program.tasks))
    assert prove(program, board(F469)) == []
    found = prove(broken, board(F469))
    assert {finding.rule for finding in found} >= {"unordered"}


def test_the_proof_sees_a_tile_that_is_a_row_early() -> None:
    """The order of one that needs four rows, given to one that needs five."""
    program = of_graph(chain(1, 2))
    late, last = place(program, Transfer, 1, 0), place(program, Compute, 0, 1)
    tile, tasks = program.tasks[late], list(program.tasks)
    del tasks[late]
    tasks.insert(last, replace(tile, after=(program.tasks[place(program, Compute, 0, 0)].id,)))
    found = prove(replace(program, tasks=tuple(tasks)), board(F469))
    assert found and tile.id in {task for finding in found for task in finding.tasks}


def test_scratch_is_dropped_from_the_cache_before_the_dma_writes_there() -> None:
    """On the F746 the second buffer of odd tiles is scratch too, and dirty lines of it would go over the copy."""
    sketch = Sketch("scratch", (1, 16, 8, 8))
    first = sketch.conv(8, 3)
    sketch.add(sketch.conv(8, 3), first)
    program = of_graph(sketch.graph(), F746)
    dropped = [t for t in program.tasks if isinstance(t, Maintain) and t.action == "invalidate" and not t.after]
    (home,) = [b.span for b in program.header.buffers if b.name == "second1"]
    assert [t.span.address for t in dropped] == [home.address]
    assert prove(program, board(F746)) == []
    without = replace(program, tasks=tuple(_without(t, dropped[0].id) for t in program.tasks if t is not dropped[0]))
    assert {finding.rule for finding in prove(without, board(F746))} == {"dirty-target"}


def _without(task: Compute | Transfer | Maintain, edge: int) -> Compute | Transfer | Maintain:
    return replace(task, after=tuple(one for one in task.after if one != edge))


def test_the_early_tile_is_under_way_while_the_last_one_is_computed() -> None:
    """Copied at the same time as the last call runs; one that is not early starts when that has ended."""
    runs = {kernel: simulate_chain(1, kernel) for kernel in (1, 2)}
    for kernel, (program, run) in runs.items():
        events = {event.task: event for event in run.events}
        tile = events[program.tasks[place(program, Transfer, 1, 0)].id]
        call = events[program.tasks[place(program, Compute, 0, 1)].id]
        assert tile.start < call.end if kernel == 1 else tile.start >= call.end


def simulate_chain(*kernels: int) -> tuple[Program, Run]:
    result = simulate(chain(*kernels), F469, "tinyops", variant=2023)
    assert result.run is not None
    return of_graph(chain(*kernels)), result.run


@only_with_all_cases
@pytest.mark.parametrize("machine", sampled(DISCOS, 1))
def test_emulated_it_computes_what_litert_does(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A network with residual ADDs in an SRAM so small that the buffer of scratch and second inputs is in use often."""
    command = ["verify", "mbv3-w0.10-r032", "-m", machine, "--variant", "2023", "--sram-budget", "20 KiB"]
    status = main([*command, "--fuzz", "2", "--json", "-"])
    data = json.loads(capsys.readouterr().out)
    assert (status, data["findings"]) == (0, [])
    assert [data["equivalence"][name]["equal"] for name in ("untiled", "litert")] == [True, True]


def test_a_program_without_code_for_its_kernels_names_the_command_that_plans_it_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "later.jsonl")
    assert main(["plan", "ds-cnn", "-m", F469, "-p", "tinyops", "--variant", "2023", "-o", path]) == 0
    capsys.readouterr()
    assert main(["verify", path]) == 0
    shown = capsys.readouterr()
    assert "ds-cnn on stm32f469i-disco, tinyops 2023" in shown.out
    assert "--policy tinyops --variant 2023" in " ".join((shown.out + shown.err).split())


@pytest.mark.parametrize(
    ("policy", "options", "reason"),
    [
        ("tinyops", {"variant": "2024"}, 'unknown variant "2024"; there are 2022, 2023'),
        ("tinyops", {"variant": True}, "variant = True: must be one of 2022, 2023"),
        ("tinyops", {"variant": 2023, "buffering": "single"}, "--variant 2023 has two buffers for tiles"),
        ("external", {"variant": 2022}, "--variant has no effect under policy external; it is for tinyops"),
    ],
)
def test_wrong_use(policy: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        simulate("figure-1", F469, policy, **options)
