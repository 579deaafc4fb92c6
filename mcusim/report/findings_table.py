"""What the static proof of a program found, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.machine.description import Machine
from mcusim.plan.program import Compute, Maintain, Program, Transfer
from mcusim.plan.proof.findings import MOST, RULES, Finding
from mcusim.report.text import size, wrapped

__all__ = ["findings_json", "findings_table"]

SHOWN = 20


def findings_json(program: Program, machine: Machine, findings: Sequence[Finding]) -> dict[str, Any]:
    """``findings``, each with ``rule``, ``tasks`` (ids, the one that should come first first), ``buffers``, ``bytes``
    (first address, and the one behind the last), ``text`` and ``fix``; and what was looked at."""
    header = program.header
    return {
        "machine": machine.name,
        "model": header.model,
        "policy": header.policy,
        "tasks": len(program.tasks),
        "findings": [finding.to_json() for finding in findings],
    }


def findings_table(program: Program, machine: Machine, findings: Sequence[Finding]) -> str:
    """The text that ``mcusim verify`` prints; the first findings of many."""
    header = program.header
    counts = ((Compute, "kernel calls"), (Transfer, "transfers"), (Maintain, "maintenance"))
    parts = ", ".join(f"{sum(isinstance(t, kind) for t in program.tasks):,} {name}" for kind, name in counts)
    lines = [f"{header.model[:80]} on {machine.name}, {header.policy[:80]}: {len(program.tasks):,} tasks ({parts})"]
    if not findings:
        return "\n".join([*lines, "no findings: whatever the timing, every task finds its data (static proof)"])
    for number, finding in enumerate(findings[:SHOWN], 1):
        lines += ["", *_finding(number, finding)]
    rest = len(findings) - SHOWN
    if rest > 0:
        at_least = "at least " if len(findings) == MOST else ""
        lines += ["", f"and {at_least}{rest} more; --json lists {'the first ' + str(MOST) if at_least else 'all'}"]
    return "\n".join(_plain(line) for line in lines)


def _finding(number: int, finding: Finding) -> list[str]:
    tasks = ", ".join(str(task) for task in finding.tasks)
    where = f"{finding.low:#010x} to {finding.high - 1:#010x} ({size(finding.high - finding.low)})"
    buffers = f" in {', '.join(name[:40] for name in finding.buffers[:6])}" if finding.buffers else ""
    return [
        f"{number}. {finding.rule}: {RULES[finding.rule]}",
        f"  tasks {tasks}; {where}{buffers}",
        *wrapped(finding.text, 100),
        *wrapped(f"fix: {finding.fix}", 100),
    ]


def _plain(line: str) -> str:
    """Names from a file may hold anything; a terminal gets what it can print."""
    return "".join(c if c.isprintable() else "?" for c in line)
