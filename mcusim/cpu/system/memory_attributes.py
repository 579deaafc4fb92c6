"""How a running program sees the machine's memory: the ARMv7-M default map, and what the MPU makes of it.

A machine file's ``attribute`` says how a region was set up in what the file describes; here the address decides, and
the program's own MPU set-up.

Not modelled: the outer cache policy, the system address map of debuggers, bit-band aliases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from mcusim.cpu.system.mpu import Attributes, Mpu
from mcusim.machine.description import Machine
from mcusim.machine.description import Region as Memory
from mcusim.memory.address_ranges import Access, Range


def _normal(cache: int) -> Attributes:
    return Attributes(cache, cache == 2, False, True, "rw", "rw")


_DEVICE = Attributes(0, False, True, False, "rw", "rw")
_NONE = Attributes(0, False, False, False, "none", "none")
_WRITE_THROUGH, _WRITE_BACK = _normal(1), _normal(2)
_HALF_GIBIBYTE = 29
# Arm DDI0403 table B3-1, by half gibibyte; from 0xE000_0000 on the private peripheral bus and the vendor's
_DEFAULT_MAP = (_WRITE_THROUGH, _WRITE_BACK, _DEVICE, _WRITE_BACK, _WRITE_THROUGH, _DEVICE, _DEVICE, _DEVICE)


def default_attributes(address: int) -> Attributes:
    """The default memory map of ARMv7-M (Arm DDI0403 B3.1, table B3-1) at ``address``."""
    return _DEFAULT_MAP[address >> _HALF_GIBIBYTE]


def memory_ranges(machine: Machine, mpu: Mpu | None, privileged: bool = True) -> list[Range]:
    """The ranges of ``machine``'s memory, sorted, as a program sees them with ``mpu`` (None: off).

    Cut where the default map or an MPU region begins or ends; neighbours that agree are one. Ranges without access are
    there too. A TCM and an accelerated port of the flash are never cached.
    """
    windows = mpu.windows() if mpu is not None and mpu.enabled else []
    ranges: list[Range] = []
    for region in machine.memory.values():
        for base in (region.base, *region.aliases):
            ranges += _of_window(region, base, windows, mpu, privileged)
    return sorted(ranges, key=lambda item: item.low)


def watched(ranges: Iterable[Range], windows: Sequence[tuple[int, int]]) -> list[Range]:
    """``ranges``, with those that begin in one of ``windows`` (first address, end) watched."""
    return [replace(r, watched=True) if any(b <= r.low < end for b, end in windows) else r for r in ranges]


def _of_window(
    region: Memory, base: int, windows: list[tuple[int, int, Attributes]], mpu: Mpu | None, privileged: bool
) -> list[Range]:
    end = base + region.size
    cuts = {base, end} | {i << _HALF_GIBIBYTE for i in range(8)}
    cuts |= {border for low, high, _ in windows for border in (low, high)}
    borders = sorted(cut for cut in cuts if base <= cut <= end)
    ranges: list[Range] = []
    for low, high in pairwise(borders):
        seen = _attributes(low, windows, mpu, privileged)
        item = _range(region, base != region.base, low, high, seen, privileged)
        if ranges and _same(ranges[-1], item):
            item = _range(region, base != region.base, ranges.pop().low, high, seen, privileged)
        ranges.append(item)
    return ranges


def _attributes(
    address: int, windows: list[tuple[int, int, Attributes]], mpu: Mpu | None, privileged: bool
) -> Attributes:
    for low, high, attributes in reversed(windows):
        if low <= address < high:
            return attributes
    if mpu is not None and mpu.enabled and not (mpu.default_map and privileged):
        return _NONE
    return default_attributes(address)


def _range(region: Memory, alias: bool, low: int, high: int, seen: Attributes, privileged: bool) -> Range:
    allowed: Access = seen.privileged if privileged else seen.unprivileged
    cached = not (region.kind == "tcm" or (alias and region.alias_port))
    programs = allowed == "rw" and region.kind == "flash"
    if allowed == "rw" and not region.writable:
        allowed = "ro"
    return Range(
        low,
        high,
        region.name,
        alias,
        seen.cache if cached else 0,
        seen.allocate,
        seen.device,
        seen.executable and region.executable and allowed != "none",
        allowed,
        programs=programs,
    )


def _same(item: Range, other: Range) -> bool:
    def key(r: Range) -> tuple[object, ...]:
        return (r.region, r.alias, r.attribute, r.allocate, r.device, r.executable, r.access, r.programs)

    return item.high == other.low and key(item) == key(other)
