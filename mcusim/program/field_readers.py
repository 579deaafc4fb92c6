"""Strict readers for the values of a program file. Each raises FieldError with what was expected and what was found."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mcusim.errors import UsageError
from mcusim.program.program import Span
from mcusim.runtime.patches import parse_grid, patches_of
from mcusim.runtime.runtime import runtime_names, techniques

ADDRESSES = 1 << 32  # a Cortex-M has 32-bit addresses
COUNT = 1 << 20  # operators, tiles, requests ...
SIZE = 1 << 24  # one dimension of a geometry
TEXT = 4096
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,8}")


class FieldError(ValueError):
    """A value that breaks the format."""


def quoted(value: object) -> str:
    """``value`` as an error message shows it, cut to a readable length."""
    shown = f"{value:.60}…" if isinstance(value, str) and len(value) > 60 else value
    if isinstance(shown, (list, dict)):
        return "a list" if isinstance(shown, list) else "an object"
    if isinstance(shown, int) and abs(shown) >= 1 << 64:
        return "a huge number"
    return ascii(shown)


def keys(value: object, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """``value`` as an object that has every key of ``required`` and no key beyond those and ``optional``."""
    if not isinstance(value, dict):
        raise FieldError(f"expected an object, found {quoted(value)}")
    needed = tuple(required)
    missing = [key for key in needed if key not in value]
    if missing:
        raise FieldError(f"missing key '{missing[0]}'")
    unknown = [key for key in value if key not in needed and key not in optional]
    if unknown:
        raise FieldError(f"unknown key {quoted(unknown[0])}; known are {', '.join((*needed, *optional))}")
    return value


def whole(value: object, what: str, below: int = COUNT, least: int = 0) -> int:
    """A whole number, ``least`` <= value < ``below``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"{what} must be a whole number, found {quoted(value)}")
    if not least <= value < below:
        raise FieldError(f"{what} must be at least {least} and below {below}, found {quoted(value)}")
    return value


def numbers(value: object, what: str, count: int, below: int = SIZE, least: int = 0) -> list[int]:
    """A list of exactly ``count`` whole numbers."""
    values = items(value, what)
    if len(values) != count:
        raise FieldError(f"{what} must be a list of {count} numbers, found {len(values)}")
    return [whole(v, what, below, least) for v in values]


def items(value: object, what: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise FieldError(f"{what} must be a list, found {quoted(value)}")
    return value


def text(value: object, what: str) -> str:
    """A string of at most 4096 characters that UTF-8 can encode."""
    if not isinstance(value, str):
        raise FieldError(f"{what} must be a string, found {quoted(value)}")
    if len(value) > TEXT:
        raise FieldError(f"{what} is longer than {TEXT} characters")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise FieldError(f"{what} has a lone surrogate, which UTF-8 cannot encode")
    return value


def texts(value: object, what: str) -> tuple[str, ...]:
    """A list of strings."""
    return tuple(text(v, what) for v in items(value, what))


def matching(value: object, what: str, pattern: re.Pattern[str] = NAME) -> str:
    """A string that ``pattern`` matches whole; by default the name of a region."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise FieldError(f"{what} must be a name, found {quoted(value)}")
    return value


def choice(value: object, what: str, known: tuple[str, ...]) -> Any:
    """One of the ``known`` words."""
    if not isinstance(value, str) or value not in known:
        raise FieldError(f"unknown {what} {quoted(value)}; known are {', '.join(known)}")
    return value


def address(value: object, what: str) -> int:
    """A hexadecimal address, ``"0x20000000"``."""
    if not isinstance(value, str) or not ADDRESS.fullmatch(value):
        raise FieldError(f"address of {what} must be a string such as '0x20000000', found {quoted(value)}")
    return int(value, 16)


def span(value: object, what: str) -> Span:
    """``[region, address, bytes]``, inside the 32-bit address space, at least one byte."""
    values = items(value, what)
    if len(values) != 3:
        raise FieldError(f"{what} must be [region, address, bytes], found {len(values)} entries")
    made = Span(matching(values[0], f"region of {what}"), address(values[1], what), 0)
    size = whole(values[2], f"bytes of {what}", ADDRESSES, 1)
    if made.address + size > ADDRESSES:
        raise FieldError(f"{what} runs past the end of the 32-bit address space")
    return Span(made.region, made.address, size)


def options(value: object) -> Mapping[str, Any]:
    """An object of strings, whole or finite numbers, true/false/null, and lists of these.

    ``set`` and ``costs`` are objects of strings, ``sram_budget`` a number of bytes or null, ``operator_order`` a list
    of whole numbers, ``runtime`` the name of one.
    """
    result = keys(value, (), value if isinstance(value, dict) else ())
    for key, entry in result.items():
        text(key, "a key of options")
        if key in ("set", "costs"):
            _overrides(key, entry)
            continue
        for v in entry if isinstance(entry, list) else [entry]:
            _scalar(v, key)
    if "operator_order" in result:
        for number in items(result["operator_order"], "option 'operator_order'"):
            whole(number, "an operator of option 'operator_order'")
    if result.get("sram_budget") is not None:
        whole(result["sram_budget"], "option 'sram_budget'", ADDRESSES + 1, 1)
    if "runtime" in result:
        choice(result["runtime"], "option 'runtime'", runtime_names())
    if "without" in result:
        for name in text(result["without"], "option 'without'").split(","):
            choice(name, "a name of option 'without'", tuple(techniques()))
    _patches(result)
    return result


def _patches(fields: Mapping[str, Any]) -> None:
    """A grid and a split, or neither; which ones ``auto`` chose is in a header."""
    if {"patches", "patch_split"} & fields.keys():
        split = whole(fields.get("patch_split"), "option 'patch_split'", 1 << 32, 1)
        try:
            chosen = patches_of(parse_grid(fields.get("patches")), split)
        except UsageError as error:
            raise FieldError(f"option 'patches': {error}") from None
        assert chosen is not None  # a split without a grid was refused


def _overrides(option: str, value: object) -> None:
    for key, entry in keys(value, (), value if isinstance(value, dict) else ()).items():
        text(key, f"a key of option '{option}'")
        text(entry, f"option '{option}', key {quoted(key)},")


def _scalar(value: object, key: str) -> None:
    if isinstance(value, str):
        text(value, f"option '{key}'")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise FieldError(f"option {quoted(key)} is not a finite number")
    elif isinstance(value, int):
        if abs(value) >= 1 << 63:
            raise FieldError(f"option {quoted(key)} is a huge number")
    elif value is not None:
        raise FieldError(f"option {quoted(key)} must be a string, a number, true, false, null or a list of these")
