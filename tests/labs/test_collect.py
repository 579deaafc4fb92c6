"""A class's answer files: judged again, put together, and none of them obeyed."""

from __future__ import annotations

import csv
import json
import random
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.labs import open_file, read_lab
from mcusim.labs.class_page import grades_csv
from mcusim.labs.collect import CollectedLabs, Grade, collect
from mcusim.labs.draw import seed_of
from mcusim.labs.figures import Figures
from mcusim.labs.grader import Grader
from mcusim.labs.handout import handout
from mcusim.labs.lab import Predict
from tests.support.cases import sample_size
from tests.support.lab_sessions import right_answer, session
from tests.support.pages.pages import Page, asks_for_nothing
from tests.support.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "pages" / "how-to" / "add-a-lab.md"
NAMES = ("<script>alert(1)</script>", "=cmd|' /C calc'!A0", "Zoë", "+1+cmd|' /C calc'!A0")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lab of the how-to, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    path = tmp_path / "cache.toml"
    path.write_text(example[1], encoding="utf-8")
    return path


def handed_in(own: Path, student: str) -> dict[str, Any]:
    """What a student hands in who knows half of it."""
    lab = open_file(str(own)).lab(seed_of(student), student)
    grader, dice, asked = Grader(Figures(lab, own.parent)), random.Random(student), dict.fromkeys("x", 0)
    steps = {step.id: step for step in lab.answered}

    def answer(id: str) -> str:
        asked[id] = asked.get(id, 0) + 1
        step = steps.get(id)
        if step is None:
            return "done"
        if isinstance(step, Predict):
            return str(step.high)
        wrong = grader.rules(step).wrong
        if asked[id] < 3 and dice.random() < 0.6:
            return str(dice.choice(wrong)[0]) if wrong and dice.random() < 0.7 else "?"
        return right_answer(step, grader)

    return session(lab, answer)[0].to_json()


def test_a_class_is_graded(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, given = [], []
    for number, name in enumerate(NAMES):
        given.append(handed_in(own, name))
        files.append(f"{number}.json")
        Path(files[-1]).write_text(json.dumps(given[-1]), encoding="utf-8")
    given[3]["points"] = 1000
    Path(files[3]).write_text(json.dumps(given[3]), encoding="utf-8")
    arguments = ["--lab", str(own), "-o", "g.csv", "--html", "c.html", "--json", "g.json"]
    assert main(["lab", "collect", *files, *arguments]) == 0
    printed = capsys.readouterr().out
    found = json.loads(Path("g.json").read_text(encoding="utf-8"))
    for grade, one in zip(found["grades"][:3], given, strict=False):
        assert (grade["points"], grade["of"], grade["finished"], grade["note"]) == (one["points"], one["of"], True, "")
        assert [q["right"] for q in grade["questions"]] == [answer["right"] for answer in one["answers"]]
        assert grade["hints"] == sum(answer["hints"] for answer in one["answers"])
    assert "claims 1000 points" in found["grades"][3]["note"] and "3.json: the file claims" in printed
    assert found["grades"][3]["points"] <= found["grades"][3]["of"]
    [questions] = [lab["questions"] for lab in found["labs"].values()]
    made = {one["id"]: one for one in questions}
    assert all(one["asked"] == len(NAMES) for one in questions)
    typed = [answer for one in given for answer in one["answers"] if answer["id"] == "cause"]
    assert made["cause"]["right"] == sum(one["right"] for one in typed)
    assert sum(one["students"] for one in made["cause"]["mistakes"]) == sum(
        len(one["typed"]) > 1 or not one["right"] for one in typed
    )
    rows = list(csv.DictReader(Path("g.csv").read_text(encoding="utf-8").splitlines()))
    assert [float(row["points"]) for row in rows] == [grade["points"] for grade in found["grades"]]
    assert rows[1]["student"].startswith("'=") and rows[3]["student"].startswith("'+1") and float(rows[0]["ratio"]) <= 1
    assert {row["text"] for row in rows} == {"to read"}
    text = Path("c.html").read_text(encoding="utf-8")
    assert asks_for_nothing(Page(text)) and "<script>alert" not in text and "alert(1)" in Page(text).text


@pytest.mark.parametrize(
    "name", ["=1+1", "+1+cmd|' /C calc'!A0", "-2", " =1", "@x", "\uff1d1", "3", "-", "Zo\u00eb; =1"]
)
def test_no_cell_is_a_formula(name: str) -> None:
    """Whatever a spreadsheet takes for a separator; numbers stay numbers."""
    grade = Grade("x.json", "cache", name, 1, True, 3.0, -1.0, 6.0, ())
    text = grades_csv(CollectedLabs((grade,), (), (), {}))
    [row] = csv.DictReader(text.splitlines())
    assert row["student"] == (f"'{name}" if name.strip()[0] in "=+@\uff1d" else name) and row["points"] == "-1"
    assert all(cell[0] == cell[-1] == '"' for line in text.splitlines() for cell in line.split(","))


def test_a_student_counts_once_and_a_cut_file_is_named(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = next(one for name in map(str, range(99)) if len((one := handed_in(own, name))["answers"][0]["typed"]) > 1)
    later = datetime.fromisoformat(good["ended"]) + timedelta(minutes=9)
    again = {**good, "student": f" {good['student']} ", "ended": later.isoformat()}
    cut, hints, less = (json.loads(json.dumps(good)) for _ in range(3))
    del cut["answers"][0]["typed"][0], cut["answers"][0]["hashes"][0]
    hints["answers"][-1]["hints"] += 1
    del less["answers"][-1]
    old = {key: value for key, value in good.items() if key != "seal"}
    old["answers"] = [{key: value for key, value in one.items() if key != "hashes"} for one in good["answers"]]
    for number, document in enumerate((good, again)):
        Path(f"{number}.json").write_text(json.dumps(document), encoding="utf-8")
    assert main(["lab", "collect", "1.json", "0.json", "--lab", str(own), "--json", "g.json"]) == 0
    assert (
        f'0.json: "{good["student"]}" has handed in lab cache twice; 1.json, which ended last'
        in capsys.readouterr().out
    )
    found = json.loads(Path("g.json").read_text(encoding="utf-8"))
    assert [one["file"] for one in found["grades"]] == ["1.json"] and len(found["repeated"]) == 1
    assert found["grades"][0]["note"] == "" and found["grades"][0]["questions"][-1]["points"] is None
    for document, where in ((cut, 'at "ratio" or before'), (hints, "at its end"), (less, "at its end"), (old, "")):
        Path("x.json").write_text(json.dumps(document), encoding="utf-8")
        [grade] = collect([Path("x.json")], [open_file(str(own))]).grades
        assert (where in grade.note) if where else "cut out" not in grade.note, grade.note


HOSTILE: dict[str, Any] = {
    "version": 99, "seed": 7, "student": "other", "lab": "overlp", "answers": "none", "points": "many",
    "finished": None, "predictions": {"guess": {"predicted": float("nan")}},
}  # fmt: skip


def test_hostile_files_are_named_and_nothing_is_lost(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = handed_in(own, "anna")
    Path("good.json").write_text(json.dumps(good), encoding="utf-8")
    documents: dict[str, bytes] = {name: json.dumps({**good, name: value}).encode() for name, value in HOSTILE.items()}
    documents |= {
        f"no-{name}": json.dumps({k: v for k, v in good.items() if k != name}).encode()
        for name in ("lab", "answers", "seed")
    }
    twice = {**good, "answers": good["answers"] * 2}
    other = {**good, "answers": [{**good["answers"][0], "id": "<b>nothing</b>"}]}
    long = {**good, "answers": [{**good["answers"][0], "typed": ["x" * 5000]}]}
    documents |= {name: json.dumps(one).encode() for name, one in (("twice", twice), ("other", other), ("long", long))}
    documents |= {
        "deep": b"[" * 100_000,
        "cut": json.dumps(good).encode()[:90],
        "bytes": bytes(range(256)),
        "empty": b"",
    }
    documents |= {"huge": b" " * (1 << 21), "number": b"7", "far": json.dumps({**good, "lab": "../../x.toml"}).encode()}
    for name, data in documents.items():
        Path(f"{name}.json").write_bytes(data)
    names = sorted(documents)
    files = [*(f"{name}.json" for name in names), "good.json", "missing.json", "."]
    assert main(["lab", "collect", *files, "--lab", str(own), "-o", "g.csv"]) == 2
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if line.startswith("  ")]
    assert f"{len(files) - 1} of {len(files)} files could not be judged" in error and len(lines) == len(files) - 1
    assert all(f"{name}.json" in error for name in names) and "Traceback" not in error
    for said in (
        "version = 99: lab cache has version 1",
        'seed = 7: that of "anna" is',
        "has no question",
        "is there twice",
    ):
        assert said in error, said
    [row] = csv.DictReader(Path("g.csv").read_text(encoding="utf-8").splitlines())
    assert (row["student"], float(row["points"])) == ("anna", good["points"])


def test_damaged_files_are_refused_or_judged(own: Path) -> None:
    """Parts of a right file replaced by anything: a grade, or a line, and never another exception."""
    good, dice, path = handed_in(own, "anna"), random.Random(2), Path("x.json")
    lab = open_file(str(own))
    for _ in range(sample_size(500, 60)):
        document = json.loads(json.dumps(good))
        place: Any = document
        while isinstance(place, dict | list) and place:
            key = dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if dice.random() < 0.4 or not isinstance(place[key], dict | list) or not place[key]:
                place[key] = dice.choice([None, 3, -1.5, True, "", "x", "9" * 50, 1e308, [], {}, [[]], 10**400])
                break
            place = place[key]
        path.write_text(json.dumps(document), encoding="utf-8")
        found = collect([path], [lab])
        assert len(found.grades) + len(found.refused) == 1
        assert all(0 <= one.points <= one.of for one in found.grades)


def test_a_hand_out_has_the_questions_and_not_the_answers() -> None:
    lab = read_lab("overlap", student="anna")
    page, grader = Page(handout(lab)), Grader(Figures(lab))
    seen = " ".join(page.text.split())
    assert asks_for_nothing(page) and "anna" in seen
    for question in lab.questions:
        assert " ".join(question.text.split())[:60].replace("`", "") in seen.replace("`", "")
        assert grader.solution(question)[:60] not in seen and not (question.why and question.why[:60] in seen)
