"""Opaque operators: mcusim does not know what they compute. A user may say what they cost; else they are left out.

Their inputs and outputs are live like those of any operator. With a cost they take that many cycles of the core and
no access to memory; without one they take none, and whoever shows a total says so. Some custom ones have a cost by
default (:mod:`mcusim.model.custom_costs`). Not modelled: all else of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from mcusim.errors import ProgramError, UnsupportedError, UsageError
from mcusim.model.custom_costs import cost_basis, custom_cost
from mcusim.model.operators import is_opaque, shown_type
from mcusim.program.program import Compute, Header, Program

EXAMPLE = '--cost NAME="12 cycles/B"'
LONGEST, _SHOWN_TEXT = 120, 64
MOST_CYCLES = 10**12  # of one call, and of all together
SHOWN = 12
_TEXT = re.compile(
    r"\s*(\d{1,13}(?:\.\d{1,6})?)\s*cycles?\s*(/\s*B(?:\s+of\s+((?:input|output)\d{1,2}))?)?\s*", re.ASCII
)
_MOST_TERMS = 8

Costs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CostTerm:
    """``cycles`` for each byte of the activations that go in and come out, of ``operand`` alone if one is named, or
    for each call."""

    cycles: Fraction
    per_byte: bool
    operand: str = ""  # input0, output1 ...; empty: all

    def of(self, sizes: Mapping[str, int]) -> Fraction:
        """Cycles of a call whose operands have so many bytes."""
        size = sizes.get(self.operand, 0) if self.operand else sum(sizes.values())
        return self.cycles * (size if self.per_byte else 1)


@dataclass(frozen=True, slots=True)
class OpaqueCost:
    """What a call takes: the sum of ``terms``."""

    terms: tuple[CostTerm, ...]

    @classmethod
    def parse(cls, name: str, text: str) -> OpaqueCost:
        """Of ``"12 cycles/B"``, ``"5000 cycles"`` or ``"9 cycles/B of input0 + 2 cycles/B of output0"``. Raises
        UsageError, naming ``name``."""
        parts = text.split("+", _MOST_TERMS) if len(text) <= LONGEST else []
        matches = [match for match in map(_TEXT.fullmatch, parts) if match]
        if not parts or len(matches) < len(parts) or len(parts) > _MOST_TERMS:
            raise UsageError(
                f'cost of {name[:80]}: {text[:_SHOWN_TEXT]!r} is not like "12 cycles/B" (of input and output together),'
                ' "9 cycles/B of input0" or "5000 cycles" (of a call), or several with + between them'
            )
        cost = cls(tuple(CostTerm(Fraction(m[1]), m[2] is not None, m[3] or "") for m in matches))
        if any(term.cycles > MOST_CYCLES for term in cost.terms):
            raise UsageError(f"cost of {name[:80]}: {text[:_SHOWN_TEXT]!r} is more than {MOST_CYCLES:,} cycles")
        return cost

    def of(self, sizes: Mapping[str, int]) -> int:
        """Cycles of a call whose operands have so many bytes, rounded up. Raises ProgramError for an operand that it
        has not."""
        missing = next((t.operand for t in self.terms if t.operand and t.operand not in sizes), None)
        if missing is not None:
            raise ProgramError(f"its cost is of {missing}, and a call of it has {', '.join(sizes)}")
        return int(-(-sum((term.of(sizes) for term in self.terms), Fraction(0)) // 1))


def parse_costs(given: Mapping[str, str] | None) -> Costs:
    """``given``, names to texts, checked. Raises UsageError."""
    for name, text in (given or {}).items():
        OpaqueCost.parse(name, text)
    return tuple(sorted((given or {}).items()))


def opaque_types(kinds: Iterable[str]) -> tuple[str, ...]:
    """The names of those operator types that mcusim does not know, each once."""
    return tuple(dict.fromkeys(shown_type(kind) for kind in kinds if is_opaque(kind)))


def used_costs(types: Iterable[str], costs: Costs, isa: str = "") -> dict[str, str]:
    """What ``costs`` say of the opaque ``types``, or what they cost by default on core ``isa``. A custom operator may
    be named without ``CUSTOM()``."""
    arguments = dict(costs)
    entries = {name: arguments.get(name, arguments.get(_inner(name), custom_cost(name, isa))) for name in types}
    return {name: text for name, text in entries.items() if text is not None}


def default_costs_text(program: Program, isa: str) -> tuple[str, ...]:
    """A line for each cost of a program that is the default: what it rests on; that of the most cycles first."""
    costs: Mapping[str, str] = program.header.options.get("costs", {})
    defaults = [name for name, text in costs.items() if custom_cost(name, isa) == text]
    if not defaults:
        return ()
    calls, total = opaque_cycles(program), Counter[str]()
    for task in program.tasks:
        if isinstance(task, Compute) and task.id in calls:
            total[shown_type(task.geometry.type)] += calls[task.id] or 0
    return tuple(f"{name}: {costs[name]}, {cost_basis(name)}" for name in sorted(defaults, key=lambda n: -total[n]))


def _inner(name: str) -> str:
    return name.removeprefix("CUSTOM(").removesuffix(")")


def require_known(types: Iterable[str], costs: Costs) -> None:
    """Raise UsageError for a cost of an operator that is none of ``types``."""
    known = tuple(types)
    names = {*known, *map(_inner, known)}
    for name, _ in costs:
        if name not in names:
            lower = {known_name.lower(): known_name for known_name in sorted(names)}
            near = get_close_matches(name[:80].lower(), lower, n=1)
            there = f"the opaque ones are {_listed(known)}" if known else "there are no opaque ones"
            there += f"; did you mean {lower[near[0]]}?" if near else ""
            raise UsageError(f"--cost {name[:80]}: no operator of that name is opaque in what is run; {there}")


def left_out(header: Header) -> tuple[str, ...]:
    """The opaque operators that a run of the program costs nothing, by name; none in what a firmware did."""
    if header.recorded:
        return ()
    costs = header.options.get("costs", {})
    return tuple(name for name in opaque_types(op.type for op in header.operators) if name not in costs)


def left_out_text(names: tuple[str, ...]) -> str:
    """What a total does not have, for people; empty when it has all."""
    if not names:
        return ""
    return f"without {_listed(names)}, which mcusim does not know: {EXAMPLE} says what one costs"


def opaque_cycles(program: Program) -> dict[int, int | None]:
    """Cycles of each kernel call of an opaque operator, by the task's id; None of one without a cost.

    Raises UnsupportedError when there is nothing else in the program to simulate, ProgramError for a header whose costs
    cannot be read or are more cycles than can be counted.
    """
    if program.header.recorded:
        return {}
    operators = program.header.operators
    types = opaque_types(op.type for op in operators)
    arguments = {str(name): str(text) for name, text in program.header.options.get("costs", {}).items()}
    if operators and all(is_opaque(op.type) for op in operators) and not set(types) & set(arguments):
        raise UnsupportedError(
            f"{program.header.model[:200]} has opaque operators alone ({_listed(types)}): there is nothing in it whose"
            " time mcusim knows"
        )
    try:
        costs = {name: OpaqueCost.parse(name, text) for name, text in arguments.items()}
    except UsageError as error:
        raise ProgramError(str(error)) from None
    return _cycles(program, costs)


def _cycles(program: Program, costs: Mapping[str, OpaqueCost]) -> dict[int, int | None]:
    cycles: dict[int, int | None] = {}
    for task in program.tasks:
        if isinstance(task, Compute) and is_opaque(task.geometry.type):
            kind = program.header.operators[task.operator].type
            if kind != task.geometry.type:
                raise ProgramError(f"task {task.id}: its geometry is of {task.geometry.type[:80]!r}, not {kind[:80]!r}")
            cost = costs.get(shown_type(kind))
            try:
                cycles[task.id] = None if cost is None else cost.of(_sizes(task))
            except ProgramError as error:
                raise ProgramError(f"operator {task.operator} {shown_type(kind)}: {error}") from None
    if sum(filter(None, cycles.values())) > MOST_CYCLES:
        raise ProgramError(f"the costs of opaque operators are more than {MOST_CYCLES:,} cycles together")
    return cycles


def _sizes(task: Compute) -> dict[str, int]:
    """Bytes of the activations of a call in their order: ``input0``, ``input1`` ..., ``output0`` ..."""
    inputs = [o.span.bytes for o in task.operands if o.role.startswith("input")]
    outputs = [o.span.bytes for o in task.operands if o.role == "output"]
    return {f"input{i}": n for i, n in enumerate(inputs)} | {f"output{i}": n for i, n in enumerate(outputs)}


def refuse_recorded(header: Header, what: str) -> None:
    """Raise UsageError for ``what`` of a program that was recorded from a firmware."""
    if header.recorded:
        raise UsageError(
            f"{header.model[:200]} was recorded from a firmware's run: {what} has no meaning for it; `mcusim emulate`"
            " and `mcusim verify` run the firmware itself"
        )


def refuse_opaque(kinds: Iterable[str], model: str) -> None:
    """Raise UnsupportedError when one of an emulation's operators has no code."""
    types = opaque_types(kinds)
    if types:
        which = "them" if types[1:] else "it"
        raise UnsupportedError(
            f"{model[:200]}: {_listed(types)} cannot be emulated: mcusim has no kernel for {which}; --fidelity replay"
            f" runs the others and has a cost of {which}, by default or by {EXAMPLE}"
        )


def refuse_in_compiled_code(names: Sequence[str], runtime: str) -> None:
    """Raise UnsupportedError for operators of which only the interpreter has code."""
    if names:
        raise UnsupportedError(
            f"code that {runtime} compiles has no kernel for {_listed(names)}; --runtime tflm has its own, {EXAMPLE}"
            " says what yours costs"
        )


def _listed(names: Iterable[str]) -> str:
    known = tuple(names)
    more = f" and {len(known) - SHOWN} more" * (len(known) > SHOWN)
    return ", ".join(name[:80] for name in known[:SHOWN]) + more
