"""The command line: exit status, messages, JSON, files, help."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.commands.command_table import Commands
from mcusim.text import size
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.errors import one_error
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import REPOSITORY, shared_model

COMMANDS = ("run", "compare", "machines", "models", "inspect", "plan", "replay", "emulate", "export", "kernels")


def json_of(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_fits_80_columns(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"  mcusim {command}" in text.partition("Example")[2]
    assert max(map(len, text.splitlines())) <= 80


def test_without_a_command_it_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(f"  {command} " in out for command in COMMANDS)
    assert "..." not in out.replace("[ARGS]...", "") and max(map(len, out.splitlines())) <= 80
    listed = re.findall(r"^  ([a-z ]+?)  ", out.partition("A network on a board:")[2], re.MULTILINE)
    assert set(listed) == {*Commands()}


@pytest.mark.parametrize(
    ("arguments", "missing", "example"),
    [("run", "'MODEL'", "mcusim run ds-cnn"), ("plan ds-cnn", "'-o' / '--output'", "mcusim plan ds-cnn")],
)
def test_a_missing_argument_shows_how_the_command_is_used(
    arguments: str, missing: str, example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 2
    first, usage, shown, more = capsys.readouterr().err.splitlines()
    assert missing in first and first.startswith("error: Missing ") and first.endswith("':")
    name = arguments.partition(" ")[0]
    assert usage.startswith(f"  usage: mcusim {name} [OPTIONS] ") and more == f"  all options: mcusim {name} --help"
    assert shown.startswith(f"  example: {example}")


def test_the_first_of_two_words_names_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["nas"], ["nas", "stat"]):
        assert main(words) == 2
        assert capsys.readouterr().err == "error: mcusim nas is nas front, nas search, nas stats: take one\n"
    assert main(["nas", "--help"]) == 0
    text = capsys.readouterr().out
    assert "mcusim nas search" in text and "The best networks of a search space" in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("mcusim 0.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bogus"], "bogus"),
        (["run", "ds-cnn", "--bogus"], "--bogus"),
        (["run", "no-such-model"], "no-such-model"),
        (["run", "no [bold]such[/bold].tflite"], "[bold]such[/bold]"),
        (["run", "ds-cnn", "--machine", "no-such-board"], "no-such-board"),
        (["run", "ds-cnn", "--policy", "no-such-policy"], "no-such-policy"),
        (["run", "ds-cnn", "--kernels", "no-such-kernels"], "no-such-kernels"),
        (["run", "ds-cnn", "--fidelity", "no-such-fidelity"], "no-such-fidelity"),
        (["run", "ds-cnn", "--set", "core.clock"], "KEY=VALUE"),
        (["run", "ds-cnn", "--set", "core.clok=200 MHz"], "core.clok"),
        (["run", "ds-cnn", "--set", "core.clock=200"], "core.clock"),
        (["run", "ds-cnn", "--set", "core.clock=1 MHz", "--set", "core.clock=2 MHz"], "twice"),
        (["run", "ds-cnn", "--sram-budget", "256 KB"], "KB"),
        (["run", "ds-cnn", "--sram-budget", "-1 KiB"], "-1"),
        (["run", "ds-cnn", "--overlay", "input,bogus"], "bogus"),
        (["run", "ds-cnn", "--overlay", ","], "--overlay"),
        (["run", "ds-cnn", "--overlay", "input"], "--overlay has no effect under policy internal; it is for tinyops"),
        (["plan", "ds-cnn", "-o", "-", "-p", "external", "--overlay", "input"], "--overlay has no effect"),
        (["run", "ds-cnn", "-p", "external", "--sram-budget", "1 KiB"], "external; it is for internal and tinyops"),
        (["plan", "ds-cnn", "-o", "-", "-p", "external", "--sram-budget", "1 KiB"], "--sram-budget has no effect"),
        (["compare", "ds-cnn", "-p", "internal,external", "--overlay", "input"], "policy internal or external; it"),
        (["compare", "ds-cnn", "-p", "external", "--sram-budget", "1 KiB"], "--sram-budget has no effect"),
        (["compare", "-p", "external", "--sram-budget", "256 KiB"], "--sram-budget has no effect"),
        (["run", "ds-cnn", "--policy", "no-such", "--overlay", "input"], "no policy 'no-such'"),
        (["run", "ds-cnn", "--operators", "-1"], "--operators"),
        (["compare", "ds-cnn", "--table", "2"], "--table"),
        (["compare", "--table", "7"], "7"),
        (["compare", "ds-cnn", "--policy", "internal,bogus"], "bogus"),
        (["compare", "--machine", "nucleo-f767zi"], "table 3"),
        (["machines", "no-such-board"], "no-such-board"),
        (["machines", "--set", "core.clock=1 MHz"], "NAME"),
        (["inspect", "/no/such/file.tflite"], "/no/such/file.tflite"),
        (["replay", "/no/such/trace.jsonl"], "/no/such/trace.jsonl"),
        (["plan", "ds-cnn", "-o", "/no/such/folder/x.jsonl"], "/no/such/folder"),
        (["run", "ds-cnn", "--json", "/no/such/folder/x.json"], "/no/such/folder"),
        (["run", "ds-cnn", "--json", "/"], "directory"),
        (["inspect", "a\x1b[31m\nred.tflite"], "\\x1b[31m red.tflite"),
    ],
)
def test_unusable_input_is_one_line_and_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in one_error(capsys)


def test_run_json_on_standard_output_is_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "--machine", "stm32f746g-disco", "--json", "-"]) == 0
    captured = capsys.readouterr()
    row = json.loads(captured.out)
    assert captured.err == ""
    assert row["fits"] is True
    assert row["macs"] == 2_656_768
    assert row["cycles"] == sum(row["cycles_by_cause"].values()) == sum(o["cycles"] for o in row["operators"])
    assert row["latency_ms"] == pytest.approx(row["cycles"] / 216e3)
    assert any("random weights" in text for text in row["assumptions"])


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
def test_run_prints_a_table_of_80_columns(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "--machine", "stm32f469i-disco", "--policy", policy, "--all"]) == 0
    captured = capsys.readouterr()
    for part in ("latency", "energy", "Peak memory", "Cycles by cause", "DEPTHWISE_CONV_2D", "assumptions"):
        assert part in captured.out
    assert max(map(len, captured.out.splitlines())) <= 80
    assert captured.err == ""
    memory = {"external": "23.3 KiB of 16 MiB SDRAM", "internal": "23.3 KiB of 320 KiB SRAM"}.get(policy, "SRAM, ")
    verdict = captured.out.splitlines()[0]
    assert verdict.startswith("fits: ") and memory in verdict
    assert re.search(r" [\d.]+ ms \([\d.]+ to [\d.]+\), [\d.]+ mJ$", verdict)


def test_the_verdict_has_memories_apart_and_the_budget_for_what_is_on_chip(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "--persistent", "sdram", "--sram-budget", "60 KiB", "--json", "-"]) == 0
    parts = json.loads(capsys.readouterr().out)["verdict"]["parts"]
    assert main(["run", "ds-cnn", "--persistent", "sdram", "--sram-budget", "60 KiB"]) == 0
    off_chip = parts["runtime"]
    on_chip = sum(parts.values()) - off_chip
    verdict = " ".join(capsys.readouterr().out.split())
    assert verdict.startswith(f"fits: {size(on_chip)} of 60 KiB SRAM, {size(off_chip)} of 8 MiB SDRAM, ")


def test_a_model_that_does_not_fit_is_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "--sram-budget", "4 KiB", "--json", "-"]) == 1
    captured = capsys.readouterr()
    row = json.loads(captured.out)
    assert row["fits"] is False
    assert row["does_not_fit"]["needed"] > row["does_not_fit"]["available"]
    assert captured.err.startswith("error: ds-cnn on stm32f746g-disco")


def test_what_if_changes_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for clock in ("200 MHz", "100 MHz"):
        assert main(["run", "ds-cnn", "--set", f"core.clock={clock}", "--json", "-"]) == 0
        rows.append(json_of(capsys))
    assert rows[0]["clock_hz"] == 200_000_000
    assert rows[1]["latency_ms"] > rows[0]["latency_ms"]


def test_existing_output_is_refused_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    out.write_text("mine", encoding="utf-8")
    assert main(["models", "--json", str(out)]) == 2
    assert "--force" in one_error(capsys)
    assert out.read_text(encoding="utf-8") == "mine"
    assert main(["models", "--json", str(out), "--force"]) == 0
    assert "ds-cnn" in [row["name"] for row in json.loads(out.read_text(encoding="utf-8"))["models"]]
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~umask


def test_a_broken_write_leaves_the_old_file(tmp_path: Path) -> None:
    from mcusim.commands.shared.output import write_file

    out = tmp_path / "result.json"
    out.write_text("old", encoding="utf-8")

    def broken(file: Any) -> None:
        file.write("half")
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        write_file(out, broken, force=True)
    assert out.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


@few(6)
@pytest.mark.parametrize("path", sorted((REPOSITORY / "traces").glob("[!b]*.jsonl")), ids=lambda path: path.stem)
def test_trace_samples_replay(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = json.loads(path.read_text(encoding="utf-8").partition("\n")[0])["machine"]
    assert main(["replay", str(path), "--json", "-"]) == 0
    row = json_of(capsys)
    assert row["machine"] == machine
    assert row["cycles"] == sum(row["cycles_by_cause"].values()) > 0


def test_compare_json_and_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.json"
    machines = "stm32f469i-disco,stm32f746g-disco"
    assert main(["compare", "ds-cnn", "--machine", machines, "--policy", "internal,tinyops", "--json", str(out)]) == 0
    text = capsys.readouterr().out
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [(row["machine"], row["policy"]) for row in rows] == [
        (machine, policy) for machine in machines.split(",") for policy in ("internal", "tinyops")
    ]
    assert "ds-cnn on stm32f469i-disco" in text


def test_compare_keeps_rows_that_do_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "ds-cnn", "--machine", "stm32f746g-disco", "--sram-budget", "4 KiB", "--json", "-"]
    assert main(arguments) == 0
    rows = {row["policy"]: row for row in json_of(capsys)["rows"]}
    assert rows["internal"]["fits"] is False
    assert rows["external"]["fits"] is True
    assert main([*arguments, "--policy", "internal"]) == 1


def test_compare_keeps_rows_that_a_machine_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "ds-cnn", "--machine", "nucleo-f767zi", "--json", "-"]
    assert main([*arguments, "--policy", "internal,external"]) == 0
    internal, external = json_of(capsys)["rows"]
    assert internal["fits"] is True
    assert external["fits"] is False
    assert "SDRAM" in external["unusable"]
    assert main([*arguments, "--policy", "external"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rows"][0]["fits"] is False
    assert "SDRAM" in captured.err


def test_compare_without_arguments_is_table_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--json", "-"]) == 0
    data = json_of(capsys)
    assert [row["measured"]["latency_ms"] for row in data["rows"]] == [1007, 2167, 1059, 623, 891, 687]
    assert [row["sram_budget"] for row in data["rows"]] == [256 << 10] * 3 + [320 << 10] * 3
    assert [pair["model"] for pair in data["external_over_tinyops"]] == [
        "proxyless-w0.25-r160-pad",
        "proxyless-w0.25-r192-pad",
    ]


def test_inspect_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = shared_model("kws_ref_model.tflite")
    assert main(["inspect", str(path), "--json", "-"]) == 0
    data = json_of(capsys)
    assert data["macs"] == pytest.approx(2.657e6, rel=2e-4)
    assert data["peak_activation_bytes"] == 16_000
    assert len(data["operators"]) == 13
    assert all(tensor["bytes"] >= 0 for tensor in data["tensors"])
    assert main(["inspect", str(path)]) == 0


def test_machines_list_and_detail(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines"]) == 0
    text = capsys.readouterr().out
    for name in ("stm32f469i-disco", "stm32f746g-disco", "nucleo-h743zi"):
        assert name in text
    assert max(map(len, text.splitlines())) <= 80
    assert main(["machines", "stm32f746g-disco", "--set", "core.clock=200 MHz", "--json", "-"]) == 0
    machine = json_of(capsys)
    assert machine["core"]["clock"] == 200_000_000
    assert all(figure["basis"] and figure["source"] for figure in machine["figures"])


@few(1)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_quiet(unbuffered: str) -> None:
    command = f"{sys.executable} -m mcusim machines stm32f746g-disco | head -n 1; exit ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=LONGEST_WAIT, check=False, env=environment
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout.startswith("stm32f746g-disco")


@only_with_all_cases
@pytest.mark.parametrize("more", sampled(["", " --json -"], 1))
def test_a_closed_pipe_keeps_the_status(more: str, tmp_path: Path) -> None:
    """``verify x | head`` says that there are findings; a pipe that is closed at once is closed for all of the text."""
    trace = REPOSITORY / "traces" / "broken-03-early-buffer-reuse.jsonl"
    run = f"{sys.executable} -m mcusim verify {trace} --static{more}"
    command = f"{{ sleep 3; {run}; }} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    assert (done.returncode, done.stderr) == (1, f"error: {trace}: 1 finding\n")


def test_an_output_that_fails_is_one_line_without_a_file_for_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a notebook standard output has no number."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["machines"]) == 2
    assert capsys.readouterr().err == "error: standard output: No space left on device\n"


def test_a_full_disk_is_one_line() -> None:
    command = f"{sys.executable} -m mcusim machines > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    assert done.stderr == "error: standard output: No space left on device\n"
    assert done.returncode == 2


@few(1)
@pytest.mark.parametrize(
    ("arguments", "status"), [("machines >&-", 0), ("machines --json - >&-", 0), ("memory x.tflite 2>&-", 2)]
)
def test_without_a_standard_output(arguments: str, status: int) -> None:
    command = f"{sys.executable} -m mcusim {arguments}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_interrupt_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    import mcusim.commands.app

    def interrupted(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(mcusim.commands.app, "_invoke", interrupted)
    assert main(["models"]) == 130


def test_notebook_names() -> None:
    import mcusim

    names = (
        "SessionFault __version__ advise calibrate compare diff emulate engines figure generate inspect load_machine"
        " load_model plan_memory plan_program reorder replay session simulate suggest sweep table tune validate verify"
        " verify_firmware"
    )
    assert sorted(mcusim.__all__) == names.split()
    with pytest.warns(DeprecationWarning, match=r"mcusim.ways_out is mcusim.suggest now"):
        assert mcusim.ways_out is mcusim.suggest
    result = mcusim.simulate("ds-cnn", mcusim.load_machine("stm32f746g-disco"), overrides={"core.clock": "100 MHz"})
    assert result.run is not None
    assert result.run.clock == 100_000_000
    with pytest.raises(AttributeError, match="bogus"):
        _ = mcusim.bogus
