"""``mcusim lab``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.output import Output, check_outputs, fail, note, write_file
from mcusim.commands.shared.progress import spinner
from mcusim.errors import UsageError
from mcusim.text import printable

if TYPE_CHECKING:
    from mcusim.labs.lab import Lab

Name = Annotated[str | None, typer.Argument(metavar="LAB", help="Default: list the labs.")]
Answers = Annotated[
    Path | None,
    typer.Option("--answers", metavar="FILE", help="Take answers from FILE, one a line; # starts a comment."),
]
Save = Annotated[
    Path | None,
    typer.Option("--save", metavar="FILE", help="Keep what you type in FILE; the same command continues from there."),
]
Notebook = Annotated[Path | None, typer.Option("--notebook", metavar="FILE", help="Write it as a Jupyter notebook.")]
Solved = Annotated[bool, typer.Option("--solved", help="With --notebook: with the solution in its cells.")]
Teacher = Annotated[bool, typer.Option("--teacher", help="The teacher's page: answers, mistakes, what to discuss.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="With --teacher: as an HTML page.")]


def lab(
    name: Name = None,
    answers: Answers = None,
    save: Save = None,
    notebook: Notebook = None,
    solved: Solved = False,
    teacher: Teacher = False,
    html: Html = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Guided exercises: predict, run, compare, explain. They need no network and no board.

    \b
    Examples:
      mcusim lab
      mcusim lab overlap --save answers.txt
      mcusim lab overlap --notebook overlap.ipynb
      mcusim lab overlap --teacher --html teacher.html
    """
    _check(name, {"--answers": answers, "--save": save, "--json": json}, notebook, solved, teacher, html)
    output = Output(json, force, [answers, save])
    check_outputs([path for path in (notebook, html) if path is not None], json, [answers], force)
    with spinner("opening the labs"):  # the first start after an installation compiles what they need
        from mcusim.labs import read_lab
    if name is None:
        return _list()
    found = read_lab(name)
    if notebook is not None:
        return _notebook(found, notebook, solved, force)
    if teacher:
        return _teacher(found, html, force)
    return _session(found, answers, save, output)


def _check(
    name: str | None,
    of_a_session: Mapping[str, Path | None],
    notebook: Path | None,
    solved: bool,
    teacher: bool,
    html: Path | None,
) -> None:
    """Raise UsageError for options that contradict each other or have no effect."""
    if solved and notebook is None:
        raise UsageError("--solved has no effect without --notebook")
    if html is not None and not teacher:
        raise UsageError("--html has no effect without --teacher")
    ways = {"--notebook": notebook, "--teacher": teacher or None}
    given = [way for way, value in ways.items() if value is not None]
    if len(given) > 1:
        raise UsageError("--notebook and --teacher are two things; ask for one")
    idle = [option for option, value in of_a_session.items() if value is not None]
    if given and idle:
        raise UsageError(f"{idle[0]} has no effect with {given[0]}")
    if {"--answers", "--save"} <= {*idle}:
        raise UsageError("--answers and --save are two places for answers; name one")
    if name is None and (given or idle):
        raise UsageError(f"{(given or idle)[0]} needs the name of a lab")


def _list() -> int:
    from mcusim.labs import lab_names, read_lab
    from mcusim.text import columns

    found = [read_lab(name) for name in lab_names()]
    rows = [["lab", "about", "minutes"], *([one.name, one.title, str(one.minutes)] for one in found)]
    print(
        "\n".join(
            [
                *columns(rows, left=2, indent=0),
                "",
                "mcusim lab NAME starts one; with --save FILE it can be left and continued later.",
            ]
        )
    )
    return 0


def _notebook(found: Lab, path: Path, solved: bool, force: bool) -> int:
    from mcusim.labs.notebook import notebook

    text = notebook(found, solved)
    write_file(path, lambda file: file.write(text), force)
    note(f"{path}: lab {found.name}{', solved' if solved else ''}")
    return 0


def _teacher(found: Lab, html: Path | None, force: bool) -> int:
    from mcusim.labs.teacher_page import teacher_html, teacher_text

    with spinner(f"running lab {found.name}"):
        text = teacher_text(found) if html is None else teacher_html(found)
    if html is None:
        print(text)
    else:
        write_file(html, lambda file: file.write(text), force)
    return 0


def _session(found: Lab, answers: Path | None, save: Path | None, output: Output) -> int:
    from mcusim.commands.teaching.lab_answers import from_file, kept, typed
    from mcusim.labs import Session
    from mcusim.labs.terminal import WIDTH

    shown = sys.stderr if output.to_stdout else sys.stdout

    def say(text: str, end: str = "\n") -> None:
        print(printable(text), end=end, file=shown, flush=True)

    read = typed(say) if answers is None else from_file(answers, say)
    if save is not None:
        read = kept(save, found.name, say, read)
    width = min(WIDTH, shutil.get_terminal_size().columns - 1) if shown.isatty() else WIDTH
    session = Session(found, read, say, spinner, max(width, 20))
    done = session.run()
    output.emit(None, session.to_json)
    if not done:
        later = "with --save FILE it can be continued" if save is None else "the same command continues from here"
        fail(f"lab {found.name} was left after {len(session.answers)} of {len(found.questions)} questions; {later}")
    return 0 if done else 1
