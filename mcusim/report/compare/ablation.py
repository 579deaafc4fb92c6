"""What each technique of a compiled runtime is worth: a run for each step from an interpreter to all of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from mcusim.results.result import Result, sram_bytes
from mcusim.runtime.runtime import DEFAULT, find_runtime
from mcusim.text import columns, kib, rounded, wrapped


def ablation_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """For each of ``results``, a step: ``model machine policy kernels step latency_ms
    mmac_per_s peak_bytes flash_bytes``; null for what a run that does not fit has not.

    ``peak_bytes`` are those of on-chip RAM.
    """
    return [_row(result) for result in results]


def _row(result: Result) -> dict[str, Any]:
    latency = result.value("latency_ms")
    rate = result.macs / latency / 1000 if latency and result.macs is not None else None
    flash = None if result.flash is None else result.flash.total
    return {
        "model": result.model,
        "machine": result.machine.name,
        "policy": result.policy,
        "kernels": result.kernels,
        "step": result.step,
        "latency_ms": latency,
        "mmac_per_s": rate,
        "peak_bytes": sram_bytes(result),
        "flash_bytes": flash,
    }


def ablation_table(results: Sequence[Result]) -> str:
    """A ladder for each model and machine, each step with its gain over the one before, the last line with that of
    all."""
    lines: list[str] = []
    pairs = zip(ablation_json(results), results, strict=True)
    for _, group in groupby(pairs, key=lambda pair: (pair[1].model, pair[1].machine.name, pair[1].policy)):
        rows, members = zip(*group, strict=True)
        lines += ["", f"{rows[0]['model']} on {rows[0]['machine']}, {rows[0]['policy']}", *_ladder(rows)]
        lines += [
            f"  {row['step']}: {member.negative}" for row, member in zip(rows, members, strict=True) if not member.fits
        ]
    notes = dict.fromkeys(find_runtime(str(result.planning["runtime"] or DEFAULT)).ladder_note for result in results)
    lines += [line for note in filter(None, notes) for line in ["", *wrapped(note)]]
    return "\n".join(lines[1:])


def _ladder(rows: Sequence[dict[str, Any]]) -> list[str]:
    table, before = [["", "kernels", "ms", "MMAC/s", "gain", "RAM KiB", "flash KiB"]], None
    for row in rows:
        name = row["step"] if before is None else f"+ {row['step']}"
        sizes = kib(row["peak_bytes"]), kib(row["flash_bytes"])
        table.append([name, row["kernels"], *_figures(row), _gain(before, row), *sizes])
        before = row
    lines = columns(table, left=2)
    first, last = rows[0], rows[-1]
    if not first["latency_ms"] or not last["latency_ms"]:
        return lines
    faster, before, after = first["latency_ms"] / last["latency_ms"], first["peak_bytes"], last["peak_bytes"]
    part = f", with {100 * after / before:.0f} % of the RAM" if before else ""
    return [*lines, f"  in all {faster:.2f} times as fast{part}"]


def _figures(row: dict[str, Any]) -> list[str]:
    return [rounded(row["latency_ms"]), rounded(row["mmac_per_s"])]


def _gain(before: dict[str, Any] | None, row: dict[str, Any]) -> str:
    if before is None or not before["latency_ms"] or not row["latency_ms"]:
        return ""
    return f"{100 * (before['latency_ms'] / row['latency_ms'] - 1):+.1f} %"
