"""The table that ``mcusim verify`` prints for a firmware."""

from __future__ import annotations

import textwrap

from mcusim.text import size, wrapped
from mcusim.verification.firmware.finding import FIRMWARE_RULES, FirmwareFinding, Place, TransferUse
from mcusim.verification.firmware.result import FirmwareVerification

__all__ = ["firmware_verification_table"]

SHOWN, FAILED_SHOWN, WIDTH = 20, 10, 80
ENDS = {
    "exit": "the program ended with status {0}",
    "main": "main returned",
    "reached": "the run came to the place asked for",
    "horizon": "the time asked for had come",
    "loop": "an endless loop that nothing interrupts",
    "idle": "asleep, and nothing wakes the core",
    "fault": "a fault",
    "limit": "the limit of instructions was reached",
    "reset": "the program asked for a reset",
    "interrupted": "interrupted",
    "returned": "the program returned",
}


def firmware_verification_table(result: FirmwareVerification) -> str:
    """The text that ``mcusim verify`` prints; the first findings of many."""
    run = result.run
    ended = ENDS.get(run.ended, run.ended).format(run.status)
    counts = f"{run.cycles:,} cycles, {run.instructions:,} instructions, {run.transfers:,} DMA transfers"
    image = result.image if len(result.image) <= 80 else f"…{result.image[-79:]}"
    lines = [f"{image} on {result.machine.name}", *_row("run", f"{counts}; {ended}")]
    if run.fault is not None:
        lines += _row("", run.fault)
    if run.place is not None:
        called = _called(run.place)
        at = f"at PC {run.place.pc:#010x} in {run.place.text()}"
        lines += _row("", f"{at}, {called}" if called else at)
    if result.missed is not None:
        lines += _row("", f"it did not come to {result.missed[:80]}")
    seen = sum(one.seed is None for one in result.findings)
    lines += _row("observed", f"{seen:,} finding{'s' if seen > 1 else ''}" if seen else "no findings")
    lines += _fuzzed(result)
    for note in result.notes:
        lines += _row("note", note)
    for number, one in enumerate(result.findings[:SHOWN], 1):
        lines += ["", *_finding(number, one)]
    rest = len(result.findings) - SHOWN
    if rest > 0:
        lines += ["", f"and {rest} more; --json lists all"]
    return "\n".join("".join(c if c.isprintable() else "?" for c in line) for line in lines)


def _fuzzed(result: FirmwareVerification) -> list[str]:
    if not result.seeds:
        return _row("fuzz", "interrupted") if result.interrupted and result.run.ended != "interrupted" else []
    first, last = result.seeds[0], result.seeds[-1]
    seeds = f"seeds {first} to {last}" if last != first else f"seed {first}"
    seeds += ", interrupted" if result.interrupted else ""
    new = sum(one.seed is not None for one in result.findings)
    more = f"; {new} more finding{'s' if new > 1 else ''}" if new else ""
    if not result.failed:
        return _row("fuzz", f"{seeds}: each did what the undisturbed run did{more}")
    replay = f"--fuzz 1 --seed {result.failed[0].seed} replays the first"
    lines = _row("fuzz", f"{seeds}: {len(result.failed)} failed{more}; {replay}")
    for outcome in result.failed[:FAILED_SHOWN]:
        lines += _row(f"  seed {outcome.seed}", outcome.text())
    rest = len(result.failed) - FAILED_SHOWN
    return lines + (_row("", f"and {rest} more; --json lists all") if rest > 0 else [])


def _row(name: str, text: str) -> list[str]:
    """A named row, its text after the name, wrapped."""
    first, *rest = wrapped(text, WIDTH - 12) or [""]
    return [f"{name:<14}{first.strip()}", *(f"{'':<14}{line.strip()}" for line in rest)]


def _finding(number: int, one: FirmwareFinding) -> list[str]:
    rule = f"{number}. {one.rule}: {FIRMWARE_RULES[one.rule]}"
    pc = "" if one.place is None else f"PC {one.place.pc:#010x} in {one.place.text()}"
    texts = ["; ".join(filter(None, (pc, _when(one)))), one.text]
    if one.place is not None and one.place.callers:
        texts.append(_called(one.place))
    if one.transfer is not None:
        texts.append(_transfer(one.transfer))
    texts.append(f"fix: {one.fix}")
    return [
        *textwrap.wrap(rule, WIDTH, subsequent_indent="   "),
        *(line for text in texts for line in wrapped(text, WIDTH)),
    ]


def _when(one: FirmwareFinding) -> str:
    """The bytes, the cycle and how often; of what is about no bytes how often alone."""
    times = f"{one.times:,} times" if one.times > 1 else ""
    if one.high <= one.low:
        return times
    variable = f" in {one.variable}" if one.variable else ""
    where = f"{one.low:#010x} to {one.high - 1:#010x} ({size(one.high - one.low)}){variable}, cycle {one.cycle:,}"
    return ", ".join(filter(None, (where, times, "" if one.seed is None else f"seed {one.seed}")))


def _called(place: Place) -> str:
    return f"called by {', '.join(one.text() for one in place.callers)}" if place.callers else ""


def _transfer(one: TransferUse) -> str:
    registers = ", ".join(f"{name} {value:#x}" for name, value in one.registers.items())
    started = ", ".join(filter(None, (one.started.text(), _called(one.started))))
    return f"{one.text()}, started at PC {one.started.pc:#010x} in {started}: {registers}"
