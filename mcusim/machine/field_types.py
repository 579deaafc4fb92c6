"""Kinds of values a machine key can have, and the three shapes a schema is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from mcusim import units
from mcusim.errors import UnitError
from mcusim.machine.cores import CORES
from mcusim.machine.description import Basis, ClockedCurrent
from mcusim.machine.document import Node, show, show_address
from mcusim.machine.stand_ins import stand_in
from mcusim.plug_ins import installed, is_path

Scope = Mapping[str, Any]
Parser = Callable[[object], Any]
_RANGE = re.compile(r"(\d{1,5}) to (\d{1,5})", re.ASCII)
_INTEGER = re.compile(r"\d+(_\d+)*|0[xX][0-9a-fA-F]+(_[0-9a-fA-F]+)*", re.ASCII)
SLOWEST_CLOCK, FASTEST_CLOCK = 100_000, 2_000_000_000
MOST_DIVIDERS = 256
ADDRESSES = 1 << 32
LONGEST_TIME, LONGEST_CLOCKS = Fraction(1, 1000), 10_000  # of a duration: an access this long is no access


class RejectedError(ValueError):
    """A value that breaks the rule this text states; the reader adds file, line and key."""


@dataclass(frozen=True, slots=True)
class Default:
    """What a key that the file leaves out is worth, given what was read before it, and why; without a reason the key
    is optional, and no figure.

    With ``like`` it is as well founded as that figure: a full key, or a key of the same table.
    """

    value: Callable[[Scope], Any]
    why: str
    like: str = ""
    basis: Basis = "assumed"
    text: Callable[[Any], str] | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One key. ``typed`` turns a command line's text into the value the file would have, ``text`` that into the text of
    a figure, where it is not as written."""

    parse: Parser
    default: Default | None = None
    typed: Callable[[str], object] = str
    is_figure: bool = True
    text: Callable[[Any], str] | None = None

    @property
    def wanted(self) -> str:
        """What a value has to be."""
        try:
            self.parse(None)
        except (RejectedError, UnitError) as error:
            return str(error).rpartition(" has no unit: ")[2]
        return "any value"


@dataclass(frozen=True, slots=True)
class Table:
    """A table with fixed keys; ``build`` gets its name and its values. ``partial``: it may have other keys too."""

    fields: Mapping[str, Field | Table | Each]
    build: Callable[[str, dict[str, Any]], Any]
    absent: Literal["error", "none", "defaults"] = "error"
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Each:
    """A table whose keys are names; ``choose`` gives the shape of one entry, ``key`` rejects names that are none."""

    choose: Callable[[Node], Field | Table]
    absent: Literal["error", "none", "defaults"] = "error"
    key: Callable[[str], None] | None = None


Spec = Field | Table | Each


def _typed_integer(typed: str) -> object:
    plain = typed.strip()
    return int(plain.replace("_", ""), 0) if _INTEGER.fullmatch(plain) and len(plain) <= 64 else typed


def _typed_list(typed: str) -> object:
    return [
        _typed_integer(part) for part in typed.strip().removeprefix("[").removesuffix("]").split(",") if part.strip()
    ]


def _typed_flag(typed: str) -> object:
    return {"true": True, "false": False}.get(typed.strip(), typed)


def _integer(value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RejectedError("must be a whole number without unit or quotes")
    if not low <= value <= high:
        raise RejectedError(f"must be {low} to {high}")
    return value


def count(low: int, high: int, among: tuple[int, ...] = (), default: Default | None = None) -> Field:
    """A plain integer in ``low..high``, or one of ``among``."""

    def parse(value: object) -> int:
        number = _integer(value, low, high)
        if among and number not in among:
            raise RejectedError(f"must be one of {', '.join(map(str, among))}")
        return number

    return Field(parse, default, _typed_integer)


def power_of_two(high: int) -> Field:
    """A plain integer, a power of two up to ``high``."""

    def parse(value: object) -> int:
        number = _integer(value, 1, high)
        if number & (number - 1):
            raise RejectedError("must be a power of two")
        return number

    return Field(parse, typed=_typed_integer)


def _address(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RejectedError("must be an address such as 0x2000_0000, without quotes")
    if not 0 <= value < ADDRESSES:
        raise RejectedError("must be an address of 32 bits")
    return value


def address() -> Field:
    """A 32-bit address."""
    return Field(_address, typed=_typed_integer)


# A register's 32 bits.
WORD = Field(partial(_integer, low=0, high=ADDRESSES - 1), typed=_typed_integer)


def _addresses(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise RejectedError("must be a list of addresses such as [0x0020_0000]")
    if len(value) > 16:
        raise RejectedError("must have at most 16 addresses")
    return tuple(_address(item) for item in value)


def addresses(default: Default) -> Field:
    """A list of 32-bit addresses, as a tuple."""
    return Field(_addresses, default, _typed_list)


def flag(default: Default | None = None) -> Field:
    """``true`` or ``false``."""

    def parse(value: object) -> bool:
        if not isinstance(value, bool):
            raise RejectedError("must be true or false, without quotes")
        return value

    return Field(parse, default, _typed_flag)


def choice(*names: str, default: Default | None = None) -> Field:
    """One of ``names``."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise RejectedError("must be " + (f"one of {', '.join(names)}" if len(names) > 1 else f'"{names[0]}"'))
        return value

    return Field(parse, default)


def plug_in(kind: str, names: tuple[str, ...], default: Default) -> Field:
    """One of ``names``, a file of one's own by its path, or what an installed package declares."""

    def parse(value: object) -> str:
        if isinstance(value, str) and is_path(value):
            if not Path(value).is_file():
                raise RejectedError("there is no such file")
            return str(Path(value).absolute())
        if not isinstance(value, str) or (value not in names and value not in installed(kind)):
            known = f"one of {', '.join(names)}, or " if names else ""
            raise RejectedError(f"must be {known}the path of a file of your own (./my_{kind}.py)")
        return value

    def name(value: object) -> str:
        return Path(str(value)).name if is_path(str(value)) else str(value)

    return Field(parse, default, text=name)


def core_name() -> Field:
    """The name of a core that there is a model of, when the file is read."""

    def parse(value: object) -> object:
        try:
            return choice(*CORES).parse(value)
        except RejectedError as error:
            instead = stand_in(value) if isinstance(value, str) else ""
            raise RejectedError(f"{error}; {instead}" if instead else str(error)) from None

    return Field(parse)


def text(default: Default | None = None) -> Field:
    """A short text on one line; not a figure."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or not value.strip() or len(value) > 200 or not value.isprintable():
            raise RejectedError("must be a text of 1 to 200 characters on one line")
        return value

    return Field(parse, default, is_figure=False)


def clock(default: Default | None = None) -> Field:
    """A frequency in Hz."""

    def parse(value: object) -> int:
        hertz = units.parse_clock(value)
        if not SLOWEST_CLOCK <= hertz <= FASTEST_CLOCK:
            raise RejectedError(f"a clock must be {units.hertz(SLOWEST_CLOCK)} to {units.hertz(FASTEST_CLOCK)}")
        return hertz

    return Field(parse, default)


def clocks() -> Field:
    """A list of rising frequencies in Hz, as a tuple; without one it is empty."""

    def parse(value: object) -> tuple[int, ...]:
        if not isinstance(value, list) or not value or len(value) > 16:
            raise RejectedError('must be a list of 1 to 16 clocks such as ["30 MHz", "60 MHz"]')
        result = tuple(map(units.parse_clock, value))
        if any(b <= a for a, b in pairwise(result)) or result[0] < 1:
            raise RejectedError("clocks must rise")
        return result

    return Field(parse, Default(lambda _: (), ""), lambda typed: typed.strip().strip("[]").replace('"', "").split(","))


def _dividers(value: object) -> tuple[int, ...]:
    ends = _RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
    values = list(range(int(ends[1]), int(ends[2]) + 1)) if ends else value
    if not isinstance(values, list) or not values or len(values) > MOST_DIVIDERS:
        raise RejectedError(f'must be a list such as [2, 3], or a range such as "1 to {MOST_DIVIDERS}"')
    numbers = tuple(_integer(item, 1, 1 << 16) for item in values)
    if any(b <= a for a, b in pairwise(numbers)):
        raise RejectedError("dividers must rise")
    return numbers


def dividers() -> Field:
    """What a clock is divided by: a list of rising whole numbers, or ``"1 to 256"``; without it it is empty."""
    typed = lambda text: _typed_list(text) if "[" in text or "," in text else text  # noqa: E731
    return Field(_dividers, Default(lambda _: (), ""), typed)


def size(
    low: int = 1,
    *,
    power: bool = False,
    high: int = ADDRESSES,
    among: tuple[int, ...] = (),
    default: Default | None = None,
) -> Field:
    """Bytes in ``low..high``; ``power``: a power of two; or one of ``among``."""
    positive = (low, high) == (1, ADDRESSES)
    rule = "must be positive and fit 32 bits of address" if positive else f"here must be {low:,} B to {high:,} B"

    def parse(value: object) -> int:
        number = units.parse_size(value)
        if among and number not in among:
            raise RejectedError(f"must be one of {', '.join(f'{member} B' for member in among)}")
        if not low <= number <= high:
            raise RejectedError(f"a size {rule}")
        if power and number & (number - 1):
            raise RejectedError("must be a power of two")
        return number

    return Field(parse, default)


def bits(*among: int) -> Field:
    """A width in bits, one of ``among``."""

    def parse(value: object) -> int:
        number = units.parse_bits(value)
        if number not in among:
            raise RejectedError(f"must be one of {', '.join(f'{width} bit' for width in among)}")
        return number

    return Field(parse)


def duration(*clocks: str, positive: bool = False, default: Default | None = None) -> Field:
    """A duration in core cycles, seconds or the device's clocks (called ``clocks``); at most 1 ms or 10,000 clocks."""

    def parse(value: object) -> units.Duration:
        length = units.parse_duration(value, clocks)
        if positive and not length.value:
            raise RejectedError("must be more than zero")
        if length.value > (LONGEST_TIME if length.unit == "s" else LONGEST_CLOCKS):
            raise RejectedError(f"must be at most {LONGEST_TIME * 1000} ms or {LONGEST_CLOCKS:,} clocks")
        return length

    return Field(parse, default)


def time_span() -> Field:
    """A time in s, at most 1 s."""

    def parse(value: object) -> float:
        length = units.parse_duration(value)
        if length.unit != "s" or length.value > 1:
            raise RejectedError("must be a time of at most 1 s")
        return float(length.value)

    return Field(parse)


def _bounded(
    parse_exact: Callable[[object], Any], low: float, high: float, rule: str, default: Default | None = None
) -> Field:
    def parse(value: object) -> float:
        exact = parse_exact(value)
        if not (exact > 0 if low else exact >= 0) or exact > high:
            raise RejectedError(rule)
        return float(exact)

    return Field(parse, default)


def current(default: Default | None = None) -> Field:
    """A current in A."""
    return _bounded(units.parse_current, 0, 100, "a current must be at most 100 A", default)


def current_at(default: Default | None = None) -> Field:
    """A current, and the clock that it holds at if it follows one."""

    def parse(value: object) -> ClockedCurrent:
        _, at = units.parse_current_at(value)
        text = value.partition(" at ")[0] if isinstance(value, str) else value
        clock().parse(f"{at} Hz" if at is not None else "1 MHz")
        return ClockedCurrent(current().parse(text), at)

    return Field(parse, default)


def current_per_clock(default: Default | None = None) -> Field:
    """A current for each MHz of a clock, in A/MHz."""
    return _bounded(units.parse_current_per_clock, 0, 1, "a current per clock must be at most 1 A/MHz", default)


def voltage(default: Default | None = None) -> Field:
    """A supply voltage in V."""
    return _bounded(units.parse_voltage, 1, 60, "a supply must be more than 0 V and at most 60 V", default)


def energy() -> Field:
    """An energy in J."""
    return _bounded(units.parse_energy, 0, 1, "an energy per byte must be at most 1 J")


def shown(value: object, field: Field) -> str:
    """A value as a figure's text: strings as they are, addresses in hexadecimal."""
    if field.text is not None:
        return field.text(value)
    if field.parse in (_address, WORD.parse) and isinstance(value, int):
        return show_address(value)
    if field.parse is _addresses and isinstance(value, list):
        return f"[{', '.join(map(show_address, value))}]"
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    return value if isinstance(value, str) else show(value)
