"""``mcusim lab``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands import options
from mcusim.commands.output import Output, check_outputs, fail, write_file
from mcusim.commands.progress import spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.study.lab.lab import Lab

Name = Annotated[str | None, typer.Argument(metavar="LAB", help="Default: list the labs.")]
Answers = Annotated[
    Path | None,
    typer.Option("--answers", metavar="FILE", help="Take answers from FILE, one a line; # begins a comment."),
]
Notebook = Annotated[Path | None, typer.Option("--notebook", metavar="FILE", help="Write it as a Jupyter notebook.")]
Solved = Annotated[bool, typer.Option("--solved", help="With --notebook: with the solution in its cells.")]
Teacher = Annotated[bool, typer.Option("--teacher", help="The teacher's page: answers, mistakes, what to discuss.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="With --teacher: as an HTML page.")]

_LONGEST = 1 << 20


def lab(
    name: Name = None,
    answers: Answers = None,
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
      mcusim lab overlap
      mcusim lab overlap --notebook overlap.ipynb
      mcusim lab overlap --teacher --html teacher.html
    """
    _check(name, answers, notebook, solved, teacher, html, json)
    output = Output(json, force, [answers])
    check_outputs([path for path in (notebook, html) if path is not None], json, [answers], force)
    if name is None:
        return _list()
    from mcusim.study.lab import read_lab

    found = read_lab(name)
    if notebook is not None:
        return _notebook(found, notebook, solved, force)
    if teacher:
        return _teacher(found, html, force)
    return _session(found, answers, output)


def _check(
    name: str | None,
    answers: Path | None,
    notebook: Path | None,
    solved: bool,
    teacher: bool,
    html: Path | None,
    json: Path | None,
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
    named = {"--answers": answers, "--json": json}
    idle = [option for option, value in named.items() if value is not None]
    if given and idle:
        raise UsageError(f"{idle[0]} has no effect with {given[0]}")
    if name is None and (given or idle):
        raise UsageError(f"{(given or idle)[0]} needs the name of a lab")


def _list() -> int:
    from mcusim.report.text import columns
    from mcusim.study.lab import lab_names, read_lab

    found = [read_lab(name) for name in lab_names()]
    rows = [["lab", "about", "minutes"], *([one.name, one.title, str(one.minutes)] for one in found)]
    print("\n".join([*columns(rows, left=2, indent=0), "", "mcusim lab NAME begins one."]))
    return 0


def _notebook(found: Lab, path: Path, solved: bool, force: bool) -> int:
    from mcusim.study.lab.notebook import notebook

    text = notebook(found, solved)
    write_file(path, lambda file: file.write(text), force)
    print(f"{path}: lab {found.name}{', solved' if solved else ''}", file=sys.stderr)
    return 0


def _teacher(found: Lab, html: Path | None, force: bool) -> int:
    from mcusim.study.lab.teacher import teacher_html, teacher_text

    with spinner(f"running lab {found.name}"):
        text = teacher_text(found) if html is None else teacher_html(found)
    if html is None:
        print(text)
    else:
        write_file(html, lambda file: file.write(text), force)
    return 0


def _session(found: Lab, answers: Path | None, output: Output) -> int:
    from mcusim.study.lab import Session

    shown = sys.stderr if output.to_stdout else sys.stdout

    def say(text: str, end: str = "\n") -> None:
        print(text, end=end, file=shown, flush=True)

    session = Session(found, _typed(say) if answers is None else _given(answers, say), say, spinner)
    done = session.run()
    output.emit(None, session.to_json)
    if not done:
        fail(f"lab {found.name} was left after {len(session.answers)} of {len(found.questions)} questions")
    return 0 if done else 1


def _typed(say: Callable[..., None]) -> Callable[[str], str]:
    """What is typed at a terminal, or comes through a pipe and is shown behind its prompt."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return input

    def read(prompt: str) -> str:
        say(prompt, end="")
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        if not sys.stdin.isatty():
            say(line.rstrip("\n"))
        return line

    return read


def _given(path: Path, say: Callable[..., None]) -> Callable[[str], str]:
    """The lines of a file, each shown behind its prompt as if it were typed."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LONGEST)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is no text'}") from None
    lines = iter([line for line in text.splitlines() if line.strip() and not line.startswith("#")])

    def read(prompt: str) -> str:
        line = next(lines, None)
        if line is None:
            raise EOFError
        say(f"{prompt}{line}")
        return line

    return read
