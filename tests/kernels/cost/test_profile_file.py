"""Kernel cost profiles of the user's own: by path, from the command line, and never because a program says so."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.kernels import load_profile, profile_names
from mcusim.kernels.cost.profile import FOLDER


def own_profile(folder: Path) -> Path:
    """A copy of the first shipped profile, called ``mine``, that invokes operators slowly."""
    good = (FOLDER / f"{profile_names()[0]}.toml").read_text(encoding="utf-8")
    named = 'name = "mine"\n' + re.sub(r"^name = .*$", "", good, flags=re.MULTILINE)
    path = folder / "mine.toml"
    path.write_text(re.sub(r"^operator = .*$", "operator = 99_999", named, flags=re.MULTILINE), encoding="utf-8")
    return path


def test_what_is_no_regular_file_is_refused_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")  # opening it for reading would block
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "device.toml").symlink_to("/dev/zero")
    for name in ("pipe.toml", "folder.toml", "device.toml"):
        with pytest.raises(UsageError, match=f"{name}: not a regular file"):
            load_profile(str(tmp_path / name))


def test_a_huge_absent_or_impossible_file_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(UsageError, match=r"huge\.toml: larger than 1,048,576 B"):
        load_profile(str(path))
    with pytest.raises(UsageError, match=r"absent\.toml: cannot be read: No such file"):
        load_profile(str(tmp_path / "absent.toml"))
    with pytest.raises(UsageError, match="cannot be read"):
        load_profile("a\0b.toml")


def test_an_unknown_name_is_one_sentence() -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("bogus")
    known = ", ".join(profile_names())
    assert str(caught.value) == f"no kernel profile named 'bogus'; known: {known}; the path of a .toml file works too"


def test_run_and_replay_take_a_profile_by_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, trace = str(own_profile(tmp_path)), str(tmp_path / "mine.jsonl")
    model = ["mbv3-w0.40-r096", "--policy", "external"]
    assert main(["run", *model, "--json", "-"]) == 0
    shipped = json.loads(capsys.readouterr().out)
    assert main(["run", *model, "--kernels", path, "--json", "-"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text)["kernels"] == "mine"
    assert json.loads(text)["cycles"] > shipped["cycles"]
    assert main(["plan", *model, "--kernels", path, "-o", trace]) == 0
    capsys.readouterr()
    assert main(["replay", trace, "--kernels", path, "--json", "-"]) == 0
    replayed, planned = json.loads(capsys.readouterr().out), json.loads(text)
    assert [op["cycles"] for op in replayed["operators"]] == [op["cycles"] for op in planned["operators"]]
    for key in {
        "operators",
        "tensors",
        "flash",
        "made",
    } ^ planned.keys():  # a trace has no shapes, names, file
        assert replayed[key] == planned[key], key
    assert main(["replay", trace]) == 2
    error = capsys.readouterr().err
    assert "kernels 'mine'" in error
    assert "--kernels" in error


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("[4, [8, 0.5, 1]]", r"call: a word is an offset, or \[offset, how often\]"),
        ("[-4]", "call = -4: a number of at least 0"),
        ('"4"', "call = '4': a number of at least 0"),
    ],
)
def test_words_of_a_call_are_offsets(tmp_path: Path, words: str, wanted: str) -> None:
    path = tmp_path / "mine.toml"
    good = (FOLDER / "reference-gcc12.toml").read_text(encoding="utf-8")
    levels = r"(\[cortex-m4\.reference_add\]\n(?:.*\n)*?call = \[.*?, .*?, )\[.*\]\]?"
    path.write_text(re.sub(levels, rf"\g<1>{words}]", good, count=1), encoding="utf-8")
    with pytest.raises(UsageError, match=wanted):
        load_profile(str(path))


def test_a_program_opens_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "x.jsonl"
    assert main(["plan", "ds-cnn", "-o", str(trace)]) == 0
    header, rest = trace.read_text(encoding="utf-8").split("\n", 1)
    changed = json.loads(header) | {"kernels": str(own_profile(tmp_path))}
    trace.write_text(f"{json.dumps(changed)}\n{rest}", encoding="utf-8")
    capsys.readouterr()
    assert main(["replay", str(trace)]) == 2
    assert "--kernels" in capsys.readouterr().err


def counted(text: str, tmp_path: Path) -> Path:
    """The counted profile with its table [rest] replaced by ``text``."""
    good = (FOLDER / "cmsis-2021-gcc9.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(re.sub(r"^\[rest\]\n(?:[^\[\n].*\n)+(?=\n)", text, good, flags=re.MULTILINE), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('[rest]\nprofile = "cmsis-2021-gcc9"\n', "known are cmsis-2020-gcc12, cmsis-2020-os-gcc12, cmsis-gcc12"),
        ('[rest]\nvariants = ["elementwise"]\n', "needs a profile"),
        ('[rest]\nprofile = "reference-gcc12"\nvariants = ["dilated"]\n', "variants, some of pointwise"),
        ('[rest]\nprofile = "reference-gcc12"\nset = 1\n', r"unknown key rest\.set"),
        ("", r"table \[cortex-m4\.depthwise_basic\] is missing"),
    ],
)
def test_what_was_not_counted_comes_from_a_fitted_profile(tmp_path: Path, text: str, wanted: str) -> None:
    with pytest.raises(UsageError, match=wanted):
        load_profile(str(counted(text, tmp_path)))
