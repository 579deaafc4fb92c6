"""What reaches a terminal, and files that cannot be outputs."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.commands.shared.output import fail
from mcusim.machine import load_machine
from mcusim.program import read_program
from mcusim.sweeps.journal import HEAD, Journal
from mcusim.text import printable
from tests.support.cases import few, sampled
from tests.support.paths import REPOSITORY

TRACE = REPOSITORY / "traces" / "figure-1-external.jsonl"
ESCAPE = "\x1b]0;title\x07\x1b[31m\u202e"
BOM = b"\xef\xbb\xbf"


def test_text_is_printed_without_control_characters() -> None:
    assert printable("a\tb\x1b[31m\nc\u202e\udc80é") == "a\\tb\\x1b[31m\nc\\u202e\\udc80é"


def hostile_trace(folder: Path) -> Path:
    head, _, tasks = TRACE.read_text().partition("\n")
    header = json.loads(head)
    header["operators"] = [[*one] for one in header["operators"]]
    names = {"model": f"net{ESCAPE}", "policy": f"external{ESCAPE}"}
    path = folder / f"p{ESCAPE}.jsonl"
    path.write_text(json.dumps(header | names) + "\n" + tasks)
    return path


@pytest.mark.parametrize("command", ["replay", "verify"])
def test_a_trace_cannot_write_to_the_terminal(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(hostile_trace(tmp_path)), *(["--static"] if command == "verify" else [])]) == 0
    captured = capsys.readouterr()
    assert "net\\x1b" in captured.out or "net?" in captured.out
    assert printable(captured.out + captured.err) == captured.out + captured.err


def test_a_study_cannot_write_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'models = ["figure-1"]\nmachines = ["stm32f746g-disco"]\npolicies = ["internal"]\n'
    study = tmp_path / "s.toml"
    study.write_text(f"title = {json.dumps('t' + ESCAPE)}\n{text}")
    assert main(["sweep", str(study), "--json", str(tmp_path / f"x{ESCAPE}.json"), "-j", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("t\\x1b]0;title\\x07") and printable(captured.out) == captured.out
    assert printable(captured.err) == captured.err


@few(12)
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{}"],
        ["run", "ds-cnn", "--machine", "{}"],
        ["run", "ds-cnn", "--machine", "{}.toml"],
        ["run", "ds-cnn", "--policy", "{}"],
        ["run", "ds-cnn", "--kernels", "{}"],
        ["run", "ds-cnn", "--set", "core.clock={}"],
        ["run", "ds-cnn", "--set", "{}"],
        ["run", "ds-cnn", "--json", "/nowhere/{}"],
        ["run", "ds-cnn", "--fidelity", "{}"],
        ["replay", "{}.jsonl"],
        ["sweep", "{}.toml", "--dry-run"],
        ["verify", "{}"],
        ["lab", "{}"],
        ["lab", "overlap", "--answers", "{}"],
        ["emulate", "{}"],
        ["inspect", "{}.tflite"],
        ["calibrate", "stm32f746g-disco", "--measurements", "{}", "-o", "x.toml"],
        ["{}"],
        ["run", "--{}"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("word", sampled(["\x1b" * 300, "a/" * 400, "long name " * 60], 1), ids=len)
def test_an_error_repeats_200_characters_at_most(
    word: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.format(word) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and all(line.startswith("  ") for line in error.splitlines()[1:])
    assert max(len(word) for word in error.split()) <= 200 and error.count("long name") <= 20
    assert len(error) < 1500


def test_words_of_a_file_are_cut_too(capsys: pytest.CaptureFixture[str]) -> None:
    fail(f"a {'b' * 300} c")
    assert capsys.readouterr().err == f"error: a {'b' * 99}…{'b' * 100} c\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "ds-cnn", "--json", "loop"],
        ["run", "ds-cnn", "--html", "loop"],
        ["run", "ds-cnn", "--fidelity", "emulate", "-o", "loop.npy"],
        ["plan", "ds-cnn", "-o", "loop"],
        ["compare", "ds-cnn", "--html", "loop", "--json", "x"],
        ["export", "ds-cnn", "-o", "loop"],
        ["sweep", "study.toml", "-o", "loop"],
        ["lab", "overlap", "--save", "loop"],
        ["lab", "overlap", "--notebook", "loop"],
        ["run", "loop.tflite"],
        ["run", "ds-cnn", "--machine", "loop.toml"],
    ],
    ids=lambda arguments: " ".join(arguments[:3] + arguments[3:4]),
)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_a_link_to_itself_is_one_error(
    arguments: list[str], force: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in ("loop", "loop.npy", "loop.tflite", "loop.toml"):
        Path(name).symlink_to(name)
    Path("study.toml").write_text('models = ["figure-1"]\nmachines = ["stm32f746g-disco"]\npolicies = ["internal"]\n')
    assert main([*arguments, *force]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and "loop" in error


@pytest.mark.parametrize("option", ["--answers", "--save"])
def test_a_pipe_without_a_writer_is_not_waited_for(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["lab", "overlap", option, str(pipe)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {pipe}: not a regular file"


def test_a_byte_order_mark_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace, machine = tmp_path / "p.jsonl", tmp_path / "m.toml"
    trace.write_bytes(BOM + TRACE.read_bytes())
    assert read_program(trace) == read_program(TRACE)
    machine.write_bytes(BOM + b'extends = "stm32f746g-disco"\n')
    assert load_machine(machine).core.clock == 216_000_000
    profile = REPOSITORY / "mcusim" / "kernels" / "cost" / "profiles" / "cmsis-2021-gcc9.toml"
    found = next(REPOSITORY.glob("mcusim/kernels/**/cmsis-2021-gcc9.toml"), profile)
    (tmp_path / "k.toml").write_bytes(BOM + found.read_bytes())
    assert main(["run", "figure-1", "--kernels", str(tmp_path / "k.toml")]) == 0
    study = tmp_path / "s.toml"
    study.write_bytes(BOM + b'models = ["figure-1"]\nmachines = ["stm32f746g-disco"]\npolicies = ["internal"]\n')
    assert main(["sweep", str(study), "--dry-run", "-j", "1"]) == 0
    capsys.readouterr()


ROW = {"status": "ok", "error": None, "cycles": 9, "latency_ms": 1.5, "energy_mj": 0.5, "supply_current_ma": 90.0,
       "peak_sram_bytes": 7, "peak_sram1": 7, "macs": 3, "latency_low_ms": 1.25}  # fmt: skip


def read_back(path: Path, row: Any) -> dict[str, Any]:
    text = json.dumps(["k", row]).encode()
    path.write_bytes(HEAD + b"%08x %s\n" % (zlib.crc32(text), text))
    with Journal(path, {"k"}) as journal:
        return dict(journal.rows)


@pytest.mark.parametrize(
    "change",
    [
        {"status": "good"}, {"status": None}, {"error": 3}, {"cycles": -1}, {"cycles": "9"}, {"cycles": True},
        {"cycles": 1 << 70}, {"cycles": 1.5}, {"latency_ms": None}, {"latency_ms": -1.0}, {"latency_ms": "fast"},
        {"energy_mj": {}}, {"peak_sram_bytes": []}, {"peak_sram1": "x"}, {"latency_low_ms": "x"}, {"surprise": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_journal_row_that_cannot_be_is_computed_again(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    assert read_back(path, ROW) == {"k": ROW}
    assert read_back(path, {"status": "error", "error": "why"}) == {"k": {"status": "error", "error": "why"}}
    assert read_back(path, ROW | change) == {}
