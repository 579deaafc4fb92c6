"""Free memory of a program for what no plan places: the kernels' code and their stack.

Not modelled: room for the rest of a firmware.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcusim.engine.execute import code_address
from mcusim.errors import DoesNotFit
from mcusim.machine.description import Machine
from mcusim.plan.pools import Pool, data_region, span_at, sram_pool
from mcusim.program.program import Compute, Program, Span, Transfer

STACK_BYTES = 4096
_ALIGN = 64


def code_place(program: Program, machine: Machine, name: str | None, size: int) -> Span:
    """Room for ``size`` bytes of code in region ``name`` (None: the first flash): where a replay has its code, or at
    the region's end. Raises UsageError for an unknown region, DoesNotFit when the program has taken both."""
    first = code_address(machine, name)
    region = next(r for r in machine.memory.values() if r.base <= first < r.end)
    last = (region.end - size) // _ALIGN * _ALIGN
    taken = _taken(program)
    for address in (first, last):
        inside = region.base <= address and address + size <= region.end
        if inside and all(high <= address or address + size <= low for low, high in taken):
            return Span(region.name, address, size)
    room = _room(taken, Pool(region.name, region.base, region.size))
    raise DoesNotFit(region.name, size, room, "the kernels' code")


def stack_place(program: Program, machine: Machine, code: Span, region: str | None = None) -> Span:
    """The highest free 4 KiB of ``region``, by default of the data memory that policies use, else of another on-chip
    RAM. Raises DoesNotFit, and UsageError for a region that holds no data."""
    pools = None if region is None else [data_region(machine, "stack-region", region)]
    return free_place(machine, [*_taken(program), (code.address, code.end)], STACK_BYTES, "the kernels' stack", pools)


def free_place(
    machine: Machine, taken: Iterable[tuple[int, int]], size: int, what: str, pools: Sequence[Pool] | None = None
) -> Span:
    """The highest ``size`` bytes that the ranges ``taken`` leave of ``pools``, the first that has them: by default the
    data memory that policies use, then another on-chip RAM. Raises DoesNotFit, which says that it is for ``what``."""
    ranges, pools = sorted(set(taken)), pools or _on_chip(machine)
    for pool in pools:
        top = pool.end
        while top - size >= pool.base:
            low = top - size
            hit = [start for start, end in ranges if start < top and low < end]
            if not hit:
                return span_at(machine, low, size)
            top = min(hit) // _ALIGN * _ALIGN
    raise DoesNotFit(pools[0].name, size, _room(ranges, pools[0]), what)


def _on_chip(machine: Machine) -> list[Pool]:
    pool = sram_pool(machine)
    return [pool, *(
        Pool(r.name, r.base, r.size)
        for r in machine.memory.values()
        if r.writable and r.kind in ("tcm", "sram") and not pool.base <= r.base < pool.end
    )]  # fmt: skip


def _taken(program: Program) -> list[tuple[int, int]]:
    """First address and end of everything that the program names, sorted."""
    spans = {buffer.span for buffer in program.header.buffers}
    for task in program.tasks:
        if isinstance(task, Compute):
            spans.update(operand.span for operand in task.operands)
        elif isinstance(task, Transfer):
            spans.update((task.source, task.destination))
    return sorted({(span.address, span.end) for span in spans})


def _room(taken: list[tuple[int, int]], pool: Pool) -> int:
    """The longest run of bytes in ``pool`` that nothing takes."""
    at, most = pool.base, 0
    for low, high in taken:
        if low >= pool.end:
            break
        most = max(most, low - at)
        at = max(at, high)
    return max(most, pool.end - at, 0)
