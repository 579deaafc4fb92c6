"""The values of an axis: those of options in one form, ranges written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from mcusim.errors import UnitError, UsageError
from mcusim.machine.document import show
from mcusim.plan import Option, declared_options
from mcusim.run_config.run_options import CODE, DOMAIN, OPERATOR_OVERHEAD, PERIOD, SLEEP
from mcusim.sweeps.expressions import Value
from mcusim.units import magnitude, quantity_parts, quoted

MOST_VALUES = 10_000
RANGE = ("low", "high", "step")
REGIONS = ("weights", "code")  # options that name one


OPTIONS: Mapping[str, Option[Any]] = {
    **declared_options(),
    **{option.name: option for option in (CODE, OPERATOR_OVERHEAD, PERIOD, SLEEP, DOMAIN)},
}
"""Axes that are options: of a plan, and what of a run a row depends on."""
# options of `mcusim run` that are short for a machine key
MACHINE_OPTIONS: Mapping[str, str] = {"clock": "core.clock", "force_clock": "core.force_clock"}
# machine keys that move others; where one is an axis, rows say what they moved to
CLOCKS = ("clock", "core.clock", "bus.clock")


def axis_values(key: str, raw: object) -> tuple[Value, ...]:
    """The values of axis ``key``: a list, or ``{ low, high, step }`` written out. Raises UsageError or UnitError."""
    values = _written_out(raw) if isinstance(raw, Mapping) else raw
    if not isinstance(values, list):
        raise UsageError("must be a list of values, or { low = ..., high = ..., step = ... }")
    if not values:
        raise UsageError("is an empty list: name at least one value")
    if len(values) > MOST_VALUES:
        raise UsageError(f"has {len(values):,} values; at most {MOST_VALUES:,}")
    if key in OPTIONS:
        return tuple(_option(key, value) for value in values)
    for value in values:
        if not isinstance(value, str | int | float):
            raise UsageError(f"the value {show(value)} is neither text nor number")
        if not isinstance(value, str) and not abs(value) < 1 << 63:
            raise UsageError(f"the value {show(value)} is too large, or no number")
    return tuple(values)


def _option(key: str, value: object) -> Value:
    option = OPTIONS[key]
    try:
        return option.to_json(option.parse(value))
    except (UnitError, UsageError) as error:
        text = str(error)
        own = text.startswith(f"--{option.flag} ")  # names option and value
        raise UsageError(text.removeprefix("--") if own else f"the value {show(value)}: {text}") from None


def _written_out(table: Mapping[str, Any]) -> list[Any]:
    """``low``, ``low + step``, … up to ``high``, in the unit they share."""
    unknown = [key for key in table if key not in RANGE]
    if unknown or len(table) < len(RANGE):
        raise UsageError(f"a range has {', '.join(RANGE)}" + (f", not {quoted(unknown[0])}" if unknown else ""))
    parts = [_parts(key, table[key]) for key in RANGE]
    (low, unit), (high, _), (step, _) = parts
    if len({unit for _, unit in parts}) > 1:
        raise UsageError("low, high and step of a range need the same unit")
    if step <= 0 or high < low:
        raise UsageError("a range goes up from low to high by a step above zero")
    count = (high - low) // step + 1
    if count > MOST_VALUES:
        raise UsageError(f"has {count:,} values; at most {MOST_VALUES:,}")
    values = [low + step * n for n in range(int(count))]
    if unit:
        return [f"{_decimal(value)} {unit}" for value in values]
    number: type[int | float] = int if all(value.denominator == 1 for value in values) else float
    return [number(value) for value in values]


def _parts(key: str, value: object) -> tuple[Fraction, str]:
    """A number and its unit, empty for a plain number."""
    if isinstance(value, str):
        parts = quantity_parts(value)
        if parts is not None:
            return parts
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
        return Fraction(str(value)), ""
    raise UsageError(f"{key} = {show(value)}: must be a number, or a number and a unit in quotes")


def _decimal(value: Fraction) -> str:
    """Exactly, without an exponent; sums of decimals are decimals."""
    with localcontext() as context:
        context.prec = 200
        text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def in_base_unit(key: str, values: Sequence[Value]) -> tuple[list[Value], str]:
    """The values of axis ``key`` as numbers in their base unit, and that unit: 216000000 and ``Hz`` of ``"216 MHz"``;
    as they are and '' where they are no quantities, or have no unit in common."""
    option = OPTIONS.get(key)
    if option is not None and option.is_size:
        return list(values), "B"
    parts = [magnitude(value) if isinstance(value, str) else None for value in values if value is not None]
    numbers = [part[0] for part in parts if part is not None and part[1]]
    units = {part[1] for part in parts if part is not None}
    if not numbers or len(numbers) < len(parts) or len(units) > 1:
        return list(values), ""
    whole = all(number.denominator == 1 for number in numbers)
    known = iter([int(number) if whole else float(number) for number in numbers])
    return [None if value is None else next(known) for value in values], units.pop()


def distinct(values: Sequence[Value]) -> bool:
    """Is every value there once? ``1`` and ``true`` are two."""
    return len({(type(value), value) for value in values}) == len(values)
