"""``plan`` and then ``replay`` say what ``run`` says, but for what a program does not know of its model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mcusim.commands.app import main
from tests.support.cases import few, sampled
from tests.support.made import figures

Capsys = pytest.CaptureFixture[str]
F469 = ["--machine", "stm32f469i-disco"]
OF_THE_MODEL = {"flash", "inputs", "outputs", "input_shapes", "output_shapes", "name", "shape", "dtype"}
SLOW = ["--set", "memory.sdram.timing.tRCD=30 ns", "--set", "core.clock=100 MHz"]


def output(arguments: list[str], capsys: Capsys) -> str:
    """What a command that succeeds writes to standard output, without flash, operands, shapes and names of tensors."""
    assert main(arguments) == 0
    text = capsys.readouterr().out
    if not text.startswith("{"):
        return re.sub(r"\nFlash\n(  .*\n)+", "", text)
    data = figures(json.loads(text))
    for row in (data, *data["operators"], *data["tensors"]):
        row.update(dict.fromkeys(row.keys() & OF_THE_MODEL))
    return json.dumps(data)


def refusal(arguments: list[str], capsys: Capsys) -> str:
    """The one line of a command that refuses its input."""
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def with_header(trace: Path, **changes: object) -> None:
    header, rest = trace.read_text(encoding="utf-8").split("\n", 1)
    trace.write_text(f"{json.dumps(json.loads(header) | changes)}\n{rest}", encoding="utf-8")


@few(1)
@pytest.mark.parametrize(
    "arguments",
    sampled(
        [
            ["ds-cnn", *F469, "--policy", "internal"],
            ["ds-cnn", *F469, "--policy", "external", "--weights", "qspi"],
            ["ds-cnn", *F469, "--policy", "tinyops", "--sram-budget", "64 KiB", "--overlay", "filter,bias"],
            ["ds-cnn", "--policy", "tinyops", *SLOW],
            ["proxyless-w0.25-r192", "--policy", "internal", "--sram-budget", "320 KiB", "--set", "core.clock=1 MHz"],
            ["proxyless-w0.85-r064", "--policy", "tinyops"],
            ["mbv3-w0.40-r096", *F469, "--policy", "tinyops"],
        ],
        3,
    ),
    ids=" ".join,
)
def test_the_same_bytes_as_run(arguments: list[str], tmp_path: Path, capsys: Capsys) -> None:
    trace = str(tmp_path / "x.jsonl")
    output(["plan", *arguments, "-o", trace], capsys)
    for form in (["--json", "-"], ["--all"]):
        assert output(["replay", trace, *form], capsys) == output(["run", *arguments, *form], capsys)


def test_a_program_is_replayed_by_the_runtime_it_was_written_for(tmp_path: Path, capsys: Capsys) -> None:
    """Which takes kernels that the default one does not, and has kernels of its own."""
    trace, chosen = tmp_path / "p.jsonl", ["--runtime", "tinyengine", "--kernels", "tinyengine-mit"]
    assert main(["plan", "mcunet-vww1", *chosen, "-o", str(trace)]) == 0
    capsys.readouterr()
    planned, again = (
        json.loads(output([*command, "--json", "-"], capsys))
        for command in (["run", "mcunet-vww1", *chosen], ["replay", str(trace)])
    )
    assert again["cycles"] == planned["cycles"] and again["interval"] == planned["interval"]
    assert "leave out --kernels cmsis" in refusal(["replay", str(trace), "--kernels", "cmsis"], capsys)


def test_options_of_a_replay(tmp_path: Path, capsys: Capsys) -> None:
    """Without --machine the changed keys hold and --set goes on top; with --machine only --set counts."""
    trace, form = str(tmp_path / "x.jsonl"), ["--json", "-"]
    output(["plan", "ds-cnn", *SLOW, "-o", trace], capsys)
    again = ["--set", "core.clock=50 MHz"]
    both = output(["run", "ds-cnn", *SLOW[:2], *again, *form], capsys)
    assert output(["replay", trace, *again, *form], capsys) == both
    plain = output(["run", "ds-cnn", *form], capsys)
    assert output(["replay", trace, "--machine", "stm32f746g-disco", *form], capsys) == plain
    changed = output(["run", "ds-cnn", *again, *form], capsys)
    assert output(["replay", trace, "--machine", "stm32f746g-disco", *again, *form], capsys) == changed


def test_a_machine_of_the_users_own_must_be_named(tmp_path: Path, capsys: Capsys) -> None:
    own, trace = tmp_path / "mine.toml", tmp_path / "x.jsonl"
    own.write_text('extends = "stm32f746g-disco"\ncore = { clock = { value = "100 MHz", basis = "assumed" } }\n')
    arguments = ["ds-cnn", "--machine", str(own)]
    output(["plan", *arguments, "-o", str(trace)], capsys)
    line = refusal(["replay", str(trace)], capsys)
    assert "was written for machine 'mine'" in line
    assert "with --machine" in line
    replayed = output(["replay", str(trace), *arguments[1:], "--all"], capsys)
    assert replayed == output(["run", *arguments, "--all"], capsys)
    with_header(trace, machine=str(own))
    assert "with --machine" in refusal(["replay", str(trace)], capsys)


def test_changed_keys_of_a_program_pass_the_checks_of_the_machine(tmp_path: Path, capsys: Capsys) -> None:
    trace = tmp_path / "x.jsonl"
    output(["plan", "ds-cnn", "-o", str(trace)], capsys)
    with_header(trace, options={"set": {"core.clok": "1 MHz"}})
    assert "core.clok" in refusal(["replay", str(trace)], capsys)
    with_header(trace, options={"set": {"core.clock": 1}})
    assert "line 1: option 'set', key 'core.clock', must be a string" in refusal(["replay", str(trace)], capsys)
