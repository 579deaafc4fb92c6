"""A lab's file: all that is wrong is named at once with its line; what it states is checked with every draw."""

from __future__ import annotations

import io
import json
import random
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.labs import open_file, open_lab, read_lab
from mcusim.labs.browser_export import LabExport
from mcusim.labs.draw import MOST_SEED, drawn, hashed, seed_of
from mcusim.labs.figures import Figures
from mcusim.labs.handout import handout
from mcusim.labs.lab import Choose
from mcusim.labs.lab_check import findings
from mcusim.labs.lab_file import COMMANDS, LabFile
from mcusim.labs.notebook_export import notebook
from tests.support.cases import sample_size
from tests.support.paths import REPOSITORY

HASHES = (2872998923, 261102393, 3997102406)  # what every version and every page has to make of these texts
PAGE = REPOSITORY / "docs" / "pages" / "how-to" / "add-a-lab.md"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lab of the how-to, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    path = tmp_path / "cache.toml"
    path.write_text(example[1], encoding="utf-8")
    return path


def test_the_lab_of_the_how_to_is_checked_and_played(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By a student of seed 0, who looks at hints, turns knobs, and improves a design."""
    assert main(["lab", "check", "cache.toml"]) == 0
    assert "cache.toml: 5 questions, 6 points, 3 draws: all it states is true" in capsys.readouterr().out
    lines = ["3", "0.3", "3.315", "2", "0", "4", "done", "1 2", "2 1", "4 4", "1 4", "?", "3 4"]
    lines += ["more room holds what is read again", "too short"]
    Path("answers.txt").write_text("\n".join(lines[:-1]), encoding="utf-8")
    assert main(["lab", "./cache.toml", "--answers", "answers.txt", "--json", "a.json"]) == 0
    text, found = capsys.readouterr().out, json.loads(Path("a.json").read_text(encoding="utf-8"))
    for said in (
        "The other way round.",
        "0' is none of its values",
        "That does not do. That is a cache",
        "Compare with",
    ):
        assert said in " ".join(text.split()), said
    assert list(found) == [
        "lab", "version", "student", "seed", "started", "ended", "finished", "points", "of", "predictions", "answers",
        "seal", "made",
    ]  # fmt: skip
    typed = {one["id"]: (one["typed"], one["points"], one["hints"]) for one in found["answers"]}
    assert typed["ratio"] == (["0.3", "3.315"], 0.75, 0) and typed["cause"] == (["2"], 0, 0)
    assert typed["misses"] == (["1 2", "2 1"], 0.75, 0)
    assert typed["best"] == (["4 4", "1 4", "3 4"], 1.5, 1)
    assert typed["text"][1] == 0 and (found["points"], found["of"]) == (3.0, 6)


def test_a_student_has_numbers_and_orders_of_their_own() -> None:
    names = [f"student {n}" for n in range(400)]
    seeds = [seed_of(name) for name in names]
    assert len(set(seeds)) > 390 and all(1 <= seed <= MOST_SEED for seed in seeds)
    assert seed_of(" Anna  B ") == seed_of("anna b")
    labs = [read_lab("overlap", seed) for seed in seeds[:60]]
    assert len({str(sorted(lab.values.items())) for lab in labs}) > 12
    places = Counter(q.right for lab in labs for q in lab.questions if isinstance(q, Choose) and len(q.choices) == 4)
    assert set(places) == {1, 2, 3, 4} and min(places.values()) > 15
    usual = read_lab("overlap")
    assert usual.values == {"budget": "24 KiB", "clock": "180 MHz"} and usual.questions[1].id == "cause"
    assert (hashed(""), hashed("mcusim"), hashed("1/\u00e9")) == HASHES
    for name in ("", "  ", "x" * 81, "a\x07"):
        with pytest.raises(UsageError, match="--student"):
            seed_of(name)


def test_what_is_kept_continues_with_its_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.txt"
    for arguments in (["--student", "anna"], []):
        monkeypatch.setattr("sys.stdin", io.StringIO("3\nq\n"))
        assert (
            main(["lab", "overlap", *arguments, "--save", str(kept), "--json", str(tmp_path / "a.json"), "--force"])
            == 1
        )
        assert "saved, 0 of 14" in capsys.readouterr().err
        found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
        assert (found["student"], found["seed"]) == ("anna", seed_of("anna"))
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    assert main(["lab", "overlap", "--save", str(kept), "--json", str(tmp_path / "a.json")]) == 1, "without --force"
    (tmp_path / "a.json").write_text("{}", encoding="utf-8")
    assert main(["lab", "overlap", "--save", str(kept), "--json", str(tmp_path / "a.json")]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", None)
    assert main(["lab", "overlap", "--seed", "7", "--save", str(kept)]) == 2
    assert "is not what --save has written" in capsys.readouterr().err


def changed(own: Path, *pairs: tuple[str, str]) -> LabFile:
    text = own.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    own.write_text(text, encoding="utf-8")
    return open_file(str(own))


def test_everything_that_is_wrong_is_named_at_once_with_its_line(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = changed(
        own,
        ('unit = "times"\nlow = 1\n', "low = 100\n"),  # no unit
        ('policy = "external"\nset = { "cache.data.size" = "0 B" }', 'set = { "cache.data.siz" = 1 }'),
        ('table = ["cached", "bare"]', 'table = ["cached", "bore"]'),
        ('value = "cached.latency_ms / bare.latency_ms"', 'value = "cached.latency / bare.latency_ms"'),
        ('with = "bare', 'wit = "bare'),
        ("right = true }", "right = true, hint = \"x\" }"),
        ('id = "misses"', 'id = "ratio"'),
        ("points = 3", 'points = "three"'),
        ("behind a data cache of {size}", "behind a data cache of {sze}"),
        ('minutes = 10', 'minutes = 0\nfigures_ = 1'),
    )  # fmt: skip
    with pytest.raises(UsageError, match="is not a lab yet, 12 things to repair") as error:
        file.lab()
    lines = own.read_text(encoding="utf-8").splitlines()
    for said, key in (
        ("unit: is missing", "predict"), ("set: stm32f746g-disco: cache.data.siz", "set"),
        ("table: 'bore' did not run", "table"),
        ("no figure of a run before", "mistakes"), ("wit: unknown key", "compare"), ("with: is missing", "compare"),
        ("every choice but the right one has a hint", "choose"), ("id: 'ratio' is there twice", "ratio"),
        ("points = \"three\": must be a number", "points"), ("there is no parameter 'sze'", "sze"),
        ("minutes = 0: must be greater", "minutes"), ("figures_: unknown key", "figures_"),
    ):  # fmt: skip
        found = next(line for line in error.value.lines if said.split(":")[0] in line and said.split(": ")[-1] in line)
        number = int(re.search(r"cache.toml:(\d+)", found)[1])  # type: ignore[index]
        assert any(key in line for line in lines[max(0, number - 8) : number + 8]), (said, found)
    assert main(["lab", "check", str(own)]) == 2 and main(["lab"]) == 0
    assert "things to repair" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('value = "best.latency_ms", unit', 'value = "0 - best.latency_ms", unit', "goal: is -"),
        ('value = "best.latency_ms", unit', 'value = "cached.latency_ms", unit', "whatever is chosen"),
        (
            "bare.sdram > 2",
            "bare.sdram > 200",
            "holds: is not true: bare.sdram > 200 * cached.sdram (20,703,258 > 200 *",
        ),
        ("behind a data cache of {size}", "behind 4,096 B of cache", "4,096: write what it rests on in braces"),
        ("; lru is assumed", "", "run: cached: its misses rest on cache.data.replacement, which is assumed"),
        ('teacher = "', 'teacher = "{cached.findings} findings. ', "teacher: cached.findings has no value"),
        ("high = 100", "high = 3", "with: is 3.314, which could not be predicted: 1 to 3"),
        ('"cached.latency_ms / bare', '"2 * bare.latency_ms / 2 / cached.latency_ms + 0 * bare', "is right, too"),
        ('value = "large.dcache_misses"', 'value = "cached.dcache_misses"', "are as good as equal"),
        ('that = \'cache.data.size <= "8 KiB"', "that = 'best.cycles < 1", "require: no setting of the knobs meets it"),
    ],
)
def test_what_is_not_true_is_found(
    own: Path, old: str, new: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(own, (old, new))
    assert any(says in " ".join(text.split()) for text in findings(file)), findings(file)
    if "is not true" in says:
        assert main(["lab", "check", str(own)]) == 1
        assert "1 statement is not true" in capsys.readouterr().out


def test_numbers_in_texts_are_those_of_the_runs(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever a lab is shown; figures of runs before alone, keys of machines everywhere."""
    file = changed(
        own,
        ("behind a data cache of {size}", "on {cached.core.clock} and {bare.cache.data.ways} ways, of {line}"),
        ("[parameters]", "[constants]\nline = { value = '4,096 B', source = 'a book' }\n\n[parameters]"),
        ('hints = ["Two', 'hints = ["{bare.dcache_misses} misses. Two'),
        ('teacher = "', 'teacher = "{cached.dcache_misses} misses. '),
    )  # fmt: skip
    assert not findings(file, draws=1)
    lab = file.lab()
    figures = Figures(lab)
    share = 100 * (figures["bare.sdram"] or 0) / (figures["bare.cycles"] or 1)
    misses = f"{figures['cached.dcache_misses']:,} misses."
    shown = [json.dumps(LabExport(file, films=False).files()), handout(lab, own.parent), notebook(lab)]
    assert main(["lab", "./cache.toml", "--teacher"]) == 0
    shown.append(" ".join(capsys.readouterr().out.split()))
    assert all("216 MHz and 4 ways, of 4,096 B" in text for text in shown[:3])
    assert misses in shown[3] and "- 4,096 B: a book" in shown[3]
    assert all(f"{share:.0f} % of the cycles are waiting" in text for text in (shown[0], shown[3]))
    book = open_lab(str(own))
    assert not book.check("ratio", 77) and "0 misses. Two numbers" in capsys.readouterr().out
    file = changed(own, ("on {cached.core.clock}", "on {cached.latency_ms}"))
    assert 'text: no figure of a run before "cached.latency_ms"' in file.errors[0]


def test_what_only_some_students_have_is_named_too(own: Path) -> None:
    file = changed(own, ('"8 KiB", "16 KiB"] }', '"8 KiB", "16 KiB", "{size}"] }'))
    assert any("has a value twice (with size = " in error for error in file.errors), file.errors
    file = changed(own, ('"16 KiB", "{size}"] }', '"16 KiB"] }'), ('run = "bare"', 'run = "class"'))
    assert any("has a meaning in a notebook" in error for error in file.errors)


def test_names_that_labs_cannot_have(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (*COMMANDS, "My lab", "1st"):
        other = own.with_name(f"{name}.toml")
        other.write_bytes(own.read_bytes())
        assert main(["lab", f"./{other.name}", "--teacher"]) == 2
        assert "not a lab yet" in capsys.readouterr().err
    for arguments in (
        ["lab", "overlap", "--student", "a", "--seed", "1"],
        ["lab", "--student", "a"],
        ["lab", "./none.toml"],
    ):
        assert main(arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_labs_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["labs"]
    assert {"name": "overlap", "title": read_lab("overlap").title, "minutes": 30} in found


def test_damaged_files_are_errors_of_one_kind(own: Path) -> None:
    """Keys taken away, values of other types, texts cut: an answer with places, never another exception."""
    file, dice = open_file(str(own)), random.Random(5)
    for _ in range(sample_size(400, 60)):
        raw = json.loads(json.dumps(file.raw))
        _damage(raw, dice)
        assert isinstance(LabFile("cache", "cache.toml", raw, file.lines, own.parent).errors, list)
        drawn(raw, dice.randrange(1000))


def _damage(raw: Any, dice: random.Random) -> None:
    while isinstance(raw, dict | list) and raw:
        key = dice.choice(list(raw) if isinstance(raw, dict) else range(len(raw)))
        if dice.random() < 0.35 or not isinstance(raw[key], dict | list) or not raw[key]:
            if dice.random() < 0.3:
                del raw[key]
            else:
                raw[key] = dice.choice([None, 3, -1.5, True, "", "x", "1 / 0", "{size}", [], {}, [[]], "cached.cycles"])
            return
        raw = raw[key]


def test_a_lab_that_is_interrupted_hands_in_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(io.StringIO):
        def readline(self, size: int = -1, /) -> str:
            return super().readline(size) or signal.raise_signal(signal.SIGINT) or ""

    monkeypatch.setattr("sys.stdin", Interrupted("3\n2.2\n"))
    assert main(["lab", "overlap", "--json", str(tmp_path / "a.json")]) == 130
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (found["finished"], found["points"], len(found["answers"])) == (False, 1, 1)
