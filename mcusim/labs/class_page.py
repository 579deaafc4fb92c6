"""A class's results for its teacher: who has how much, which questions were hard, and which mistakes were made."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import StringIO

from mcusim.labs.collect import CollectedLabs, Grade, QuestionGrade
from mcusim.labs.figures import shown
from mcusim.labs.lab import Lab, Question, Write
from mcusim.labs.teacher_page import inline
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.report.html.style import LAYOUT, axis
from mcusim.text import columns, printable

HEAD = ("student", "lab", "points", "of", "minutes", "wrong", "hints", "finished")
MOST_MISTAKES = 5
_BINS = 10
_FORMULA = "=+-@＝＋－＠"
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.ASCII)


def _row(grade: Grade) -> list[str]:
    minutes = "-" if grade.minutes is None else f"{grade.minutes:.0f}"
    counts = [f"{grade.points:g}", f"{grade.of:g}", minutes, str(grade.wrong), str(grade.hints)]
    return [_name(grade), grade.lab, *counts, "yes" if grade.finished else "no"]


def _name(grade: Grade) -> str:
    return grade.student if grade.student is not None else f"seed {grade.seed}"


def class_table(collected: CollectedLabs) -> str:
    """Students and their points, for a terminal."""
    rows = [list(HEAD), *(_row(grade) for grade in collected.grades)]
    notes = [*(f"{grade.file}: {grade.note}" for grade in collected.grades if grade.note), *collected.repeated]
    return "\n".join(
        [*columns([[shortened(printable(cell), 40) for cell in row] for row in rows], left=2, indent=0), *notes]
    )


def grades_csv(collected: CollectedLabs) -> str:
    """A line for each student, with the points of each question in a column of its own, of a text ``to read``; a
    spreadsheet takes no cell of it for a formula."""
    several = [(name, question.id) for name, lab in collected.labs.items() for question in lab.questions]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)  # whatever a spreadsheet separates by
    writer.writerow(
        [*HEAD, "seed", "file", "note", *(f"{name}.{id}" if len(collected.labs) > 1 else id for name, id in several)]
    )
    for grade in collected.grades:
        points = {
            (grade.lab, question.id): f"{question.points:g}" if question.graded else "to read"
            for question in grade.questions
        }
        cells = [*_row(grade), str(grade.seed), grade.file, grade.note, *(points.get(key, "") for key in several)]
        writer.writerow([_harmless(cell) for cell in cells])
    return text.getvalue()


def _harmless(cell: str) -> str:
    """A cell that begins as a formula does, in ASCII or full width, is a text."""
    cell = printable(cell)
    begins = cell.lstrip()[:1] in (*_FORMULA, "\t", "\r")
    return f"'{cell}" if begins and not _NUMBER.fullmatch(cell) and cell != "-" else cell


def class_html(collected: CollectedLabs) -> str:
    """The page, of each lab on its own."""
    parts: list[str | PlotFigure] = []
    if collected.repeated:
        parts += ["<h2>Handed in twice</h2>", bullets([plain(text) for text in collected.repeated])]
    if collected.refused:
        parts += ["<h2>Files that were not judged</h2>", bullets([plain(text) for text in collected.refused])]
    for name, lab in collected.labs.items():
        parts += _of_lab(collected, name, lab)
    return page("Results of a class", parts)


def _of_lab(collected: CollectedLabs, name: str, lab: Lab) -> Iterator[str | PlotFigure]:
    grades = collected.of_lab(name)
    mean = sum(grade.points for grade in grades) / len(grades)
    yield f"<h2>{plain(lab.title)}</h2>"
    yield f'<p class="dim">{len(grades)} files, {shown(mean)} of {lab.points:g} points on average.</p>'
    yield _histogram(grades, lab)
    rows = [[*(plain(shortened(cell, 80)) for cell in _row(grade)), plain(grade.note)] for grade in grades]
    yield table([*HEAD, ""], rows, left=2)
    yield "<h2>Questions</h2>"
    yield table(
        ["question", "typical mistakes, and how many made them", "answers", "right", "points", "wrong", "hints"],
        [_question(collected, lab, question) for question in lab.questions],
        left=2,
    )
    for question in lab.questions:
        if isinstance(question, Write):
            yield f"<h2>{inline(question.text)}</h2>"
            yield f'<p class="dim">{inline(question.answer)}</p>'
            yield bullets(
                [f"<b>{plain(_name(g))}</b>: {plain(grade.last)}" for g in grades for grade in _given(g, question)]
            )


def _given(grade: Grade, question: Question) -> list[QuestionGrade]:
    return [grade for grade in grade.questions if grade.id == question.id]


def _question(collected: CollectedLabs, lab: Lab, question: Question) -> list[str]:
    grades = collected.given(lab.name, question.id)
    count = max(len(grades), 1)
    mistakes = "; ".join(
        f"{name} ({students})" for name, students in collected.mistakes(lab.name, question.id)[:MOST_MISTAKES]
    )
    mean = (
        "-"
        if isinstance(question, Write)
        else f"{sum(grade.points for grade in grades) / count:.2f} of {question.points:g}"
    )
    right = f"{100 * sum(grade.right for grade in grades) / count:.0f} %"
    spent = [f"{sum(getattr(grade, name) for grade in grades) / count:.1f}" for name in ("wrong", "hints")]
    about = f"<code>{plain(question.id)}</code> {inline(shortened(question.text, 160))}"
    return [about, plain(shortened(mistakes, 300)), str(len(grades)), right, mean, *spent]


def _histogram(grades: list[Grade], lab: Lab) -> PlotFigure:
    width = lab.points / _BINS or 1
    counts = [0] * _BINS
    for grade in grades:
        counts[min(int(grade.points / width), _BINS - 1)] += 1
    names = [f"{i * width:g} to {(i + 1) * width:g}" for i in range(_BINS)]
    layout = {**LAYOUT, "xaxis": axis("points", type="category"), "yaxis": axis("students"), "showlegend": False}
    return PlotFigure("How many have how many points", [{"type": "bar", "x": names, "y": counts}], layout, height=260)
