"""The advised plan as files that run: its program, and the machine with what was changed of it.

Not modelled: firmware; linker scripts and MPU tables.
"""

from __future__ import annotations

import json
from io import StringIO

from mcusim.errors import UsageError
from mcusim.machine import machine_names
from mcusim.machine.description import Machine
from mcusim.program import write_program
from mcusim.results.plan_advice import TriedPlan

PROGRAM, MACHINE = "program.jsonl", "machine.toml"


def advised_files(plan: TriedPlan) -> dict[str, bytes]:
    """Bytes by file name. Raises UsageError for a plan without a program."""
    request = None if plan.result is None else plan.result.request
    if plan.result is None or request is None or request.program is None:
        raise UsageError("there is no plan to write")
    text = StringIO()
    write_program(request.program, text)
    return {PROGRAM: text.getvalue().encode(), MACHINE: machine_text(plan.result.machine).encode()}


def machine_text(machine: Machine) -> str:
    """A machine file that extends the one that ships, or the user's own, by the keys that were changed."""
    shipped = machine.name in machine_names()
    lines = [f"extends = {json.dumps(machine.name if shipped else str(machine.path))}"]
    for key, value in machine.changes.items():
        lines.append(f"{key} = {value if value in ('true', 'false') else json.dumps(str(value))}")
    return "\n".join(lines) + "\n"
