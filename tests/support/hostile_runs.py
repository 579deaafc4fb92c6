"""JSON files and limits that `mcusim diff` has to refuse or to take: seeded damage to what a run wrote."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

WRONG: tuple[Any, ...] = (
    None, True, -1, 1.5, 10**15 + 1, 10**40, 1e308, "", "7", "\x1b[2J\u202e", "x" * 100_000, [], {}, [[]],
    [1, "a", None],
)  # fmt: skip
RAW = (
    "NaN",
    "-Infinity",
    "1e999",
    "-1e999",
    "9" * 5000,
    "[" * 50_000,
    "{" * 10,
    '"\\ud800"',
    '"\x00"',
    "1" + "0" * 300,
)
FIGURES = ("latency", "energy", "cycles", "sram", "flash", "current", "", "Latency", "lätency", "latency latency")
SIGNS = ("+", "-", "", "++", "=", ">", "−")
NUMBERS = ("5", "0", "1e3", "nan", "inf", "-1", "9" * 16, "1.", ".5", "0x10", "1_000", "٣", "1" * 500, "")
UNITS = ("%", "ms", "s", "mJ", "KiB", "B", "", "kB", "% %", "MS", "\x1b[2J", "µs")


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all members, at most three of each list."""
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [place for key in value for place in _places(value[key], (*path, key))]
    if isinstance(value, list):
        return found + [place for i in range(min(3, len(value))) for place in _places(value[i], (*path, i))]
    return found


def _parent(whole: Any, path: tuple[Any, ...]) -> Any:
    for step in path[:-1]:
        whole = whole[step]
    return whole


def wrong_type(good: Any, rng: random.Random) -> bytes:
    whole = copy.deepcopy(good)
    for _ in range(rng.choice((1, 1, 3))):
        path = rng.choice(_places(whole))
        _parent(whole, path)[path[-1]] = copy.deepcopy(rng.choice(WRONG))
    return json.dumps(whole).encode("utf-8", "surrogatepass")


def removed(good: Any, rng: random.Random) -> bytes:
    whole = copy.deepcopy(good)
    path = rng.choice(_places(whole))
    del _parent(whole, path)[path[-1]]
    return json.dumps(whole).encode()


def raw(good: Any, rng: random.Random) -> bytes:
    whole = copy.deepcopy(good)
    path = rng.choice(_places(whole))
    _parent(whole, path)[path[-1]] = "@@@"
    return json.dumps(whole).replace('"@@@"', rng.choice(RAW), 1).encode("utf-8", "surrogatepass")


def bytes_damaged(good: Any, rng: random.Random) -> bytes:
    data = bytearray(json.dumps(good).encode())
    how = rng.randrange(4)
    if how == 0:
        return bytes(data[: rng.randrange(len(data))])
    if how == 1:
        for _ in range(rng.choice((1, 8, 64))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    if how == 2:
        return bytes(data).decode().encode(rng.choice(("utf-16", "utf-32", "utf-8-sig")))
    return bytes(data) + rng.choice((b"x", b"\x00", b"{}", b"\xff"))


def whole_file(good: Any, rng: random.Random) -> bytes:
    deep = rng.choice((b"[", b'{"a":')) * rng.choice((1000, 100_000))
    other = json.dumps({"rows": [good]}), json.dumps({"replay": good, "emulate": good}), json.dumps([good])
    return rng.choice((b"", b"null", b"7", b'"a"', b"[]", b"{}", b"\xff\xfe", deep, *(text.encode() for text in other)))


def large(good: Any, rng: random.Random) -> bytes:
    """Many operators, each a copy: the sums do not hold, or the list is too long."""
    whole = copy.deepcopy(good)
    whole["operators"] = whole["operators"][:1] * rng.choice((100, 3000, 12_000))
    return json.dumps(whole).encode()


WAYS: tuple[Callable[[Any, random.Random], bytes], ...] = (
    wrong_type, wrong_type, removed, raw, bytes_damaged, whole_file, large,
)  # fmt: skip


def hostile_run(good: Any, seed: int) -> bytes:
    """A damaged file; some damage leaves a file that is valid."""
    rng = random.Random(f"run {seed}")
    return WAYS[seed % len(WAYS)](good, rng)


def hostile_limit(seed: int) -> str:
    """A limit; some of them are valid."""
    rng = random.Random(f"limit {seed}")
    space = rng.choice(("", " ", "\t", "\u00a0"))
    return rng.choice(FIGURES) + space + rng.choice(SIGNS) + rng.choice(NUMBERS) + space + rng.choice(UNITS)
