"""Public functions have their commands' options as keyword arguments, take names, paths and objects, and are typed."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.commands.app import main as command_line
from mcusim.commands.command_table import Commands
from mcusim.errors import McusimError, UsageError
from mcusim.program import program_lines, read_program
from mcusim.report.flash_text import inspection_json
from mcusim.report.memory.json import memory_json
from tests.support.made import bare, figures
from tests.support.paths import REPOSITORY

F746 = "stm32f746g-disco"
# what only a command has: where output goes and how much of it is printed; in Python the results have methods for it
OUTPUT = {"json", "force", "html", "page", "perfetto", "vcd", "output", "out", "operators", "assumptions"}
OUTPUT |= {"film_window", "show", "all", "again", "markdown"}  # in Python film is the window
# set is a word of Python
OTHER_NAMES = {"set": "overrides", "clock": "overrides", "force_clock": "overrides", "cost": "costs"}
CALLED = {"progress", "observe"}
FIRMWARE = {"until", "image", "entry", "peripherals", "max_instructions"}  # of verify; in Python verify_firmware's
LIMITS = {"max_latency", "max_energy", "max_sram", "max_flash"}  # of a run; in Python suggest takes them
# by function: its command, arguments that are named otherwise, and those that the command does not have
FUNCTIONS: dict[str, tuple[str, dict[str, str], set[str]]] = {
    "simulate": ("run", {}, CALLED),
    "replay": ("replay", {"trace": "program"}, CALLED),
    "plan_program": ("plan", {}, set()),
    "plan_memory": ("memory", {}, {"progress"}),
    "reorder": ("reorder", {}, set()),
    "inspect": ("inspect", {}, set()),
    "verify": ("verify", {}, set()),
    "diff": ("diff", {}, set()),
}


def options(command: str) -> set[str]:
    """Arguments and options of a command, in snake_case."""
    found: Any = Commands()[command]
    return {
        max((name for name in one.opts), key=len).removeprefix("--").replace("-", "_").lower()
        if one.param_type_name == "option"
        else one.name
        for one in found.get_params(found.make_context(command, [], resilient_parsing=True))
    } - {"help"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_keyword_arguments_are_the_options(name: str) -> None:
    command, renamed, own = FUNCTIONS[name]
    renamed = OTHER_NAMES | renamed
    other = FIRMWARE if command == "verify" else set()
    wanted = {renamed.get(option, option) for option in options(command) - OUTPUT - LIMITS - other}
    taken = set(inspect.signature(getattr(mcusim, name)).parameters)
    assert taken - own == wanted - own


def test_options_of_a_firmware_are_arguments_of_verify_firmware() -> None:
    given = set(inspect.signature(mcusim.verify_firmware).parameters)
    shared = {"machine", "fuzz", "seed"}
    assert given == shared | FIRMWARE - {"image"} | {"path", "images", "overrides"}
    assert (shared | FIRMWARE) <= options("verify")


def test_limits_are_arguments_of_suggest() -> None:
    assert options("run") & set(inspect.signature(mcusim.suggest).parameters) - {"model"} == LIMITS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_typed_and_documented(name: str) -> None:
    function = getattr(mcusim, name)
    given = inspect.signature(function)
    assert all(one.annotation is not inspect.Parameter.empty for one in given.parameters.values())
    assert given.return_annotation is not inspect.Signature.empty
    text = inspect.getdoc(function) or ""
    missing = {one for one in given.parameters if f"``{one}``" not in text and f"\n{one}: " not in text}
    assert "Raises" in text and missing <= {
        # described where the docstring points to: those of simulate, verify's range "policy to costs"
        "plan_program": {"overrides", "allow_unknown", "costs"},
        "verify": {"overrides", "allow_unknown"},
        "replay": {"program", "fidelity", "max_instructions", "progress"},
        "simulate": {"policy", "allow_unknown"},
    }.get(name, set())


def test_names_paths_and_objects_give_the_same(tmp_path: Path) -> None:
    path, graph = tmp_path / "ds-cnn.tflite", mcusim.load_model("ds-cnn")
    assert command_line(["export", "ds-cnn", "-o", str(path)]) == 0
    board = mcusim.load_machine(F746)
    for model in ("ds-cnn", graph):
        programs = [mcusim.plan_program(model, board), mcusim.plan_program("ds-cnn")]
        assert list(program_lines(programs[0])) == list(program_lines(programs[1]))
        assert mcusim.plan_memory(model, machine=board).placed.bytes == mcusim.plan_memory(path).placed.bytes
        assert mcusim.reorder(model).found.order == mcusim.reorder(path).found.order
        inspected = mcusim.inspect(model, machine=board)
        assert inspected.graph.sha256 == graph.sha256 and [b.name for b, _ in inspected.boards] == [F746]


def test_memory_and_inspect_are_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """The same JSON, but for the seconds that a search took."""
    assert command_line(["memory", "figure-1", "--order", "optimal", "-m", F746, "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    found = memory_json(mcusim.plan_memory("figure-1", order="optimal", machine=F746))
    for one in (printed, found):
        one.pop("seconds")
        for allocator in one["allocators"]:
            allocator.pop("seconds")
    assert figures(printed) == figures(json.loads(json.dumps(found)))
    assert command_line(["inspect", "ds-cnn", "-m", F746, "--json", "-"]) == 0
    found = inspection_json(mcusim.inspect("ds-cnn", machine=F746))
    assert figures(json.loads(capsys.readouterr().out)) == json.loads(json.dumps(found))


def test_a_program_is_planned_replayed_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    assert command_line(["plan", "ds-cnn", "--policy", "tinyops", "--set", "core.clock=200 MHz", "-o", str(path)]) == 0
    program = mcusim.plan_program("ds-cnn", policy="tinyops", overrides={"core.clock": "200 MHz"})
    assert "".join(f"{line}\n" for line in program_lines(program)) == bare(path)
    results = [mcusim.replay(given) for given in (program, path, str(path))]
    assert {result.run.cycles for result in results if result.run} == {results[0].run.cycles}  # type: ignore[union-attr]
    assert results[0].run.clock == 200_000_000 and results[0].interval  # type: ignore[union-attr]
    faster = mcusim.replay(program, overrides={"core.clock": "216 MHz"})
    assert faster.run.clock == 216_000_000 and mcusim.replay(path, F746).machine.core.clock == 216_000_000  # type: ignore[union-attr]


def test_verify_is_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    trace = REPOSITORY / "traces" / "broken-03-early-buffer-reuse.jsonl"
    assert command_line(["verify", str(trace), "--static", "--json", "-"]) == 1
    printed = json.loads(capsys.readouterr().out)
    for given in (trace, read_program(trace)):
        found = mcusim.verify(given, static=True)
        assert found.wrong and json.loads(json.dumps(found.to_json())) == figures(printed)
    clean = mcusim.verify("figure-1", policy="tinyops", kernels="cmsis")
    assert not clean.wrong and clean.ran is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mcusim.plan_memory(7), "model = 7: must be a path, a name"),  # type: ignore[arg-type]
        (lambda: mcusim.plan_memory("ds-cnn", allocator="best"), "allocator 'best': must be one of"),
        (lambda: mcusim.reorder(None), "model = None: must be a path"),  # type: ignore[arg-type]
        (lambda: mcusim.plan_program("ds-cnn", policy=5), "policy = 5: must be a text"),  # type: ignore[arg-type]
        (lambda: mcusim.replay(5), "program = 5: must be the path of a program"),  # type: ignore[arg-type]
        (lambda: mcusim.verify([]), "what = \\[\\]: must be a path"),  # type: ignore[arg-type]
        (lambda: mcusim.verify("ds-cnn", seed=1), "--seed has no effect without --fuzz"),
        (lambda: mcusim.verify("ds-cnn", fuzz=-1), "fuzz = -1: must be a whole number from 0"),
        (lambda: mcusim.verify("ds-cnn", fuzz=10**9), "fuzz = 1000000000: must be a whole number"),
        (lambda: mcusim.inspect("ds-cnn", kernels="none"), "none"),
        (lambda: mcusim.inspect({}), "model = {}: must be a path"),  # type: ignore[arg-type]
    ],
)
def test_arguments_that_cannot_be_used(call: Any, message: str) -> None:
    with pytest.raises((UsageError, McusimError), match=message):
        call()
