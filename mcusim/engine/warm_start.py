"""Memory and data cache as an inference finds them that is not the first: old bytes, and an input just written.

The application has written the inputs through the data cache, so that some of their lines are dirty and not in memory
yet; other lines contain old bytes of buffers that the DMA is about to fill. How many of each is drawn from a seed.

Not modelled: lines of other data of the application, an instruction cache that is warm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.emulator.emulator import Emulator
from mcusim.memory.range_lookup import addresses_at
from mcusim.memory.state_layout import CacheState, MemoryState
from mcusim.program.program import Program, Span

if TYPE_CHECKING:
    from mcusim.engine.observer import Observer

_OLD = ("activation", "overlay", "scratch")


def old_bytes(emulator: Emulator, program: Program, seed: int) -> None:
    """Fill the program's buffers with bytes of the seed; the caller then writes inputs and constants."""
    rng = np.random.default_rng((seed, 0))
    for buffer in program.header.buffers:
        if buffer.kind in _OLD:
            emulator.write(buffer.span.address, rng.bytes(buffer.span.bytes))


def warm_cache(
    emulator: Emulator, program: Program, inputs: Sequence[Span], seed: int, observer: Observer | None
) -> None:
    """Put lines of the inputs, dirty, and of overlay buffers, clean, into the data cache.

    In every set the seed leaves some ways to the inputs, which are written upwards (a line displaced by a later one is
    in memory), and gives the others to overlays. Does nothing without a write-back data cache.
    """
    memory = emulator.memory.state
    cache = CacheState(memory, memory.data_cache_block)
    if memory.data_cache_block == 0 or not cache.write_back:
        return
    rng = np.random.default_rng((seed, 1))
    sets, ways, line = cache.sets, cache.ways, cache.line_bytes
    share = rng.integers(0, ways + 1, sets)  # ways of the inputs
    dirty: dict[int, list[int]] = {}
    for tag in _lines(memory, inputs, line):
        held = dirty.setdefault(tag % sets, [])
        held.append(tag)
        del held[: max(0, len(held) - int(share[tag % sets]))]
    old = _overlays(memory, program, line, set().union(*dirty.values()) if dirty else set())
    rng.shuffle(old)
    for index in range(sets):
        own = [(tag, 1) for tag in dirty.get(index, [])]
        clean = [(tag, 0) for tag in old if tag % sets == index][: ways - len(own)]
        for way, (tag, is_dirty) in enumerate(own + clean):
            cache_line = cache.lines[index * ways + way]
            cache_line.tag, cache_line.age, cache_line.dirty = tag, way, is_dirty
            if is_dirty:
                _only_in_the_cache(emulator, inputs, tag * line, line, rng, observer)
    cache.clock = ways


def _cached(memory: MemoryState, tag: int, line: int) -> bool:
    addresses = addresses_at(memory, tag * line)
    return addresses is not None and addresses.attribute == 2 and addresses.core_view != addresses.memory


def _lines(memory: MemoryState, spans: Sequence[Span], line: int) -> Iterator[int]:
    for span in spans:
        for tag in range(span.address // line, -(-span.end // line)):
            if _cached(memory, tag, line):
                yield tag


def _overlays(memory: MemoryState, program: Program, line: int, taken: set[int]) -> list[int]:
    spans = [buffer.span for buffer in program.header.buffers if buffer.kind == "overlay"]
    return sorted(set(_lines(memory, spans, line)) - taken)


def _only_in_the_cache(
    emulator: Emulator, inputs: Sequence[Span], first: int, line: int, rng: Any, observer: Observer | None
) -> None:
    """The inputs' bytes of a line are not in memory yet: older ones are."""
    for span in inputs:
        low, high = max(span.address, first), min(span.end, first + line)
        if low < high:
            emulator.behind.write(low, rng.bytes(high - low))
            if observer is not None:
                observer.unstored(low, high - low)
