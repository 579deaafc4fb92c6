"""Cores that there is no model of: which modelled core stands in best, and what that leaves wrong.

Not modelled: any figure of such a core; what a stand-in says is no estimate with an interval.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

_PART = re.compile(r"(?:stm32|nucleo-|disco-|^(?=.{3}))(wba|[cfghlnuw][0-9b])", re.IGNORECASE)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("mcusim") / "machine" / "stand_ins.toml").read_text("utf-8"))


def stand_in(core: str) -> str:
    """Which modelled core stands in for ``core`` and what that changes; empty: nothing is known of it."""
    name = core.strip().lower()
    nearest, changes = _table()["cores"].get(name, ("", ""))
    return f"the nearest stand-in for {name} is {nearest}: {_table()['changes'][changes]}" if nearest else ""


def core_of_part(text: str) -> str | None:
    """The core of the ST series that a board or part is named after: ``nucleo-u575zi``; None: no series known here."""
    match = _PART.search(text[:80])
    return None if match is None else _table()["series"].get(match[1].lower())
