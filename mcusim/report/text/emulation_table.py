"""An emulated program as text: how it ended, cycles by cause, memory, functions, source lines, instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.report.text.emulation import fault_lines
from mcusim.report.text.emulation_memory import memory_lines
from mcusim.results.emulation import EmulationResult, place
from mcusim.results.hot_spots import FunctionCost, causes, functions, lines, whole
from mcusim.text import changed, columns, size, wrapped

if TYPE_CHECKING:
    from mcusim.results.emulation import Dump

__all__ = ["emulation_table", "stop_text"]

_STARTED = {
    "reset": "from its reset vector:",
    "entry": "from its entry point:",
    "call": "a call of",
}


def emulation_table(result: EmulationResult, top: int = 10, assumptions: bool = False) -> str:
    """The text that ``mcusim emulate`` prints, at most 80 columns wide except for long names and assumptions.

    ``top`` is the number of functions, lines and instructions listed; ``assumptions`` lists them all, not their count.
    """
    state = f", caches {'on' if result.caches else 'off'} at first" if _has_caches(result) else ""
    text = [f"{result.name} on {result.machine.name}", f"  {_STARTED[result.started]} {_begin(result)}{state}"]
    text += [*(f"  {line}" for line in changed(result.machine.changes)), ""]
    text += [*(fault_lines(result) or [f"  {stop_text(result)}"]), "", *_summary(result)]
    text += ["", "Cycles by cause", *_causes(result), *memory_lines(result)]
    text += _functions(functions(result.profile, result.image), result, top)
    text += [*_lines(result, top), *_instructions(result, top)]
    for dump in result.dumps:
        text += ["", *_dump(dump)]
    return "\n".join([*text, "", *_rests_on(result, assumptions)])


def _begin(result: EmulationResult) -> str:
    arguments = f"({', '.join(map(hex, result.arguments))})" if result.started == "call" else ""
    return f"{place(result.image, result.pc)}{arguments}"


def stop_text(result: EmulationResult) -> str:
    """How the run ended, in a few words."""
    stop = result.stop
    if stop.fault is not None:
        return f"fault: {stop.fault.kind}"
    return {
        "exit": f"the program exited with status {stop.status}",
        "returned": f"{place(result.image, result.pc)} returned",
        "idle": "the program waits for an interrupt (WFI or WFE)",
        "loop": f"the program stays in an endless loop, {place(result.image, result.pc)}",
        "reset": "the program asked for a reset, which is not carried out",
        "limit": "run-away: the limit of instructions (--max-instructions) was reached",
        "interrupted": "interrupted",
    }.get(stop.kind, stop.kind)


def _has_caches(result: EmulationResult) -> bool:
    caches = (result.machine.data_cache, result.machine.instruction_cache)
    return any(cache is not None and cache.size for cache in caches)


def _summary(result: EmulationResult) -> list[str]:
    profile, machine = result.profile, result.machine
    rows = [
        ["cycles", f"{int(profile.cycles):,}", f"at {machine.core.clock / 1e6:g} MHz"],
        ["time", _time(result.seconds), ""],
        ["instructions", f"{profile.issued:,}", ""],
        ["IPC", f"{result.ipc:.3f}", f"{1 / result.ipc:.3f} cycles per instruction" if result.ipc else ""],
    ]
    room = result.stack.top - result.stack.limit if result.stack.limit else 0
    share = f"of {size(room)} ({100 * result.stack.used / room:.0f} %)" if room else "its limit is unknown"
    rows.append(["stack", f"{result.stack.used:,} B", share])
    if result.result is not None:
        rows.append(["r0", f"{result.result:#x}", _decimal(result.result)])
    shown = columns([row[:2] for row in rows])
    return [f"{a}  {b[2]}".rstrip() for a, b in zip(shown, rows, strict=True)]


def _decimal(word: int) -> str:
    return f"{word} or {word - (1 << 32)}" if word >> 31 else str(word)


def _time(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:,.3f} {unit}"
    return f"{seconds * 1e6:,.3f} us"


def _causes(result: EmulationResult) -> list[str]:
    total = int(result.profile.cycles)
    rows = [[name, f"{cycles:,}", _share(cycles, total)] for name, cycles in causes(result.profile).items()]
    return columns([*rows, ["total", f"{total:,}", _share(total, total)]])


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.1f} %" if total else "-"


def _functions(rows: list[FunctionCost], result: EmulationResult, top: int) -> list[str]:
    total = result.profile.cycles
    cells = [["function", "cycles", "%", "incl. %", "calls", "instr.", "data", "code", "pipe"]]
    numbers = whole((row.cycles for row in rows), int(total))
    for row, cycles in list(zip(rows, numbers, strict=True))[:top]:
        waits = [_part(wait, row.cycles) for wait in (row.data, row.fetch, row.pipeline)]
        shares = [f"{100 * part / total:.1f}" if total else "-" for part in (row.cycles, row.inclusive)]
        counts = [f"{row.calls:,}" if row.calls else "-", f"{row.issued:,}"]
        cells.append([row.name, f"{cycles:,}", *shares, *counts, *waits])
    return _section("Functions", "data, code, pipe: % of own cycles waiting for it", cells, len(rows), top)


def _part(wait: float, cycles: float) -> str:
    return f"{100 * wait / cycles:.0f}" if cycles else "-"


def _lines(result: EmulationResult, top: int) -> list[str]:
    rows = lines(result.profile, result.image)
    total = result.profile.cycles
    cells = [["line", "cycles", "share", "instr.", "data", "code", "pipe"]]
    for (file, line), cost in rows[:top]:
        waits = [_part(wait, cost.cycles) for wait in (cost.data, cost.fetch, cost.pipeline)]
        name = f"{file.rpartition('/')[2]}:{line}"
        cells.append([name, f"{int(cost.cycles):,}", _share(cost.cycles, total), f"{cost.issued:,}", *waits])
    return _section("Source lines", "", cells, len(rows), top) if rows else []


def _instructions(result: EmulationResult, top: int) -> list[str]:
    profile = result.profile
    ran = [(at, cost) for at, cost in profile.instructions.items() if cost.cycles or cost.issued]
    rows = sorted(ran, key=lambda row: (-row[1].cycles, row[0]))
    cells = [["address", "function", "instruction", "cycles", "share", "issued"]]
    for address, cost in rows[:top]:
        text = " ".join(profile.text.get(address, "").split())
        numbers = [f"{int(cost.cycles):,}", _share(cost.cycles, profile.cycles), f"{cost.issued:,}"]
        cells.append([f"{address:#010x}", place(result.image, address), text, *numbers])
    return _section("Instructions", "", cells, len(rows), top, left=3)


def _section(title: str, remark: str, cells: list[list[str]], known: int, top: int, left: int = 1) -> list[str]:
    if top <= 0 or not known:
        return []
    heading = f"{title} ({min(top, known)} of {known:,})"
    return ["", f"{heading}; {remark}" if remark else heading, *columns(cells, left=left)]


def _dump(dump: Dump) -> list[str]:
    name = f"{dump.name}, " if dump.name else ""
    text = [f"Dump: {name}{len(dump.data):,} B at {dump.address:#010x}"]
    for i in range(0, len(dump.data), 16):
        part = dump.data[i : i + 16]
        plain = "".join(chr(c) if 32 <= c < 127 else "." for c in part)
        text.append(f"  {dump.address + i:08x}  {part[:8].hex(' '):23}  {part[8:].hex(' '):23}  |{plain}|")
    return text


def _rests_on(result: EmulationResult, listed: bool) -> list[str]:
    text = [line for warning in result.image.warnings for line in wrapped(f"warning: {warning}")]
    if result.profile.unforeseen:
        text.append(f"warning: {result.profile.unforeseen:,} blocks made accesses that decoding did not foresee")
    count = len(result.assumptions)
    if not listed:
        return [*text, f"Rests on {count} assumptions; --assumptions lists them, --json too."]
    return [*text, f"Rests on {count} assumptions:", *(f"  {line}" for line in result.assumptions)]
