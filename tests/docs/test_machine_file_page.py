"""The page about machine files has every key of the schema, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mcusim.machine import schema
from tests.support.documentation import PAGES


def keys(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, entry in table.items():
        fields = getattr(entry, "fields", None)
        yield from keys(fields, f"{prefix}{name}.") if fields is not None else [f"{prefix}{name}"]


def expected() -> set[str]:
    parts = {"core.": schema.CORE, "regulator.NAME.": schema.REGULATOR, "bus.": schema.BUS}
    parts |= {"cache.data.": schema.CACHE, "memory.NAME.": schema.REGION}
    parts |= {"dma.NAME.": schema.DMA, "power.": schema.POWER, "peripherals.NAME.": schema.PERIPHERAL}
    found = {key for prefix, table in parts.items() for key in keys(table, prefix)}
    for _, fields in schema.DEVICES.values():
        found |= set(keys(fields, "memory.NAME."))
    found |= {"name", "title", "part", "extends", "power.energy_per_byte.REGION"} - {"power.energy_per_byte"}
    found -= {"power.scale", "power.mode"}
    found |= {*keys(schema.SCALE, "power.scale.NAME."), *keys(schema.MODE, "power.mode.NAME.")}
    found -= {"power.energy_per_byte", "peripherals.NAME.reads", "peripherals.NAME.mirrors"}
    mirrors = {"peripherals.NAME.mirrors.OFFSET.mask", "peripherals.NAME.mirrors.OFFSET.shift"}
    return found | {"peripherals.NAME.reads.OFFSET"} | mirrors


def test_the_page_has_every_key_of_the_schema() -> None:
    text = (PAGES / "reference" / "machine-file.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {key for row in rows for key in re.findall(r"`([^`]+)`", row)} == expected()
