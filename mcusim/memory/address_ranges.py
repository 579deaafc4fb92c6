"""The address ranges of a running program: the region of each, how it is cached, what is allowed there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.memory import state_layout as L

Access = Literal["none", "ro", "rw"]


@dataclass(frozen=True, slots=True)
class Range:
    """Addresses ``low`` to below ``high`` of the machine's region ``region``.

    ``alias``: they are one of the region's aliases. ``attribute``: 0 uncached, 1 write-through, 2 write-back.
    ``allocate``: a write miss of write-back memory fills a line. ``device``: Device or Strongly-ordered memory.
    ``watched``: the first access is noted. ``programs``: stores go to the controller of the flash.
    """

    low: int
    high: int
    region: str
    alias: bool = False
    attribute: int = 0
    allocate: bool = True
    device: bool = False
    executable: bool = True
    access: Access = "rw"
    watched: bool = False
    programs: bool = False

    @property
    def flags(self) -> int:
        """The flags of :mod:`mcusim.memory.state_layout`."""
        allowed = {"none": 0, "ro": L.READ, "rw": L.READ | L.WRITE}[self.access]
        watched = L.WATCHED * self.watched | L.PROGRAMS * self.programs
        return allowed | L.DEVICE * self.device | L.EXECUTE * self.executable | L.ALLOCATE * self.allocate | watched


@dataclass(frozen=True, slots=True)
class Bytes:
    """Where the host has what is at addresses ``base`` to below ``end``: the first byte as the core sees it, in memory;
    for a sanitizer the writers of both, and those that the program means (0: none is at work); for a watched firmware
    the last stores, the handlers that made them, and flags of lines (:mod:`mcusim.memory.race_detector`)."""

    base: int
    end: int
    view: int
    memory: int
    seen: int = 0
    stored: int = 0
    meant: int = 0
    stores: int = 0
    handled: int = 0
    lines: int = 0

    def words(self) -> tuple[int, ...]:
        """As a range record has them, for address 0."""
        writers = (at and at - 2 * self.base for at in (self.seen, self.stored, self.meant))
        notes = zip((self.stores, self.handled, self.lines), (self.base, self.base, self.base >> 5 << 3), strict=True)
        watched = (at and at - first for at, first in notes)
        return (self.view - self.base, self.memory - self.base, *writers, *watched)


def set_range(state: Any, q: int, range_: Range, block: int, contents: Sequence[Bytes] = ()) -> None:
    """Write ``range_`` as the range record at ``q``; ``contents``: all bytes that the host has."""
    kind = state[block + L.KIND]
    immediate = kind == L.SRAM and state[block + L.LATENCY_R] == state[block + L.LATENCY_W] == 0
    uncached = range_.attribute == 0 or state[L.DATA_AT] == 0
    free = L.FREE if kind == L.TCM or (immediate and uncached) else 0
    held = next((content.words() for content in contents if content.base <= range_.low < content.end), (0,) * 8)
    state[q : q + L.RANGE] = (range_.low, range_.high, block, range_.attribute, range_.flags | free, *held)


def install(
    state: Any, ranges: Sequence[Range], blocks: dict[tuple[str, bool], int], contents: Sequence[Bytes] = ()
) -> None:
    """Make ``ranges`` the ones that the native functions of ``state`` use; ``blocks``: (region, alias) -> block.

    Raises UsageError when they overlap or there are more than ``MAX_RANGES``. What caches contain stays there.
    """
    ordered = sorted(ranges, key=lambda entry: entry.low)
    if not 0 < len(ordered) <= L.MAX_RANGES:
        raise UsageError(f"{len(ordered)} address ranges: at least one and at most {L.MAX_RANGES} are supported")
    for below, above in pairwise(ordered):
        if above.low < below.high:
            raise UsageError(f"address ranges overlap at 0x{above.low:08X} ({below.region} and {above.region})")
    base = int(state[L.ROOM])
    for k, item in enumerate(ordered):
        set_range(state, base + k * L.RANGE, item, blocks[item.region, item.alias], contents)
    state[L.RANGE_BASE], state[L.RANGES] = base, len(ordered)
    state[L.FOUND : L.FOUND + L.FOUNDS] = base
    state[L.CODE_LOW] = state[L.CODE_HIGH] = 0
    state[L.AGAIN] = -1


def machine_ranges(machine: Machine) -> list[Range]:
    """The ranges of a machine as its file sets them up (``attribute``), by address; a TCM is never cached, nor is an
    alias that is a port of its own."""
    ranges = []
    for region in machine.memory.values():
        for base in (region.base, *region.aliases):
            alias = base != region.base
            fixed = region.kind == "tcm" or (alias and region.alias_port)
            attribute = 0 if fixed else L.ATTRIBUTES[region.attribute]
            access: Access = "rw" if region.writable else "ro"
            device = region.attribute == "device"
            ranges.append(Range(base, base + region.size, region.name, alias, attribute, device=device, access=access))
    return sorted(ranges, key=lambda item: item.low)


def guarded(ranges: Sequence[Range], written: Sequence[tuple[int, int]]) -> list[Range]:
    """``ranges`` with every byte read-only except ``written``, pairs of first address and end, wherever they lie."""
    result: list[Range] = []
    for range_ in ranges:
        inside = [(max(range_.low, low), min(range_.high, high)) for low, high in written]
        cuts = sorted({range_.low, range_.high, *(c for low, high in inside if low < high for c in (low, high))})
        for low, high in pairwise(cuts):
            open_ = range_.access == "rw" and any(a <= low and high <= b for a, b in inside)
            access: Access = "rw" if open_ else "ro"
            if result and result[-1].high == low and result[-1].access == access and result[-1].region == range_.region:
                result[-1] = replace(result[-1], high=high)
            else:
                result.append(replace(range_, low=low, high=high, access=access))
    return result
