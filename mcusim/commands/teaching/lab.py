"""``mcusim lab``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.output import Output, check_outputs, check_writable, fail, note, write_file
from mcusim.commands.shared.progress import bar, spinner
from mcusim.errors import UsageError
from mcusim.text import printable

if TYPE_CHECKING:
    from mcusim.labs.lab import Lab
    from mcusim.labs.lab_file import LabFile

Name = Annotated[str | None, argument("LAB", "A lab, or the path of one (./my.toml). Default: list the labs.")]
Student = Annotated[
    str | None, option("ID", "A name or number: numbers and orders of one's own come from it.", names="--student")
]
Seed = Annotated[
    int | None, option("N", "The same by a number; 0: the lab as it is written.", names="--seed", min=0, max=999_999)
]
Answers = Annotated[
    Path | None, option("FILE", "Take answers from FILE, one a line; # starts a comment.", names="--answers")
]
Save = Annotated[
    Path | None, option("FILE", "Keep what you type in FILE; the same command continues from there.", names="--save")
]


def lab(
    name: Name = None,
    student: Student = None,
    seed: Seed = None,
    answers: Answers = None,
    save: Save = None,
    notebook: Annotated[Path | None, option("FILE", "Write it as a Jupyter notebook.")] = None,
    solved: Annotated[bool, flag("--solved", "With --notebook: with the solution in its cells.")] = False,
    handout: Annotated[Path | None, option("FILE", "Write it as a page to print (A4).")] = None,
    teacher: Annotated[bool, flag("--teacher", "The teacher's page: answers, mistakes, what to discuss.")] = False,
    html: Annotated[Path | None, option("FILE", "With --teacher: as an HTML page.")] = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """Guided exercises: predict, run, compare, explain. They need no network and no board.

    --json FILE writes the answers to hand in; without LAB it lists the labs.

    \b
    Examples:
      mcusim lab
      mcusim lab overlap --student anna --save answers.txt --json anna.json
      mcusim lab overlap --notebook overlap.ipynb
      mcusim lab overlap --teacher --html teacher.html
      mcusim lab ./my.toml
    """
    written = {"--notebook": notebook, "--handout": handout}
    _check(name, {"--answers": answers, "--save": save}, written, solved, teacher, html, (student, seed, json))
    output = Output(json, force or _continues(json, save), [answers, save])
    check_outputs([*filter(None, (notebook, handout, html))], json, [answers], force)
    with spinner("opening the labs"):  # the first start after an installation compiles what they need
        from mcusim.labs import open_file
    if name is None:
        return _list(output)
    drawn = _drawn(file := open_file(name), student, seed, save)
    if notebook is not None or handout is not None:
        return _on_paper(drawn, file, notebook, handout, solved, force)
    if teacher:
        return _teacher(drawn, file, html, force)
    return _session(drawn, file, answers, save, output)


def _continues(json: Path | None, save: Path | None) -> bool:
    """Whether ``json`` is what the same student has handed in before, who goes on from ``save``."""
    from mcusim.commands.teaching.lab_answers import kept_seed
    from mcusim.labs.answer_file import read_answer_file

    if json is None or save is None or not (json.is_file() and save.is_file()):
        return False
    try:
        return read_answer_file(json).seed == (kept_seed(save)[0] or 0)
    except UsageError:
        return False


def _drawn(file: LabFile, student: str | None, seed: int | None, save: Path | None) -> Lab:
    """The lab of a student, or of who began it in the file ``save``."""
    from mcusim.commands.teaching.lab_answers import kept_seed
    from mcusim.labs.draw import seed_of

    number = seed_of(student) if student is not None else seed
    if save is not None and number is None:
        number, student = kept_seed(save)
    return file.lab(number or 0, student)


def export(
    name: Annotated[str, typer.Argument(metavar="LAB", help="A lab, or the path of one (./my.toml).")],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="The folder; index.html is the lab.")],
    films: Annotated[bool, typer.Option("--films/--no-films", help="With the films to watch, up to 5 MB each.")] = True,
    force: options.Force = False,
) -> int:
    """A lab as a folder for browsers: no Python, no network, from any web server or a USB stick.

    Every run that the lab can reach is made now. Students type a name, which gives them numbers of their own; what they
    do stays in their browser until they save the answer file that they hand in.

    \b
    Example:
      mcusim lab export overlap -o overlap
    """
    with spinner("opening the labs"):
        from mcusim.labs.browser_export import LabExport
        from mcusim.labs.lab_file import open_file
    folder = LabExport(open_file(name), films)
    if out.exists() and not out.is_dir():
        raise UsageError(f"cannot write {out}: it is a file, and a folder is wanted")
    check_writable(out / "index.html" if out.is_dir() else out, force)
    with bar("simulating", "runs") as step:
        texts = folder.files(step)
    size = sum(len(text.encode()) for text in texts.values())
    note(f"{out}: {len(texts)} file{'s' if len(texts) > 1 else ''}, {size / 1e6:.1f} MB")
    out.mkdir(exist_ok=True)
    for file, text in texts.items():
        write_file(out / file, partial(_write, text), force)
    return 0


def _write(text: str, file: TextIO) -> None:
    file.write(text)


def collect(
    files: Annotated[list[Path], argument("FILE...", "Answer files, of one lab or several.")],
    out: Annotated[Path | None, option("CSV", "Grades with the points of each question.", names="-o --output")] = None,
    own: Annotated[
        list[str] | None, option("PATH", "A lab of your own they are of. Repeatable.", names="--lab")
    ] = None,
    html: Annotated[Path | None, option("FILE", "A page with questions and mistakes.")] = None,
    json: options.Json = None,
    force: options.Force = False,
) -> int:
    """A class's answer files put together: points, times, hints, typical mistakes.

    What was typed is judged again, whatever points a file claims. Files that are none, of another version or of a seed
    that is not the student's are named, the others are judged. Exit status: 0 all were judged, 2 some were not.

    \b
    Examples:
      mcusim lab collect *.json -o grades.csv --html class.html
      mcusim lab collect *.json --lab ./my.toml --json -
    """
    output = Output(json, force, [*files])
    check_outputs([path for path in (out, html) if path is not None], json, [*files], force)
    with spinner("opening the labs"):
        from mcusim.labs.class_page import class_html, class_table, grades_csv
        from mcusim.labs.collect import collect as judge_all
        from mcusim.labs.lab_file import open_file
    with bar("judging", "files") as step:
        labs = judge_all(files, [open_file(path) for path in own or ()], step)
    if out is not None:
        write_file(out, partial(_write, grades_csv(labs)), force)
    if html is not None:
        write_file(html, partial(_write, class_html(labs)), force)
    output.emit(lambda: class_table(labs), labs.to_json)
    if labs.refused:
        count = f"{len(labs.refused)} of {len(files)} files"
        fail(f"{count} could not be judged", lines=labs.refused)
    return 2 if labs.refused else 0


def check(files: Annotated[list[Path], argument("FILE...", "Labs of your own, or the names of others.")]) -> int:
    """Whether labs are right: the form of their files, and what they state of their runs, for every student.

    All that is wrong is named, each with its line. Exit status: 0 right, 1 a statement is not true, 2 not a lab.

    \b
    Example:
      mcusim lab check my.toml
    """
    with spinner("opening the labs"):
        from mcusim.labs.lab_check import findings
        from mcusim.labs.lab_file import open_file
    status = 0
    for path in files:
        file = open_file(str(path))
        with bar("simulating", "runs") as step:
            texts = findings(file, step)
        for text in texts:
            print(printable(text))
        lab = file.lab()
        draws = len(file.draws())
        wrong = "1 statement is" if len(texts) == 1 else f"{len(texts)} statements are"
        told = f"{wrong} not true" if texts else "all it states is true"
        print(f"{file.shown}: {len(lab.questions)} questions, {lab.points:g} points, {draws} draws: {told}")
        status = max(status, bool(texts))
    return status


def _check(
    name: str | None,
    of_a_session: Mapping[str, Path | None],
    written: Mapping[str, Path | None],
    solved: bool,
    teacher: bool,
    html: Path | None,
    others: tuple[str | None, int | None, Path | None],
) -> None:
    """Raise UsageError for options that contradict each other or have no effect."""
    student, seed, json = others
    if solved and written["--notebook"] is None:
        raise UsageError("--solved has no effect without --notebook")
    if html is not None and not teacher:
        raise UsageError("--html has no effect without --teacher")
    if student is not None and seed is not None:
        raise UsageError("--student and --seed are two ways to say the same; name one")
    ways = {**written, "--teacher": teacher or None}
    chosen = [way for way, value in ways.items() if value is not None]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} are two things; ask for one")
    idle = [option for option, value in of_a_session.items() if value is not None]
    if chosen and (idle or json):
        raise UsageError(f"{[*idle, '--json'][0]} has no effect with {chosen[0]}")
    if {"--answers", "--save"} <= {*idle}:
        raise UsageError("--answers and --save are two places for answers; name one")
    whose = {"--student": student, "--seed": seed}
    needing = [*chosen, *idle, *(option for option, value in whose.items() if value is not None)]
    if name is None and needing:
        raise UsageError(f"{needing[0]} needs the name of a lab")


def _list(output: Output) -> int:
    from mcusim.labs import lab_names, open_file
    from mcusim.text import columns

    lab_files = [open_file(name) for name in lab_names()]
    rows = [
        ["lab", "about", "minutes"],
        *([lab_file.name, lab_file.title, str(lab_file.minutes)] for lab_file in lab_files),
    ]
    last = "mcusim lab NAME starts one; with --save FILE it can be left and continued later."
    output.emit(
        lambda: "\n".join([*columns(rows, left=2, indent=0), "", last]),
        lambda: {
            "labs": [
                {"name": lab_file.name, "title": lab_file.title, "minutes": lab_file.minutes} for lab_file in lab_files
            ]
        },
    )
    return 0


def _on_paper(drawn: Lab, file: LabFile, notebook: Path | None, handout: Path | None, solved: bool, force: bool) -> int:
    if notebook is not None:
        _notebook(drawn, file, notebook, solved, force)
    if handout is not None:
        _handout(drawn, file, handout, force)
    return 0


def _notebook(drawn: Lab, file: LabFile, path: Path, solved: bool, force: bool) -> None:
    from mcusim.labs.notebook_export import notebook

    text = notebook(drawn, solved, file.folder, file.own_path)
    write_file(path, lambda file: file.write(text), force)
    note(f"{path}: lab {drawn.name}{', solved' if solved else ''}")


def _handout(drawn: Lab, file: LabFile, path: Path, force: bool) -> None:
    from mcusim.labs.handout import handout

    with spinner(f"running lab {drawn.name}"):
        text = handout(drawn, file.folder)
    write_file(path, partial(_write, text), force)
    note(f"{path}: lab {drawn.name}, to print")


def _teacher(drawn: Lab, file: LabFile, html: Path | None, force: bool) -> int:
    from mcusim.labs.teacher_page import teacher_html, teacher_text

    with spinner(f"running lab {drawn.name}"):
        own = (drawn, file.folder, file.own_path)
        text = teacher_text(*own) if html is None else teacher_html(*own)
    if html is None:
        print(text)
    else:
        write_file(html, lambda file: file.write(text), force)
    return 0


def _session(drawn: Lab, file: LabFile, answers: Path | None, save: Path | None, output: Output) -> int:
    from mcusim.commands.teaching.lab_answers import from_file, kept, typed
    from mcusim.labs import Session
    from mcusim.labs.terminal import WIDTH

    shown = sys.stderr if output.to_stdout else sys.stdout

    def say(text: str, end: str = "\n") -> None:
        print(printable(text), end=end, file=shown, flush=True)

    read = typed(say) if answers is None else from_file(answers, say)
    if save is not None:
        read = kept(save, drawn, say, read)
    width = min(WIDTH, shutil.get_terminal_size().columns - 1) if shown.isatty() else WIDTH
    session = Session(drawn, read, say, spinner, max(width, 20), file.folder)
    try:
        done = session.run()
    finally:  # after Ctrl-C too, and where the answers end
        output.emit(None, session.to_json)
    if not done:
        count = f"{len(session.answers)} of {len(drawn.questions)}"
        if save is None:
            fail(f"lab {drawn.name} was left after {count} questions; with --save FILE it can be continued")
        else:
            fail(f"saved, {count}: the same command continues lab {drawn.name} from here")
    return 0 if done else 1
