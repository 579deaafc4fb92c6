"""Quantities with units, parsed once and exactly (no floating point).

A quantity is a decimal number and a unit, ``"216 MHz"``. Exponents are not accepted; underscores between digits are.
Sizes use binary units only, because ``KB`` means 1000 bytes to some and 1024 to others.

The parsers do no arithmetic on quantities: they return plain numbers in the base unit (bytes, Hz, A, V, J, bits),
or a :class:`Duration`, which keeps the unit it was written in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from mcusim.errors import UnitError

_QUANTITY = re.compile(r"([+-]?\d+(?:_\d+)*(?:\.\d+)?)\s*([A-Za-zµμ]+)?", re.ASCII)
_LONGEST = 64

_SIZE = {"B": Fraction(1), "KiB": Fraction(1 << 10), "MiB": Fraction(1 << 20), "GiB": Fraction(1 << 30)}
_CLOCK = {"Hz": Fraction(1), "kHz": Fraction(10**3), "MHz": Fraction(10**6), "GHz": Fraction(10**9)}
_SECONDS = {
    "ps": Fraction(1, 10**12),
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_CURRENT = {"nA": Fraction(1, 10**9), "uA": Fraction(1, 10**6), "mA": Fraction(1, 10**3), "A": Fraction(1)}
_VOLTAGE = {"mV": Fraction(1, 10**3), "V": Fraction(1)}
_ENERGY = {
    "pJ": Fraction(1, 10**12),
    "nJ": Fraction(1, 10**9),
    "uJ": Fraction(1, 10**6),
    "mJ": Fraction(1, 10**3),
    "J": Fraction(1),
}
_CLOCKS = ("cycles", "sdclk", "qclk", "hclk")
_BASES: tuple[tuple[Mapping[str, Fraction], str], ...] = (
    (_SIZE, "B"),
    (_CLOCK, "Hz"),
    (_SECONDS, "s"),
    ({"bit": Fraction(1)}, "bit"),
    (_CURRENT, "A"),
    (_VOLTAGE, "V"),
    (_ENERGY, "J"),
    *(({unit: Fraction(1)}, unit) for unit in _CLOCKS),
)
_AMBIGUOUS = {"KB": "KiB", "kB": "KiB", "K": "KiB", "k": "KiB", "MB": "MiB", "M": "MiB", "GB": "GiB", "G": "GiB"}


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in the unit it was written in: ``cycles`` (of the core), ``clocks`` or ``s``.

    ``clocks`` are those of the device the key belongs to (``sdclk``, ``qclk``, ``hclk``).
    """

    value: Fraction
    unit: Literal["cycles", "clocks", "s"]

    def cycles(self, core_hz: int, device_hz: int | None = None) -> Fraction:
        """Length in (fractional) core cycles; ``device_hz`` is needed for ``clocks``."""
        if self.unit == "cycles":
            return self.value
        if self.unit == "s":
            return self.value * core_hz
        if device_hz is None:
            raise ValueError("a duration in device clocks needs the device's clock")
        return self.value * core_hz / device_hz


def hertz(clock: int) -> str:
    """A clock in Hz as a text that :func:`parse_clock` reads as the same: ``216 MHz``, ``216.000001 MHz``."""
    whole, rest = divmod(clock, 10**6)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " MHz"


def parse_size(text: object) -> int:
    """Bytes from ``"8 MiB"`` or ``"32 B"``; units B, KiB, MiB, GiB. Raises UnitError."""
    return _whole(text, "a size", _SIZE, "bytes")


def parse_clock(text: object) -> int:
    """Hz from ``"216 MHz"``; units Hz, kHz, MHz, GHz. Raises UnitError."""
    return _whole(text, "a clock", _CLOCK, "Hz")


def parse_bits(text: object) -> int:
    """Bits from ``"16 bit"``. Raises UnitError."""
    return _whole(text, "a width", {"bit": Fraction(1)}, "bits")


def parse_current(text: object) -> Fraction:
    """A from ``"96 mA"``; units nA, uA, mA, A. Raises UnitError."""
    return _quantity(text, "a current", _CURRENT)[0]


def parse_current_at(text: object) -> tuple[Fraction, int | None]:
    """A and Hz from ``"96 mA at 216 MHz"``; None of Hz for a current alone. Raises UnitError."""
    current, word, clock = text.partition(" at ") if isinstance(text, str) else (text, "", "")
    return parse_current(current), parse_clock(clock) if word else None


def parse_current_per_clock(text: object) -> Fraction:
    """A/MHz from ``"0.336 mA/MHz"``; the current in any unit. Raises UnitError."""
    accepted = "a current per clock is a number and a unit (uA/MHz, mA/MHz) in quotes"
    current, slash, clock = text.partition("/") if isinstance(text, str) else ("", "", "")
    if not slash or clock.strip() != "MHz":
        raise UnitError(f"{quoted(text)} is no current per clock: {accepted}")
    return parse_current(current)


def parse_voltage(text: object) -> Fraction:
    """V from ``"3.3 V"``; units mV, V. Raises UnitError."""
    return _quantity(text, "a voltage", _VOLTAGE)[0]


def parse_energy(text: object) -> Fraction:
    """J from ``"0.7 nJ"``; units pJ, nJ, uJ, mJ, J. Raises UnitError."""
    return _quantity(text, "an energy", _ENERGY)[0]


def parse_duration(text: object, clocks: tuple[str, ...] = ()) -> Duration:
    """A duration: ``"20 ns"`` (ps, ns, us, ms, s, min, h), ``"120 cycles"`` of the core, or of one of ``clocks``, as in
    ``"2 sdclk"``. Raises UnitError. A time is not rounded to clocks here."""
    units = {"cycles": Fraction(1), **dict.fromkeys(clocks, Fraction(1)), **_SECONDS}
    value, unit = _quantity(text, "a duration", units)
    if unit in _SECONDS:
        return Duration(value, "s")
    return Duration(value, "cycles" if unit == "cycles" else "clocks")


def quantity_parts(text: str) -> tuple[Fraction, str] | None:
    """The number of a text and the unit after it as written, empty for a plain number; None for another text."""
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    return None if match is None else (Fraction(match[1].replace("_", "")), match[2] or "")


def magnitude(text: str) -> tuple[Fraction, str] | None:
    """Any quantity in its base unit (B, Hz, s, bit, A, V, J, or clocks as they are) and that unit, which is empty for a
    plain number; None for a text that is no quantity. Nothing says here which unit a key wants."""
    result = quantity_parts(text)
    if result is None or not result[1]:
        return result
    number, unit = result[0], result[1].replace("µ", "u").replace("μ", "u")
    return next(((number * units[unit], base) for units, base in _BASES if unit in units), None)


def unit_text(value: float, base: str) -> str:
    """A number in its base unit as a text, in the largest unit in which it is not below one: ``"216 MHz"`` of 216e6 Hz,
    ``"20 ns"`` of 2e-8 s; at most six digits, seconds at most."""
    factor, unit = largest_unit(value, base)
    return f"{float(Fraction(value) / factor):.6g} {unit}"


def largest_unit(value: float, base: str) -> tuple[Fraction, str]:
    """How many of ``base`` the largest unit is in which ``value`` is not below one, and that unit; ``base`` for 0."""
    units = next((units for units, unit in _BASES if unit == base), {base: Fraction(1)})
    scales = sorted((factor, unit) for unit, factor in units.items() if unit not in ("min", "h"))
    return next((pair for pair in reversed(scales) if abs(value) >= 0.9999995 * pair[0]), (Fraction(1), base))


def column_unit(name: str) -> str:
    """The unit that the name of a column of figures tells, '' of one without: ``ms`` of ``latency_ms``."""
    ends = {"_ms": "ms", "_mj": "mJ", "_ma": "mA", "_mw": "mW", "_bytes": "B"}
    starts = {"peak_": "B", "clock_": "Hz", "wait_states_": "cycles", "cycles_": "cycles"}
    of_end = next((unit for end, unit in ends.items() if name.endswith(end)), "")
    return of_end or next((unit for start, unit in starts.items() if f"{name}_".startswith(start)), "")


def base_units() -> tuple[str, ...]:
    """Those that :func:`magnitude` gives."""
    return tuple(base for _, base in _BASES)


def _whole(text: object, what: str, units: Mapping[str, Fraction], base: str) -> int:
    value, _ = _quantity(text, what, units)
    if value.denominator != 1:
        raise UnitError(f"{quoted(text)} is not a whole number of {base}")
    return value.numerator


def _quantity(text: object, what: str, units: Mapping[str, Fraction]) -> tuple[Fraction, str]:
    """The value in the base unit, and the unit as written (``µ`` as ``u``)."""
    accepted = f"{what} is a number and a unit ({', '.join(units)}) in quotes"
    if not isinstance(text, str):
        raise UnitError(f"{quoted(text)} has no unit: {accepted}")
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise UnitError(f"{quoted(text)} is not {what}: {accepted}")
    number, unit = match[1], (match[2] or "").replace("µ", "u").replace("μ", "u")
    if not unit:
        raise UnitError(f"{quoted(text)} has no unit: {accepted}")
    if unit not in units:
        raise UnitError(f"{quoted(text)} has the wrong unit {unit}{_hint(unit, units)}: {accepted}")
    if number.startswith("-"):
        raise UnitError(f"{quoted(text)} must not be negative")
    return _product(number, units[unit]), unit


@lru_cache(maxsize=4096)
def _product(number: str, unit: Fraction) -> Fraction:
    """Texts of a machine file are read again for each machine that is made of it."""
    return Fraction(number.replace("_", "")) * unit


def _hint(unit: str, units: Mapping[str, Fraction]) -> str:
    if units is _SIZE and unit in _AMBIGUOUS:
        return f", which may mean 1000 or 1024 bytes; write {_AMBIGUOUS[unit]}"
    same = [known for known in units if known.lower() == unit.lower()]
    return f", did you mean {same[0]}" if same else ""


def quoted(value: object) -> str:
    """A value as a file would write it, cut to a readable length and free of control characters."""
    if isinstance(value, str):
        text = value[:_LONGEST]
        plain = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
        return f'"{plain}"' if len(value) <= _LONGEST else f'"{plain}..."'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() < 256 else f"an integer of {value.bit_length()} bits"
    return str(value)[:_LONGEST]
