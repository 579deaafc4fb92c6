"""Whole runs against closed formulas, on programs small enough to have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from mcusim.engine import execute
from mcusim.engine.run import Run
from mcusim.errors import ProgramError
from mcusim.kernels import load_profile
from mcusim.kernels.cost.counted.loop_counts import compute_cycles
from mcusim.machine import Machine
from mcusim.machine.description import Duration, Sram
from mcusim.model.geometry import Geometry, Tile
from mcusim.program.program import Compute, Header, MemoryParts, Operand, OperatorInfo, Program, Span, Task, Transfer
from tests.support.boards.machines import ZERO, free_dma, ideal

TILE = 2048
ROWS = 16


def cycles_(n: int) -> Duration:
    return Duration(Fraction(n), "cycles")


def board(beat_cycles: int, setup: int = 0, handler: int = 0) -> Machine:
    """An ideal board whose DMA takes ``beat_cycles`` a byte."""
    machine = free_dma(ideal())
    dma = replace(
        machine.dma["dma2"],
        beat=1,
        burst=1,
        matrix_cost=cycles_(beat_cycles),  # of reads; writes are free
        request_setup=cycles_(setup),
        completion_interrupt=cycles_(handler),
    )
    return replace(machine, dma={"dma2": dma})


def program(tasks: Sequence[Task], machine: Machine) -> Program:
    header = Header(
        machine=machine.name,
        model="test",
        model_sha256="0" * 64,
        policy="test",
        kernels="cmsis-2021-gcc9",
        operators=(OperatorInfo(0, "SOFTMAX", 0),),
        memory=MemoryParts(0, 0, 0, 0, 0, 0),
        peak_bytes={},
        buffers=(),
    )
    return Program(header, tuple(tasks))


def geometry(tiles: int) -> Geometry:
    rows = ROWS * tiles
    return Geometry("SOFTMAX", 1, rows, TILE // ROWS, 1, rows, TILE // ROWS, 1)


def compute(machine: Machine, id_: int, tile: int, tiles: int, after: tuple[int, ...], offset: int = 0) -> Compute:
    sram, sdram = machine.memory["sram1"].base, machine.memory["sdram"].base
    rows = Tile(tile * ROWS, ROWS, tile * ROWS, ROWS)
    operands = (
        Operand("input0", Span("sram1", sram + offset, TILE), "r"),
        Operand("output", Span("sdram", sdram + (1 << 20) + tile * TILE, TILE), "w"),
    )
    return Compute(id_, 0, tile, tiles, geometry(tiles), rows, operands, after)


def copy(
    machine: Machine, id_: int, tile: int, after: tuple[int, ...], offset: int = 0, lane: str = "dma2.s0", high: int = 1
) -> Transfer:
    source = Span("sdram", machine.memory["sdram"].base + tile * TILE, TILE)
    target = Span("sram1", machine.memory["sram1"].base + offset, TILE)
    return Transfer(id_, lane, 0, tile, "input", source, target, id_, 0, 1, high, after)


def ping_pong(machine: Machine, tiles: int) -> Program:
    tasks: list[Task] = []
    for tile in range(tiles):
        freed = (2 * (tile - 2) + 1,) if tile >= 2 else ()
        tasks.append(copy(machine, 2 * tile, tile, freed, tile % 2 * TILE))
        tasks.append(compute(machine, 2 * tile + 1, tile, tiles, (2 * tile,), tile % 2 * TILE))
    return program(tasks, machine)


def play(one: Program, machine: Machine) -> Run:
    return execute(one, machine, load_profile())


def work(tiles: int) -> tuple[list[int], int]:
    """Cycles of each tile's kernel call, the interpreter's of the operator."""
    costs = load_profile().core("cortex-m4")
    g = geometry(tiles)
    return [compute_cycles(g, Tile(t * ROWS, ROWS, t * ROWS, ROWS), costs) for t in range(tiles)], costs.operator


@pytest.mark.parametrize("beat", [1, 5, 149, 150, 151, 200])
@pytest.mark.parametrize("tiles", [1, 2, 3, 8])
def test_ping_pong_is_fill_plus_the_longer_of_compute_and_copy(tiles: int, beat: int) -> None:
    """Copy-bound or compute-bound: fill + max(compute, copy) x (tiles - 1) + the last compute."""
    machine = board(beat)
    each, operator = work(tiles)
    copied = TILE * beat
    assert len(set(each)) == 1, "the tiles of this operator cost the same"
    first = operator + each[0]  # the interpreter runs before the first tile
    expected = copied + sum(max(c, copied) for c in [first, *each[1:]][: tiles - 1]) + ([first, *each[1:]][-1])
    run = play(ping_pong(machine, tiles), machine)
    if beat != 200 or tiles < 3:
        assert run.cycles == expected
    else:  # copy-bound: the next copy starts when its buffer is free, the core only adds its last tile
        assert run.cycles == tiles * copied + each[-1]
    assert run.by_cause["dma_wait"] == run.cycles - operator - sum(each)


def test_driver_time_delays_the_core_when_it_works_and_the_stream_always() -> None:
    """Compute-bound ping-pong: every later transfer takes set-up and handler from the running kernel."""
    machine = board(1, setup=300, handler=200)
    tiles = 6
    each, operator = work(tiles)
    run = play(ping_pong(machine, tiles), machine)
    fill = 300 + TILE + 200
    assert run.cycles == fill + operator + sum(each) + (tiles - 1) * (300 + 200)
    assert run.by_cause["runtime"] == operator + (tiles - 1) * 500


def test_higher_priority_pre_empts_and_the_lower_resumes() -> None:
    """A low transfer of L cycles starts at 0, a high one of H at C (after a kernel): the low one ends at L + H."""
    machine = board(200)
    each, operator = work(1)
    start = operator + each[0]
    low = copy(machine, 0, 0, (), 8 * TILE, "dma2.s1", high=0)
    kernel = compute(machine, 1, 0, 1, ())
    high = copy(machine, 2, 1, (1,), 4 * TILE, "dma2.s0", high=1)
    run = play(program([low, kernel, high], machine), machine)
    length = TILE * 200
    assert 0 < start < length
    ends = {event.task: event.end for event in run.events}
    assert ends[2] == start + length
    assert ends[0] == 2 * length
    assert run.cycles == 2 * length


def test_equal_priorities_share_the_controller() -> None:
    machine = board(10)
    one = copy(machine, 0, 0, (), 0, "dma2.s0", high=1)
    two = copy(machine, 1, 1, (), 4 * TILE, "dma2.s1", high=1)
    run = play(program([one, two], machine), machine)
    assert {event.end for event in run.events} == {2 * TILE * 10}


def shared(machine: Machine, region: str) -> Machine:
    """``region`` as a plain SRAM: an access occupies it for a cycle and costs no wait."""
    memory = dict(machine.memory)
    memory[region] = replace(memory[region], device=Sram(32, machine.core.clock, ZERO, ZERO, ZERO, ZERO, ZERO))
    return replace(machine, memory=memory)


def test_contention_only_where_a_memory_is_shared() -> None:
    """Core and DMA on one SRAM delay each other; with the kernel's data elsewhere neither notices."""
    machine = shared(board(4), "sram1")
    tasks = [copy(machine, 0, 0, (), 4 * TILE), compute(machine, 1, 0, 1, ())]
    each, operator = work(1)
    together = play(program(tasks, machine), machine)
    assert 0 < together.by_cause["bus"] < (operator + each[0]) // 10
    kernel = compute(machine, 1, 0, 1, ())
    ccm = machine.memory["ccm"].base
    moved = tuple(replace(o, span=Span("ccm", ccm, TILE)) if o.role == "input0" else o for o in kernel.operands)
    apart = play(program([tasks[0], replace(kernel, operands=moved)], machine), machine)
    assert apart.by_cause["bus"] == 0
    assert apart.cycles == max(operator + each[0], TILE * 4)


def test_causes_lanes_and_operators_add_up() -> None:
    machine = board(5, setup=10, handler=20)
    run = play(ping_pong(machine, 8), machine)
    assert sum(run.by_cause.values()) == run.cycles
    assert sum(operator.cycles for operator in run.operators) == run.cycles
    assert all(sum(o.by_cause.values()) == o.cycles for o in run.operators)
    assert run.traffic["sdram"].dma_read == 8 * TILE
    assert run.traffic["sram1"].dma_write == 8 * TILE
    assert run.traffic["sdram"].core_write == 8 * TILE


def test_a_run_is_the_same_every_time() -> None:
    machine = board(5, setup=10, handler=20)
    assert play(ping_pong(machine, 8), machine) == play(ping_pong(machine, 8), machine)


def test_two_equal_streams_slow_the_core_as_one_would() -> None:
    """Each of two streams that share the controller runs half the time: together they ask what one asks."""
    machine = shared(board(4), "sram1")
    kernel = compute(machine, 9, 0, 1, ())
    one = [copy(machine, i, 0, (), 4 * TILE) for i in range(60)]
    two = [replace(task, lane=f"dma2.s{i % 2}") for i, task in enumerate(one)]
    alone = play(program([*one, replace(kernel, id=99)], machine), machine).by_cause["bus"]
    pair = play(program([*two, replace(kernel, id=99)], machine), machine).by_cause["bus"]
    assert alone > 0
    assert pair == pytest.approx(alone, rel=0.1)


def test_a_second_image_costs_as_much_as_the_first() -> None:
    machine = ideal("stm32f469i-disco")
    sram, flash = machine.memory["sram1"].base, machine.memory["flash"].base
    traffic = []
    for batch in (1, 2):
        g = Geometry("CONV_2D", batch, 8, 8, 8, 8, 8, 8, 3, 3, pad_top=1, pad_bottom=1, pad_left=1, pad_right=1)
        operands = (
            Operand("input0", Span("sram1", sram, g.in_bytes), "r"),
            Operand("filter", Span("flash", flash, 576), "r"),
            Operand("output", Span("sram1", sram + 4096, g.out_bytes), "w"),
            Operand("scratch", Span("sram2", machine.memory["sram2"].base, 288), "rw"),
        )
        run = play(program([Compute(0, 0, 0, 1, g, Tile(0, 8, 0, 8), operands)], machine), machine)
        traffic.append({name: (t.core_read, t.core_write) for name, t in run.traffic.items()})
    assert traffic[1] == {name: (2 * r, 2 * w) for name, (r, w) in traffic[0].items()}


@pytest.mark.parametrize("role", ["input0", "output", "filter", "scratch"])
def test_a_call_without_what_its_kernel_needs_is_refused(role: str) -> None:
    machine = ideal("stm32f469i-disco")
    sram, flash = machine.memory["sram1"].base, machine.memory["flash"].base
    g = Geometry("CONV_2D", 1, 8, 8, 8, 8, 8, 8, 3, 3, pad_top=1, pad_bottom=1, pad_left=1, pad_right=1)
    operands = (
        Operand("input0", Span("sram1", sram, g.in_bytes), "r"),
        Operand("filter", Span("flash", flash, 576), "r"),
        Operand("output", Span("sram1", sram + 4096, g.out_bytes), "w"),
        Operand("scratch", Span("sram2", machine.memory["sram2"].base, 288), "rw"),
    )
    left = tuple(operand for operand in operands if operand.role != role)
    with pytest.raises(ProgramError, match=f"a CONV_2D call has 0 B of operand {role}; kernel conv needs"):
        play(program([Compute(0, 0, 0, 1, g, Tile(0, 8, 0, 8), left)], machine), machine)


def test_a_second_image_lies_behind_the_first() -> None:
    """Two images across the border of two regions: each region is read and written for its own image."""
    machine = shared(shared(ideal("stm32f469i-disco"), "sram1"), "sram2")
    g = Geometry("CONV_2D", 2, 8, 8, 8, 8, 8, 8, 3, 3, pad_top=1, pad_bottom=1, pad_left=1, pad_right=1)
    border = machine.memory["sram2"].base
    far = machine.memory["sdram"].base
    moved = {}
    for role in ("input0", "output"):
        at = {"input0": far, "output": far + 4096} | {role: border - 512}
        operands = (
            Operand("input0", Span("sram1" if role == "input0" else "sdram", at["input0"], g.in_bytes), "r"),
            Operand("filter", Span("flash", machine.memory["flash"].base, 576), "r"),
            Operand("output", Span("sram1" if role == "output" else "sdram", at["output"], g.out_bytes), "w"),
            Operand("scratch", Span("ccm", machine.memory["ccm"].base, 288), "rw"),
        )
        run = play(program([Compute(0, 0, 0, 1, g, Tile(0, 8, 0, 8), operands)], machine), machine)
        moved[role] = [run.traffic[name] for name in ("sram1", "sram2")]
    first, second = moved["input0"]
    assert first.core_read == second.core_read > 512
    first, second = moved["output"]
    assert first.core_write == second.core_write == 512
