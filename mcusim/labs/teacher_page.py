"""A lab's page for its teacher: aims, runs, every answer with how it is found, and common mistakes.

Also the layout of a lab's texts for terminals and pages: paragraphs, lists (``- ``), blocks indented by four spaces.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcusim.labs.figures import Figures, command, shown
from mcusim.labs.grader import Grader
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
)
from mcusim.report.html.page import PlotFigure, page, plain
from mcusim.report.html.style import CAUSE_COLOURS, LAYOUT, axis, tooltip

_WIDTH = 78
_EMPHASIS = re.compile(r"(?<![\w*])\*([A-Za-z][^*`\n]*[A-Za-z]|[A-Za-z])\*(?![\w*])")
NAMES = {Choose.kind: "Explain", Arrange.kind: "Put in order", Write.kind: "Write", Design.kind: "Design"}
"""What questions of a kind are headed with; others are a question."""


def terminal(text: str, width: int = _WIDTH) -> str:
    """Paragraphs wrapped, blocks as they are."""
    texts = []
    for kind, lines in _blocks(text):
        if kind == "block":
            texts.append("\n".join(lines))
        elif kind == "list":
            texts.append("\n".join(wrapped(line, width, "- ", "  ") for line in lines))
        else:
            texts.append(wrapped(" ".join(lines), width))
    return "\n\n".join(texts)


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> str:
    """One paragraph in lines of ``width``; the first begins with ``first``, the others with ``rest``."""
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines)


def html(text: str) -> str:
    """The same as HTML; nothing else in it is markup."""
    texts = []
    for kind, lines in _blocks(text):
        if kind == "block":
            texts.append(f'<div class="table"><pre tabindex="0">{plain_lines(lines)}</pre></div>')
        elif kind == "list":
            texts.append(f"<ul>{''.join(f'<li>{inline(line)}</li>' for line in lines)}</ul>")
        else:
            texts.append(f"<p>{inline(' '.join(lines))}</p>")
    return "\n".join(texts)


def plain_lines(lines: list[str]) -> str:
    return "\n".join(plain(line) for line in textwrap.dedent("\n".join(lines)).splitlines())


def inline(text: str) -> str:
    """A text as HTML: ``code`` in backticks and *emphasis* in asterisks are marked up, nothing else."""
    pieces = re.split("(`[^`]+`)", plain(text))
    return "".join(
        f"<code>{piece[1:-1]}</code>"
        if piece.startswith("`") and len(piece) > 2
        else _EMPHASIS.sub(r"<em>\1</em>", piece)
        for piece in pieces
    )


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines):
            yield "block", lines
        elif all(line.startswith(("- ", "  ")) for line in lines):
            yield (
                "list",
                [item.strip().replace("\n  ", " ") for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]],
            )
        else:
            yield "text", lines


def teacher_text(lab: Lab, folder: Path | None = None, path: str | None = None) -> str:
    """The page for a terminal; answers are computed from runs made now. ``path``: of a lab of one's own, which the
    commands name; its paths are relative to ``folder``."""
    texts = []
    for kind, text in _sections(lab, folder, path):
        if isinstance(text, PlotFigure):
            continue
        texts.append(
            f"{text}\n{('=' if kind == 'h1' else '-') * len(text)}" if kind in ("h1", "h2") else terminal(text)
        )
    return "\n\n".join(texts)


def teacher_html(lab: Lab, folder: Path | None = None, path: str | None = None) -> str:
    """The same as an HTML file that needs no network."""
    title, *rest = _sections(lab, folder, path)
    assert isinstance(title[1], str)
    return page(title[1], [_part(kind, text) for kind, text in rest])


def _part(kind: str, text: str | PlotFigure) -> str | PlotFigure:
    if isinstance(text, PlotFigure):
        return text
    return f"<h2>{text}</h2>" if kind == "h2" else html(text)


def _sections(lab: Lab, folder: Path | None, path: str | None) -> Iterator[tuple[str, str | PlotFigure]]:
    figures, name = Figures(lab, folder), path or lab.name
    grader, whose = Grader(figures), "as it is written"
    if lab.seed:
        whose = f"of student {lab.student}, seed {lab.seed}" if lab.student else f"of seed {lab.seed}"
    yield "h1", f"{lab.title} (for teachers)"
    yield (
        "text",
        (
            f"Lab `{lab.name}`, version {lab.version}, about {lab.minutes} minutes, {lab.points:g} points, {whose}."
            f" Students need {lab.needs}. They learn to"
        ),
    )
    yield "text", "\n".join(f"- {aim}" for aim in lab.aims)
    yield (
        "text",
        f"At a terminal it is `mcusim lab {name}`, as a notebook `mcusim lab {name} --notebook "
        f"{lab.name}.ipynb`; `--solved` fills that in. `--student NAME` gives each student numbers and orders of their "
        "own, and with it this page has theirs. `--save FILE` keeps what is typed, to continue later, `--answers FILE` "
        "replays it; `--json FILE` is what students hand in.",
    )
    if lab.values:
        yield "text", "\n".join(f"- {name}: {value}" for name, value in lab.values.items())
    if lab.constants:
        yield "text", "\n".join(f"- {constant.value}: {constant.source}" for constant in lab.constants.values())
    yield "h2", "To discuss"
    yield "text", figures.text(lab.after.teacher)
    for number, part in enumerate(lab.parts, 1):
        yield "h2", f"Part {number}: {part.title}"
        for step in part.steps:
            yield from (("text", text) for text in _step(lab, grader, figures.filled(step)))
            if isinstance(step, LabTable) and (drawn := _bars(figures, step)) is not None:
                yield "plot", drawn


def _bars(figures: Figures, step: LabTable) -> PlotFigure | None:
    """The runs of a table as bars of cycles by cause, for slides; None where there is nothing to compare."""
    entries = {name: figures.run(name) for name in step.runs}
    causes = [cause for cause in CAUSE_COLOURS if any(values[cause] for values in entries.values())]
    if len(entries) < 2 or not causes:
        return None
    names = [plain(name) for name in entries]
    data: list[dict[str, Any]] = [
        {"type": "bar", "orientation": "h", "name": cause, "y": names,
         "x": [values[cause] or 0 for values in entries.values()],
         "marker": {"color": CAUSE_COLOURS[cause]}, "hovertemplate": tooltip("%{y}", f"{cause} %{{x:,}} cycles")}
        for cause in causes
    ]  # fmt: skip
    layout = {**LAYOUT, "barmode": "stack", "xaxis": axis("cycles"), "yaxis": {"autorange": "reversed"}}
    layout["margin"] = {"l": 110, "r": 10, "t": 30, "b": 46}
    return PlotFigure("Cycles by cause (the camera saves a picture)", data, layout, height=110 + 34 * len(entries))


def _step(lab: Lab, grader: Grader, step: Step) -> Iterator[str]:
    figures = grader.figures
    match step:
        case Predict():
            yield f"Predict `{step.id}`: {step.text}"
        case LabRun():
            yield f"    {step.name}: {command(lab, step)}"
        case LabTable():
            yield "\n".join(f"    {line}" for line in figures.table(step.runs, step.figures).splitlines())
        case Compare():
            yield f"Compare `{step.id}`: {step.value} = {figures.value(step.value):.4g}"
        case Watch():
            yield f"Watch: {step.text}"
            yield f"    {command(lab, step)}"
        case Explore():
            yield f"Explore `{step.id}`: {step.text}"
            yield _knobs(step)
        case LabQuestion():
            yield from _question(grader, step)


def _knobs(step: Explore | Design) -> str:
    return "\n".join(f"- {name}: {', '.join(map(str, values))}" for name, values in step.texts.items())


def _question(grader: Grader, question: Question) -> Iterator[str]:
    rules = grader.rules(question)
    points = "read by you" if isinstance(question, Write) else f"{question.points:g} points"
    yield f"Ask `{question.id}` ({points}): {question.text}"
    if isinstance(question, Design):
        yield _knobs(question)
    yield grader.solution(question)
    if isinstance(question, Ask):
        wrong = [f"- {shown(value)} {question.unit}: {says}" for value, says, _ in rules.wrong]
    else:
        wrong = [f"- {name}: {says}" for _, says, name in rules.wrong]
    wrong += [f"- hint {index}: {hint}" for index, hint in enumerate(question.hints, 1)]
    if wrong:
        yield "\n".join(wrong)
