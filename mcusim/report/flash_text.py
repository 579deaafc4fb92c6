"""What flash keeps, as text: by region, in parts, and which of it is assumed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.machine.description import Machine
from mcusim.report.inspection_tables import model_json, model_table
from mcusim.results.flash import FlashUse
from mcusim.results.model_inspection import ModelInspection
from mcusim.text import columns, hanging_indent, size, wrapped


def flash_lines(flash: FlashUse) -> list[str]:
    """Bytes by region with their share, the parts, and the sources of the assumed ones."""
    rows = []
    for region, used in flash.used.items():
        has = flash.sizes[region]
        over = f"{size(used - has)} too many" if used > has else f"{100 * used / has:.0f} %"
        rows.append([region, size(used), f"of {size(has)} ({over})"])
    plain = columns([row[:2] for row in rows])
    parts = ", ".join(f"{part.name} {size(part.bytes)}" for part in flash.parts)
    lines = [f"{line}  {row[2]}" for line, row in zip(plain, rows, strict=True)]
    return [*lines, *wrapped(f"in parts: {parts}"), *_assumed(flash)]


def flash_text(flash: FlashUse) -> str:
    """What is used of each, and the largest part."""
    most = max(flash.parts, key=lambda part: part.bytes, default=None)
    return f"{used_text(flash)}{f'; {size(most.bytes)} of it {most.name}' if most else ''}"


def used_text(flash: FlashUse) -> str:
    """What is used of each, and what is too many."""
    used = [
        f"{size(bytes)} of {size(flash.sizes[region])}{'' if region == 'flash' else f' {region}'}"
        f"{f' ({size(bytes - flash.sizes[region])} too many)' if bytes > flash.sizes[region] else ''}"
        for region, bytes in flash.used.items()
    ]
    return ", ".join(used)


def _assumed(flash: FlashUse) -> list[str]:
    assumed = [f"{part.name}: {part.source}" for part in flash.parts if part.basis == "assumed"]
    lines = [line for text in assumed for line in wrapped(f"assumed {text}")]
    return lines + [line for text in flash.uncounted for line in wrapped(f"not counted: {text}")]


def flash_notes(rows: Sequence[tuple[str, str, FlashUse]]) -> list[str]:
    """What flash keeps, the bytes by region and the parts, of ``rows``: a title, a name in it, the use. A line for each
    title; where its names differ a line for each use, with the names that have it."""
    titles: dict[str, dict[str, list[str]]] = {}
    for title, name, flash in rows:
        where = ", ".join(f"{size(n)} of {size(flash.sizes[r])} in {r}" for r, n in flash.used.items())
        parts = ", ".join(f"{part.name} {size(part.bytes)}" for part in flash.parts)
        titles.setdefault(title, {}).setdefault(f"{where}: {parts}", []).append(name)
    lines = []
    for title, uses in titles.items():
        for text, names in uses.items():
            named = f", {' and '.join(dict.fromkeys(names))}" if len(uses) > 1 else ""
            lines += hanging_indent(f"flash, {title}{named}: {text}")
    return lines


def boards_json(kernels: str, boards: Sequence[tuple[Machine, FlashUse]]) -> dict[str, Any]:
    """``kernels`` whose code counts, and ``boards``: ``machine``, ``core`` and what :meth:`FlashUse.to_json` has."""
    rows = [{"machine": board.name, "core": board.core.isa, **flash.to_json()} for board, flash in boards]
    return {"kernels": kernels, "boards": rows}


def boards_lines(kernels: str, boards: Sequence[tuple[Machine, FlashUse]]) -> list[str]:
    """What flash keeps by core, for boards with the same parts once, and on which boards it fits."""
    groups: dict[tuple[str, tuple[int, ...]], list[tuple[Machine, FlashUse]]] = {}
    for board, flash in boards:
        groups.setdefault((board.core.isa, tuple(part.bytes for part in flash.parts)), []).append((board, flash))
    lines = [f"Flash with kernels {kernels}"]
    for (core, _), members in groups.items():
        first = members[0][1]
        parts = ", ".join(f"{part.name} {size(part.bytes)}" for part in first.parts)
        lines += [*wrapped(f"{core}: {size(first.total)}: {parts}"), *_verdicts(members)]
    return lines + _assumed(boards[0][1])


def _verdicts(members: Sequence[tuple[Machine, FlashUse]]) -> list[str]:
    fits = [board.name for board, flash in members if flash.over is None]
    lines = wrapped(f"fits the flash of {', '.join(fits)}") if fits else []
    for board, flash in members:
        if flash.over is not None:
            lines += wrapped(f"{board.name}: {flash.over}")
    return lines


def inspection_table(inspection: ModelInspection) -> str:
    """The text that ``mcusim inspect`` prints."""
    return "\n".join([model_table(inspection.graph), "", *boards_lines(inspection.kernels, inspection.boards)])


def inspection_json(inspection: ModelInspection) -> dict[str, Any]:
    """:func:`~mcusim.report.inspection_tables.model_json` with ``flash``, which is that of :func:`boards_json`."""
    return {**model_json(inspection.graph), "flash": boards_json(inspection.kernels, inspection.boards)}
