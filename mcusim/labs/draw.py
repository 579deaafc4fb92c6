"""What each student has for oneself: a value of each parameter, and another order of choices and items.

All of it follows from a seed by one hash (FNV-1a of 32 bits, finished as MurmurHash3 does), which a page computes too.
Seed 0 is the lab as it is written: the first values, the order of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from mcusim.errors import UsageError

MOST_SEED = 999_999
MOST_DRAWS = 64  # of all parameters together
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHUFFLED = ("choice", "items")


def hashed(text: str) -> int:
    """32 bits of a text, each of which depends on all of it."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        value = (value ^ value >> shift) * factor & 0xFFFFFFFF
    return value ^ value >> 16


def seed_of(student: str) -> int:
    """The seed of a student: 1 to 999,999 of the name or number, in any case. Raises UsageError for none."""
    name = " ".join(student.split()).lower()
    if not name or len(name) > 80 or not name.isprintable():
        raise UsageError(f"--student {student[:40]!r}: a name or number of 1 to 80 characters")
    return hashed(name) % MOST_SEED + 1


def drawn(raw: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The document of a lab for ``seed``: its parameters' values in all texts, choices and items in their order."""
    values = {
        name: several[hashed(f"{seed}/{name}") % len(several) if seed else 0] for name, several in _several(raw).items()
    }
    result = _with(raw, values)
    for step in _steps(result):
        for key in _SHUFFLED:
            if seed and isinstance(step.get(key), list):
                keys = [hashed(f"{seed}/{step.get('id')}/{i}") for i in range(len(step[key]))]
                step[key] = [step[key][i] for i in sorted(range(len(keys)), key=keys.__getitem__)]
    return result


def draws(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The document of the lab with every combination of its parameters' values, in the order of the file; with the
    first values alone where there are more than :data:`MOST_DRAWS`, which a lab may not have."""
    several = _several(raw)
    if prod(map(len, several.values())) > MOST_DRAWS:
        several = {name: values[:1] for name, values in several.items()}
    for values in product(*several.values()):
        yield _with(raw, dict(zip(several, values, strict=True)))


def _several(raw: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The parameters that have values."""
    value = raw.get("parameters")
    return {n: v for n, v in value.items() if isinstance(v, list) and v} if isinstance(value, Mapping) else {}


def _with(raw: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = substituted(raw, {**_constants(raw), **values})
    if values:
        result["parameters"] = {**raw["parameters"], **{name: [value] for name, value in values.items()}}
    return result


def _constants(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The values of constants that have one."""
    value = raw.get("constants")
    several = value.items() if isinstance(value, Mapping) else ()
    return {name: fields["value"] for name, fields in several if isinstance(fields, Mapping) and "value" in fields}


def _steps(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    parts = raw.get("part")
    for part in parts if isinstance(parts, list) else ():
        steps = part.get("step") if isinstance(part, dict) else None
        yield from (step for step in (steps if isinstance(steps, list) else ()) if isinstance(step, dict))


def substituted(value: Any, values: Mapping[str, Any]) -> Any:
    """A copy of a document with ``{name}`` replaced in all texts."""
    if isinstance(value, Mapping):
        return {key: substituted(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [substituted(item, values) for item in value]
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0])), value)
    return value


def placeholders(text: str) -> list[str]:
    """Names in braces."""
    return _PLACEHOLDER.findall(text)
