"""Pools of memory and the address ranges in use.

A pool is a run of contiguous regions used as one: on the STM32F746, DTCM, SRAM1 and SRAM2 from 0x2000_0000. A
:class:`Layout` hands out address ranges of a machine's pools, lowest address first, and refuses with DoesNotFit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mcusim.errors import DoesNotFit, UsageError
from mcusim.machine.description import Machine, Region
from mcusim.plan.allocators.greedy import align_up
from mcusim.program.program import Span

__all__ = ["Layout", "Pool", "largest_region", "region_pool", "span_at", "split_by_region", "sram_pool"]


@dataclass(frozen=True, slots=True)
class Pool:
    """``size`` bytes from ``base``; ``name`` joins the regions' names with ``+``."""

    name: str
    base: int
    size: int

    @property
    def end(self) -> int:
        return self.base + self.size


def sram_pool(machine: Machine, budget: int | None = None) -> Pool:
    """The largest run of contiguous on-chip data memory, cut to ``budget`` bytes.

    Data memory is every writable ``sram`` region and every ``tcm`` region the DMA reaches: that keeps out ITCM (not on
    the matrix) and the F4's CCM (data side only), as the TinyOps firmware did. Regions are joined at their base
    addresses; aliases are not used. Code and stack are not planned and nothing is reserved for them: code runs from
    flash, and the published figures count neither.

    Raises UsageError when there is no such memory or ``budget`` is larger than the pool.
    """
    runs: list[list[Region]] = []
    for region in sorted(machine.memory.values(), key=lambda r: r.base):
        if not region.writable or region.kind not in ("sram", "tcm") or (region.kind == "tcm" and not region.dma):
            continue
        if runs and runs[-1][-1].end == region.base:
            runs[-1].append(region)
        else:
            runs.append([region])
    if not runs:
        raise UsageError(f"machine {machine.name} has no on-chip SRAM for data")
    run = max(runs, key=lambda r: r[-1].end - r[0].base)
    pool = Pool("+".join(r.name for r in run), run[0].base, run[-1].end - run[0].base)
    if budget is None:
        return pool
    if budget > pool.size:
        raise UsageError(f"an SRAM budget of {budget:,} B is more than {pool.name} of {machine.name}: {pool.size:,} B")
    return Pool(pool.name, pool.base, budget)


def largest_region(machine: Machine, kind: str) -> Region | None:
    """The largest region of device kind ``kind``; None when the machine has none."""
    found = [r for r in machine.memory.values() if r.kind == kind]
    return max(found, key=lambda r: r.size) if found else None


def region_pool(machine: Machine, name: str) -> Pool:
    """The pool that is one region; UsageError for a name the machine does not have."""
    if name not in machine.memory:
        raise UsageError(f"machine {machine.name} has no region '{name}'; it has {', '.join(machine.memory)}")
    region = machine.memory[name]
    return Pool(region.name, region.base, region.size)


def span_at(machine: Machine, address: int, size: int) -> Span:
    """The span of ``size`` bytes at ``address``, named after the region of its first byte."""
    for region in machine.memory.values():
        if region.base <= address < region.end:
            return Span(region.name, address, size)
    raise ValueError(f"no region of {machine.name} at {address:#010x}")


def split_by_region(machine: Machine, span: Span) -> list[Span]:
    """``span`` in parts that each lie in one region; what is beyond the last region goes by its name."""
    named = machine.memory.get(span.region)
    if named is not None and named.base <= span.address < span.end <= named.end:
        return [span]
    found: list[Span] = []
    at = span.address
    while at < span.end:
        region = next((r for r in machine.memory.values() if r.base <= at < r.end), None)
        stop = span.end if region is None else min(span.end, region.end)
        found.append(Span(span.region if region is None else region.name, at, stop - at))
        at = stop
    return found


@dataclass(slots=True)
class Layout:
    """Address ranges in use. Ranges handed out never overlap."""

    machine: Machine
    taken: list[tuple[int, int]] = field(default_factory=list)

    def allocate(self, pool: Pool, size: int, align: int, what: str, parts: Mapping[str, int] | None = None) -> int:
        """Lowest free address in ``pool`` for ``size`` bytes, the sum of ``parts``; DoesNotFit names the pool, ``what``
        and the bytes."""
        address = align_up(pool.base, align)
        for start, end in sorted(self.taken):
            if start >= address + size:
                break
            if end > address:
                address = align_up(end, align)
        if address + size > pool.end:
            free = pool.size - sum(self._inside(pool.base, pool.end))
            raise DoesNotFit(pool.name, size, free if free < size else max(pool.end - address, 0), what, parts)
        if size:
            self.taken.append((address, address + size))
        return address

    def peak_bytes(self) -> dict[str, int]:
        """Bytes in use per region (those with any), in the machine's order."""
        used = {r.name: sum(self._inside(r.base, r.end)) for r in self.machine.memory.values()}
        return {name: size for name, size in used.items() if size}

    def _inside(self, base: int, end: int) -> Iterable[int]:
        return (max(0, min(e, end) - max(s, base)) for s, e in self.taken)
