"""What the dynamic allocator's moves cost: a compiled copy loop on the emulated core, through the memory system.

Not modelled: the operators between the moves (what they leave in the caches), and the allocator's own work: finding the
buffers, the call itself, and correcting the pointers to what has moved.

Source of the byte loop: eliberis/tensorflow, lite/experimental/micro/allocator_utils.cc, MoveBuffers, the allocator of
Liberis and Lane 2019, which has a library's memmove on a host only; Mbed compiles for size by default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcusim.errors import DoesNotFit, UsageError
from mcusim.machine.description import DeviceKind, Machine
from mcusim.plan.allocators import BufferMove
from mcusim.plan.allocators.greedy import align_up
from mcusim.plan.pools import Pool, sram_pool
from mcusim.results.assumptions import machine_assumptions
from mcusim.results.energy import Usage, delivered, waiting
from mcusim.results.hot_spots import whole
from mcusim.results.memory_plan import COPIES, Copy, Defragmentation

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator

SEED = 0
PROGRAM = "moves"
STACK = 64  # bytes: a guard of 32, and two words that a loop pushes
PER_BYTE, AT_LEAST = 16, 1000  # instructions a call may take


LOOPS: dict[Copy, tuple[str, int]] = {"words": ("move_words", 4), "bytes": ("move_bytes", 1)}  # bytes a turn


def defragment(
    moves: Sequence[BufferMove],
    machine: Machine,
    base: int | None = None,
    copy: Copy = "words",
    progress: Callable[[int, int], object] | None = None,
) -> Defragmentation:
    """Cycles and energy of ``moves``, made one after the other on ``machine``.

    ``base`` is the address of offset 0: the first of :func:`~mcusim.plan.pools.sram_pool` by default; that of any
    writable region (``machine.memory["sdram"].base``) prices the same moves there. Each move is one call of a compiled
    loop, lowest byte first: ``words`` loads and stores a word a turn, as a library does (sizes are rounded up to a
    multiple of 4), ``bytes`` a byte a turn, compiled for size, as the allocator of Liberis and Lane does on an Arm
    core. The data are seeded random bytes; that all of them arrive is checked. All moves run in one emulator, so that
    caches and branch predictor stay warm from move to move. Energy is :func:`~mcusim.results.energy.delivered`.
    ``progress`` is called with the bytes moved and all there are, after each move.

    Raises UsageError for another ``copy``, a ``base`` outside writable memory or not a multiple of 16, and for a move
    that goes upwards or, by words, to or from an offset that 4 does not divide; DoesNotFit when the moves' bytes, or
    64 B of stack next to them, do not fit; ImageError for a machine without the memory that the loops are linked to
    (flash at 0x0800_0000, RAM at 0x2000_0000). Not modelled: the operators between the moves: here a move finds its
    source in the data cache only where the move before left it. Not modelled: the allocator's own work too.
    """
    if copy not in COPIES:
        raise UsageError(f"copy = {str(copy)[:80]!r}: must be one of {', '.join(COPIES)}")
    loop, unit = LOOPS[copy]
    _check(moves, unit)
    pool = _pool(machine, base)
    extent = max((move.source + align_up(move.bytes, unit) for move in moves), default=0)
    if extent > pool.size:
        raise DoesNotFit(pool.name, extent, pool.size, "the range in which the buffers move")
    still = delivered(machine, Usage(0.0))
    if not moves:
        return Defragmentation(machine, copy, pool.base, pool.name, (), (), {}, {}, still)
    emulator, cycles = _moved(moves, machine, pool.base, extent, copy, progress)
    blank = Defragmentation(machine, copy, pool.base, pool.name, tuple(moves), cycles, {}, {}, still)
    return _counted(blank, emulator, loop)


def _counted(moved: Defragmentation, emulator: Emulator, loop: str) -> Defragmentation:
    """``moved`` with what the emulator counted meanwhile."""
    from mcusim.engine.run import Traffic  # slow to import, as the emulator is

    machine = moved.machine
    traffic = Traffic.by_region(emulator.memory.by_region())
    kinds: tuple[DeviceKind, ...] = ("sdram", "qspi")
    external = [kind for kind in kinds if any(machine.memory[name].kind == kind for name in traffic)]
    crossed = {name: t.total for name, t in traffic.items()}
    causes = _causes(emulator, moved.cycles)
    usage = Usage(moved.seconds, external, crossed, waited=waiting(causes) / machine.core.clock)
    return replace(
        moved,
        by_cause=causes,
        traffic=traffic,
        energy=delivered(machine, usage),
        assumptions=(*machine_assumptions(machine, traffic, False, energy=True), *_own(loop)),
    )


def _own(loop: str) -> tuple[str, ...]:
    return (
        f"moves: the loop {loop}, run from flash, represents the allocator's copy (assumed)",
        "moves: one after the other; what the operators between them leave in the caches is not modelled (assumed)",
    )


def _check(moves: Sequence[BufferMove], unit: int) -> None:
    for i, move in enumerate(moves):
        where = f"move {i} of block {move.block} from offset {move.source} to {move.target}, {move.bytes} B"
        if not 0 <= move.target < move.source or move.bytes < 1:
            raise UsageError(f"{where}: a move goes down, to 0 or more, and has at least 1 B")
        if move.source % unit or move.target % unit:
            raise UsageError(f"{where}: by words the offsets must be multiples of {unit}; copy by bytes")


def _pool(machine: Machine, base: int | None) -> Pool:
    """Where the moves may happen: from ``base`` to the end of the writable regions that follow without a gap."""
    if base is None:
        return sram_pool(machine)
    writable = sorted((r for r in machine.memory.values() if r.writable), key=lambda r: r.base)
    inside = [r for r in writable if r.base <= base < r.end]
    if not inside or base % 16:
        has = ", ".join(f"{r.name} at {r.base:#010x}, {r.size:,} B" for r in writable)
        raise UsageError(f"base = {base:#010x}: must be a multiple of 16 in writable memory of {machine.name}: {has}")
    names, end = [inside[0].name], inside[0].end
    for region in writable:
        if region.base == end:
            names.append(region.name)
            end = region.end
    return Pool("+".join(names), base, end - base)


def _moved(
    moves: Sequence[BufferMove],
    machine: Machine,
    base: int,
    extent: int,
    copy: Copy,
    progress: Callable[[int, int], object] | None,
) -> tuple[Emulator, tuple[int, ...]]:
    """Make all moves; the emulator afterwards, and the cycles of each."""
    import numpy as np

    from mcusim.emulator.emulator import Emulator
    from mcusim.engine.free_memory import free_place
    from mcusim.image.image import load_image
    from mcusim.kernels.test_programs import program_path

    loop, unit = LOOPS[copy]
    image = load_image(program_path(PROGRAM, machine.core.isa))
    stack = free_place(machine, [(base, base + extent)], STACK, "the stack of the copy loop")
    emulator = Emulator(machine)
    emulator.load(image, as_started=True)
    random = np.random.default_rng(SEED)
    memory = bytearray(random.bytes(extent))
    emulator.write(base, bytes(memory))
    function, done, total = image.symbol(loop).address & ~1, 0, sum(move.bytes for move in moves)
    cycles = [0]
    for move in moves:
        emulator.set_stack(stack.end, stack.address)
        _make(emulator, move, function, base, memory, random, unit)
        cycles.append(emulator.cycles)
        done += move.bytes
        if progress is not None:
            progress(done, total)
    if emulator.read(base, extent) != memory:
        raise RuntimeError(f"{loop} wrote outside of what it had to move")
    return emulator, tuple(end - start for start, end in pairwise(cycles))


def _make(
    emulator: Emulator, move: BufferMove, function: int, base: int, memory: bytearray, random: Any, unit: int
) -> None:
    """One move of new bytes, in the emulator and in ``memory``, which is what the emulator should have at ``base``."""
    size = align_up(move.bytes, unit)
    data = random.bytes(size)
    memory[move.source : move.source + size] = data
    emulator.write(base + move.source, data)
    emulator.call(function, (base + move.target, base + move.source, size))
    stop = emulator.run(AT_LEAST + PER_BYTE * size)
    memory[move.target : move.target + size] = data
    if stop.kind != "returned" or emulator.read(base + move.target, size) != data:
        raise RuntimeError(f"{move}: its bytes did not arrive ({stop.kind})")


def _causes(emulator: Emulator, cycles: int) -> dict[str, int]:
    """``cycles`` by what the core waited for; the rest is ``compute``. Whole numbers that sum to them."""
    from mcusim.memory.state_layout import TICK
    from mcusim.memory.system import CAUSE

    waits: dict[str, float] = {}
    for name, count in emulator.memory.by_region().items():
        cause = CAUSE[emulator.machine.memory[name].kind]
        waits[cause] = waits.get(cause, 0) + count["stall"] / TICK
    exact = {"compute": cycles - sum(waits.values()), **waits}
    counts = dict(zip(exact, whole(exact.values(), cycles), strict=True))
    return {cause: count for cause, count in counts.items() if count}
