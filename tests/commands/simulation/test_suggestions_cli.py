"""The walk from "does not fit" to a command that does, by following what ``run`` prints; limits as a CI gate."""

from __future__ import annotations

import json
import random
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.text import quantity, size
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.paths import shared_model

Capsys = pytest.CaptureFixture[str]
F746, F469 = "stm32f746g-disco", "stm32f469i-disco"


@dataclass
class Answer:
    """What a run said on standard output and in JSON."""

    status: int
    text: str
    data: Any
    errors: list[str]

    @property
    def commands(self) -> list[str]:
        """The commands that it printed, best first."""
        text = self.text.replace(" \\\n        ", "")
        return [line.strip() for line in text.splitlines() if line.startswith("       mcusim run ")]


def asked(arguments: list[str], tmp_path: Path, capsys: Capsys) -> Answer:
    path = tmp_path / "answer.json"
    status = main([*arguments, "--all", "--json", str(path), "--force"])
    captured = capsys.readouterr()
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    errors = [line for line in captured.err.splitlines() if not line.startswith("compiling native code")]
    path.unlink(missing_ok=True)
    return Answer(status, captured.out, data, errors)


def follow(answer: Answer, number: int, tmp_path: Path, capsys: Capsys) -> None:
    """Run a printed command: it must end well, with the figures that were promised, to the last digit."""
    way, command = answer.data["ways_out"][number], answer.commands[number]
    assert way["command"] == command
    words = shlex.split(command)
    assert words[0] == "mcusim"
    reached = asked(words[1:], tmp_path, capsys)
    assert (reached.status, reached.errors) == (0, [])
    assert {key: reached.data[key] for key in ("latency_ms", "energy_mj", "peak_sram_bytes", "machine", "policy")} == {
        key: way[key] for key in ("latency_ms", "energy_mj", "peak_sram_bytes", "machine", "policy")
    }
    assert way["interval_ms"] == reached.data["interval"]["latency_ms"]
    figures = f"{quantity(way['energy_mj'], 'mJ')}, SRAM {size(way['peak_sram_bytes'])}"
    text = " ".join(answer.text.split())
    assert f"{quantity(way['latency_ms'], 'ms')} (" in text and f"), {figures}" in text


@pytest.mark.parametrize("model", sampled(["mobilenet-v1-w0.25-r224", "mobilenet-v1-w0.50-r192", "mcunet-f746"], 1))
@pytest.mark.parametrize("board", sampled([F746, F469], 1))
def test_from_a_model_that_does_not_fit_to_one_that_runs(
    model: str, board: str, tmp_path: Path, capsys: Capsys
) -> None:
    answer = asked(["run", model, "--machine", board], tmp_path, capsys)
    assert answer.status == 1 and "does not fit" in answer.errors[0]
    ways = answer.data["ways_out"]
    assert 1 <= len(ways) <= 6 and answer.data["ways_tried"] >= len(ways)
    order = [(way["other_board"], way["latency_ms"]) for way in ways]
    assert order == sorted(order)
    follow(answer, 0, tmp_path, capsys)
    follow(answer, len(ways) - 1, tmp_path, capsys)


@only_with_all_cases
@pytest.mark.parametrize("board", [F746, F469])
def test_the_walk_of_a_file_of_others(board: str, tmp_path: Path, capsys: Capsys) -> None:
    path = shared_model("swiftnet_vwwc19_uint8.tflite")
    spaced = tmp_path / "my model's file.tflite"
    spaced.symlink_to(path)
    answer = asked(["run", str(spaced), "-m", board], tmp_path, capsys)
    assert answer.status == 1 and answer.commands
    follow(answer, 0, tmp_path, capsys)


def test_the_users_other_options_are_kept(tmp_path: Path, capsys: Capsys) -> None:
    options = ["--kernels", "cmsis-gcc12", "--set", "core.clock=100 MHz", "--operator-overhead", "5000"]
    answer = asked(["run", "ds-cnn", "--sram-budget", "20 KiB", *options], tmp_path, capsys)
    assert answer.status == 1 and answer.commands
    same_board = [c for c, way in zip(answer.commands, answer.data["ways_out"], strict=True) if not way["other_board"]]
    assert same_board and all("--set 'core.clock=100 MHz'" in command for command in same_board)
    for command in answer.commands:
        own = "--runtime tinyengine" in command  # a runtime that is its kernels
        assert ("--kernels cmsis-gcc12" in command) is not own and "--operator-overhead 5000" in command
        assert "--json" not in command and "--force" not in command
    for number in range(len(answer.commands)):
        follow(answer, number, tmp_path, capsys)


def test_a_machine_file_of_ones_own_with_a_blank_in_its_name(tmp_path: Path, capsys: Capsys) -> None:
    own = tmp_path / "my board.toml"
    smaller = "".join(f'[memory.{name}]\nsize = "4 KiB"\n' for name in ("sram1", "sram2"))
    own.write_text(f'extends = "{F746}"\n[memory]\nitcm = false\n{smaller}')
    answer = asked(["run", "figure-1", "-m", str(own), "--set", "memory.dtcm.size=4 KiB"], tmp_path, capsys)
    assert answer.status == 1 and any(str(own) in shlex.split(command) for command in answer.commands)
    follow(answer, 0, tmp_path, capsys)


def test_emulated_ways_out_are_tried_by_replay_and_say_so(tmp_path: Path, capsys: Capsys) -> None:
    answer = asked(["run", "figure-1", "--fidelity", "emulate", "--max-latency", "1 us"], tmp_path, capsys)
    assert answer.status == 1 and "tried by replay of cmsis-gcc12, not emulated" in answer.text
    answer = asked(["run", "ds-cnn", "--fidelity", "emulate", "--sram-budget", "20 KiB"], tmp_path, capsys)
    assert answer.commands and all("--fidelity" not in command for command in answer.commands)
    follow(answer, 0, tmp_path, capsys)


def test_full_flash_leads_to_weights_elsewhere(tmp_path: Path, capsys: Capsys) -> None:
    answer = asked(["run", "ds-cnn", "--set", "memory.flash.size=64 KiB"], tmp_path, capsys)
    assert answer.status == 1 and "--weights qspi" in answer.text
    for number in range(len(answer.commands)):
        follow(answer, number, tmp_path, capsys)
    assert all(way["flash_bytes"] <= 64 * 1024 for way in answer.data["ways_out"] if not way["other_board"])


def test_without_a_way_out_it_says_so_with_the_closest(tmp_path: Path, capsys: Capsys) -> None:
    answer = asked(["run", "figure-1", "--max-latency", "1 us"], tmp_path, capsys)
    assert answer.status == 1 and answer.data["ways_out"] == []
    assert answer.commands == [answer.data["ways_failed"][0]["command"]]
    assert len(answer.data["ways_failed"]) == answer.data["ways_tried"]
    text = " ".join(answer.text.split())
    assert "none of " in text and f"the closest: {answer.data['closest_way']}" in text
    assert "exceeds 1 µs by" in answer.data["closest_way"]


MET = ["--max-latency", "100 ms", "--max-energy", "20 mJ", "--max-sram", "128 KiB", "--max-flash", "512 KiB"]


def test_limits_that_are_met(tmp_path: Path, capsys: Capsys) -> None:
    answer = asked(["run", "ds-cnn", *MET], tmp_path, capsys)
    assert (answer.status, answer.errors) == (0, [])
    assert [limit["name"] for limit in answer.data["limits"]] == ["latency", "energy", "sram", "flash"]
    assert all(limit["met"] for limit in answer.data["limits"]) and answer.data["ways_out"] == []
    assert [limit["value"] for limit in answer.data["limits"]] == [
        pytest.approx(answer.data["latency_ms"]),
        answer.data["energy_mj"],
        answer.data["peak_sram_bytes"],
        answer.data["flash"]["total_bytes"],
    ]
    assert "within latency 31.2 ms of 100 ms, energy 15 mJ of 20 mJ, SRAM 23.3 KiB" in " ".join(answer.text.split())
    assert answer.data["interval"]["energy_mj"][1] > 20 and answer.data["interval"]["latency_ms"][1] < 100
    assert "  not certain: the 90 % interval reaches energy 3" in answer.text


@few(2)
@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--max-latency", "30 ms"], "latency 31.2 ms exceeds 30 ms by 1.16 ms"),
        (["--max-latency", "6_000_000 cycles"], "latency 31.2 ms exceeds 27.8 ms by"),
        (["--max-energy", "14_000 uJ"], "energy 15 mJ exceeds 14 mJ by 956 µJ"),
        (["--max-sram", "20 KiB"], "SRAM 23.3 KiB exceeds 20 KiB by 3.3 KiB"),
        (["--max-flash", "64 KiB"], "flash 72.3 KiB exceeds 64 KiB by 8.3 KiB"),
    ],
)
def test_a_limit_that_is_exceeded(option: list[str], message: str, tmp_path: Path, capsys: Capsys) -> None:
    answer = asked(["run", "ds-cnn", *MET, *option], tmp_path, capsys)
    assert answer.status == 1
    assert answer.errors == [f"error: ds-cnn on {F746}: {answer.errors[0].partition(': ')[2].partition(': ')[2]}"]
    assert message in answer.errors[0]
    assert [limit["name"] for limit in answer.data["limits"] if not limit["met"]] == [option[0].removeprefix("--max-")]
    for number in range(len(answer.commands)):
        follow(answer, number, tmp_path, capsys)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--max-latency", "100"], "--max-latency"),
        (["--max-latency", "100 MHz"], "wrong unit MHz"),
        (["--max-energy", "20 mW"], "wrong unit mW"),
        (["--max-sram", "128 KB"], "write KiB"),
        (["--max-flash", "1.5 B"], "whole number"),
        (["--max-sram", "-1 KiB"], "must not be negative"),
    ],
)
def test_a_limit_that_cannot_be_read(option: list[str], message: str, capsys: Capsys) -> None:
    assert main(["run", "no-such-model", *option]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert captured.out == "" and option[0] in line and message in line


@only_with_all_cases
def test_hostile_texts_are_one_line(capsys: Capsys) -> None:
    """None is a quantity, so none gets as far as the model."""
    rng = random.Random("limits")
    pieces = [
        "9" * 400,
        "e99",
        "ms",
        "\0",
        "\n",
        "\x1b[31m",
        "'",
        '"',
        "$(x)",
        "KiB",
        "µ",
        "-",
        "1",
        ".",
        " ",
        "é",
        "∞",
    ]
    for option in ("--max-latency", "--max-energy", "--max-sram", "--max-flash"):
        for _ in range(50):
            text = "x" + "".join(rng.choices(pieces, k=rng.randrange(6)))
            assert main(["run", "no-such-model", f"{option}={text}"]) == 2
            captured = capsys.readouterr()
            (line,) = captured.err.splitlines()
            assert captured.out == "" and option in line and len(line) < 400 and line.isprintable()
