"""``mcusim lab`` on the command line, at a terminal as a student sits at it, and as a notebook."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.labs import lab_names, read_lab
from mcusim.labs.figures import Figures
from mcusim.labs.grader import Grader
from mcusim.labs.lab import Arrange, Ask, Choose, Predict
from mcusim.labs.notebook_export import notebook
from tests.support.cases import few, only_with_all_cases
from tests.support.other_processes import AS_A_TERMINAL, LONGEST_WAIT

# as a student who reads the first number that looks right, and gets it in the end; the last line of each id is right
STUDENT = {
    "far": ["no idea", "5"],
    "ratio": ["67.38/148.63", "4.4", "148.63/67.38"],
    "cause": ["1", "2"],
    "one": ["100"],
    "waiting": ["0.0889", "8.89"],
    "moved": ["2", "1"],
    "hide": ["120", "90"],
    "hidden": ["52.09", "?", "47.91"],
    "second-tiles": ["22", "9"],
    "rest": ["t", "4", "2"],
    "gain": ["3"],
    "gain746": ["95.28", "4.72"],
    "why-more": ["1", "2"],
    "cache": ["3", "2"],
    "tight": ["90"],
    "buffer": ["4096", "2,560"],
    "why-loses": ["1", "2"],
    "tight746": ["126"],
    "sdram-ratio": ["0.0141", "70.8"],
    "why-wins": ["2", "1"],
}
QUESTIONS = len(read_lab("overlap").questions)


def test_the_student_answers_every_step() -> None:
    assert list(STUDENT) == [s.id for s in read_lab("overlap").steps if isinstance(s, Predict | Ask | Choose)]


def student_file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.txt"
    path.write_text("# a student\n" + "\n\n".join("\n".join(lines) for lines in STUDENT.values()), encoding="utf-8")
    return path


def test_labs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab"]) == 0
    message = capsys.readouterr().out
    assert all(name in message and read_lab(name).title in message for name in lab_names()) and "overlap" in lab_names()


def test_answers_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.json"
    assert main(["lab", "overlap", "--answers", str(student_file(tmp_path)), "--json", str(kept)]) == 0
    message, found = capsys.readouterr().out, json.loads(kept.read_text())
    assert "[times] > 67.38/148.63\nNot yet. That is internal as a share of external." in message
    assert f"{QUESTIONS} of {QUESTIONS} questions: 0 right at once, {QUESTIONS} later, 0 with" in message
    assert found["finished"] and [one["right"] for one in found["answers"]] == [True] * QUESTIONS
    assert {one["id"]: one["typed"] for one in found["answers"]}["ratio"] == STUDENT["ratio"]


@only_with_all_cases
def test_a_terminal(tmp_path: Path) -> None:
    """From the list to the end of the lab in a pseudo-terminal, each line typed when it is asked for."""
    process, master = _spawned(["lab", "overlap"])
    message = ""
    for lines in STUDENT.values():
        for line in lines:
            message += _until(master, "> ")
            os.write(master, f"{line}\n".encode())
    message += _until(master, None)
    assert process.wait(timeout=LONGEST_WAIT) == 0
    assert f"{QUESTIONS} of {QUESTIONS} questions: 0 right at once" in message and "Traceback" not in message
    hints = (
        "the other way round",
        "ratio of the energies",
        "100 times as much",
        "120 % cannot be",
        "part that is left",
    )
    assert all(hint in " ".join(message.split()) for hint in hints)
    assert message.count("internal    external      single      double") == 2  # shown, and again for t


@only_with_all_cases
def test_a_terminal_that_is_left(tmp_path: Path) -> None:
    for last, status, text in (("q", 1, "was left after 0 of"), ("\x04", 1, "with --save FILE it can be continued")):
        process, master = _spawned(["lab", "overlap"])
        _until(master, "> ")
        os.write(master, last.encode() + (b"\n" if last == "q" else b""))
        message = _until(master, None)
        assert process.wait(timeout=LONGEST_WAIT) == status and text in message and "Traceback" not in message
    process, master = _spawned(["lab", "overlap"])
    _until(master, "> ")
    time.sleep(0.5)  # Python's input() sees a signal that comes between its prompt and its read only when a line comes
    os.write(master, b"\x03")
    assert "Traceback" not in _until(master, None) and process.wait(timeout=LONGEST_WAIT) == 130


@only_with_all_cases
def test_a_lab_is_left_and_continued(tmp_path: Path) -> None:
    """After Ctrl-C in the middle, and after q, the same command shows all so far again and asks for the next."""
    kept, options = tmp_path / "kept.txt", ["lab", "overlap", "--save", str(tmp_path / "kept.txt")]
    lines = [line for lines in STUDENT.values() for line in lines]
    for typed, last, status in ((lines[:4], "\x03", 130), (["", *lines[4:9], "\udcff"], "q\n", 1), (lines[9:], "", 0)):
        process, master = _spawned(options)
        before = [*_answers(kept)]
        message = "".join(_until(master, "> ", prompts=len(before) + 1))
        assert all(f"> {line}" in message for line in before)
        for place, line in enumerate(typed, 1):
            os.write(master, f"{line}\n".encode(errors="surrogateescape"))
            message = _until(master, "> " if last or place < len(typed) else None)
        if last:
            time.sleep(0.5)
            os.write(master, last.encode())
            message = _until(master, None)
        assert process.wait(timeout=LONGEST_WAIT) == status and "Traceback" not in message
    assert [*_answers(kept)] == [*lines[:9], "\\xff", *lines[9:]]
    assert f"{QUESTIONS} of {QUESTIONS} questions: 0 right at once, {QUESTIONS} later" in message
    assert main([*options[:2], "--answers", str(kept)]) == 0


def _answers(path: Path) -> Iterator[str]:
    if path.exists():
        yield from (line for line in path.read_text().splitlines() if not line.startswith("#"))


def test_only_a_file_of_that_lab_is_added_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    essay = tmp_path / "essay.txt"
    essay.write_text("mine\n")
    for path, message in (
        (essay, "is not what --save has written: it does not begin with '# answers of mcusim lab overlap'"),
        (tmp_path, "is a directory"),
        (tmp_path / "no" / "x", "No such file"),
        (Path("/dev/full"), "not a regular file"),
        (Path("/dev/null"), "is not what --save has written"),
    ):
        assert main(["lab", "overlap", "--save", str(path)]) == 2
        error = capsys.readouterr().err
        assert message in error and len(error.splitlines()) == 1
    assert essay.read_text() == "mine\n"


def _spawned(arguments: list[str]) -> tuple[subprocess.Popen[bytes], int]:
    """mcusim in a session of its own, whose terminal is the other end of what is returned."""
    master, slave = pty.openpty()
    of_its_own = (
        "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); from mcusim.commands.app import main; "
    )
    start = [sys.executable, "-c", AS_A_TERMINAL.format("SIG_DFL"), sys.executable, "-c"]
    command = [*start, f"{of_its_own}sys.exit(main(sys.argv[1:]))", *arguments]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    return process, master


def _until(master: int, end: str | None, prompts: int = 1) -> str:
    """What is printed up to ``end``, with so many prompts before it, or until the terminal is closed."""
    message, last = "", time.monotonic() + LONGEST_WAIT
    while time.monotonic() < last:
        if end is not None and message.endswith(end) and message.count("> ") - message.count("-> ") >= prompts:
            return message
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(master, 1 << 16)
        except OSError:  # closed by the other side
            data = b""
        if not data:
            return message
        message += data.decode(errors="replace")
    raise AssertionError(f"waited in vain for {end!r} after: {message[-400:]}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["overlp"], "did you mean"),
        (["overlap", "--solved"], "--solved has no effect without --notebook"),
        (["overlap", "--html", "x.html"], "--html has no effect without --teacher"),
        (["overlap", "--teacher", "--notebook", "x.ipynb"], "two things"),
        (["overlap", "--teacher", "--save", "x"], "--save has no effect with --teacher"),
        (["overlap", "--answers", "x", "--save", "y"], "two places for answers"),
        (["--save", "x"], "--save needs the name of a lab"),
        (["overlap", "--teacher", "--json", "-"], "--json has no effect with --teacher"),
        (["--teacher"], "--teacher needs the name of a lab"),
        (["overlap", "--answers", "missing.txt"], "missing.txt: cannot be read: No such file"),
        (["overlap", "--answers", "/dev/null"], "the answers end before 'far'"),
        (["overlap", "--answers", "."], ".: is a directory"),
        (["overlap", "--notebook", "/nowhere/x.ipynb"], "there is no directory"),
    ],
)
def test_wrong_use(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and len(error.splitlines()) == 1


def test_a_file_of_bytes_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b"\xff\xfe" * 100)
    assert main(["lab", "overlap", "--answers", str(path)]) == 2
    assert f"{path}:1: not UTF-8 text (byte 0xff)" in capsys.readouterr().err


def test_what_a_file_has_is_shown_and_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"\x1b[2J5\n" + bytes(100_000))
    assert main(["lab", "overlap", "--answers", str(path)]) == 2
    message = capsys.readouterr().out
    assert "> '\\x1b[2J5'\n" in message and "\x1b" not in message and "\0" not in message and len(message) < 4000


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text("mine")
    assert main(["lab", "overlap", "--notebook", str(path)]) == 2 and path.read_text() == "mine"
    assert main(["lab", "overlap", "--notebook", str(path), "--force"]) == 0 and path.read_text() != "mine"
    answers = student_file(tmp_path)
    assert main(["lab", "overlap", "--answers", str(answers), "--json", str(answers), "--force"]) == 2


def test_json_alone_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "overlap", "--answers", str(student_file(tmp_path)), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["lab"] == "overlap"


@only_with_all_cases
def test_answers_through_a_pipe(tmp_path: Path) -> None:
    """Prompts and texts keep off the JSON."""
    command = [sys.executable, "-m", "mcusim", "lab", "overlap", "--json", "-"]
    lines = "".join(f"{line}\n" for lines in STUDENT.values() for line in lines)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["finished"]
    assert "[times] > no idea\n'no idea' is not a number" in done.stderr


def test_the_teachers_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "overlap", "--teacher"]) == 0
    assert "(for teachers)\n=====" in capsys.readouterr().out
    assert main(["lab", "overlap", "--teacher", "--html", str(tmp_path / "t.html")]) == 0
    assert (tmp_path / "t.html").read_text().startswith("<!DOCTYPE html>")


def cells(text: str) -> list[dict[str, Any]]:
    """The cells of a notebook that keeps to nbformat 4.5 (its JSON schema, v4.5)."""
    found = json.loads(text)
    assert set(found) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert set(found["metadata"]["kernelspec"]) >= {"name", "display_name"}
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id) for id in ids)
    for cell in found["cells"]:
        wanted = {"cell_type", "id", "metadata", "source"}
        code = cell["cell_type"] == "code"
        assert set(cell) == (wanted | {"execution_count", "outputs"} if code else wanted)
        assert code or cell["cell_type"] == "markdown"
        assert all(line.endswith("\n") for line in cell["source"][:-1]) and cell["source"]
        assert not code or (cell["outputs"], cell["execution_count"]) == ([], None)
    return list(found["cells"])


def executed(text: str, folder: Path) -> None:
    """In a folder of its own, as a film is written."""
    names: dict[str, Any] = {}
    with chdir(folder):
        _run_cells(text, names)


def _run_cells(text: str, names: dict[str, Any]) -> None:
    for cell in cells(text):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)


@few(2)
@pytest.mark.parametrize("name", lab_names()[::-1])
def test_the_solution_runs_as_a_notebook(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "solved.ipynb"
    assert main(["lab", name, "--notebook", str(path), "--solved"]) == 0
    executed(path.read_text(encoding="utf-8"), tmp_path)
    message = capsys.readouterr().out
    judged = [question for question in read_lab(name).questions if isinstance(question, Ask | Choose | Arrange)]
    assert message.count("Right.") == len(judged) and "Not yet" not in message and "No." not in message
    assert message.count("the best there is") + message.count("Noted. Compare") + len(judged) == len(
        read_lab(name).questions
    )


@few(1)
@pytest.mark.parametrize("name", lab_names()[::-1])
def test_the_students_notebook_runs_before_anything_is_filled_in(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = read_lab(name)
    text = notebook(lab)
    executed(text, tmp_path)
    message = capsys.readouterr().out
    assert "Right." not in message and message.count("Write your answer instead of None") == len(lab.questions)
    grader = Grader(Figures(lab))
    solutions = [q.answer for q in lab.questions if isinstance(q, Ask)]
    assert not any(solution in text for solution in solutions) and grader.solution(lab.questions[0]) not in text
    assert notebook(lab) == text
