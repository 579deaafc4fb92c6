"""Why one run takes longer than another: the difference in time by cause, memory and operand, in exact parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from mcusim.results.energy import ENERGY_COLOURS, operator_energy
from mcusim.text import pick_unit

if TYPE_CHECKING:
    from mcusim.engine.run import Run
    from mcusim.machine.description import Machine

WORDS = {
    "input0": "inputs", "input1": "inputs", "inputN": "inputs", "input": "inputs", "filter": "weights",
    "bias": "biases", "multiplier": "multipliers and shifts", "shift": "multipliers and shifts", "output": "outputs",
    "table": "tables", "state": "state",
}  # fmt: skip
_Key = tuple[str, str, str]
CLOCK = "clock"
MEMORIES = ("flash", "sram", "sdram", "qspi")


class Ran(Protocol):
    """What is compared: a run, where there is one, and the machine that it is of."""

    @property
    def run(self) -> Run | None: ...

    @property
    def machine(self) -> Machine: ...


@dataclass(frozen=True, slots=True)
class Difference:
    """``seconds`` more, exact; less when negative.

    ``cause`` is one of :data:`mcusim.engine.run.CAUSES`, or ``clock``: the first run's cycles on the second one's
    clock. ``region`` is the memory ('' where a cause has none), ``what`` the operands whose data it is (``inputs``,
    ``weights`` ...), for ``compute`` the type of operator, '' where there is none.
    """

    cause: str
    region: str
    what: str
    seconds: Fraction

    @property
    def ms(self) -> float:
        return float(1000 * self.seconds)


def explain(a: Ran, b: Ran) -> tuple[Difference, ...]:
    """Why ``b`` takes longer than ``a``: parts that sum exactly to the difference of their latencies, largest first.

    ::

        t_b - t_a = cycles_a x (1 / f_b - 1 / f_a) + sum over (cause, region, what): (cycles_b - cycles_a) / f_b

    Equal cycles cancel. Raises ValueError when one of them has no run. Not modelled: why: fewer waits for a memory may
    be what a larger cache, another place of the data or a copy by DMA gained; the parts say where time went, not what
    is to blame.
    """
    if a.run is None or b.run is None:
        raise ValueError("a result without a run has no difference to explain")
    return explain_cycles(cycles_by_part(a.run), a.run.clock, cycles_by_part(b.run), b.run.clock)


def explain_cycles(
    first: Mapping[_Key, int], first_clock: int, second: Mapping[_Key, int], second_clock: int
) -> tuple[Difference, ...]:
    """:func:`explain` for cycles by cause, region and what, of runs at these clocks in Hz."""
    differences = [
        Difference(*key, Fraction(second.get(key, 0) - first.get(key, 0), second_clock)) for key in {**first, **second}
    ]
    cycles = sum(first.values())
    clock = Fraction(cycles, second_clock) - Fraction(cycles, first_clock)
    parts = [part for part in (Difference(CLOCK, "", "", clock), *differences) if part.seconds]
    return tuple(sorted(parts, key=lambda d: (-abs(d.seconds), d.cause, d.region, d.what)))


def cycles_by_part(run: Run) -> dict[_Key, int]:
    """The cycles of a run by cause, region and what; they sum to the run's."""
    result: dict[_Key, int] = {}
    rest = dict(run.by_cause)
    for wait in run.waits:
        key = (wait.cause, wait.region, WORDS.get(wait.role, wait.role))
        result[key] = result.get(key, 0) + wait.cycles
        rest[wait.cause] = rest.get(wait.cause, 0) - wait.cycles
    for operator in run.operators:
        key, cycles = ("compute", "", operator.type), operator.by_cause.get("compute", 0)
        result[key] = result.get(key, 0) + cycles
        rest["compute"] = rest.get("compute", 0) - cycles
    for cause, cycles in rest.items():
        if cycles:
            result[cause, "", ""] = result.get((cause, "", ""), 0) + cycles
    return result


def operator_parts(run: Run) -> dict[int, dict[_Key, int]]:
    """Of each operator, by its index, the cycles by cause, region and what, the most first; they sum to its own."""
    entries: dict[int, dict[_Key, int]] = {operator.index: {} for operator in run.operators}
    rest = {operator.index: dict(operator.by_cause) for operator in run.operators}
    for wait in run.waits:
        own, key = entries[wait.operator], (wait.cause, wait.region, WORDS.get(wait.role, wait.role))
        own[key] = own.get(key, 0) + wait.cycles
        rest[wait.operator][wait.cause] -= wait.cycles
    for operator in run.operators:
        own = entries[operator.index]
        for cause, cycles in rest[operator.index].items():
            key = (cause, "", operator.type if cause == "compute" else "")
            own[key] = own.get(key, 0) + cycles
    return {
        index: {key: own[key] for key in sorted(own, key=lambda key: (-own[key], key)) if own[key]}
        for index, own in entries.items()
    }


def in_words(part: Difference) -> str:
    """``waiting for weights in sdram``, ``waiting for the DMA: inputs from sdram``, ``computing CONV_2D``."""
    what = "other data" if part.what == "other" else part.what
    if part.cause == CLOCK:
        return "the clock"
    if part.cause == "compute":
        return f"computing {what}".strip()
    if part.cause == "dma_wait":
        location = "to" if part.what == "outputs" else "from"
        return f"waiting for the DMA: {what} {location} {part.region}" if part.region else "waiting for the DMA"
    if part.cause in MEMORIES:
        return f"waiting for {what or 'data'} in {part.region or part.cause}"
    return {
        "bus": "waiting for DMA beats",
        "runtime": "interpreter and DMA driver",
        "maintenance": "cache maintenance",
    }.get(part.cause, part.cause)


def sentence(parts: Sequence[Difference], a: str, b: str, most: int = 5) -> str:
    """``b takes 1,160 ms longer than a: 820 waiting for weights in sdram, ...``; the numbers as printed sum to
    the first."""
    if not parts:
        return f"{b} takes as long as {a}"
    whole, unit, words = _counted([(in_words(part), 1000 * part.seconds) for part in parts], most, "ms")
    return f"{b} takes {abs(whole):,} {unit} {'longer' if whole >= 0 else 'less'} than {a}: {words}"


def energy_sentence(a: Ran, b: Ran, most: int = 3) -> str:
    """``625 mJ more: 302 SDRAM on, ...``, the parts of :func:`operator_energy`; '' when nothing differs."""
    return "" if a.run is None or b.run is None else energy_words(_energy(a.run, a), _energy(b.run, b), most)


def energy_words(first: Mapping[str, float], second: Mapping[str, float], most: int = 3) -> str:
    """:func:`energy_sentence` for millijoules by part."""
    names = {**first, **second}
    parts = [(part, Fraction(second.get(part, 0.0)) - Fraction(first.get(part, 0.0))) for part in names]
    pairs = sorted((part for part in parts if part[1]), key=lambda pair: -abs(pair[1]))
    if not pairs:
        return ""
    whole, unit, words = _counted(pairs, most, "mJ")
    return f"{abs(whole):,} {unit} {'more' if whole >= 0 else 'less'}: {words}"


def _energy(run: Run, result: Ran) -> dict[str, float]:
    whole = dict.fromkeys(ENERGY_COLOURS, 0.0)
    for parts in operator_energy(run, result.machine).values():
        for part, mj in parts.items():
            whole[part] += mj
    return whole


def _counted(parts: Sequence[tuple[str, Fraction]], most: int, unit: str) -> tuple[Decimal, str, str]:
    """The sum of named numbers, its unit, and as text the ``most`` first of them and the rest, which sum to it."""
    scale = pick_unit(unit, [float(sum(number for _, number in parts))])
    factor = Fraction(scale.factor).limit_denominator(10**6)
    parts = [(name, number * factor) for name, number in parts]
    shown = list(parts[:most]) if len(parts) > most + 1 else list(parts)
    rest = [number for _, number in parts[len(shown) :]]
    shown += [(f"in {len(rest)} smaller parts", sum(rest, Fraction(0)))] if rest else []
    size = abs(sum((number for _, number in shown), Fraction(0)))
    digits = next(n for n, least in enumerate((100, 10, 1, 0)) if size >= least)
    numbers = [_decimal(n, digits) for n in rounded_parts([number for _, number in shown], digits)]
    words = ", ".join(f"{n:,} {name}" for n, (name, _) in zip(numbers, shown, strict=True))
    return sum(numbers, Decimal(0)), scale.unit, words


def _decimal(number: Fraction, digits: int) -> Decimal:
    return Decimal(int(number * 10**digits)).scaleb(-digits)


def rounded_parts(parts: Sequence[Fraction], digits: int) -> list[Fraction]:
    """Each part to ``digits`` decimals, up or down, so that they sum to the rounded sum: none is off by one or more of
    the last digit (the largest remainders go up)."""
    unit = Fraction(1, 10**digits)
    whole = [part // unit for part in parts]
    short = round(sum(parts, Fraction(0)) / unit) - sum(whole)
    order = sorted(range(len(parts)), key=lambda i: (whole[i] * unit - parts[i], i))
    for i in order[: int(short)]:
        whole[i] += 1
    return [n * unit for n in whole]
