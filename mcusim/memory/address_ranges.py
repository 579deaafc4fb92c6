"""The address ranges of a running program: the region of each, how it is cached, what is allowed there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import AddressRange, MemoryState, RegionState

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

    def fill(self, addresses: AddressRange) -> None:
        """Let ``addresses`` say it, for address 0."""
        addresses.core_view, addresses.memory = self.view - self.base, self.memory - self.base
        addresses.seen, addresses.stored, addresses.meant = (
            first and first - 2 * self.base for first in (self.seen, self.stored, self.meant)
        )
        addresses.stores = self.stores and self.stores - self.base
        addresses.handled = self.handled and self.handled - self.base
        addresses.lines = self.lines and self.lines - (self.base >> 5 << 3)


def set_range(addresses: AddressRange, range_: Range, block: int, contents: Sequence[Bytes] = ()) -> None:
    """Let ``addresses``, in the state of a memory, be ``range_``; ``contents``: all bytes that the host has."""
    memory = MemoryState(addresses.array)
    region = RegionState(memory, block)
    immediate = region.kind == L.SRAM and region.read_latency == region.write_latency == 0
    uncached = range_.attribute == 0 or memory.data_cache_block == 0
    addresses.low, addresses.high, addresses.region = range_.low, range_.high, block
    addresses.attribute = range_.attribute
    addresses.flags = range_.flags | (L.FREE if region.kind == L.TCM or (immediate and uncached) else 0)
    addresses.zero(AddressRange.core_view, AddressRange.lines)
    for content in contents:
        if content.base <= range_.low < content.end:
            content.fill(addresses)
            break


def install(
    memory: MemoryState, ranges: Sequence[Range], blocks: dict[tuple[str, bool], int], contents: Sequence[Bytes] = ()
) -> None:
    """Make ``ranges`` the ones that the native functions of ``memory`` use; ``blocks``: (region, alias) -> block.

    Raises UsageError when they overlap or there are more than ``MAX_RANGES``. What caches contain stays there.
    """
    ordered = sorted(ranges, key=lambda entry: entry.low)
    if not 0 < len(ordered) <= L.MAX_RANGES:
        raise UsageError(f"{len(ordered)} address ranges: at least one and at most {L.MAX_RANGES} are supported")
    for below, above in pairwise(ordered):
        if above.low < below.high:
            raise UsageError(f"address ranges overlap at 0x{above.low:08X} ({below.region} and {above.region})")
    for k, item in enumerate(ordered):
        addresses = AddressRange(memory, memory.room + k * AddressRange.WORDS)
        set_range(addresses, item, blocks[item.region, item.alias], contents)
    memory.first_range, memory.ranges = memory.room, len(ordered)
    for i in range(L.RECENT_RANGES):
        memory.recent_ranges[i] = memory.room
    memory.free_code_low = memory.free_code_high = 0
    memory.last_block = -1


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
