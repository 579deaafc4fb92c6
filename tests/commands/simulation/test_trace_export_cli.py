"""``--perfetto`` and ``--vcd`` of ``mcusim run`` and ``mcusim replay``: files, refusals, verdicts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcusim import simulate
from mcusim.commands.app import main
from mcusim.report.export.perfetto import perfetto_json
from mcusim.report.export.vcd import vcd_text
from tests.support.pages.trace_event_format import read_trace
from tests.support.pages.vcd_file import read_vcd


def refused(capsys: pytest.CaptureFixture[str], status: int, *words: str | Path) -> str:
    assert main([str(word) for word in words]) == status
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_run_writes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    json, vcd = tmp_path / "run.json", tmp_path / "run.vcd"
    assert main(["run", "ds-cnn", "--policy", "tinyops", "--perfetto", str(json), "--vcd", str(vcd), "--all"]) == 0
    assert "Cycles by cause" in capsys.readouterr().out
    result = simulate("ds-cnn", "stm32f746g-disco", "tinyops")
    assert json.read_text(encoding="utf-8") == perfetto_json(result)
    assert vcd.read_text(encoding="utf-8") == vcd_text(result)


def test_replay_writes_what_the_plan_says(tmp_path: Path) -> None:
    plan, json = tmp_path / "plan.jsonl", tmp_path / "run.json"
    assert main(["plan", "ds-cnn", "--policy", "external", "-o", str(plan)]) == 0
    assert main(["replay", str(plan), "--perfetto", str(json)]) == 0
    assert json.read_text(encoding="utf-8") == perfetto_json(simulate("ds-cnn", "stm32f746g-disco", "external"))


def test_both_fidelities_stand_in_one_file(tmp_path: Path) -> None:
    json, vcd = tmp_path / "run.json", tmp_path / "run.vcd"
    words = ["run", "figure-1", "--machine", "stm32f469i-disco", "--policy", "tinyops", "--fidelity", "both"]
    assert main([*words, "--perfetto", str(json), "--vcd", str(vcd)]) == 0
    names = [process.name for process in read_trace(json.read_text(encoding="utf-8"))]
    assert [name.rpartition(", ")[2] for name in names] == ["replay", "emulate"]
    assert {name.partition(".")[0] for name in read_vcd(vcd)} == {"replay", "emulate"}


def test_what_does_not_fit_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    json, kept = tmp_path / "run.json", tmp_path / "run.vcd"
    kept.write_text("mine", encoding="utf-8")
    line = refused(
        capsys, 1, "run", "ds-cnn", "--sram-budget", "1 KiB", "--perfetto", json, "--vcd", kept, "--force"
    )  # fmt: skip
    assert "does not fit" in line and f"there is no run to trace: {json}, {kept} not written" in line
    assert not json.exists() and kept.read_text(encoding="utf-8") == "mine"


def test_a_fault_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    json = tmp_path / "run.json"
    words = ["run", "figure-1", "--fidelity", "emulate", "--max-instructions", "10", "--perfetto", str(json)]
    line = refused(capsys, 1, *words, "--machine", "stm32f469i-disco")
    assert "instructions" in line and f"there is no run to trace: {json} not written" in line
    assert not json.exists()


def test_one_fidelity_that_faults_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vcd = tmp_path / "run.vcd"
    words = ["run", "figure-1", "--machine", "stm32f469i-disco", "--fidelity", "both", "--max-instructions", "10"]
    assert f"there is no run to trace: {vcd} not written" in refused(capsys, 1, *words, "--vcd", vcd)
    assert not vcd.exists()


def test_the_page_says_why_there_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html, json = tmp_path / "run.html", tmp_path / "run.json"
    line = refused(capsys, 1, "run", "ds-cnn", "--sram-budget", "1 KiB", "--html", html, "--perfetto", json)
    assert line.endswith(f"there is no run to trace: {json} not written")
    assert "does not fit" in html.read_text(encoding="utf-8") and not json.exists()


@pytest.mark.parametrize("option", ["--perfetto", "--vcd"])
def test_files_that_cannot_be_written_are_refused_before_the_run(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there, run = tmp_path / "there", ["run", "no-such-model", option]
    there.write_text("mine", encoding="utf-8")
    assert refused(capsys, 2, *run, there) == f"error: {there} exists; --force overwrites it"
    assert "it is a directory" in refused(capsys, 2, *run, tmp_path)
    assert "there is no directory" in refused(capsys, 2, *run, tmp_path / "no" / "file")
    assert "standard output is for the table" in refused(capsys, 2, *run, "-")
    assert "named for two outputs" in refused(capsys, 2, *run, tmp_path / "x", "--json", tmp_path / "x")
    assert "it is an input file" in refused(capsys, 2, "replay", there, option, there, "--force")
    new = tmp_path / "out.npy"
    assert "another file of this run" in refused(capsys, 2, *run, new, "--fidelity", "emulate", "-o", new)
    assert there.read_text(encoding="utf-8") == "mine"
    assert [*tmp_path.iterdir()] == [there]


def test_two_traces_cannot_be_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = tmp_path / "one"
    assert "named for two outputs" in refused(capsys, 2, "run", "ds-cnn", "--perfetto", one, "--vcd", one)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, 2, "run", "ds-cnn", "--perfetto", "/dev/full", "--force")
    assert line == "error: cannot write /dev/full: No space left on device"


def test_help_needs_no_pyvcd() -> None:
    code = (
        "import sys\nfrom mcusim.commands.app import main\nmain(['run', '--help'])\n"
        "print('vcd' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--perfetto" in done.stdout and done.stderr.splitlines()[-1] == "False"
