"""What an emulated program asked of memories, caches, accelerator and branch predictor, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcusim.results.emulation import EmulationResult
from mcusim.results.hot_spots import causes
from mcusim.text import columns, size

__all__ = ["memory_lines", "rates"]


def memory_lines(result: EmulationResult) -> list[str]:
    """The regions that were used, then a line for each cache, accelerator, SDRAM and the branches."""
    rows = [["region", "reads", "writes", "read", "written", "data stalls", "code stalls"]]
    stalls = causes(result.profile)
    for name, c in result.profile.regions.items():
        numbers = [f"{c['reads']:,}", f"{c['writes']:,}", size(c["read_bytes"]), size(c["write_bytes"])]
        rows.append([name, *numbers, *(f"{stalls.get(f'{what} {name}', 0):,}" for what in ("data", "fetch"))])
    text = ["", "Memory; what caches answered did not get there", *columns(rows)]
    found = list(rates(result))
    shown = [[name, f"{100 * hits / total:.2f} %", f"of {total:,} {what}"] for name, hits, total, what in found]
    plain = columns([row[:2] for row in shown])
    return [*text, *_spaced([f"{a}  {b[2]}" for a, b in zip(plain, shown, strict=True)]), *_branches(result)]


def _spaced(lines: list[str]) -> list[str]:
    return ["", "Hits", *lines] if lines else []


def rates(result: EmulationResult) -> Iterator[tuple[str, int, int, str]]:
    """``(what, hits, of how many, in words)`` for everything that was asked at least once."""
    c = result.profile.counters
    found = [
        ("data cache", c["dcache_hits"], c["dcache_hits"] + c["dcache_misses"], "accesses"),
        ("instruction cache", c["icache_hits"], c["icache_hits"] + c["icache_misses"], "lines of code"),
    ]
    for name, region in result.profile.regions.items():
        found += _of_region(name, result.machine.memory[name].kind, region)
    yield from (row for row in found if row[2])


def _of_region(name: str, kind: str, c: Mapping[str, int]) -> Iterator[tuple[str, int, int, str]]:
    if kind == "sdram":
        asked = c["reads"] + c["writes"]
        yield f"{name} rows", max(0, asked - c["row_misses"]), asked, "accesses and cache lines"
    if kind == "flash":
        code = c["fetch_hits"] + c["fetch_prefetched"]
        yield f"{name} accelerator, code", code, code + c["fetch_misses"], "lines of code"
        yield f"{name} accelerator, data", c["data_hits"], c["data_hits"] + c["data_misses"], "reads"


def _branches(result: EmulationResult) -> list[str]:
    b = result.profile.branches
    text = f"Branches: {b['branches']:,}, taken {b['taken']:,}"
    if result.machine.core.isa != "cortex-m4" and b["branches"]:
        text += f", mispredicted {b['mispredicted']:,} ({100 * b['mispredicted'] / b['branches']:.2f} %)"
    return ["", text]
