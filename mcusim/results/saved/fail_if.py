"""Limits of what a second run may differ from a first: ``latency +5 %``, ``energy +1.5 mJ``, ``flash +0 B``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from mcusim.errors import UsageError
from mcusim.units import quoted

_TIME = {"s": Fraction(1000), "ms": Fraction(1), "us": Fraction(1, 1000), "µs": Fraction(1, 1000)}
_ENERGY = {"J": Fraction(1000), "mJ": Fraction(1), "uJ": Fraction(1, 1000), "µJ": Fraction(1, 1000)}
_BYTES = {"B": Fraction(1), "KiB": Fraction(1 << 10), "MiB": Fraction(1 << 20)}
FIGURES: Mapping[str, Mapping[str, Fraction]] = {
    "latency": _TIME,
    "cycles": {"": Fraction(1), "cycles": Fraction(1)},
    "energy": _ENERGY,
    "sram": _BYTES,
    "flash": _BYTES,
}
"""Units of each figure, in those that a run's JSON has it in: ms, mJ and bytes."""
GRAMMAR = "FIGURE +NUMBER UNIT"
_LIMIT = re.compile(r"\s*([a-z]{1,20})\s*([+-])\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(%|[A-Za-zµ]{0,8})\s*", re.I)
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class ChangeLimit:
    """Exceeded when ``figure`` of the second run is more than ``amount`` above the first one's (``sign`` +), or below
    it (-): percent of the first run's, or in ms, mJ, cycles or bytes."""

    text: str
    figure: str
    sign: str
    amount: Fraction
    percent: bool

    def exceeded(self, first: float, second: float) -> bool:
        """Whether the second figure is beyond the limit; exactly at it is within."""
        a, b = Fraction(first), Fraction(second)
        room = a * self.amount / 100 if self.percent else self.amount
        return (b - a if self.sign == "+" else a - b) > room


def parse_limit(text: object) -> ChangeLimit:
    """One limit. Raises UsageError that says what is expected.

    ::

        limit   = figure sign number unit
        figure  = latency | cycles | energy | sram | flash
        sign    = +   (fail when the second run's figure is larger by more)
                | -   (fail when it is smaller by more)
        unit    = %   of the first run's figure
                | us, ms, s (latency) | uJ, mJ, J (energy) | B, KiB, MiB (sram, flash) | nothing (cycles)
    """
    if not isinstance(text, str):
        raise UsageError(f"--fail-if needs a text such as 'latency +5 %', not {type(text).__name__}")
    match = _LIMIT.fullmatch(text.replace("μ", "µ")) if len(text) <= _LONGEST else None
    if match is None:
        raise UsageError(
            f"--fail-if {quoted(text)}: must be {GRAMMAR}, as in 'latency +5 %', 'energy +2 mJ', 'cycles +0'"
        )
    figure, sign, number, unit = match.groups()
    figure = figure.lower()
    if figure not in FIGURES:
        raise UsageError(f"--fail-if {quoted(text)}: {figure!r} is none of {', '.join(FIGURES)}")
    units = FIGURES[figure]
    if unit != "%" and unit not in units:
        known = ", ".join(name for name in ("%", *units) if name)
        raise UsageError(f"--fail-if {quoted(text)}: the unit of {figure} must be one of {known}, not {unit!r}")
    amount = Fraction(number) * (1 if unit == "%" else units[unit])
    return ChangeLimit(f"{figure} {sign}{number}{f' {unit}' if unit else ''}", figure, sign, amount, unit == "%")
