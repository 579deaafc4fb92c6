"""Labs: what they state is true of their runs, right answers are taken, and each wrong one is met with its hint."""

from __future__ import annotations

import re
import shlex
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, permutations
from typing import Any

import pytest
from typer.main import get_command

from mcusim import simulate
from mcusim.commands.app import app
from mcusim.errors import UsageError
from mcusim.labs import Session, lab_names, open_file, open_lab, read_lab
from mcusim.labs.figures import Figures
from mcusim.labs.grader import Grader, number
from mcusim.labs.lab import Arrange, Ask, Choose, Compare, Design, Explore, Lab, Write
from mcusim.labs.lab_check import findings
from mcusim.labs.teacher_page import teacher_html, teacher_text
from mcusim.sweeps.study import study_names
from tests.support.cases import sample_size
from tests.support.lab_sessions import right_answer, session


@pytest.fixture(scope="module", params=lab_names())
def lab(request: pytest.FixtureRequest) -> Lab:
    return read_lab(request.param)


@pytest.fixture(scope="module")
def grader(lab: Lab) -> Grader:
    return Grader(Figures(lab))


def test_what_is_said_to_be_true_is(lab: Lab, grader: Grader) -> None:
    assert not findings(open_file(lab.name), draws=sample_size(99, 1))
    for question in lab.questions:
        assert grader.verdict(question, right_answer(question, grader), 0).right, question.id


def test_every_mistake_is_met_with_its_own_hint(lab: Lab, grader: Grader) -> None:
    for question in lab.questions:
        for value, hint, name in grader.rules(question).wrong:
            verdict = grader.verdict(question, str(value), 0)
            assert not verdict.right and hint in verdict.says and verdict.mistake == name, question.id


def test_after_all_hints_comes_the_solution_with_its_numbers(lab: Lab, grader: Grader) -> None:
    for question in [one for one in lab.questions if isinstance(one, Ask | Choose)]:
        wrong = "-12345" if isinstance(question, Ask) else str(1 + question.right % len(question.choices))
        verdicts = [grader.verdict(question, wrong, tries) for tries in range(grader.rules(question).allowed + 1)]
        assert [one.over for one in verdicts] == [False] * grader.rules(question).allowed + [True]
        assert not verdicts[-1].right and grader.solution(question) in verdicts[-1].says
        if isinstance(question, Ask):
            assert question.hints[-1] in verdicts[-2].says
            assert question.answer in verdicts[-1].says


def test_right_predictions_and_answers(lab: Lab, grader: Grader) -> None:
    known = {s.id: str(grader.figures.value(s.value)) for s in lab.steps if isinstance(s, Compare)}
    known |= {question.id: right_answer(question, grader) for question in lab.questions}
    known |= {step.id: "done" for step in lab.steps if isinstance(step, Explore)}
    made, printed = session(lab, known.__getitem__)
    count = len(lab.questions)
    assert made.finished and f"{count} of {count} questions: {count} right at once" in printed
    assert [len(one["typed"]) for one in made.answers] == [1] * count
    found = made.to_json()["predictions"]
    assert all(one["predicted"] == pytest.approx(one["simulated"]) for one in found.values()) and len(found) > 2
    headings = [f"Part {n} of {len(lab.parts)}: {part.title}" for n, part in enumerate(lab.parts, 1)]
    assert [line.strip() for line in printed.splitlines() if line.strip() in headings] == headings
    assert (
        made.lab.after.text.split("`")[1] in printed
        and max(len(line) for line in printed.splitlines() if "> " not in line[:20]) < 130
    )


def guesses(lab: Lab) -> Callable[[str], str]:
    """What somebody types who knows nothing, by the id of the step: something for each of its kind, again and again."""
    several = {step.id: step for step in lab.steps if hasattr(step, "id")}
    lines: dict[str, Iterator[str]] = {}

    def of(id: str) -> Iterator[str]:
        match several[id]:
            case Arrange() as step:
                return cycle(" ".join(map(str, one)) for one in permutations(range(1, len(step.items) + 1)))
            case Design() as step:
                texts = [*step.texts.values()]
                return cycle("; ".join(t[int(n == i) % len(t)] for n, t in enumerate(texts)) for i in range(3))
            case Explore() as step:
                return iter(["; ".join(texts[0] for texts in step.texts.values()), "?", "done"])
            case Write():
                return cycle(["no idea", "I have no idea at all why this should be so, but it is what the table says."])
        return cycle("4321")

    return lambda id: next(lines.setdefault(id, of(id)))


def test_wrong_answers_reach_the_end_too(lab: Lab) -> None:
    typed, before = guesses(lab), Counter[str]()

    def answer(id: str) -> str:
        before[id] += 1
        first = {1: "", 2: "what?", 3: "?", 4: "t"}
        return first[before[id]] if before[id] in first else typed(id)

    made, printed = session(lab, answer)
    assert made.finished and printed.count("'what?'") >= sum(isinstance(q, Ask | Choose) for q in lab.questions)
    shown = [one for one in made.answers if not one["right"]]
    assert len(shown) >= len(lab.questions) / 3 and all(one["hints"] == 1 for one in made.answers)
    assert f"{len(shown)} with the solution shown" in printed
    assert 0 <= made.points < made.lab.points


def test_the_end_of_the_answers_and_leaving() -> None:
    lab = read_lab("overlap")
    with pytest.raises(UsageError, match="the answers end before 'far', and the lab with them"):
        session(lab, lambda _: None)
    made, printed = session(lab, lambda id: {"far": "3", "ratio": "2.2", "cause": "q"}[id])
    assert not made.finished and made.to_json()["predictions"]["far"]["predicted"] == 3
    assert "1 of 14 questions: 1 right at once" in printed and "far (times): 3, it was 2.2" in printed


def test_what_counts_as_a_try_and_as_at_once() -> None:
    typed = {"far": ["3"], "ratio": ["what?", "2.2"], "cause": ["?", "2"], "one": ["q"]}
    made, printed = session(read_lab("overlap"), lambda id: typed[id].pop(0))
    assert [(one["typed"], one["hints"], one["points"]) for one in made.answers] == [(["2.2"], 0, 1), (["2"], 1, 0.75)]
    assert "2 of 14 questions: 1 right at once, 1 later" in printed


def test_a_hint_is_paid_once() -> None:
    """That of a wrong answer is not sold again, and when all were shown the last one is repeated for nothing."""
    lab = read_lab("overlap")
    question = next(one for one in lab.questions if one.id == "waiting")
    typed = {"far": ["3"], "ratio": ["2.2"], "cause": ["2"], "one": ["70"], "waiting": ["7", "?", "?", "?", "q"]}
    right = right_answer(question, Grader(Figures(lab)))
    typed["waiting"][-1:] = [right, "q"]
    typed["moved"] = ["q"]
    made, printed = session(lab, lambda id: typed[id].pop(0))
    asked = printed.partition("[%] > 7")[2].partition("Right.")[0]
    first, second = (" ".join(hint.split()) for hint in question.hints)
    assert " ".join(asked.split()).count(first) == 1 and " ".join(asked.split()).count(second) == 3
    assert made.answers[-1] == {"id": "waiting", "typed": ["7", right], "right": True, "points": 0.5, "hints": 1}


def test_the_table_says_what_a_run_says() -> None:
    figures = Figures(read_lab("overlap"))
    step = figures.lab.runs["single"]
    options, keys = dict(step.options), {key: str(value) for key, value in step.set.items()}
    energy = simulate(figures.lab.model, step.machine, step.policy, overrides=keys, **options).energy  # type: ignore[arg-type]
    assert energy is not None and figures["single.latency_ms"] == energy.latency_ms
    assert 0 == figures["external.sram_bytes"] < figures["single.sram_bytes"] < figures["internal.sram_bytes"]
    table = figures.table(("internal", "single"))
    for name in ("sram_bytes", "tile_buffer", "filter_buffer", "calls", "cycles", "dma_wait"):
        assert f"{figures[f'single.{name}']:,}" in table, name


def test_the_commands_in_its_texts_are_commands(lab: Lab) -> None:
    group: Any = get_command(app)
    texts = [lab.text, lab.after.text, lab.after.teacher, *(part.text for part in lab.parts)]
    found = [one for text in texts for one in re.findall(r"`mcusim ([^`]+)`", text) if " " in one]
    assert found
    for line in found:
        name, *words = shlex.split(line)
        if words and words[0].startswith("--"):
            continue  # of an option, and no whole command
        group.commands[name].make_context(name, [*words])
        if name == "sweep":
            assert words[0] in study_names()


def test_it_works_offline(lab: Lab, grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "create_connection", refused)
    made, _ = session(lab, guesses(lab))
    assert made.finished


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("2.2", "times", 2.2), ("2,2", "times", 2.2), ("1,642,552", "cycles", 1_642_552), ("12 %", "%", 12),
        ("12.5%", "%", 12.5), ("2.2x", "times", 2.2), ("2.2 ×", "times", 2.2), ("1.2 s", "ms", 1200),
        ("148.63 / 67.38", "times", 148.63 / 67.38), ("100*(3-1)/3 %", "%", 200 / 3), ("4 KiB", "B", 4096),
        ("4,096 B", "B", 4096), ("-3", "%", -3), ("1e3", "ms", 1000), ("9 tiles", "tiles", 9), (" 7 ", "B", 7),
        ("1 tile", "tiles", 1), ("1 byte", "B", 1), ("12.5%.", "%", 12.5), ("~ 12,5", "%", 12.5),
        ("2 second", "ms", 2000),
    ],
)  # fmt: skip
def test_numbers_as_students_write_them(text: str, unit: str, value: float) -> None:
    assert number(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("about two", "is not a number"), ("", "is not a number"), ("3 mJ", "'mJ' is not what is asked for"),
        ("1/0", "is not a number"), ("1 2", "is not a number"), ("true", "is not a number"),
        ("9" * 400, "is not a number"),
        ("__import__('os')", "is not a number"), ("9**9**9**9", "is not a number"), ("\x00", "is not a number"),
    ],
)  # fmt: skip
def test_what_is_no_number(text: str, printed: str) -> None:
    with pytest.raises(UsageError, match=printed):
        number(text, "ms")


def test_a_comma_before_three_digits_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """It costs nothing where a decimal comma was meant."""
    book = open_lab("overlap")
    assert not book.check("ratio", "2,206") and not book.check("ratio", 2206)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("A comma before three digits is read as one between thousands, so this was 2206.")
    assert printed[1] == "Not yet: that is off by a factor of 1000. The question asks for times."
    assert not book.check("hidden", "1642552 - 854493") and "788,059 is too high" in capsys.readouterr().out
    verdict = Grader(book.figures).verdict(read_lab("overlap").questions[0], "2,206", 0)
    assert not verdict.counts


def test_a_narrow_terminal_gets_narrow_texts_and_tables() -> None:
    numbers, printed = cycle("4321"), list[str]()
    made = Session(read_lab("overlap"), lambda _: next(numbers), printed.append, width=40)
    assert made.run()
    lines = "\n".join(printed).splitlines()
    wide = [line for line in lines if len(line) > 40]
    # titles, commands to be copied and diagrams stay whole
    assert all("$ mcusim" in line or line.startswith(("    ", "Overlap", "====", "Part", "----")) for line in wide)
    assert sum(line.split() == ["single746", "double746"] for line in lines) == 1


def test_no_question_asks_for_what_was_just_shown(lab: Lab) -> None:
    heard: set[str] = set()
    for step in lab.steps:
        if isinstance(step, Compare):
            heard.add(step.value)
        assert not isinstance(step, Ask) or step.answer not in heard, step.id


def test_mistakes_that_any_question_can_meet_with() -> None:
    lab = read_lab("overlap")
    grader = Grader(Figures(lab))
    waiting = next(q for q in lab.questions if q.id == "waiting")
    right = float(right_answer(waiting, grader))
    for given, printed in (
        (right / 100, "fraction"),
        (-right, "sign"),
        (right * 1000, "factor of 1000"),
        (3, "too low"),
    ):
        verdict = grader.verdict(waiting, str(given), 0)
        assert not verdict.right and printed in verdict.says and verdict.counts
    assert not grader.verdict(waiting, "hm", 0).counts
    assert (
        grader.verdict(waiting, str(right * 1.019), 0).right and not grader.verdict(waiting, str(right * 1.03), 0).right
    )


def test_a_notebooks_calls(capsys: pytest.CaptureFixture[str]) -> None:
    book = open_lab("overlap")
    book.compare("far")
    book.predict("far", None)
    book.predict("far", 0)
    book.predict("far", "much")
    book.predict("far", "5 x")
    book.compare("far")
    assert not book.check("ratio", None) and not book.check("ratio", 1) and not book.check("ratio", 1)
    assert not book.check("ratio", 1) and book.check("ratio", book.value("external.latency_ms / internal.latency_ms"))
    book.hint("ratio")
    printed = capsys.readouterr().out
    for text in (
        "It is 2.207",
        "0 times cannot be: guess from 0.1 to 1000.",
        "'much' is not a number",
        "You predicted 5; it is 2.207",
        "instead of None",
        "It is external.latency_ms /",
        "Right.",
    ):
        assert text in printed
    for call in (book.check, book.predict):
        with pytest.raises(UsageError, match="has no"):
            call("nothing", 1)
    for one in (book.hint, book.compare):
        with pytest.raises(UsageError, match="nothing"):
            one("nothing")
    with pytest.raises(UsageError, match="no column"):
        book.value("external.latency")


def test_the_teachers_page_has_every_answer(lab: Lab, grader: Grader) -> None:
    from tests.support.pages.pages import Page, asks_for_nothing

    text, page = teacher_text(lab), Page(teacher_html(lab))
    assert asks_for_nothing(page) and page.names().count("h2") == len(lab.parts) + 1
    flat, seen = " ".join(text.split()), " ".join(page.text.split())
    for question in lab.questions:
        for shown in (flat, seen):
            assert " ".join(grader.solution(question).split())[:60].replace("`", "") in shown.replace("`", "")
            wrong = [says for _, says, _ in grader.rules(question).wrong]
            assert all(says.replace("`", "") in shown.replace("`", "") for says in wrong)
    assert all(f"lab {lab.name}" in shown.replace("`", "").lower() for shown in (flat, seen))


def test_there_is_no_such_lab() -> None:
    with pytest.raises(UsageError, match='no lab "overlp", did you mean "overlap"'):
        read_lab("overlp")
