"""The keys of the JSON of an emulated program, one by one: what the reference page lists and a test compares with what
is written. Paths and types are written as in :mod:`mcusim.report.run.json`.
"""

from __future__ import annotations

from mcusim.report.json_keys import Keys, key_table, under
from mcusim.report.run.json import CLOCK_KEYS

_LINE: Keys = {
    "function": ("text?", "function and offset, or the address where none is known"),
    "file": ("text?", "source file; null without debug information"),
    "line": ("integer?", "its line"),
}
_COST: Keys = {
    "instructions": ("integer", "that were executed"),
    "cycles": ("number", "core cycles, waiting included"),
    "data_stall": ("number", "of them waiting for data"),
    "fetch_stall": ("number", "of them waiting for code"),
    "pipeline_stall": ("number", "of them waiting in the pipeline"),
}
_FAULT: Keys = {
    "kind": ("text", "`bus fault`, `undefined instruction`, `endless poll` …"),
    "text": ("text", "the same in words, with what was accessed"),
    "pc": ("integer", "address of the instruction"),
    "address": ("integer?", "address that was accessed"),
    **_LINE,
    "registers.<name>": ("integer", "core registers at the fault"),
    "branches[].from": ("integer", "the last branches, newest last: address of the branch"),
    "branches[].to": ("integer", "where it went"),
    "branches[].text": ("text", "both as functions and offsets"),
    "hint": ("text", "what to look at; empty when nothing general is known"),
}
_BEGIN: Keys = {
    "program": ("text", "the first file"),
    "images[]": ("text", "all files that were loaded"),
    "machine": ("text", "name of the board"),
    "clock_hz": ("integer", "core clock"),
    "set.<key>": ("text", "value of a changed key"),
    **CLOCK_KEYS,
    "start.kind": ("text", "`reset`, `entry` (code) or `call`"),
    "start.address": ("integer", "of the first instruction"),
    "start.function": ("text", "the same as a function"),
    "start.arguments[]": ("integer", "of a call"),
    "start.caches": ("bool", "whether the caches were on at first"),
    "stop.kind": (
        "text",
        "`exit`, `returned` (a call), `main` (it returned to reset code that ends there), `idle` (no interrupt can"
        " come), `loop`, `reached` and `horizon` (`--until`), `limit`, `reset`, `fault` or `interrupted`",
    ),
    "stop.until": ("text?", "what `--until` asked for"),
    "stop.status": ("integer", "exit status of the command"),
    "stop.exit_status": ("integer?", "the program's own"),
    "stop.fault": ("object?", "null when there was none that ended the run"),
    **under("stop.fault", _FAULT),
}
_FIGURES: Keys = {
    "cycles": ("number", "core cycles, with the fraction that memories on other clocks cause"),
    "instructions": ("integer", "that were executed"),
    "ipc": ("number", "instructions a cycle"),
    "seconds": ("number", "`cycles` at `clock_hz`"),
    "causes.<cause>": ("number", "cycles by cause; they sum to `cycles`"),
    "regions.<region>.reads": ("integer", "accesses that caches did not answer"),
    "regions.<region>.writes": ("integer", "the same of stores and lines written back"),
    "regions.<region>.read_bytes": ("integer", "bytes of them"),
    "regions.<region>.write_bytes": ("integer", "bytes of them"),
    "regions.<region>.data_stall": ("number", "cycles that the core waited for its data"),
    "regions.<region>.fetch_stall": ("number", "cycles that it waited for its code"),
    "caches.<what>.hits": ("integer", "of caches, flash accelerator and SDRAM rows"),
    "caches.<what>.total": ("integer", "of so many accesses"),
    "counters.<name>": ("integer", "hits and misses, rows, refreshes"),
    "branches.branches": ("integer", "branch instructions executed"),
    "branches.taken": ("integer", "of them taken"),
    "branches.mispredicted": ("integer", "of them mispredicted"),
    "functions[].name": (
        "text",
        "by falling cycles; `(asleep)` and `(exception entry and return)` are none of the code",
    ),
    "functions[].address": ("integer?", "first instruction; null for those two"),
    "functions[].calls": ("integer", "how often it was called"),
    "functions[].inclusive": ("number", "cycles with what it called, without handlers that came in between"),
    **under("functions[]", _COST),
    "lines[].file": ("text", "source file, by falling cycles"),
    "lines[].line": ("integer", "its line"),
    **under("lines[]", _COST),
    "hottest[].address": ("integer", "the 50 instructions with the most cycles"),
    "hottest[].function": ("text", "function and offset"),
    "hottest[].text": ("text", "disassembled"),
    **under("hottest[]", _COST),
    "stack.top": ("integer", "where the main stack (MSP) begins"),
    "stack.limit": ("integer?", "how far it may grow; null when that is unknown"),
    "stack.used": ("integer", "bytes, the most"),
    "result": ("integer?", "r0 of a call that returned"),
    "dumps[].address": ("integer", "of `--dump`"),
    "dumps[].name": ("text?", "its symbol"),
    "dumps[].hex": ("text", "its bytes"),
}
_EVENTS: Keys = {
    "exceptions[].number": ("integer", "of the exception; an interrupt line has its IRQ number + 16"),
    "exceptions[].name": ("text", "`SysTick`, `IRQ 56` …"),
    "exceptions[].count": ("integer", "entries"),
    "exceptions[].cycles": ("number", "of the handler itself, without handlers that preempted it"),
    "exceptions[].latency.min": ("number", "cycles from pending to the handler's first instruction"),
    "exceptions[].latency.median": ("number", "the same"),
    "exceptions[].latency.max": ("number", "the same"),
    "exceptions[].jitter": ("number", "largest less smallest latency"),
    "exceptions[].histogram[].from": ("number", "latencies from here; each, or in 16 equal steps"),
    "exceptions[].histogram[].to": ("number", "to here"),
    "exceptions[].histogram[].count": ("integer", "entries"),
    "exceptions[].handler": ("text", "function"),
    "nesting[].depth": ("integer", "handlers active when one began, itself included"),
    "nesting[].count": ("integer", "how often"),
    "task_stacks[].name": ("text?", "variable that a stack of PSP is in"),
    "task_stacks[].low": ("integer", "lowest address used"),
    "task_stacks[].top": ("integer", "highest"),
    "task_stacks[].limit": ("integer?", "how far it may grow; null when that is unknown"),
    "task_stacks[].used": ("integer", "bytes"),
    "resets": ("integer", "resets of the part that were performed"),
    "reset_log[].cause": ("text", "`software`, `IWDG`, `WWDG` or `option bytes`"),
    "reset_log[].cycle": ("integer", "when"),
    "reset_log[].pc": ("integer", "of the instruction"),
    "reset_log[].function": ("text", "its function"),
    **under("faults[]", _FAULT),
    "faults[].exception": ("text", "the fault exception that was taken"),
    "faults[].handler": ("text", "function that took it"),
    "faults[].count": ("integer", "how often at this place"),
    "faults[].cfsr": ("integer", "CFSR as the handler found it"),
    "faults[].hfsr": ("integer", "HFSR as the handler found it"),
    "dma[].controller": ("text", "`dma1`, `dma2`, `bdma`, `mdma`"),
    "dma[].stream": ("integer", "stream or channel"),
    "dma[].transfers": ("integer", "that ended"),
    "dma[].bytes": ("integer", "that they moved"),
    "findings[].rule": ("text", "what a board would not have answered"),
    "findings[].text": ("text", "a sentence"),
    "findings[].fix": ("text", "what to do; may be empty"),
    "findings[].pc": ("integer?", "of the first such access; null where no single access did it"),
    **under("findings[]", _LINE),
    "findings[].address": ("integer?", "that was accessed"),
    "findings[].count": ("integer", "accesses"),
    "set_up.figures[].key": ("text", "key of the machine file, or a name where that has none"),
    "set_up.figures[].value": (
        "text?",
        "as the firmware sets it up, with its unit; null when the registers do not say",
    ),
    "set_up.figures[].machine": ("text?", "as the machine has it; null for no such key"),
    "set_up.figures[].differs": ("bool", "whether they are different"),
    "set_up.figures[].used": ("text", "`machine`, `firmware`, `followed` as it runs, or `nothing` (not modelled)"),
    "set_up.figures[].cost": ("number?", "cycles with the firmware's value less those with the machine's"),
    "set_up.figures[].register": ("text", "register it is decoded from"),
    "set_up.figures[].word": ("integer", "what that holds"),
    "set_up.figures[].address": ("integer?", "of the store; null for a value after reset"),
    **under("set_up.figures[]", _LINE),
    "set_up.figures[].cycle": ("integer?", "core cycle of the store"),
    "set_up.figures[].note": ("text", "how it is worked out; may be empty"),
    "set_up.refused.<key>": ("text", "why the machine cannot take the firmware's value"),
}
EMULATION_KEYS: Keys = {
    **_BEGIN,
    **_FIGURES,
    **_EVENTS,
    "unforeseen": ("integer", "blocks whose accesses came in another order than decoding foresaw"),
    "assumptions[]": ("text", "figures that the result rests on and that were not measured"),
    "warnings[]": ("text", "what to know about the program's files"),
}
"""By path: type and meaning."""


def emulation_json_page() -> str:
    """The reference page of these keys, as Markdown."""
    return _HEADING + key_table(EMULATION_KEYS)


_HEADING = """# JSON of an emulated program

What `mcusim emulate --json FILE` writes, and `result.save_json(path)` of `mcusim.emulate` in Python. Cycles are those
of the core, sizes are in bytes, addresses are integers. `a.b` is key `b` of object `a`, `a[]` any item of a list,
`<region>` any key. A test compares this table with what is written.

"""
