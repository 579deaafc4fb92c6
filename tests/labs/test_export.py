"""A lab in a browser: it judges as Python does, and is done from start to end without it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.labs import open_file
from mcusim.labs.draw import seed_of
from mcusim.labs.figures import Figures, shown
from mcusim.labs.grader import Grader, Rules, judged
from mcusim.labs.lab import Arrange, Ask, Choose, Design, Predict, Question
from tests.support.cases import sample_size
from tests.support.lab_sessions import right_answer, session
from tests.support.pages.lab_page import RULES_IN_PAGE, answer_file, axe_findings, do_step, plain_rules, start
from tests.support.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "pages" / "how-to" / "add-a-lab.md"
TEXTS = (
    "2.2", "1,234", "12 %", "0x10 / 32", "2**10", "-2**2", "7 // 2", "-7 // 2", "-7 % 3", "1e3", "1_000", "007", "1 2",
    "3 mJ", "'x'", "it's", 'a"b\'c', "true", "", "  ", "1/0", "abs(-3)", "max(1,2)", "min(1)", "round(2.5)", "sqrt(-1)",
    "4 KiB", "1.2 s", "~ 5", "5.", "(.5)", "9" * 400, "__import__('os')", "\x00", "1,5", "1,234,567", "148.63/67.38",
    "3 * 4.5 ms", "100*(3-1)/3 %", "1.2.3", "3 tiles", "3 tile", "√2", "1 == 1", "not 1", "2 if 1 else 3", "\\", "1, 2",
    "0", "1", "2", "3", "4", "2)", "2 1", "1 2 3", "3 2 1", "2,1 ,3", "1 1 1", "3 > 1 > 2", "size=2", "=", "=;=",
    "x" * 60,
    "what is this about then I do not know it and so on and so forth as long as it takes",
)  # fmt: skip


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lab of the how-to, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    path = tmp_path / "cache.toml"
    path.write_text(example[1], encoding="utf-8")
    return path


@contextmanager
def exported(browser: Any, lab: str, folder: Path, width: int = 390, scheme: str = "dark") -> Iterator[Any]:
    """The lab's page, opened from a file; nothing may be printed or asked for beyond its folder."""
    assert main(["lab", "export", lab, "-o", str(folder), "--no-films"]) == 0
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(20_000)
    page, printed, asked = context.new_page(), list[str](), list[str]()
    page.on("console", lambda message: printed.append(message.text))
    page.on("pageerror", lambda error: printed.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / "index.html").as_uri())
    yield page
    assert not printed and all(one.startswith((folder.as_uri(), "blob:")) for one in asked)
    context.close()


def texts_for(rules: Rules) -> list[str]:
    """Answers that are worth a look at: near the right one, wrong in known ways, and what is none."""
    found = [*TEXTS, *(repr(float(value)) for value, _, _ in rules.wrong)]
    if isinstance(rules.right, int | float):
        found += [repr(rules.right * factor) for factor in (1.0, -1, 1000, 1 / 1024, 1.01, 0.97, 0.01, 1.5)]
    if isinstance(rules.right, tuple):
        found += [" ".join(map(str, rules.right)), " ".join(map(str, reversed(rules.right)))]
    if rules.knobs:
        found += ["; ".join(f"{n}={v}" for n, v in zip(rules.knobs, one.values, strict=True)) for one in rules.settings]
    return found


def test_the_page_judges_as_python_does(browser: Any, own: Path, tmp_path: Path) -> None:
    """Every verdict on every text, to the letter; students' seeds, numbers as texts, points."""
    dice = random.Random(1)
    numbers = [dice.uniform(-1, 1) * 10 ** dice.uniform(-8, 9) for _ in range(2000)]
    numbers += [0.5, 1.5, 2206.5, 2207.5, 12345.5, 0.0, 9999.5, 9999.4, 1e-5, -2.5, 123456789.0]
    for name, students in ((str(own), ("", "Jürgen  Ö")), ("overlap", ("学生 7", "", "b")[: sample_size(3, 1)])):
        with exported(browser, name, tmp_path / open_file(name).name) as page:
            assert page.evaluate("(all) => all.map(labJudge.shown)", numbers) == [shown(number) for number in numbers]
            for student in students:
                seed = seed_of(student) if student else 0
                assert not student or page.evaluate("(name) => labJudge.seedOf(name)", student) == seed
                lab = open_file(name).lab(seed)
                grader = Grader(Figures(lab, open_file(name).folder))
                for question in lab.questions:
                    rules = grader.rules(question)
                    texts, tries = texts_for(rules), (0, 1, 5)
                    found = page.evaluate(RULES_IN_PAGE, [question.id, seed, texts, tries])
                    own_rules = plain_rules(rules)
                    for key in ("right", "named", "solution"):
                        assert found["rules"][key] == own_rules[key], (question.id, key)
                    expected = [judged(rules, text, tried, max(0, tried - 1)) for text in texts for tried in tries]
                    for one, verdict in zip(found["verdicts"], expected, strict=True):
                        plain = [verdict.right, verdict.says, verdict.counts, verdict.over]
                        assert [*one[:4], *one[5:]] == [*plain, verdict.mistake, verdict.hinted], question.id
                        assert one[4] == pytest.approx(verdict.share)


def test_a_student_does_the_lab_in_a_browser(browser: Any, own: Path, tmp_path: Path) -> None:
    """Wrong answers included, with a break in the middle; what is handed in is what a terminal would have written."""
    lab = open_file(str(own)).lab(seed_of("anna"), "anna")
    grader = Grader(Figures(lab, tmp_path))
    answers = {step.id: _answers(step, grader) for step in lab.answered}
    with exported(browser, str(own), tmp_path / "lab") as page:
        assert axe_findings(page) == []
        start(page, "anna")
        for number, step in enumerate(lab.answered):
            do_step(page, step, answers[step.id])
            if number == 2:
                page.reload()
        page.wait_for_selector(".end")
        assert axe_findings(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        found = answer_file(page)
        page.reload()
        assert "5 of 5 questions" in page.inner_text(".bar")
    lines = {id: iter(texts) for id, texts in answers.items()}
    made, _ = session(lab, lambda id: next(lines.get(id, iter(())), "done"))
    terminal = made.to_json()
    for name in ("lab", "version", "student", "seed", "finished", "points", "of", "predictions", "answers", "seal"):
        assert found[name] == terminal[name], name


def _answers(step: Predict | Question, grader: Grader) -> list[str]:
    """Something that is none, a wrong answer, a hint, the right one."""
    if isinstance(step, Predict):
        return ["nothing", str(step.high)]
    right = right_answer(step, grader)
    match step:
        case Ask():
            return ["7 parsec", "1 / 7", "?", right]
        case Choose():
            return [str(step.right % len(step.choices) + 1), right]
        case Arrange():
            return [" ".join(reversed(right.split())), "?", right]
        case Design():
            rules = grader.rules(step)
            settings = [one.values for one in rules.settings[:2]]
            return [*("; ".join(f"{n}={v}" for n, v in zip(step.knobs, one, strict=True)) for one in settings), right]
    return ["too short", "more room holds what is read again and again"]


def test_a_folder_is_not_overwritten(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lab"
    assert main(["lab", "export", str(own), "-o", str(folder)]) == 0
    assert "lab: 1 file, 0." in capsys.readouterr().err
    (tmp_path / "file").write_text("mine")
    for arguments, says in (
        ([str(own), "-o", str(folder)], "--force overwrites it"),
        ([str(own), "-o", str(tmp_path / "file")], "it is a file, and a folder is wanted"),
        ([str(own), "-o", str(tmp_path / "no" / "x")], "there is no directory"),
        (["none", "-o", str(tmp_path / "x")], 'no lab "none"'),
    ):
        assert main(["lab", "export", *arguments]) == 2
        error = capsys.readouterr().err
        assert says in error and error.count("\n") == 1, error
    assert main(["lab", "export", str(own), "-o", str(folder), "--force"]) == 0
