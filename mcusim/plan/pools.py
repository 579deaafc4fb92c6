"""Pools of memory and the address ranges in use.

A pool is a run of contiguous regions used as one: on the STM32F746, DTCM, SRAM1 and SRAM2 from 0x2000_0000. A
:class:`Layout` hands out address ranges of a machine's pools, lowest address first, and refuses with DoesNotFit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mcusim.errors import DoesNotFit, UsageError
from mcusim.machine.description import Machine, Region
from mcusim.plan.allocators.greedy import align_up
from mcusim.program.program import Span
from mcusim.units import quoted


@dataclass(frozen=True, slots=True)
class Pool:
    """``size`` bytes from ``base``; ``name`` joins the regions' names with ``+``; SDRAM is not ``on_chip``."""

    name: str
    base: int
    size: int
    on_chip: bool = True

    @property
    def end(self) -> int:
        return self.base + self.size

    def cut(self, budget: int | None) -> Pool:
        """At most ``budget`` bytes of it, from its base up."""
        return self if budget is None else replace(self, size=min(self.size, budget))


def data_pools(machine: Machine) -> list[Pool]:
    """On-chip data memories, each a run of contiguous regions: first the largest that the DMA reaches, then the others,
    the largest first.

    Every writable ``sram`` and ``tcm`` region is in one. A tightly coupled memory that the DMA does not reach (ITCM,
    the F4's CCM, the H7's DTCM) is a run apart from those that it does; aliases are not used. Code and stack are not
    planned and nothing is reserved for them: code runs from flash, and the published figures count neither.
    """
    reached, apart = (
        [_joined(run) for run in _runs([r for r in _data_regions(machine) if _reached(r) is by_dma])]
        for by_dma in (True, False)
    )
    first = sorted(reached, key=lambda pool: -pool.size)[:1]
    return first + sorted((pool for pool in (*reached, *apart) if pool not in first), key=lambda pool: -pool.size)


def sram_pool(machine: Machine, budget: int | None = None, dma: bool = False) -> Pool:
    """The first of :func:`data_pools`, cut to ``budget`` bytes; with ``dma`` it is one that the DMA reaches.

    Raises UsageError when there is no such memory or ``budget`` is larger than the pool.
    """
    pools = data_pools(machine)
    if not pools or (dma and not all(_reached(machine.memory[name]) for name in pools[0].name.split("+"))):
        which = "that a DMA reaches" if pools else "for data"
        raise UsageError(f"machine {machine.name} has no on-chip SRAM {which}")
    pool = pools[0]
    if budget is None:
        return pool
    if budget > pool.size:
        raise UsageError(f"an SRAM budget of {budget:,} B is more than {pool.name} of {machine.name}: {pool.size:,} B")
    return pool.cut(budget)


def room_for(machine: Machine, needed: int) -> Pool:
    """The first of :func:`data_pools` that has ``needed`` bytes, else the largest. Raises UsageError without any."""
    return next((pool for pool in data_pools(machine) if pool.size >= needed), None) or largest_pool(machine)


def largest_pool(machine: Machine) -> Pool:
    """The largest of :func:`data_pools`. Raises UsageError without any."""
    return max(data_pools(machine), key=lambda pool: pool.size, default=None) or sram_pool(machine)


def pool_with(machine: Machine, region: str) -> Pool:
    """The one of :func:`data_pools` that ``region`` belongs to, else the region alone."""
    pools = (pool for pool in data_pools(machine) if region in pool.name.split("+"))
    return next(pools, None) or region_pool(machine, region)


def _data_regions(machine: Machine) -> list[Region]:
    regions = [region for region in machine.memory.values() if region.writable and region.kind in ("sram", "tcm")]
    return sorted(regions, key=lambda region: region.base)


def _reached(region: Region) -> bool:
    """Whether the DMA reaches it; on the bus matrix it does, whatever a file says of single streams."""
    return region.kind == "sram" or region.dma


def _runs(regions: Iterable[Region]) -> list[list[Region]]:
    """Contiguous ones together; they come by their addresses."""
    runs: list[list[Region]] = []
    for region in regions:
        if runs and runs[-1][-1].end == region.base:
            runs[-1].append(region)
        else:
            runs.append([region])
    return runs


def _joined(run: list[Region]) -> Pool:
    return Pool("+".join(region.name for region in run), run[0].base, run[-1].end - run[0].base)


def largest_region(machine: Machine, kind: str) -> Region | None:
    """The largest region of device kind ``kind``; None when the machine has none."""
    regions = [r for r in machine.memory.values() if r.kind == kind]
    return max(regions, key=lambda r: r.size) if regions else None


def region_pool(machine: Machine, name: str) -> Pool:
    """The pool that is one region; UsageError for a name the machine does not have."""
    if name not in machine.memory:
        raise UsageError(f"machine {machine.name} has no region '{name}'; it has {', '.join(machine.memory)}")
    region = machine.memory[name]
    return Pool(region.name, region.base, region.size, region.kind != "sdram")


def data_region(machine: Machine, option: str, name: str) -> Pool:
    """The pool that is region ``name``, which ``option`` asks for. Raises UsageError for one that is not there or holds
    no data."""
    holds = [
        region.name for region in machine.memory.values() if region.writable and region.kind in ("sram", "tcm", "sdram")
    ]
    if name not in holds:
        what = f"{machine.memory[name].kind} of" if name in machine.memory else "no region of"
        raise UsageError(f"--{option} {quoted(name)}: {what} {machine.name}; data can be in {', '.join(holds)}")
    return region_pool(machine, name)


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
    spans: list[Span] = []
    at = span.address
    while at < span.end:
        region = next((r for r in machine.memory.values() if r.base <= at < r.end), None)
        stop = span.end if region is None else min(span.end, region.end)
        spans.append(Span(span.region if region is None else region.name, at, stop - at))
        at = stop
    return spans


@dataclass(slots=True)
class Layout:
    """Address ranges in use. Ranges handed out never overlap."""

    machine: Machine
    taken: list[tuple[int, int]] = field(default_factory=list)

    def allocate(self, pool: Pool, size: int, align: int, what: str, parts: Mapping[str, int] | None = None) -> int:
        """Lowest free address in ``pool`` for ``size`` bytes, the sum of ``parts``; DoesNotFit names the pool, ``what``
        and the bytes. Address 0, where an ITCM begins, is nothing's: to C code it is no buffer, as one without bias."""
        address = align_up(pool.base or 1, align)
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
