"""What the native side writes down of a watched firmware (:mod:`mcusim.memory.race_detector`), and the arrays for it.

Not modelled: memory that cannot be written, and bytes that the host or a peripheral other than a DMA puts into memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcusim.emulator.emulator import Emulator
from mcusim.memory.address_ranges import Bytes
from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.layout import WatchState
from mcusim.native.structs import address_of


@dataclass(frozen=True, slots=True)
class Report:
    """One thing that the native side saw, ``times`` times; ``now`` in ticks, writers as numbers."""

    kind: int
    pc: int
    code: int
    low: int
    high: int
    wanted: int
    seen: int
    stored: int
    held: int
    now: int
    other: int
    place: int
    times: int
    callers: tuple[int, ...] = ()


class Shadow:
    """The writers of every byte of ``emulator``'s memory, from now on."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
        self.watch = WatchState(np.zeros(WatchState.WORDS, np.int64))
        self._arrays: dict[int, dict[str, Any]] = {}
        memory = emulator.memory
        for region in emulator.machine.memory.values():
            if region.writable:
                own = next(content for content in memory.contents if content.base == region.base)
                arrays = self._made(region.size, own.view == own.memory, region.kind == "tcm")
                self._arrays |= dict.fromkeys((region.base, *region.aliases), arrays)
        memory.contents = [self._with_arrays(content) for content in memory.contents]
        emulator.install_ranges(None)
        self.watch.exceptions = address_of(emulator.interrupts.state)
        self.watch.writer = memory.state.task = W.BY_CORE
        memory.state.watch = self.watch

    def _made(self, size: int, same: bool, uncached: bool) -> dict[str, Any]:
        seen = np.zeros(size, np.uint16)
        cache = self._emulator.machine.data_cache
        lines = cache is not None and cache.size and not uncached
        return {
            "seen": seen,
            "stored": seen if same else np.zeros(size, np.uint16),
            "meant": np.zeros(size, np.uint16),
            "stores": np.zeros(-(-size // 4), np.uint32),
            "handled": np.zeros(size, np.uint8),
            "lines": np.zeros((size >> W.CACHE_LINE) + 1, np.uint64) if lines else None,
        }

    def _with_arrays(self, content: Bytes) -> Bytes:
        arrays = self._arrays.get(content.base)
        if arrays is None:
            return content
        return replace(content, **{name: 0 if a is None else int(a.ctypes.data) for name, a in arrays.items()})

    @property
    def reports(self) -> list[Report]:
        """What was seen so far, in order."""
        rows: list[list[Any]] = self.watch.reports.table(self.watch.report_count).tolist()
        return [replace(Report(*row), callers=tuple(int(caller) for caller in row[-1] if caller)) for row in rows]

    @property
    def lost(self) -> int:
        """How many reports found no room."""
        return self.watch.lost

    def newest(self, low: int, high: int) -> bytes:
        """Bytes ``low`` to below ``high`` of one region as they were written last, in the cache or in memory."""
        item = next(content for content in self._emulator.memory.contents if content.base <= low < content.end)
        arrays, first, size = self._arrays[item.base], low - item.base, high - low
        view, memory = (np.frombuffer(ctypes.string_at(at + first, size), np.uint8) for at in (item.view, item.memory))
        in_view = arrays["seen"][first : first + size] == arrays["meant"][first : first + size]
        return bytes(np.where(in_view, view, memory))

    def written_by_core(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Bytes from ``low`` to below ``high`` that the core wrote last, after a transfer had begun: each with the
        instruction of the last store to its word."""
        for base, arrays in self._arrays.items():
            for at in range(max(low, base), min(high, base + len(arrays["meant"]))):
                store = int(arrays["stores"][(at - base) >> 2])
                if arrays["meant"][at - base] & W.BY_CORE and store & 1:
                    yield at, store & ~1

    def loads(self) -> Iterator[tuple[int, int, int, int]]:
        """Address, size, instruction and value of the main program's last loads, the latest first."""
        for k in range(1, W.LOOK_BACK + 1):
            load = self.watch.loads[(self.watch.next_load[0] - k) % W.LOOK_BACK]
            if load.size:
                yield load.address, load.size, load.pc, load.value

    def constant_stores(self, index: int) -> list[int]:
        """The instructions by which the handler of that record has stored one value always; none where it has not, or
        where there are more than a record has room for."""
        record = self.watch.handler_words[index]
        if not record.same or record.store_count > W.MOST_STORES:
            return []
        return [record.stores[i] for i in range(record.store_count)]

    def by_handler(self, address: int, size: int) -> int | None:
        """What the bytes are now, if a handler has stored to them last."""
        for base, arrays in self._arrays.items():
            if base <= address < base + len(arrays["meant"]):
                code = int(arrays["meant"][address - base])
                if code & W.BY_CORE and code & W.BY_HANDLER:
                    return int.from_bytes(self._emulator.core.peek(address, min(size, 4)) or b"", "little")
        return None

    def writer(self, address: int) -> int:
        """The instruction that last stored to the word of ``address``, 0 for none."""
        for base, arrays in self._arrays.items():
            if base <= address < base + len(arrays["meant"]):
                return int(arrays["stores"][(address - base) >> 2]) & ~1
        return 0
