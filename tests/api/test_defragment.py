"""The price of the dynamic allocator's moves: closed forms, an independent trace, sums, and every refusal."""

from __future__ import annotations

import random
from dataclasses import replace
from importlib import import_module

import pytest

from mcusim.api.defragment import defragment
from mcusim.api.firmware.emulate import emulate
from mcusim.cpu.decode.decoder import Decoder
from mcusim.errors import DoesNotFit, ImageError, UsageError
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import Machine, load_machine
from mcusim.machine.cores import CORES
from mcusim.model import load_model
from mcusim.plan import lifetimes
from mcusim.plan.allocators import BufferMove, dynamic
from mcusim.plan.allocators.greedy import ArenaBlock
from mcusim.results.memory_plan import COPIES, Copy, Defragmentation
from tests.support.boards.machines import ideal
from tests.support.code.pipeline_model import expected
from tests.support.paths import shared_model

module = import_module("mcusim.api.defragment")
M4, M7, NUCLEO = "stm32f469i-disco", "stm32f746g-disco", "nucleo-f767zi"
SRAM1 = 0x2002_0000  # of the F767
PER_CALL = 60  # cycles: the first fetches, the head of the loop, the last branch


def one(bytes: int, source: int = 0x4000, target: int = 0) -> list[BufferMove]:
    return [BufferMove(0, 0, source, target, bytes)]


def person_detection() -> tuple[BufferMove, ...]:
    lives = lifetimes(load_model(shared_model("person_detect.tflite")))
    return dynamic([ArenaBlock(life.bytes, life.first, life.last) for life in lives]).moves


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("board", [M4, M7])
def test_cycles_are_the_sum_that_an_independent_trace_gives(board: str, copy: Copy) -> None:
    machine = ideal(board)
    arguments = (0x2000_0000, 0x2000_0010, 2000)
    cycles, _ = expected(machine, module.PROGRAM, module.LOOPS[copy][0], arguments)
    assert defragment(one(2000, 16), machine, 0x2000_0000, copy).cycles_by_move == (cycles,)


@pytest.mark.parametrize(
    ("board", "copy", "cycles"),
    [
        (M7, "words", 2),  # LDR with CMP, STR with BNE: each pair in one cycle, DTCM answers in it
        (M4, "words", 5),  # LDR 1 (its second cycle hidden by STR), STR 1, CMP 1, BNE taken 2: found in decode
        (M4, "bytes", 7),  # LDRB 2 and STRB 2 by register offset, one hidden, ADDS 1, CMP 1, BNE taken 2
    ],
)
def test_cycles_a_turn_are_those_of_the_pipeline(board: str, copy: Copy, cycles: int) -> None:
    """The machine as it is: the loop lies in one line of flash, and the memory has no wait states."""
    machine, turn = load_machine(board), module.LOOPS[copy][1]
    small, large = (defragment(one(size), machine, copy=copy).cycles for size in (4096, 8192))
    assert large - small == cycles * 4096 // turn
    assert 0 < small - cycles * 4096 // turn < PER_CALL


def test_memory_on_the_bus_costs_its_latency_by_word_and_with_a_cache_by_line() -> None:
    """Six cycles for each word read; a line of eight words at most what its four beats take, and not nothing."""
    uncached = load_machine(NUCLEO, {"cache.data.size": "0 B"})
    cached = load_machine(NUCLEO)
    near, far, lines = (
        defragment(one(8192), machine, base).cycles
        for machine, base in ((cached, None), (uncached, SRAM1), (cached, SRAM1))
    )
    assert far - near == 6 * 8192 // 4
    assert 2 * 256 <= lines - near <= 2 * 256 * (6 + 3)  # source and target have 256 lines each
    twice = defragment(one(8192), cached.replace("memory.sram1.read_latency", "12 cycles"), SRAM1).cycles
    assert 0 < twice - lines <= 2 * 256 * 6


def test_caches_stay_warm_from_move_to_move() -> None:
    """Two KiB that the first move loaded into the cache are there for the second, and code is read from flash once."""
    first, again = defragment(one(2048) + one(2048), load_machine(NUCLEO), SRAM1).cycles_by_move
    assert 0 < again - 2048 // 4 * 2 < PER_CALL
    assert first - again > 2 * 64 * 2  # lines of source and target


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize(("board", "region"), [(M7, None), (M4, None), (M7, "sdram"), (M4, "sdram")])
def test_the_parts_sum_to_the_whole(board: str, region: str | None, copy: Copy) -> None:
    machine = load_machine(board)
    base = machine.memory[region].base if region else None
    moves = [*one(333, 3200, 1600), *one(64, 1984, 1600), *one(2000, 2048, 16), *one(1, 16)]
    steps: list[tuple[int, int]] = []
    found = defragment(moves, machine, base, copy, lambda *done: steps.append(done))
    assert found.cycles == sum(found.cycles_by_move) == sum(found.by_cause.values())
    assert found.seconds == found.cycles / machine.core.clock
    assert all(cycles > move.bytes // 4 for cycles, move in zip(found.cycles_by_move, moves, strict=True))
    assert steps == [(333, 2398), (397, 2398), (2397, 2398), (2398, 2398)] and found.bytes == 2398
    assert (found.moves, found.copy, found.memory.split("+")[0]) == (tuple(moves), copy, found_first(machine, region))
    assert set(found.by_cause) <= {"compute", "flash", "sram", "sdram"} and min(found.by_cause.values()) > 0
    assert ("sdram" in found.by_cause) == ("sdram" in found.traffic) == (region == "sdram")
    assert found == defragment(moves, machine, base, copy)


def found_first(machine: Machine, region: str | None) -> str:
    return region or ("sram1" if machine.core.isa == "cortex-m4" else "dtcm")


@pytest.mark.parametrize("region", [None, "sdram"])
def test_energy_is_power_by_time_and_bytes_by_what_a_byte_takes(region: str | None) -> None:
    machine = load_machine(M7)
    found = defragment(one(8192), machine, machine.memory[region].base if region else None)
    power = machine.power
    current = power.run + (power.sdram_active if region else 0)
    bytes = sum(t.total * power.energy_per_byte.get(name, 0) for name, t in found.traffic.items())
    waited = (found.by_cause.get("sdram", 0) + found.by_cause.get("sram", 0)) / machine.core.clock
    assert power.stalled is not None and bool(waited) == bool(region)
    saved = (power.run - power.stalled) * waited
    assert found.energy_mj == pytest.approx(1e3 * (power.supply * (current * found.seconds - saved) + bytes))
    assert bool(bytes) == bool(region) and power.sdram_active > 0
    assumed = "\n".join(found.assumptions)
    assert "power.run" in assumed and "move_words" in assumed and "cache.data.replacement" in assumed
    assert ("power.sdram_active" in assumed) == ("memory.sdram." in assumed) == bool(region)


def test_moves_of_random_buffers_arrive() -> None:
    """Overlaps by all but 16 B, sizes of any kind: defragment() compares every byte itself."""
    for seed in range(8):
        source = random.Random(seed)
        blocks = [
            ArenaBlock(source.randrange(1, 400), first, first + source.randrange(3))
            for first in (source.randrange(10) for _ in range(20))
        ]
        moves = dynamic(blocks)
        found = defragment(moves.moves, load_machine(NUCLEO), copy=source.choice(COPIES))
        assert found.bytes == moves.moved_bytes and len(found.cycles_by_move) == len(moves.moves)


def test_bytes_that_do_not_arrive_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.LOOPS, "bytes", ("move_words", 1))
    with pytest.raises(RuntimeError, match="did not arrive"):
        defragment(one(6), load_machine(NUCLEO), copy="bytes")
    monkeypatch.setitem(module.LOOPS, "bytes", ("main", 1))
    with pytest.raises(RuntimeError, match="did not arrive"):
        defragment(one(6), load_machine(NUCLEO), copy="bytes")


def test_a_byte_next_to_the_moves_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = module._make

    def next_to(emulator, move, function, base, memory, random, unit):  # type: ignore[no-untyped-def]
        made(emulator, move, function, base, memory, random, unit)
        emulator.write(base + move.target + move.bytes, bytes([memory[move.target + move.bytes] ^ 1]))

    monkeypatch.setattr(module, "_make", next_to)
    with pytest.raises(RuntimeError, match="outside of what it had to move"):
        defragment(one(8), load_machine(NUCLEO))


def test_person_detection() -> None:
    """Liberis & Lane 2019, Table 1: 9 ms and 7 mJ more with the dynamic allocator, the whole board measured.

    A move reads and writes each byte once: 213,380 B, in words 213,384 B. The copies alone take a twentieth of the 9 ms
    by words, and a good quarter by bytes, which is how the paper's allocator copies.
    """
    moves, machine = person_detection(), load_machine(NUCLEO)
    words, bytes = (defragment(moves, machine, copy=copy) for copy in COPIES)
    assert (len(moves), words.bytes) == (29, 213_380)
    assert (words.traffic["dtcm"].core_read, words.traffic["dtcm"].core_write) == (213_384, 213_384)
    assert words.cycles == pytest.approx(213_384 // 4 * 2, abs=29 * PER_CALL)
    assert bytes.cycles == pytest.approx(213_380 * 2.5, rel=0.01)
    assert (1e3 * words.seconds, words.energy_mj) == (pytest.approx(0.50, abs=0.01), pytest.approx(0.15, abs=0.01))
    assert (1e3 * bytes.seconds, bytes.energy_mj) == (pytest.approx(2.48, abs=0.01), pytest.approx(0.74, abs=0.01))


@pytest.mark.parametrize("board", [M4, M7])
def test_the_program_of_the_loops_checks_them(board: str) -> None:
    printed: list[bytes] = []
    machine = load_machine(board)
    ended = emulate(program_path(module.PROGRAM, machine.core.isa), machine, output=printed.append)
    assert ended.exit_status == 0 and b"".join(printed).endswith(b"moves: ok\n")


@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("copy", COPIES)
def test_a_loop_lies_in_one_line_of_flash(isa: str, copy: Copy) -> None:
    """Of the shortest lines, 16 B: its cycles are then those of the copy, wherever the linker has put the function."""
    image = load_image(program_path(module.PROGRAM, isa))
    start, size = image.symbol(module.LOOPS[copy][0]).address & ~1, image.symbol(module.LOOPS[copy][0]).size
    segment = next(s for s in image.segments if s.address <= start < s.end)
    block = Decoder().decode(segment.data[start - segment.address :][:size], start)
    last = next(i for i in block if i.branches and i.target is not None and start <= i.target < i.address)
    assert last.target // 16 == (last.end - 1) // 16


def test_no_moves_cost_nothing() -> None:
    found = defragment([], load_machine(NUCLEO))
    assert (found.cycles, found.bytes, found.seconds, found.energy_mj, dict(found.by_cause)) == (0, 0, 0, 0, {})


def test_buffers_to_the_last_byte() -> None:
    """The stack of a loop that needs one is then in another memory; without one it does not fit."""
    machine = load_machine(NUCLEO)
    end = 512 << 10
    assert defragment(one(4096, end - 4096), machine, copy="bytes").traffic["itcm"].core_write == 8
    rest = {name: region for name, region in machine.memory.items() if name != "itcm"}
    with pytest.raises(DoesNotFit, match="the stack of the copy loop does not fit dtcm"):
        defragment(one(4096, end - 4096), replace(machine, memory=rest))
    with pytest.raises(DoesNotFit) as error:
        defragment(one(4095, end - 4092), machine)
    assert str(error.value) == (
        "the range in which the buffers move does not fit dtcm+sram1+sram2: needs 524,292 B, 524,288 B available"
        " (4 B too many)"
    )
    with pytest.raises(DoesNotFit, match=r"fit sram1\+sram2: needs 393,217 B, 393,216 B available"):
        defragment(one(1, 0x6_0000), machine, SRAM1, "bytes")


REFUSED: list[tuple[list[BufferMove], int | None, str, str]] = [
    (one(4), None, "lines", "copy = 'lines': must be one of words, bytes"),
    (
        one(4),
        0x0800_0000,
        "words",
        "base = 0x08000000: must be a multiple of 16 in writable memory of nucleo-f767zi: itcm",
    ),
    (one(4), 0x2000_0008, "words", "base = 0x20000008: must be a multiple of 16"),
    (one(4, 16, 16), None, "words", "move 0 of block 0 from offset 16 to 16, 4 B: a move goes down"),
    (one(4, 16, 32), None, "words", "goes down"),
    (one(4, 16, -16), None, "words", "to 0 or more"),
    (one(0), None, "words", "at least 1 B"),
    (
        one(4, 18),
        None,
        "words",
        "move 0 of block 0 from offset 18 to 0, 4 B: by words the offsets must be multiples of 4",
    ),
    (one(4) + one(4, 16, 5), None, "words", "move 1 of block 0 from offset 16 to 5, 4 B: by words"),
]


@pytest.mark.parametrize(("moves", "base", "copy", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(moves: list[BufferMove], base: int | None, copy: Copy, text: str) -> None:
    with pytest.raises(UsageError) as error:
        defragment(moves, load_machine(NUCLEO), base, copy)
    assert text in str(error.value)


def test_bytes_may_move_by_any_distance() -> None:
    found: Defragmentation = defragment(one(5, 18, 17), load_machine(NUCLEO), copy="bytes")
    assert found.cycles > 5


def test_a_machine_without_the_loops_memory() -> None:
    machine = load_machine(NUCLEO, {"memory.flash.base": "0x09000000"})
    with pytest.raises(ImageError, match="is not inside the memory of nucleo-f767zi"):
        defragment(one(4), machine)
