"""Texts of a lab: what stands in braces becomes what runs gave, and what may stand there as a plain number.

``{two.dcache_misses}`` is a figure of the run ``two``, ``{two.cache.data.ways}`` a key of its machine, and between
braces may be any expression over both (:mod:`mcusim.sweeps.expressions`): ``{round(100 * two.sdram / two.cycles)}``.

Not modelled: whether the words around a number are true.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

BRACES = re.compile(r"\{([^{}\n]+)\}")
_CODE = re.compile(r"`[^`\n]*`")
_CITED = re.compile(r"\(((19|20)\d\d)\)|, ((19|20)\d\d)(?=[);])")  # "Hill (1987)", "(Lin et al., 2021)"
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_PLAIN = {"100", "1,000", "1,024"}  # factors of units: per cent, thousands, KiB
_SHORT = 2  # digits of a number that may stand anywhere
TEXTS = ("title", "needs", "text", "teacher", "why", "hint", "predict", "watch", "explore", "ask", "choose", "order",
         "write", "design")  # fmt: skip
LISTS = ("aims", "hints")
SETTINGS = ("options", "set", "knobs", "names", "parameters", "constants")  # tables without a text in them


def filled(text: str, value: Callable[[str], str]) -> str:
    """``text`` with what ``value`` says of each expression in braces."""
    return BRACES.sub(lambda match: value(match[1].strip()), text)


def plain_numbers(text: str) -> list[str]:
    """Numbers of three digits or more outside braces and code; years of publications are none."""
    bare = _CITED.sub("", _CODE.sub("", BRACES.sub("", text)))
    texts = [match[0].rstrip(",") for match in _NUMBER.finditer(bare)]
    return [text for text in texts if sum(map(str.isdigit, text)) > _SHORT and text not in _PLAIN]


def text_fields(raw: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text that somebody reads, with its place in the document."""
    if isinstance(raw, list | tuple):
        for number, below in enumerate(raw):
            yield from text_fields(below, (*path, number))
    if not isinstance(raw, dict):
        return
    for key, value in raw.items():
        if key in SETTINGS:
            continue
        if isinstance(value, str) and _is_read(key, raw):
            yield (*path, key), value
        elif key in LISTS and isinstance(value, list | tuple):
            yield from (((*path, key, n), text) for n, text in enumerate(value) if isinstance(text, str))
        elif isinstance(value, dict | list | tuple):
            yield from text_fields(value, (*path, key))


def _is_read(key: str, table: dict[str, Any]) -> bool:
    """``answer`` is read of a question for a text, ``text`` of everything."""
    return key in TEXTS or (key == "answer" and "write" in table)
