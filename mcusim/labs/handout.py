"""A lab on paper: texts, commands, tables of figures and room for answers, for A4.

Not modelled: what knobs do; who works on paper tries them at a computer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mcusim.labs.figures import Figures, command, figures_rows
from mcusim.labs.lab import (
    Arrange,
    Ask,
    Choose,
    Compare,
    Design,
    Explore,
    Lab,
    LabQuestion,
    LabRun,
    LabTable,
    Predict,
    Question,
    Step,
    Watch,
    Write,
)  # fmt: skip
from mcusim.labs.teacher_page import NAMES, html, inline
from mcusim.report.html.page import bullets, page, plain, table

_LINES = 4  # to write on


def handout(lab: Lab, folder: Path | None = None) -> str:
    """The page, without answers. ``folder``: what a lab of one's own has its paths relative to."""
    whose = "" if lab.student is None else plain(lab.student)
    figures = Figures(lab, folder)
    about = f"About {lab.minutes} minutes, {lab.points:g} points. You need {inline(lab.needs)}. You will learn to"
    body = [
        f'<p class="name">Name <span class="blank">{whose}</span> Date <span class="blank"></span></p>',
        f'<p class="dim">{about}</p>',
        bullets([inline(aim) for aim in lab.aims]),
        html(figures.text(lab.text)),
    ]
    for number, part in enumerate(lab.parts, 1):
        body += [f"<h2>Part {number}: {plain(part.title)}</h2>", html(figures.text(part.text))]
        steps = map(figures.filled, part.steps)
        body += [f'<section class="step">{"".join(_step(lab, figures, step))}</section>' for step in steps]
    return page(lab.title, body, more_styles=("handout.css",))


def _step(lab: Lab, figures: Figures, step: Step) -> Iterator[str]:
    match step:
        case Predict():
            yield f"<p><b>Predict.</b> {inline(step.text)} {_blank(step.unit)}</p>"
        case LabRun():
            yield f"<p><b>{plain(step.run)}</b>: <code>{plain(command(lab, step))}</code></p>"
        case LabTable():
            entries = {name: figures.run(name) for name in step.runs}
            head, *rows = figures_rows(entries, step.figures or lab.figures)
            yield table([plain(cell) for cell in head], [[plain(cell) for cell in row] for row in rows])
        case Compare():
            yield f"<p><b>Compare</b> with your prediction: by how much were you off? {_blank()}</p>"
        case Watch():
            yield f"<p><b>Watch.</b> {inline(step.text)}<br><code>{plain(command(lab, step))}</code></p>"
        case Explore():
            yield f"<p><b>Explore.</b> {inline(step.text)}</p>{_knobs(step)}"
        case LabQuestion():
            yield from _question(step)


def _question(step: Question) -> Iterator[str]:
    points = "" if isinstance(step, Write) else f' <span class="dim">({step.points:g})</span>'
    asked = f"<b>{NAMES.get(step.kind, 'Question')}.</b> {inline(step.text)}{points}"
    match step:
        case Ask():
            yield f"<p>{asked} {_blank(step.unit)}</p>"
        case Choose():
            yield f"<p>{asked}</p>{_listed('boxes', [choice.text for choice in step.choices])}"
        case Arrange():
            yield f"<p>{asked}</p>{_listed('places', [item.text for item in step.items])}"
        case Write():
            yield f"<p>{asked}</p>" + '<p class="line"></p>' * _LINES
        case Design():
            yield f"<p>{asked}</p>{_knobs(step)}<p>Your choice {_blank()} gives {_blank(step.goal.unit)}</p>"


def _listed(name: str, texts: list[str]) -> str:
    return f'<ul class="{name}">{"".join(f"<li>{inline(text)}</li>" for text in texts)}</ul>'


def _knobs(step: Explore | Design) -> str:
    return bullets([f"{plain(name)}: {plain(', '.join(values))}" for name, values in step.texts.items()])


def _blank(unit: str = "") -> str:
    return f'<span class="blank"></span> {plain(unit)}'
