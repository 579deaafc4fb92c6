"""A machine as text and as JSON, every figure with its basis and source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mcusim.machine.description import Cache, Machine
from mcusim.text import columns, size

__all__ = ["machine_json", "machine_table", "machines_table"]

_EXTERNAL = ("sdram", "qspi")


def machine_json(machine: Machine) -> dict[str, Any]:
    """``name title core memory[] dma[] figures[]``; bytes and Hz; a figure as it is written."""
    return {
        "name": machine.name,
        "title": machine.title,
        "core": asdict(machine.core),
        "memory": [
            {
                "name": region.name,
                "device": region.kind,
                "base": region.base,
                "size": region.size,
                "attribute": region.attribute,
                "dma": region.dma,
                "writable": region.writable,
            }
            for region in machine.memory.values()
        ],
        "dma": [{"name": dma.name, "streams": dma.streams, "beat": dma.beat} for dma in machine.dma.values()],
        "figures": [
            {"key": f.key, "value": f.text, "basis": f.basis, "source": f.source} for f in machine.figures.values()
        ],
    }


def machines_table(machines: Sequence[Machine]) -> str:
    """One line per machine."""
    rows = [["name", "core", "clock", "RAM", "flash", "external"]]
    for machine in machines:
        rows.append(
            [
                machine.name,
                machine.core.isa,
                f"{machine.core.clock / 1e6:g} MHz",
                size(_total(machine, "tcm", "sram")),
                size(_total(machine, "flash")),
                " + ".join(f"{r.kind} {size(r.size)}" for r in machine.memory.values() if r.kind in _EXTERNAL) or "-",
            ]
        )
    return "\n".join(columns(rows, left=2, indent=0))


def machine_table(machine: Machine) -> str:
    """Core, caches, memory map, then every figure."""
    lines = [f"{machine.name}: {machine.title}", ""]
    lines += columns(
        [
            ["core", f"{machine.core.isa}, {machine.core.clock / 1e6:g} MHz"],
            ["instruction cache", _cache(machine.instruction_cache)],
            ["data cache", _cache(machine.data_cache)],
            *([f"dma {d.name}", f"{d.streams} streams, {d.beat} B a beat"] for d in machine.dma.values()),
        ],
        left=2,
    )
    rows = [["region", "device", "base", "size", "attribute", "DMA"]]
    for region in machine.memory.values():
        dma = "yes" if region.dma else "no"
        rows.append([region.name, region.kind, f"0x{region.base:08x}", size(region.size), region.attribute, dma])
    lines += ["", "Memory", *columns(rows, left=2), "", "Figures"]
    figures = [[f.key, f.text, f.basis, f.source] for f in machine.figures.values()]
    return "\n".join([*lines, *columns(figures, left=4)])


def _cache(cache: Cache | None) -> str:
    if cache is None or cache.size == 0:
        return "none"
    return f"{size(cache.size)}, {cache.ways} ways, {cache.line} B lines, {cache.policy}, {cache.replacement}"


def _total(machine: Machine, *kinds: str) -> int:
    return sum(region.size for region in machine.memory.values() if region.kind in kinds)
