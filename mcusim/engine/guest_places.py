"""Where a program leaves room for what no plan places: the kernels' code and their stack.

Left out: room for the rest of a firmware.
"""

from __future__ import annotations

from mcusim.engine.execute import code_address
from mcusim.errors import DoesNotFit
from mcusim.machine.description import Machine
from mcusim.plan.layout import Pool, span_at, sram_pool
from mcusim.plan.program import Program, Span

__all__ = ["STACK_BYTES", "code_place", "stack_place"]

STACK_BYTES = 4096
_ALIGN = 64


def code_place(program: Program, machine: Machine, name: str | None, size: int) -> Span:
    """Room for ``size`` bytes of code in region ``name`` (None: the first flash): where a replay has its code, or at
    the region's end. Raises UsageError for an unknown region, DoesNotFit when the program has taken both."""
    first = code_address(machine, name)
    region = next(r for r in machine.memory.values() if r.base <= first < r.end)
    last = (region.end - size) // _ALIGN * _ALIGN
    for address in (first, last):
        if region.base <= address and address + size <= region.end and _free(program, address, address + size):
            return Span(region.name, address, size)
    raise DoesNotFit(
        region.name, size, _room(program, Pool(region.name, region.base, region.size)), "the kernels' code"
    )


def stack_place(program: Program, machine: Machine, code: Span) -> Span:
    """The highest free 4 KiB of the data memory that policies use, else of another on-chip RAM. Raises DoesNotFit."""
    pool = sram_pool(machine)
    others = [
        Pool(r.name, r.base, r.size)
        for r in machine.memory.values()
        if r.writable and r.kind in ("tcm", "sram") and not pool.base <= r.base < pool.end
    ]
    for one in (pool, *others):
        top = one.end
        while top - STACK_BYTES >= one.base:
            low = top - STACK_BYTES
            taken = [b.span.address for b in program.header.buffers if b.span.address < top and low < b.span.end]
            if code.address < top and low < code.end:
                taken.append(code.address)
            if not taken:
                return span_at(machine, low, STACK_BYTES)
            top = min(taken) // _ALIGN * _ALIGN
    raise DoesNotFit(pool.name, STACK_BYTES, _room(program, pool), "the kernels' stack")


def _free(program: Program, low: int, high: int) -> bool:
    return all(buffer.span.end <= low or high <= buffer.span.address for buffer in program.header.buffers)


def _room(program: Program, pool: Pool) -> int:
    """The longest run of bytes in ``pool`` that no buffer takes."""
    taken = sorted((b.span.address, b.span.end) for b in program.header.buffers)
    at, most = pool.base, 0
    for low, high in taken:
        if at < low <= pool.end:
            most = max(most, low - at)
        at = max(at, min(high, pool.end)) if high > pool.base else at
    return max(most, pool.end - at)
