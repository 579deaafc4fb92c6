"""An emulated program as text: how it ended, cycles by cause, memory, functions, source lines, instructions.

A fault is one block: what, where, registers, call stack, and what to try. Memory is what the program requested of
memories, caches, flash accelerator and branch predictor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mcusim.machine.cores import core_named
from mcusim.machine.description import Machine
from mcusim.report.firmware.events import event_lines
from mcusim.report.firmware.set_up_table import set_up_lines
from mcusim.report.run.changes import change_lines
from mcusim.results.emulation import EmulationResult, place
from mcusim.results.hot_spots import FunctionCost, causes, functions, lines, whole
from mcusim.text import columns, hanging_indent, quantity, size, wrapped

if TYPE_CHECKING:
    from mcusim.results.emulation import Dump

MOST_FAULTS = 20  # listed


def memory_lines(result: EmulationResult) -> list[str]:
    """The regions that were used, then a line for each cache, accelerator, SDRAM and the branches."""
    rows = [["region", "reads", "writes", "read", "written", "data stalls", "code stalls"]]
    stalls = causes(result.profile)
    for name, c in result.profile.regions.items():
        numbers = [f"{c['reads']:,}", f"{c['writes']:,}", size(c["read_bytes"]), size(c["write_bytes"])]
        rows.append([name, *numbers, *(f"{stalls.get(f'{what} {name}', 0):,}" for what in ("data", "fetch"))])
    text = ["", "Memory; what caches answered did not get there", *columns(rows)]
    entries = list(rates(result))
    shown = [[name, f"{100 * hits / total:.2f} %", f"of {total:,} {what}"] for name, hits, total, what in entries]
    plain = columns([row[:2] for row in shown])
    return [*text, *_spaced([f"{a}  {b[2]}" for a, b in zip(plain, shown, strict=True)]), *_branches(result)]


def _spaced(lines: list[str]) -> list[str]:
    return ["", "Hits", *lines] if lines else []


def rates(result: EmulationResult) -> Iterator[tuple[str, int, int, str]]:
    """``(what, hits, of how many, in words)`` for everything that was asked at least once."""
    c = result.profile.counters
    entries = [
        ("data cache", c["dcache_hits"], c["dcache_hits"] + c["dcache_misses"], "accesses"),
        ("instruction cache", c["icache_hits"], c["icache_hits"] + c["icache_misses"], "lines of code"),
    ]
    for name, region in result.profile.regions.items():
        entries += _of_region(name, result.machine.memory[name].kind, region)
    yield from (row for row in entries if row[2])


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
    if core_named(result.machine.core.isa).predicts_branches and b["branches"]:
        text += f", mispredicted {b['mispredicted']:,} ({100 * b['mispredicted'] / b['branches']:.2f} %)"
    return ["", text]


_HINTS = {
    "unaligned access": "a pointer cast to a wider type, or a packed structure, often makes such an address",
    "access violation": "compare the address with the MPU regions the program has set, or with a constant's place",
    "no such peripheral": "--peripherals lenient lets a block keep what is stored; a machine file may add one",
    "store to flash": "look for a pointer that was not set; --peripherals lenient sets the error flag and goes on",
    "SDRAM not ready": "--peripherals lenient notes it as a finding and goes on",
    "watchdog": "refresh it often enough",
    "endless poll": "an enable bit or an earlier command may be missing: look for what sets the bit that is awaited",
    "stack overflow": "a larger stack (--stack for --call, the linker script else), or less recursion and local arrays",
    "no coprocessor": "start-up code usually enables the FPU; --call starts with it on",
    "execution violation": "look for a wild function pointer, a stack overwritten, or code in data memory",
    "bus fault": "look for a pointer that was not set; `mcusim machines NAME` shows where memory is",
    "undefined instruction": "check -mcpu and -mfpu against the machine's core, and jumps into data",
    "invalid state": "a function pointer needs the Thumb bit: its lowest bit set",
    "exception": "call the function that needs no handler with --call, or leave the call out",
    "semihosting": "the host answers output to the console, time and exit, nothing else; check its parameters too",
    "breakpoint": "an assertion or a debugger's breakpoint is compiled in",
}


def where(result: EmulationResult, address: int) -> str:
    """``function+0x1c (file.c:12)``, as far as it is known."""
    line = result.image.line_at(address)
    shown = f" ({line[0].rpartition('/')[2]}:{line[1]})" if line else ""
    return f"{place(result.image, address)}{shown}"


def hint(kind: str) -> str:
    """What to look at for a kind of fault; empty when nothing general is known."""
    return _HINTS.get(kind, "")


def fault_lines(result: EmulationResult) -> list[str]:
    """The block; the last branches newest last. Empty when there was no fault."""
    fault = result.stop.fault
    if fault is None:
        return []
    text = [f"Fault: {fault.kind}", *wrapped(fault.text)]
    name = where(result, fault.pc)
    text.append(f"  at PC {fault.pc:#010x}, {name if name[:2] != '0x' else 'in no function that is known'}")
    if fault.pc in result.profile.text:
        text[-1] += f": {' '.join(result.profile.text[fault.pc].split())}"
    if fault.address is not None:
        text.append(f"  address {fault.address:#010x}, {_region(result.machine, fault.address)}")
    text += ["  registers", *_registers(dict(fault.registers))]
    if fault.branches:
        text.append("  last branches, newest last")
        pairs = [[place(result.image, a), "->", place(result.image, b)] for a, b in fault.branches]
        text += columns(pairs, left=3, indent=4)
    return [*text, *(wrapped(f"hint: {hint(fault.kind)}") if hint(fault.kind) else [])]


def _region(machine: Machine, address: int) -> str:
    for region in machine.memory.values():
        for base in (region.base, *region.aliases):
            if base <= address < base + region.size:
                return f"{region.name} + {address - base:#x}"
    for block in machine.peripherals.values():
        if block.base <= address < block.base + block.size:
            return f"{block.name} + {address - block.base:#x}"
    return "outside the machine's memory"


def _registers(registers: dict[str, int]) -> list[str]:
    cells = [f"{name:>4} {value:08x}" for name, value in registers.items()]
    return [f"  {'  '.join(cells[i : i + 4])}" for i in range(0, len(cells), 4)]


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
    text += [*change_lines(result.machine), ""]
    text += [*(fault_lines(result) or [f"  {stop_text(result)}"]), "", *_summary(result)]
    text += ["", "Cycles by cause", *_causes(result), *memory_lines(result), *event_lines(result)]
    text += _functions(functions(result.profile, result.image), result, top)
    text += [*_lines(result, top), *_instructions(result, top), *set_up_lines(result), *_faults(result)]
    text += _findings(result)
    for dump in result.dumps:
        text += ["", *_dump(dump)]
    return "\n".join([*text, "", *_rests_on(result, assumptions)])


def _findings(result: EmulationResult) -> Iterator[str]:
    """What a board would not have answered: rule, place, sentence, what to do."""
    for number, finding in enumerate(result.findings, 1):
        yield ""
        yield f"Finding {number}: {finding.rule}" + (f", {finding.count:,} accesses" if finding.count > 1 else "")
        yield from wrapped(finding.text)
        if finding.pc is not None:
            yield f"  at PC {finding.pc:#010x}, {where(result, finding.pc)}"
        yield from wrapped(f"hint: {finding.fix}") if finding.fix else ()


def _faults(result: EmulationResult) -> list[str]:
    """Those that handlers of the program took."""
    text = ["", "Faults taken by the program's handlers"] if result.faults else []
    for fault in result.faults[:MOST_FAULTS]:
        times = "" if fault.count == 1 else f", {fault.count:,} times"
        text.append(
            f"  {fault.exception}{times}: {fault.fault.kind} at PC {fault.fault.pc:#010x},"
            f" {where(result, fault.fault.pc)}"
        )
        text += hanging_indent(fault.fault.text, "    ", "    ")
    hidden = len(result.faults) - MOST_FAULTS
    return [*text, f"  and {hidden:,} more"] if hidden > 0 else text


def _begin(result: EmulationResult) -> str:
    arguments = f"({', '.join(map(hex, result.arguments))})" if result.started == "call" else ""
    return f"{place(result.image, result.pc)}{arguments}"


def stop_text(result: EmulationResult) -> str:
    """How the run ended, in a few words."""
    ended = _ended(result)
    missed = result.until is not None and result.stop.kind not in ("reached", "horizon", "interrupted")
    return f"{ended}, before --until {result.until}" if missed else ended


def _ended(result: EmulationResult) -> str:
    stop = result.stop
    if stop.fault is not None:
        return f"fault: {stop.fault.kind}"
    return {
        "reached": f"stopped at {result.until}",
        "horizon": f"stopped after {result.until}",
        "main": "main returned, and the reset code has nothing after it",
        "exit": f"the program exited with status {stop.status}",
        "returned": f"{place(result.image, result.pc)} returned",
        "idle": "the program waits for an interrupt (WFI), and none can come",
        "loop": f"the program stays in an endless loop, {place(result.image, result.pc)}",
        "reset": f"system resets have no end; {len(result.resets):,} were performed (--most-resets)",
        "limit": "runaway program: the limit of instructions (--max-instructions) was reached",
        "interrupted": "interrupted",
    }.get(stop.kind, stop.kind)


def _has_caches(result: EmulationResult) -> bool:
    caches = (result.machine.data_cache, result.machine.instruction_cache)
    return any(cache is not None and cache.size for cache in caches)


def _summary(result: EmulationResult) -> list[str]:
    profile, machine = result.profile, result.machine
    rows = [
        ["cycles", f"{int(profile.cycles):,}", f"at {machine.core.clock / 1e6:g} MHz"],
        ["time", quantity(1e3 * result.seconds, "ms"), ""],
        ["instructions", f"{profile.issued:,}", ""],
        ["IPC", f"{result.ipc:.3f}", f"{1 / result.ipc:.3f} cycles per instruction" if result.ipc else ""],
    ]
    room = result.stack.top - result.stack.limit if result.stack.limit else 0
    share = f"of {size(room)} ({100 * result.stack.used / room:.0f} %)" if room else "its limit is unknown"
    rows.append(["stack", f"{result.stack.used:,} B", share])
    if result.resets:
        rows.append(["resets", f"{len(result.resets):,}", _reset_causes(result)])
    if result.result is not None:
        rows.append(["r0", f"{result.result:#x}", _decimal(result.result)])
    shown = columns([row[:2] for row in rows])
    return [f"{a}  {b[2]}".rstrip() for a, b in zip(shown, rows, strict=True)]


def _reset_causes(result: EmulationResult) -> str:
    """``software 2, IWDG``: how often each, in the order of the first."""
    causes = Counter(reset.cause for reset in result.resets)
    return ", ".join(f"{cause} {count:,}" if len(result.resets) > 1 else cause for cause, count in causes.items())


def _decimal(word: int) -> str:
    return f"{word} or {word - (1 << 32)}" if word >> 31 else str(word)


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
