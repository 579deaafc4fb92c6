"""Plans as something to tune: what a configuration means, that every one is right, and the command."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mcusim
from mcusim.api.simulate import changed
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.model import load_model
from mcusim.tuning.plan_task import PlanTask, plan_task
from tests.support.cases import sample_size
from tests.tuning.test_tune import without_times

BOARD, BUDGET = "stm32f746g-disco", {"sram_budget": "12 KiB"}
COMMAND = ["tune", "figure-1", "-m", BOARD, "--memories", "--sram-budget", "12 KiB"]


@cache
def task() -> PlanTask:
    return plan_task(load_model("figure-1"), changed(BOARD, None), "tinyops", "cmsis", BUDGET)


def test_every_configuration_is_right() -> None:
    """Drawn from the whole space, and each value alone: LiteRT's outputs, or it does not fit."""
    space, dice, taken = task().space, np.random.default_rng(3), set[int]()
    plain = dict(space.default)
    numbers = [space.number({**plain, knob.name: value}) for knob in space.knobs for value in knob.values[1:]]
    for number in [*numbers[:: sample_size(1, 8)], *(None for _ in range(sample_size(60, 4)))]:
        drawn = space.drawn(dice, taken) if number is None else number
        assert drawn is not None
        taken.add(drawn)
        found = task().run(drawn)
        assert found.result in ("ok", "does_not_fit"), found
        if found.cycles is not None:
            assert sum(found.causes.values()) == found.cycles


def test_the_default_is_the_plan_as_it_is_and_a_configuration_its_options() -> None:
    space = task().space
    assert task().planned(space.default) == {}
    knob = next(knob for knob in space.knobs if knob.name.startswith("channels_"))
    number, least = int(knob.name.removeprefix("channels_")), knob.values[1]
    config = {**space.default, knob.name: least, "goal": 1024, "operator_4": "input in place"}
    options = task().planned(config)
    assert options["channel_tiles"] == {number: least} and options["uncopied"] == "4:input"
    run = mcusim.simulate("figure-1", BOARD, "tinyops", "cmsis", **BUDGET, **options, buffer_sizes="largest")  # type: ignore[arg-type]
    assert run.run is not None and run.run.cycles == task().replayed_cycles(config)
    words = task().options_text(config)
    given = dict(zip(*[iter(shlex.split(words))] * 2, strict=True))
    again = {name.removeprefix("--").replace("-", "_"): value for name, value in given.items()}
    same = mcusim.simulate("figure-1", BOARD, "tinyops", "cmsis", **again)  # type: ignore[arg-type]
    assert same.run is not None and same.run.cycles == run.run.cycles and len(words) < 200
    assert f"--channel-tiles {number}:{least}" in words and "--uncopied 4:input" in words
    assert "--row-tiles 1:4,2:3" in words


def test_a_tuning_is_gone_on_with_and_its_program_is_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, again, program, page = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "p.jsonl", "page.html"))
    files = ["--apply", str(program), "--html", str(page), "--json", "-"]
    assert main([*COMMAND, "--trials", "3", "--jobs", "1", "--log", str(log), *files]) == 0
    (found,) = json.loads(capsys.readouterr().out)["tasks"]
    assert found["best"]["cycles"] <= found["default_cycles"] and "--sram-budget" in found["options"]
    lines = log.read_bytes().splitlines(keepends=True)
    again.write_bytes(b"".join(lines[:3]))
    result = mcusim.tune("figure-1", BOARD, memories=True, trials=3, log=again, jobs=2, **BUDGET)  # type: ignore[arg-type]
    assert without_times(again) == without_times(log)
    assert "best, waits" in repr(result) and max(map(len, repr(result).splitlines())) <= 80
    (best,) = [task["best"] for task in result.data["tasks"]]
    assert (best["cycles"], best["config"]) == (found["best"]["cycles"], found["best"]["config"])
    with pytest.raises(UsageError, match="exists"):
        result.save_program(program)
    assert "A plan tuned to a board" in page.read_text() and "planned by its options" in page.read_text()
    assert main(["verify", str(program), "--kernels", "cmsis"]) == 0
    capsys.readouterr()
    played = ["replay", str(program), "--model", "figure-1", "--kernels", "cmsis", "--fidelity", "emulate"]
    assert main([*played, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["cycles"] == found["best"]["cycles"]
    with pytest.raises(UsageError, match="is a plan: it has no kernel"):
        result.save_kernels(tmp_path / "kernels")


@pytest.mark.parametrize(
    ("status", "options", "error"),
    [
        (2, ["--policy", "internal"], "policy internal decides nothing that could be tuned"),
        (2, ["--row-tiles", "0:3"], "--row-tiles is what is tuned; leave it out"),
        (2, ["--layers", "2"], "--layers is for kernels; --memories tunes a network's plan"),
        (2, ["--tuner", "best"], 'tuner = "best": there are random'),
        (1, ["--sram-budget", "64 B"], "the smallest set of overlay buffers"),
        (2, ["--kernels", "none-such"], "none-such"),
    ],
)
def test_errors_of_the_command(status: int, options: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *options]) == status
    assert error in capsys.readouterr().err
