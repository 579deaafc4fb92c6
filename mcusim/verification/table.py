"""The table that ``mcusim verify`` prints."""

from __future__ import annotations

import textwrap

from mcusim.finding_rules import PROGRAM
from mcusim.plan.registry import policy_label
from mcusim.program.program import Compute, Maintain, Transfer
from mcusim.text import size, wrapped
from mcusim.verification.findings import MOST
from mcusim.verification.sanitizer.observation import Observation
from mcusim.verification.verification import KERNEL_FAULT, Agreement, Found, Fuzzed, Verification

SHOWN = 20
FAILED_SHOWN = 10
WIDTH = 80
NAMES = {"proof": "static proof", "sanitizer": "sanitizer", "run": "run"}


def verification_table(result: Verification) -> str:
    """The text that ``mcusim verify`` prints; the first findings of many."""
    header = result.program.header
    counts = ((Compute, "kernel calls"), (Transfer, "transfers"), (Maintain, "maintenance"))
    parts = ", ".join(f"{sum(isinstance(t, kind) for t in result.program.tasks):,} {name}" for kind, name in counts)
    lines = [f"{header.model[:80]} on {result.machine.name}, {policy_label(header.policy, header.options)[:80]}"]
    lines += _row("program", f"{len(result.program.tasks):,} tasks: {parts}")
    lines += _summary(result)
    for note in result.notes:
        lines += _row("note", note)
    for number, finding in enumerate(result.findings[:SHOWN], 1):
        lines += ["", *_finding(number, finding)]
    rest = len(result.findings) - SHOWN
    if rest > 0:
        many = sum(discovery.found_by == "proof" for discovery in result.findings) == MOST
        lines += ["", f"and {'at least ' if many else ''}{rest} more; --json lists {'the others' if many else 'all'}"]
    return "\n".join(_plain(line) for line in lines)


def _summary(result: Verification) -> list[str]:
    proven = sum(finding.found_by == "proof" for finding in result.findings)
    lines = _row(
        "static proof", _findings(proven) if proven else "no findings: every task finds its data at any timing"
    )
    if result.ran is not None:
        seen = sum(finding.found_by != "proof" and finding.seed is None for finding in result.findings)
        watched = "sanitizer off" if result.ran["sanitize"] == "off" else f"sanitizer: {_findings(seen)}"
        cycles = result.ran["cycles"]
        took = "did not end" if cycles is None else f"{cycles:,} cycles from a warm start"
        lines += _row("run", f"kernels {result.ran['kernels'][:80]}, {took}; {watched}")
    for name, agreement in (("untiled", result.untiled), ("LiteRT", result.litert)):
        if agreement is not None:
            lines += _row(name, _agreement(agreement))
    return lines + (_fuzzed(result.fuzzed) if result.fuzzed is not None else [])


def _agreement(agreement: Agreement) -> str:
    if agreement.note is not None:
        return f"not compared: {agreement.note}"
    if agreement.difference is None:
        exact = f"floats within {agreement.tolerance:g} of the largest" if agreement.tolerance else "byte for byte"
        return f"every operator's outputs are those of {agreement.other}, {exact}"
    return f"differs from {agreement.other}, first at {agreement.difference.text()}"


def _fuzzed(fuzzed: Fuzzed) -> list[str]:
    first, last, failed = fuzzed.seeds[0], fuzzed.seeds[-1], fuzzed.failed
    seeds = f"seeds {first} to {last}" if last != first else f"seed {first}"
    if not failed:
        return _row("fuzz", f"{seeds}: identical outputs")
    first_one = f"--fuzz 1 --seed {failed[0].seed} replays the first"
    lines = _row("fuzz", f"{seeds}: {len(failed)} failed, in addition to the undisturbed run; {first_one}")
    for outcome in failed[:FAILED_SHOWN]:
        lines += _row(f"  seed {outcome.seed}", outcome.text())
    rest = len(failed) - FAILED_SHOWN
    return lines + (_row("", f"and {rest} more; --json lists all") if rest > 0 else [])


def _findings(count: int) -> str:
    return f"{count:,} finding{'s' if count > 1 else ''}" if count else "no findings"


def _row(name: str, text: str) -> list[str]:
    """A named row, its text after the name, wrapped."""
    first, *rest = wrapped(text, WIDTH - 12) or [""]
    return [f"{name:<14}{first.strip()}", *(f"{'':<14}{line.strip()}" for line in rest)]


def _finding(number: int, discovery: Found) -> list[str]:
    finding = discovery.finding
    tasks = ", ".join(str(task) for task in finding.tasks)
    where = f"{finding.low:#010x} to {finding.high - 1:#010x} ({size(finding.high - finding.low)})"
    buffers = f" in {', '.join(name[:40] for name in finding.buffers[:6])}" if finding.buffers else ""
    by = NAMES[discovery.found_by] + ("" if discovery.seed is None else f", seed {discovery.seed}")
    seen = [_seen(discovery.what)] if isinstance(discovery.what, Observation) and finding.rule != KERNEL_FAULT else []
    return [
        *textwrap.wrap(f"{number}. {finding.rule}: {PROGRAM[finding.rule]}", WIDTH, subsequent_indent="   "),
        *wrapped(f"tasks {tasks}; {where}{buffers}", WIDTH),
        *(line for text in seen for line in wrapped(text, WIDTH)),
        *wrapped(finding.text, WIDTH),
        *wrapped(f"fix: {finding.fix}", WIDTH),
        f"  found by: {by}",
    ]


def _seen(observation: Observation) -> str:
    """Where and when a run showed it."""
    tile = f", tile {observation.tile + 1} of {observation.tiles}" if observation.tiles > 1 else ""
    line = "" if observation.line is None else f", cache line {observation.line:#010x}"
    where = [text for text in (observation.function, observation.source) if text]
    pc = "" if observation.pc is None else f", PC {observation.pc:#010x}" + (f" ({', '.join(where)})" if where else "")
    when = "not in this run" if observation.cycle is None else f"cycle {observation.cycle:,}"
    times = f", {observation.times:,} times" if observation.times > 1 else ""
    return (
        f"operator {observation.operator} {observation.type}{tile}: {observation.buffer[:40]} at"
        f" {observation.address:#010x}{line}{pc}, {when}{times}"
    )


def _plain(line: str) -> str:
    """Names from a file may contain anything; a terminal gets what it can print."""
    return "".join(c if c.isprintable() else "?" for c in line)
