"""One figure as the firmware's registers have it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from mcusim.machine.description import Duration
from mcusim.units import hertz

Value = int | bool | str | Duration | None
Effect = Literal["figure", "followed", "none"]


@dataclass(frozen=True, slots=True)
class Bits:
    """The bits of a register that say it."""

    register: str
    mask: int


@dataclass(frozen=True, slots=True)
class DerivedFigure:
    """``key`` of the machine file, or a name where that has none; ``value``, None for one that cannot be told.

    ``effect``: a ``figure`` of the machine file that the run uses; ``followed`` by the emulated core from the store on;
    ``none``: not modelled. ``bits``: the latest store to one of them made it so. ``note``: how it comes out.
    """

    key: str
    value: Value
    bits: tuple[Bits, ...]
    unit: str = ""
    note: str = ""
    effect: Effect = "figure"


def clocks(count: int) -> Duration:
    """A duration of so many clocks of its device."""
    return Duration(Fraction(count), "clocks")


def text_of(value: Value, unit: str) -> str:
    """As the machine file would have it; ``unit`` MHz is of a clock in Hz."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Duration):
        return f"{value.value} {unit}"
    if unit == "MHz" and isinstance(value, int):
        return hertz(value)
    return f"{value} {unit}".rstrip()
