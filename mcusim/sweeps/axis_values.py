"""The values of an axis: those of options in one form, ranges written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from mcusim.errors import UnitError, UsageError
from mcusim.machine.document import show
from mcusim.plan import BUFFERING, OVERLAYS
from mcusim.plan.options import ALLOCATORS, ORDERS, VARIANTS
from mcusim.request.period import Period
from mcusim.sweeps.expressions import Value
from mcusim.units import parse_size, quantity_parts, quoted

__all__ = ["CLOCKS", "MACHINE_OPTIONS", "MOST_VALUES", "OPTIONS", "REGIONS", "axis_values", "distinct"]

MOST_VALUES = 10_000
RANGE = ("low", "high", "step")
REGIONS = ("weights", "code")  # options that name one


def _budget(value: Any) -> Value:
    if value == "none":
        return None
    if isinstance(value, str):
        return parse_size(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError('must be a size ("256 KiB"), whole bytes or "none"')
    return value


def _overlay(value: Any) -> Value:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f'must be "none", or some of {", ".join(OVERLAYS)} separated by commas')
    named = [name.strip() for name in names if name.strip()]
    if named in (["none"], []):
        return "none"
    unknown = [name for name in named if name not in OVERLAYS]
    if unknown:
        raise UsageError(f"has an unknown overlay {quoted(unknown[0])}; there are {', '.join(OVERLAYS)}")
    return ",".join(name for name in OVERLAYS if name in named)


def _region(value: Any) -> Value:
    if not isinstance(value, str) or not value or len(value) > 64:
        raise UsageError('must be the name of a region, or "none" for the default')
    return None if value == "none" else value


def _buffering(value: Any) -> Value:
    if value not in BUFFERING:
        raise UsageError(f"must be one of {', '.join(BUFFERING)}")
    return str(value)


def _variant(value: Any) -> Value:
    if isinstance(value, bool) or str(value) not in VARIANTS:
        raise UsageError(f"must be one of {', '.join(VARIANTS)}")
    return str(value)


def _order(value: Any) -> Value:
    if value not in ORDERS:
        raise UsageError(f"must be one of {', '.join(ORDERS)}")
    return str(value)


def _allocator(value: Any) -> Value:
    if value == "none":
        return None
    if value not in ALLOCATORS:
        raise UsageError(f'must be one of {", ".join(ALLOCATORS)}, or "none" for the default')
    return str(value)


def _flag(value: Any) -> Value:
    if not isinstance(value, bool):
        raise UsageError("must be true or false")
    return value


def _count(value: Any) -> Value:
    if value == "none":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**12:
        raise UsageError('must be whole cycles from 0 on, or "none" for the kernels\' own')
    return value


def _period(value: Any) -> Value:
    if value == "none":
        return None
    try:
        Period.of(value)
    except UsageError as error:
        raise UsageError(f"is no period: {str(error).removeprefix('--period ')}") from None
    return str(value)


OPTIONS: Mapping[str, Callable[[Any], Value]] = {
    "sram_budget": _budget,
    "weights": _region,
    "overlay": _overlay,
    "buffering": _buffering,
    "variant": _variant,
    "order": _order,
    "allocator": _allocator,
    "in_place": _flag,
    "code": _region,
    "operator_overhead": _count,
    "period": _period,
}


# options of `mcusim run` that are short for a machine key
MACHINE_OPTIONS: Mapping[str, str] = {"clock": "core.clock", "force_clock": "core.force_clock"}
# machine keys that move others; where one is an axis, rows say what they moved to
CLOCKS = ("clock", "core.clock", "bus.clock")


def axis_values(key: str, raw: object) -> tuple[Value, ...]:
    """The values of axis ``key``: a list, or ``{ low, high, step }`` written out. Raises UsageError or UnitError."""
    found = _written_out(raw) if isinstance(raw, Mapping) else raw
    if not isinstance(found, list):
        raise UsageError("must be a list of values, or { low = ..., high = ..., step = ... }")
    if not found:
        raise UsageError("is an empty list: name at least one value")
    if len(found) > MOST_VALUES:
        raise UsageError(f"has {len(found):,} values; at most {MOST_VALUES:,}")
    if key in OPTIONS:
        return tuple(_option(key, value) for value in found)
    for value in found:
        if not isinstance(value, str | int | float):
            raise UsageError(f"the value {show(value)} is neither text nor number")
        if not isinstance(value, str) and not abs(value) < 1 << 63:
            raise UsageError(f"the value {show(value)} is too large, or no number")
    return tuple(found)


def _option(key: str, value: object) -> Value:
    try:
        return OPTIONS[key](value)
    except UnitError as error:
        raise UsageError(f"the value {show(value)}: {error}") from None
    except UsageError as error:
        raise UsageError(f"the value {show(value)} {error}") from None


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
        found = quantity_parts(value)
        if found is not None:
            return found
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
        return Fraction(str(value)), ""
    raise UsageError(f"{key} = {show(value)}: must be a number, or a number and a unit in quotes")


def _decimal(value: Fraction) -> str:
    """Exactly, without an exponent; sums of decimals are decimals."""
    with localcontext() as context:
        context.prec = 200
        text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def distinct(values: Sequence[Value]) -> bool:
    """Is every value there once? ``1`` and ``true`` are two."""
    return len({(type(value), value) for value in values}) == len(values)
