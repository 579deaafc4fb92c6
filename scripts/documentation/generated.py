"""Pages that are written from code and data: each function returns the text of one page."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from documentation import TOP

_NOTE = "<!-- written by scripts/docs; do not edit -->\n"
CORE_TIMING = """
    emulator/emulator cpu/unicorn_core cpu/pipeline/cortex_m4 cpu/pipeline/cortex_m4_fetch
    cpu/pipeline/cortex_m7 cpu/pipeline/cortex_m7_rules cpu/pipeline/branch_predictor cpu/pipeline/store_buffer
    cpu/hooks/blocks cpu/hooks/accesses cpu/hooks/exceptions cpu/system/nvic cpu/system/systick emulator/stops/sleep
    soc/register_config/rcc_decode soc/register_config/memory_registers emulator/console/trace_ports
    emulator/console/rtt memory/ports/core_data memory/cache/data memory/cache/apart memory/ports/linefill
    memory/ports/core_code memory/flash_accelerator memory/devices cpu/system/memory_attributes cpu/system/mpu
    cpu/system/ppb emulator/console/semihosting emulator/profile
"""
_CORE_TIMING_HEAD = """# What the emulated core models

Each section is a module's own text: the rules it follows, the source of each, and what is not modelled. For every rule
a test has the case that it applies to and the near miss (`tests/cpu/`);
`tests/cpu/pipeline/test_emulated_pipeline.py` runs compiled sequences against the published figures.
"""
_COMMAND_LINE_HEAD = """# Command line

What `mcusim COMMAND --help` prints. The exit status of every command is 0 when it ran, 1 when the input is valid and
the verdict negative (it does not fit, a kernel faults, findings), 2 when the input cannot be read or used, and 130
after Ctrl-C. Errors are one line on standard error.
"""
_PACKAGES_HEAD = """# Packages

The packages of `mcusim`, the highest floor first: a file imports from its own floor or a lower one
([architecture](../architecture.md#floors)). What each is for is the first line of its own text.
"""
_MACHINES_HEAD = """# Machines

The boards that ship with mcusim, every figure with its basis and source: what `mcusim machines NAME` prints. *Basis* is
`datasheet`, `measured`, `calibrated` (fitted to published measurements,
see [calibrated figures](../evidence/calibrated-figures.md)) or `assumed`. What the keys mean:
[machine file](machine-file.md).
"""


def core_timing() -> str:
    """The rules of the emulated core, as the docstrings of its modules state them."""
    sections = [_NOTE + _CORE_TIMING_HEAD]
    for name in CORE_TIMING.split():
        path = TOP / "mcusim" / f"{name}.py"
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        sections.append(f"## `mcusim/{name}.py`\n\n{_markdown(docstring)}\n")
    return "\n".join(sections)


def _markdown(text: str) -> str:
    """A docstring with its simple tables (two columns between lines of ``=``) as Markdown."""
    lines, rows, inside, width = [], [], False, 0
    for line in text.splitlines():
        border = re.fullmatch(r"(=+)  =+", line)
        if border and inside:
            lines += ["| what | cycles and source |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]
            rows = []
        if border:
            inside, width = not inside, len(border[1])
        elif inside and line[:width].strip():
            rows.append((line[:width].strip(), line[width:].strip()))
        elif inside:
            rows[-1] = rows[-1][0], f"{rows[-1][1]} {line.strip()}"
        else:
            lines.append(line)
    return re.sub(r":mod:`([^`]+)`", r"`\1`", "\n".join(lines).replace("``", "`"))


def ledger() -> str:
    """The fidelity ledger: what is modelled, what is not, which tests pin it."""
    from mcusim.evidence.validate.ledger import ledger_markdown

    return ledger_markdown()


def broken_overlays() -> str:
    """The sample programs with one fault each."""
    found: Any = runpy.run_path(str(TOP / "scripts" / "traces" / "make_broken.py"))
    return _NOTE + str(found["page"]())


def command_line() -> str:
    """The help of every command."""
    from mcusim.commands.command_table import Commands

    parts = [_NOTE + _COMMAND_LINE_HEAD]
    for name in Commands():
        parts.append(f"## mcusim {name}\n\n```text\n{_help(name.split())}```\n")
    return "\n".join(parts)


def _help(words: list[str]) -> str:
    from mcusim.commands.app import main

    os.environ["COLUMNS"] = "100"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main([*words, "--help"])
    os.environ["COLUMNS"] = "80"
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().strip().splitlines())


def machines() -> str:
    """Every figure of every machine."""
    from mcusim.machine import load_machine, machine_names

    loaded = [load_machine(name) for name in machine_names()]
    parts = [_NOTE + _MACHINES_HEAD, *_overview(loaded)]
    for machine in loaded:
        parts += [f"\n## {machine.name}\n\n{machine.title}.\n", "| key | value | basis | source |", "|---|---|---|---|"]
        for figure in machine.figures.values():
            source = figure.source.replace("|", "\\|")
            parts.append(f"| `{figure.key}` | {figure.text} | {figure.basis} | {source} |")
    return "\n".join(parts) + "\n"


def _overview(machines: list[Any]) -> Iterator[str]:
    from mcusim.report.inspection_tables import machines_table

    yield f"```text\n{machines_table(machines).rstrip()}\n```"


def run_json() -> str:
    """Every key of a run's JSON."""
    from mcusim.report.run.json import run_json_page

    return _NOTE + run_json_page()


def emulation_json() -> str:
    """Every key of the JSON of an emulated program."""
    from mcusim.report.firmware.keys import emulation_json_page

    return _NOTE + emulation_json_page()


def packages() -> str:
    """The packages by floor, the highest first, each as its first line says."""
    floors: dict[str, int] = runpy.run_path(str(TOP / "tests" / "support" / "floors.py"))["FLOORS"]
    rows = ["| floor | package | what it is for |", "|---|---|---|"]
    for name, floor in sorted(floors.items(), key=lambda item: (-item[1], item[0])):
        folder = TOP / "mcusim" / name
        path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        if path.is_file() and not name.startswith("_"):
            rows.append(f"| {floor} | `{name}{'/' if folder.is_dir() else '.py'}` | {_first_line(path)} |")
            inner = sorted(folder.glob("*/__init__.py")) if folder.is_dir() else []
            rows += [f"| | &nbsp;&nbsp;`{name}/{one.parent.name}/` | {_first_line(one)} |" for one in inner]
    return "\n".join([_NOTE + _PACKAGES_HEAD, *rows]) + "\n"


def _first_line(path: Path) -> str:
    """What a module is for, without markup of code."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", docstring.partition("\n")[0].replace("``", "`"))


GENERATED: dict[str, Callable[[], str]] = {
    "evidence/ledger.md": ledger,
    "reference/broken-overlays.md": broken_overlays,
    "reference/command-line.md": command_line,
    "reference/core-timing.md": core_timing,
    "reference/machines.md": machines,
    "reference/emulate-json.md": emulation_json,
    "reference/packages.md": packages,
    "reference/run-json.md": run_json,
}
