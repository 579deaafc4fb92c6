"""The first screen of a run: what it answers, that it is short, and that what it names can be done."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace

import pytest

from mcusim import simulate
from mcusim.commands.app import main
from mcusim.commands.shared.output import coloured
from mcusim.report.run.advice_text import command_lines
from mcusim.report.run.first_screen import LINES, first_screen
from mcusim.results.advice import Advice, LimitCheck
from mcusim.results.measurement.measured import Measured
from mcusim.text import size_of_room
from tests.support.cases import sampled
from tests.support.pages.made_results import make_result
from tests.support.paths import REPOSITORY

Capsys = pytest.CaptureFixture[str]
F746, F469, G4 = "stm32f746g-disco", "stm32f469i-disco", "nucleo-g474re"
RUNS = [
    ["ds-cnn"],
    ["mcunet-vww1", "--runtime", "tinyengine"],
    ["mbv3-w0.50-r112", "-m", F469, "-p", "tinyops", "--period", "1s", "--battery", "CR2032"],
    ["figure-1", "--fidelity", "emulate", "-m", G4],
    ["ds-cnn", "--clock", "108 MHz", "--max-latency", "100 ms", "--invocations", "2"],
    ["proxyless-w0.25-r160", "-p", "external", "--set", "core.clock=200 MHz", "--set", "cache.data.ways=2"],
]


def printed(capsys: Capsys, *words: str) -> tuple[int, list[str]]:
    status = main([*words])
    return status, capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("words", sampled(RUNS, 3), ids=" ".join)
def test_the_verdict_and_at_most_fifteen_lines_that_answer(words: list[str], capsys: Capsys) -> None:
    status, lines = printed(capsys, "run", *words)
    assert status == 0 and lines[0].startswith("fits: ") and all(len(line) <= 80 for line in lines)
    below = lines[lines.index("") + 1 :]
    assert len(below) <= LINES and "" not in below
    labels = {line[:10].strip() for line in below[1:]}
    assert {"latency", "energy", "memory", "flash", "cycles", "next", "more"} <= labels


def test_each_command_that_it_names_runs(capsys: Capsys) -> None:
    _, lines = printed(capsys, "run", "figure-1", "-m", G4, "--operator-overhead", "5000")
    commands = [line.strip().removeprefix("next").strip() for line in joined(lines) if "mcusim " in line]
    assert len(commands) == 2
    for command in commands:
        words = shlex.split(command, comments=True)
        assert printed(capsys, *words[1:])[0] == 0
    assert "--operator-overhead 5000" in commands[1]


def joined(lines: list[str]) -> list[str]:
    """Commands that go over several lines as a line."""
    text = "\n".join(lines)
    while " \\\n" in text:
        head, _, tail = text.partition(" \\\n")
        text = f"{head} {tail.lstrip()}"
    return text.splitlines()


def test_what_waits_for_memories_leads_to_other_policies(capsys: Capsys) -> None:
    _, lines = printed(capsys, "run", "ds-cnn", "-p", "external", "-m", F469)
    text = " ".join(" ".join(lines).split())
    assert "of the cycles wait for memories; other policies side by side mcusim compare ds-cnn --machine" in text


def test_a_refusal_names_what_was_tried(capsys: Capsys) -> None:
    status, lines = printed(capsys, "run", "ds-cnn", "--max-latency", "10ms", "--max-sram", "20KiB")
    text = " ".join(" ".join(lines).split())
    assert status == 1 and all(len(line) <= 80 for line in lines)
    for name in ("compiled code (tinyengine)", "policy tinyops", "policy external", "board nucleo-f746zg"):
        assert name in text.partition("tries")[2]
    assert "policy external: latency +28.3 ms" in text
    (command,) = [line.strip() for line in joined(lines) if "mcusim run" in line]
    assert "nucleo-h743zi" in command and main(shlex.split(command)[1:]) == 1  # the closest is none either


def test_sections_below_it(capsys: Capsys) -> None:
    heads = {
        "timing": "Timing",
        "memory": "Peak memory",
        "flash": "Flash",
        "operators": "Slowest operators (10 of 13)",
        "assumptions": "Rests on 14 assumptions:",
    }
    _, first = printed(capsys, "run", "ds-cnn")
    for name, head in heads.items():
        _, lines = printed(capsys, "run", "ds-cnn", "--show", name)
        assert lines[: len(first)] == first and [line for line in heads.values() if line in lines] == [head]
    _, lines = printed(capsys, "run", "ds-cnn", "--show", "flash,timing", "--operators", "2", "--assumptions")
    order = [line for line in lines if line in heads.values() or line.startswith("Slowest")]
    assert order == ["Timing", "Flash", "Slowest operators (2 of 13)", "Rests on 14 assumptions:"]
    _, lines = printed(capsys, "run", "ds-cnn", "--all")
    assert {"Peak memory", "Flash", "Slowest operators (10 of 13)", "Cycles by cause"} <= {*lines}


def test_a_section_that_is_none(capsys: Capsys) -> None:
    for words in (["run", "no-such-model"], ["replay", "no-such-program.jsonl"]):
        assert main([*words, "--show", "memory,parts"]) == 2
        captured = capsys.readouterr()
        assert captured.out == "" and "--show 'parts': no such section; choose from: timing, memory" in captured.err


def test_a_section_that_there_is_nothing_of(capsys: Capsys) -> None:
    trace = str(REPOSITORY / "traces" / "ds-cnn-internal.jsonl")
    _, lines = printed(capsys, "replay", trace, "--show", "flash")
    assert lines[-2:] == ["Flash", "  not known: a saved program does not say what its model keeps there"]
    _, lines = printed(capsys, "run", "ds-cnn", "--sram-budget", "20 KiB", "--show", "operators")
    assert lines[-2:] == ["Operators", "  there was no run"]
    for option in (["--all"], ["--assumptions"], ["--show", "flash"]):
        assert main(["run", "no-such-model", "--fidelity", "both", *option]) == 2
        assert f"{option[0]} is for a single fidelity" in capsys.readouterr().err


def test_flash_that_is_too_small_too_is_in_the_verdict(capsys: Capsys) -> None:
    status, lines = printed(capsys, "run", "ds-cnn", "--sram-budget", "20 KiB", "--set", "memory.flash.size=64 KiB")
    assert status == 1 and lines[0] == "does not fit: needs 23.3 KiB of 20 KiB SRAM, 72.3 KiB of 64 KiB flash"
    assert any(line.startswith("  flash     72.3 KiB of 64 KiB (8.3 KiB too many)") for line in lines)


def test_a_flash_that_is_too_small_is_counted_whole(capsys: Capsys) -> None:
    """Not the weights alone, which are what a plan places."""
    status, lines = printed(capsys, "run", "ds-cnn", "--set", "memory.flash.size=20 KiB")
    assert status == 1 and lines[0] == "does not fit: needs 72.3 KiB of 20 KiB flash"
    assert "before what else flash keeps" in " ".join(line.strip() for line in lines)
    assert not any("weights in flash" in line for line in lines)  # where they are
    assert size_of_room(20490, 20480) == "20,490 of 20,480 B"


def test_a_limit_on_what_is_not_known_is_not_exceeded() -> None:
    result = make_result(advice=Advice(limits=(LimitCheck("latency", "ms", 50.0, None),)))
    assert first_screen(result)[0].startswith("runs, latency not known: ")


def test_a_way_out_of_a_run_that_both_fidelities_refuse_keeps_the_kernels(capsys: Capsys) -> None:
    assert main(["run", "ds-cnn", "--fidelity", "both", "--sram-budget", "20 KiB"]) == 1
    assert "--kernels cmsis-gcc12" in capsys.readouterr().out


def test_run_and_memory_count_the_same_parts(capsys: Capsys) -> None:
    """Of mcunet-in1 the largest scratch buffer adds nothing to the arena."""
    _, lines = printed(capsys, "run", "mcunet-in1", "--show", "memory")
    text = " ".join(" ".join(lines).split())
    parts = "activations 150.1 KiB, scratch 0 B, runtime 69.4 KiB"
    assert text.count(parts) == 2 and "the largest scratch buffer, 23 KiB, has room among the activations" in text
    assert "activations 153,728 B, scratch 0 B, runtime 71,104 B" in text


def test_commands_are_lines_that_a_shell_takes() -> None:
    command = shlex.join(["mcusim", "run", "a model.tflite", "--set", "core.clock=100 MHz", "--machine=-x", "x" * 90])
    lines = command_lines(command, "    ")
    assert all(len(line) <= 80 for line in lines[:-1]) and len(lines) == 2
    assert [word for word in shlex.split("\n".join(lines)) if word != "\n"] == shlex.split(command)


def test_colour_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "does not fit: needs 2 B\n  fits: x\n  warning: y"
    assert coloured(text) == text
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = coloured(text)
    assert shown.startswith("\x1b[31m\x1b[1mdoes not fit\x1b[0m: needs") and "\n  fits: x\n" in shown
    assert "\x1b[33m" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured(text) == text


def test_a_limit_that_a_measurement_exceeds_is_not_certain() -> None:
    limits = Advice(limits=(LimitCheck("latency", "ms", 150.0, 10.0),))
    published = Measured("p", ("T",), {"latency_ms": 182.0}, {"latency_ms": "validate"})
    near = replace(simulate("figure-1", F746), advice=limits, measured=published)
    assert "not so on a board: measured is latency 182 ms" in " ".join(first_screen(near))
