"""Fields of a kernel cost profile's TOML file: each is checked, and an error names the file and the key.

Not modelled: where in the file a key is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcusim.errors import UsageError
from mcusim.kernels.cost.fitted.fitted_shapes import GROUPS, SHAPES, Ranges
from mcusim.units import quoted

BASES = ("datasheet", "measured", "calibrated", "emulated", "assumed")


def table_of(where: str, data: Mapping[str, Any], key: str, prefix: str = "") -> Mapping[str, Any]:
    value = data.get(key)
    if not isinstance(value, Mapping):
        raise UsageError(f"kernel profile {where}: table [{'.'.join(filter(None, (prefix, key)))}] is missing")
    return value


def number(where: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise UsageError(f"kernel profile {where}: {key} = {value!r}: a number of at least 0 is needed")
    return float(value)


def text_of(where: str, key: str, value: object, known: Sequence[str] = ()) -> str:
    """A text, one of ``known`` if there are any. Raises UsageError."""
    if not isinstance(value, str) or not value or (known and value not in known):
        needed = f"one of {', '.join(known)}" if known else "a text"
        raise UsageError(f"kernel profile {where}: {key} = {quoted(value)}: {needed} is needed")
    return value


def one_of(where: str, data: Mapping[str, Any], key: str, known: Sequence[str], default: Any) -> Any:
    if key in data and data[key] not in known:
        raise UsageError(f"kernel profile {where}: {key} = {quoted(data[key])}: known are {', '.join(known)}")
    return data.get(key, default)


def shape_errors(where: str, key: str, table: object) -> Mapping[str, float]:
    if not isinstance(table, Mapping) or set(table) - set(GROUPS):
        raise UsageError(f"kernel profile {where}: {key}: a table of some of {', '.join(GROUPS)} is needed")
    return {name: number(where, f"{key}.{name}", value) for name, value in table.items()}


def shape_ranges(where: str, key: str, table: object) -> Ranges:
    if not isinstance(table, Mapping) or set(table) - set(SHAPES):
        raise UsageError(f"kernel profile {where}: {key}: a table of some of {', '.join(SHAPES)} is needed")
    ranges = {}
    for name, values in table.items():
        if not isinstance(values, list) or len(values) != 2:
            raise UsageError(f"kernel profile {where}: {key}.{name}: the least and the largest are needed")
        low, high = (int(number(where, f"{key}.{name}", value)) for value in values)
        if low > high:
            raise UsageError(f"kernel profile {where}: {key}.{name} = {values}: the least comes first")
        ranges[name] = low, high
    return ranges
