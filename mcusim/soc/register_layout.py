"""Registers as tables describe them, those of ``layouts.toml`` and those of users.

Not modelled: registers that are not 32 bits wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from mcusim.soc.register_block import DelayedStatus, Register
from mcusim.units import parse_duration

ABOUT = ("source", "basis")


def registers(layout: Mapping[str, Any], clock: int) -> dict[int, Register]:
    """The registers of a layout by offset, for a core of ``clock`` hertz."""
    tables = {name: table for name, table in layout.items() if isinstance(table, Mapping)}
    result = {}
    for name, table in tables.items():
        values = {key: value for key, value in table.items() if key not in (*ABOUT, "offset", "follows")}
        follows = tuple(_follow(item, tables, clock) for item in table.get("follows", ()))
        result[table["offset"]] = Register(name, follows=follows, **values)
    return result


def _follow(table: Mapping[str, Any], registers: Mapping[str, Any], clock: int) -> DelayedStatus:
    values = {key: value for key, value in table.items() if key not in (*ABOUT, "from", "after")}
    after = ceil(parse_duration(table["after"]).cycles(clock))
    return DelayedStatus(registers[table["from"]]["offset"], after=after, **values)
