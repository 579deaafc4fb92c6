"""The shape of a layer as it is typed: ``in=16x16x32,kernel=5x5,out=32,stride=1,padding=same``."""

from __future__ import annotations

from mcusim.errors import UsageError
from mcusim.units import quoted

KEYS = {"in": 3, "out": 1, "kernel": 2, "stride": 2, "padding": 0}
LARGEST = 4096


def parse_shape(text: str) -> tuple[dict[str, int], str]:
    """Sizes by name, as :func:`~mcusim.tuning.layer.graph_of_shape` takes them, and the padding. Raises UsageError."""
    values: dict[str, str] = {}
    for part in text.split(","):
        key, sign, value = part.strip().partition("=")
        if not sign or key not in KEYS or key in values:
            raise _wrong(text, f"{quoted(part)} is none of {', '.join(KEYS)}, each once")
        values[key] = value.strip().lower()
    missing = [key for key in ("in", "out") if key not in values]
    if missing:
        raise _wrong(text, f"{missing[0]} is missing")
    padding = values.pop("padding", "same")
    if padding not in ("same", "valid"):
        raise _wrong(text, f"padding is same or valid, not {quoted(padding)}")
    sizes = {key: _sizes(text, key, value) for key, value in values.items()}
    counts = dict(zip(("in_h", "in_w", "in_c"), sizes["in"], strict=True)) | {"out_c": sizes["out"][0]}
    for key in ("kernel", "stride"):
        if key in sizes:
            counts |= {f"{key}_h": sizes[key][0], f"{key}_w": sizes[key][1]}
    return counts, padding.upper()


def _sizes(text: str, key: str, value: str) -> list[int]:
    sides, count = value.split("x"), KEYS[key]
    if not all(side.isdecimal() and 0 < int(side) <= LARGEST for side in sides if len(side) < 9) or any(
        len(side) > 8 for side in sides
    ):
        raise _wrong(text, f"{key} = {quoted(value)}: sizes are whole numbers from 1 to {LARGEST}")
    if count == 2 and len(sides) == 1:
        sides *= 2
    if len(sides) != count:
        raise _wrong(text, f"{key} = {quoted(value)}: has {count} sizes")
    return [int(side) for side in sides]


def _wrong(text: str, rule: str) -> UsageError:
    return UsageError(
        f"--shape {quoted(text)}: {rule}; an example: in=16x16x32,kernel=5x5,out=32,stride=1,padding=same"
    )
