"""A lab as a Jupyter notebook, nbformat 4.5: for students with cells to fill in, or with the solution in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mcusim.labs.figures import command, python_call
from mcusim.labs.lab import Ask, Choose, Compare, Lab, Predict, Question, Run, Step, Table

__all__ = ["notebook"]


def notebook(lab: Lab, solved: bool = False) -> str:
    """The notebook's file; ``solved`` fills in what a student writes. Equal labs give equal text."""
    cells = []
    for place, (kind, source) in enumerate(_cells(lab, solved)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"{lab.name[:40]}-{place:03d}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append({**cell, "source": source.strip("\n").splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    found = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _cells(lab: Lab, solved: bool) -> Iterator[tuple[str, str]]:
    aims = "\n".join(f"- {aim}" for aim in lab.aims)
    yield "markdown", f"# {lab.title}\n{lab.text}\nAbout {lab.minutes} minutes. You will learn to\n\n{aims}"
    yield "code", f'import mcusim\nfrom mcusim.labs import open_lab\n\nlab = open_lab("{lab.name}")'
    for number, part in enumerate(lab.parts, 1):
        yield "markdown", f"## Part {number}: {part.title}\n{part.text}"
        for step in part.steps:
            yield from _step(lab, step, solved)
    yield "markdown", f"## Go on\n{lab.after}"


def _step(lab: Lab, step: Step, solved: bool) -> Iterator[tuple[str, str]]:
    match step:
        case Predict():
            yield "markdown", f"**Predict.** {step.text} ({step.unit})"
            yield "code", f'lab.predict("{step.id}", {_between(step) if solved else None})'
        case Run():
            yield "code", f"{step.name} = {python_call(lab, step)}  # {command(lab, step)}"
        case Table():
            yield "code", f"lab.table({', '.join(f'{run}={run}' for run in step.runs)})"
        case Compare():
            yield "code", f'lab.compare("{step.id}")'
        case Ask() | Choose():
            yield from _question(step, solved)


def _between(step: Predict) -> float:
    return step.low if step.low > 0 else step.high


def _question(step: Question, solved: bool) -> Iterator[tuple[str, str]]:
    if isinstance(step, Choose):
        choices = "\n".join(f"{place}. {choice.text}" for place, choice in enumerate(step.choices, 1))
        asked, answer = f"**Explain.** {step.text}\n\n{choices}", str(step.right)
    else:
        asked, answer = f"**Explain.** {step.text} ({step.unit})", f'lab.value("{step.answer.text}")'
    yield "markdown", asked
    yield "code", f'answer = {answer if solved else None}\nlab.check("{step.id}", answer)  # lab.hint("{step.id}")'
