"""What a task does to the memory when it begins: a kernel call, cache maintenance, or a DMA transfer; and how long it
takes alone."""

from __future__ import annotations

from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled.layout import EngineState, TaskState
from mcusim.kernels.cost.counted.call_streams import play_images
from mcusim.memory.dma import undisturbed
from mcusim.memory.kept_streams import play, record
from mcusim.memory.ports.maintenance import maintain_range
from mcusim.memory.ports.replay import fetch, sync
from mcusim.memory.state_layout import LAST_TICK, TICK, RegionStates, TransferState
from mcusim.memory.system import FIGURES, AccessStats
from mcusim.native.functions import native
from mcusim.native.structs import Words

STALL = AccessStats._fields.index("stall")  # up to here the figures are those of a block's first counters
WAITED, FETCHED, SPARED = FIGURES[STALL + 1 :]
_WORDS = TransferState.WORDS


@native
def snapshot(engine: EngineState) -> None:
    """Every counter as it is now."""
    for block in range(engine.blocks):
        counters = Words(RegionStates(engine.memory, engine.first_block).records[block], E.FIRST_COUNTER)
        before = Words(engine.before, block * E.COUNTED)
        for i in range(E.COUNTED):
            before[i] = counters[i]


@native
def measured(engine: EngineState, index: int) -> None:
    """What the task of that index asked of each region since :func:`snapshot`."""
    for block in range(engine.blocks):
        counters = Words(RegionStates(engine.memory, engine.first_block).records[block], E.FIRST_COUNTER)
        before = Words(engine.before, block * E.COUNTED)
        stats = Words(engine.stats, (index * engine.regions + engine.region_of[block]) * E.STATS)
        for i in range(E.COUNTED):
            if counters[i] != before[i]:
                stats[E.STATS - 1] = 1
        for i in range(STALL + 1):
            stats[i] += counters[i] - before[i]
        stats[STALL + 1] += counters[WAITED] - before[WAITED]
        stats[STALL + 2] += counters[FETCHED] - before[FETCHED]
        stats[STALL + 3] += counters[SPARED] - before[SPARED]
    if engine.memory.now < 0 or engine.memory.now >= LAST_TICK:
        engine.failed = 1


@native
def data_accesses(engine: EngineState, task: TaskState) -> None:
    """Those of a kernel call, recorded perhaps, or what was recorded of them."""
    memory, kept = engine.memory, engine.kept
    if kept and not kept.film:
        play.play_call(memory, kept, engine.next_kept)
        engine.next_kept += 1
        return
    if kept:
        record.begin(memory, kept)
    play_images(engine.calls.records[task.call], task.streams, task.images, task.input_step, task.output_step)
    if kept:
        record.end(memory, kept)


@native
def maintenance(engine: EngineState, task: TaskState) -> int:
    """What cache maintenance writes back, recorded perhaps, or what was recorded of it: the ticks that takes."""
    memory, kept = engine.memory, engine.kept
    if kept and not kept.film:
        engine.next_kept += 1
        return play.play_maintenance(memory, kept, engine.next_kept - 1)
    if kept:
        record.begin(memory, kept)
    ticks = maintain_range(memory, task.source, task.bytes, task.clean, task.invalidate)
    if kept:
        record.end(memory, kept)
    return ticks


@native
def watched_call(engine: EngineState, index: int) -> None:
    """The accesses of a kernel call, with the stalls of each of its operands."""
    memory, task = engine.memory, engine.tasks.records[index]
    memory.operand_count = task.operand_count
    for i in range(task.operand_count):
        operand = engine.operands.records[task.operand + i]
        memory.operands[i].low, memory.operands[i].high, memory.operands[i].stall = operand.low, operand.high, 0
    snapshot(engine)
    fetch(memory, task.sweep)
    data_accesses(engine, task)
    measured(engine, index)
    for i in range(task.operand_count):
        engine.operands.records[task.operand + i].stall = memory.operands[i].stall


@native
def compute(engine: EngineState, index: int) -> None:
    """A kernel call: its cycles by cause."""
    task = engine.tasks.records[index]
    task.alone = task.compute + task.overhead
    if task.opaque:
        return
    sync(engine.memory, engine.now * TICK, engine.first_block, engine.blocks)
    watched_call(engine, index)
    for region in range(engine.regions):
        stats = Words(engine.stats, (index * engine.regions + region) * E.STATS)
        cause = engine.cause_of[region]
        ticks = engine.carried[cause] + stats[STALL]
        engine.carried[cause] = ticks % TICK
        task.waits[cause] += ticks // TICK
        task.alone += ticks // TICK


@native
def maintain(engine: EngineState, index: int) -> None:
    """Cache maintenance."""
    memory, task = engine.memory, engine.tasks.records[index]
    if memory.data_cache == 0:
        return
    sync(memory, engine.now * TICK, engine.first_block, engine.blocks)
    snapshot(engine)
    ticks = maintenance(engine, task)
    measured(engine, index)
    task.alone = -(-(ticks + task.line_ticks) // TICK)


@native
def transfer(engine: EngineState, index: int) -> None:
    """A DMA transfer."""
    memory, task = engine.memory, engine.tasks.records[index]
    sync(memory, engine.now * TICK, engine.first_block, engine.blocks)
    alone, template = Words(memory.lone_transfer, 0), Words(engine.ports.records[task.port], 0)
    for i in range(_WORDS):
        alone[i] = template[i]
    lone = memory.lone_transfer
    lone.read_address = lone.write_source = task.source
    lone.unread = lone.unwritten = task.bytes
    lone.write_address = task.target
    snapshot(engine)
    ticks = undisturbed.transfer(memory)
    measured(engine, index)
    task.alone = -(-ticks // TICK)
