"""The table that ``mcusim verify`` prints for a firmware."""

from __future__ import annotations

import textwrap

from mcusim.finding_rules import FIRMWARE
from mcusim.text import size, wrapped
from mcusim.verification.firmware.finding import FirmwareFinding, Place, TransferUse
from mcusim.verification.firmware.firmware_verification import FirmwareVerification

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
    seen = sum(firmware_finding.seed is None for firmware_finding in result.findings)
    lines += _row("observed", f"{seen:,} finding{'s' if seen > 1 else ''}" if seen else "no findings")
    lines += _fuzzed(result)
    for note in result.notes:
        lines += _row("note", note)
    for number, finding in enumerate(result.findings[:SHOWN], 1):
        lines += ["", *_finding(number, finding)]
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
    new = sum(finding.seed is not None for finding in result.findings)
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


def _finding(number: int, finding: FirmwareFinding) -> list[str]:
    rule = f"{number}. {finding.rule}: {FIRMWARE[finding.rule]}"
    pc = "" if finding.place is None else f"PC {finding.place.pc:#010x} in {finding.place.text()}"
    texts = ["; ".join(filter(None, (pc, _when(finding)))), finding.text]
    if finding.place is not None and finding.place.callers:
        texts.append(_called(finding.place))
    if finding.transfer is not None:
        texts.append(_transfer(finding.transfer))
    texts.append(f"fix: {finding.fix}")
    return [
        *textwrap.wrap(rule, WIDTH, subsequent_indent="   "),
        *(line for text in texts for line in wrapped(text, WIDTH)),
    ]


def _when(finding: FirmwareFinding) -> str:
    """The bytes, the cycle and how often; of what is about no bytes how often alone."""
    times = f"{finding.times:,} times" if finding.times > 1 else ""
    if finding.high <= finding.low:
        return times
    variable = f" in {finding.variable}" if finding.variable else ""
    where = (
        f"{finding.low:#010x} to {finding.high - 1:#010x}"
        f" ({size(finding.high - finding.low)}){variable}, cycle {finding.cycle:,}"
    )
    return ", ".join(filter(None, (where, times, "" if finding.seed is None else f"seed {finding.seed}")))


def _called(place: Place) -> str:
    return f"called by {', '.join(caller.text() for caller in place.callers)}" if place.callers else ""


def _transfer(transfer_use: TransferUse) -> str:
    registers = ", ".join(f"{name} {value:#x}" for name, value in transfer_use.registers.items())
    started = ", ".join(filter(None, (transfer_use.started.text(), _called(transfer_use.started))))
    return f"{transfer_use.text()}, started at PC {transfer_use.started.pc:#010x} in {started}: {registers}"
