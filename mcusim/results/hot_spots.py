"""A profile by instruction added up to functions and source lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcusim.emulator.profile import CycleProfile, InstructionCost
    from mcusim.image.image import Image

Line = tuple[str, int]


@dataclass(slots=True)
class Cost:
    """Instructions issued, cycles in all, of these waiting for data, for code and for the pipeline."""

    issued: int = 0
    cycles: float = 0.0
    data: float = 0.0
    fetch: float = 0.0
    pipeline: float = 0.0

    def add(self, other: InstructionCost) -> None:
        """Add what one instruction cost."""
        self.issued += other.issued
        self.cycles += other.cycles
        self.data += other.data
        self.fetch += other.fetch
        self.pipeline += other.pipeline


@dataclass(slots=True)
class FunctionCost(Cost):
    """``inclusive`` is with what it called; ``calls`` are those recorded, 0 where it was only jumped to."""

    name: str = ""
    address: int = 0
    inclusive: float = 0.0
    calls: int = 0


def function_of(image: Image, address: int) -> tuple[str, int]:
    """Name and first address of the function an instruction is in; the address itself represents an unknown one."""
    function = image.function_at(address)
    return (function[0], address - function[1]) if function else (f"{address & ~0xFF:#010x}..", address & ~0xFF)


def functions(profile: CycleProfile, image: Image) -> list[FunctionCost]:
    """The functions that ran, the dearest first.

    Inclusive cycles are the larger of two figures, at most all cycles: the time between calls from elsewhere and their
    returns, and own cycles with those of calls made. Branches to another function's first instruction (tail calls) and
    entries of handlers are calls. What exceptions took is in no other function's. Not modelled: calls deeper than the
    emulator follows, and tail calls by a register, whose time counts for the function called before.
    """
    costs: dict[tuple[str, int], FunctionCost] = {}

    def at(address: int) -> FunctionCost:
        key = function_of(image, address)
        return costs.setdefault(key, FunctionCost(name=key[0], address=key[1]))

    for address, cost in profile.instructions.items():
        at(address).add(cost)
    incoming: dict[int, float] = defaultdict(float)
    outgoing: dict[int, float] = defaultdict(float)
    for edge in profile.calls:
        caller, callee = at(edge.site), at(edge.callee)
        callee.calls += edge.calls
        if caller is not callee:
            outgoing[id(caller)] += edge.cycles
            incoming[id(callee)] += edge.cycles
    for exception in profile.exceptions:
        if exception.handler:
            handler = at(exception.handler)
            handler.calls += exception.count
            incoming[id(handler)] += exception.cycles
    for name, cycles in profile.apart.items():
        costs[name, 0] = FunctionCost(name=f"({name})", address=0, cycles=cycles)
    for function in costs.values():
        inclusive = max(function.cycles + outgoing[id(function)], incoming[id(function)])
        function.inclusive = min(inclusive, profile.cycles)
    return sorted(costs.values(), key=lambda row: (-row.cycles, row.address))


def lines(profile: CycleProfile, image: Image) -> list[tuple[Line, Cost]]:
    """The source lines that ran, the dearest first; instructions without one are left out."""
    costs: dict[Line, Cost] = defaultdict(Cost)
    for address, cost in profile.instructions.items():
        line = image.line_at(address)
        if line is not None:
            costs[line].add(cost)
    return sorted(costs.items(), key=lambda row: (-row[1].cycles, row[0]))


def causes(profile: CycleProfile) -> dict[str, int]:
    """Cycles by cause as whole numbers that sum to all cycles, rounded down; the largest first."""
    items = sorted(profile.causes.items(), key=lambda item: (-item[1], item[0]))
    numbers = whole((cycles for _, cycles in items), int(profile.cycles))
    return {name: cycles for (name, _), cycles in zip(items, numbers, strict=True)}


def whole(values: Iterable[float], total: int | None = None) -> list[int]:
    """``values`` as integers that sum to ``total`` (default: their sum, rounded down): largest remainders go up."""
    exact: Sequence[Fraction] = [Fraction(value) for value in values]
    result = [int(value) for value in exact]
    short = (int(sum(exact)) if total is None else total) - sum(result)
    order = sorted(range(len(exact)), key=lambda i: (result[i] - exact[i], i))
    for i in order[: max(0, short)]:
        result[i] += 1
    return result
