"""The advisor: never worse than the policies as they are, its command and its files give what it promises."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.advisor.moves import moves, seeds
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import load_machine
from mcusim.results.plan_advice import PlanAdvice, pareto_front
from tests.support.graphs.float_graphs import float_network

F746, F469, G474 = "stm32f746g-disco", "stm32f469i-disco", "nucleo-g474re"
SHORT: dict[str, Any] = {"trials": 24, "finalists": 1}


@pytest.fixture(scope="module")
def advice() -> PlanAdvice:
    return mcusim.advise("figure-1", F469, **SHORT)


def run_json(command: str, path: Path) -> dict[str, Any]:
    words = shlex.split(command)
    assert words[0] == "mcusim" and main([*words[1:], "--json", str(path), "--force"]) == 0
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_it_is_as_good_as_every_policy_with_every_runtime(advice: PlanAdvice) -> None:
    assert advice.best is not None and advice.best.verified == "LiteRT" and len(advice.tried) < 40
    assert {plan.decisions["policy"] for plan in advice.tried} >= {"internal", "external", "tinyops"}
    replayed = [plan.replayed_cycles for plan in advice.tried if plan.replayed_cycles is not None]
    assert advice.best.replayed_cycles is not None and advice.best.replayed_cycles <= 1.01 * min(replayed)
    assert advice.best.fidelity == "emulate"
    for plan in seeds():
        (item,) = (tried for tried in advice.tried if dict(tried.decisions) == dict(plan))
        own = mcusim.simulate(
            "figure-1", F469, str(plan["policy"]), runtime=plan.get("runtime"), kernels=_profile(plan)
        )
        assert own.run is not None and own.run.cycles == item.replayed_cycles


def _profile(plan: Any) -> str:
    return "tinyengine-gcc12" if plan.get("runtime") else "cmsis-gcc12"


def test_the_command_and_the_files_give_what_was_advised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, data = tmp_path / "advised", tmp_path / "advice.json"
    own = ["advise", "figure-1", "-m", F746, "--reserve", "dtcm=60 KiB", "--trials", "12", "--finalists", "1"]
    assert main([*own, "-o", str(folder), "--json", str(data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fits: figure-1 on stm32f746g-disco: policy ") and max(map(len, lines)) <= 80
    best = json.loads(data.read_text(encoding="utf-8"))["best"]
    assert "--set 'memory.dtcm.size=4096 B'" in best["command"]
    assert run_json(best["command"], tmp_path / "run.json")["cycles"] == best["cycles"]
    replay = ["replay", str(folder / "program.jsonl"), "-m", str(folder / "machine.toml"), "--fidelity", "emulate"]
    own_kernels = [] if "tinyengine" in best["command"] else ["--kernels", "cmsis"]
    command = shlex.join(["mcusim", *replay, "--model", "figure-1", *own_kernels])
    assert run_json(command, tmp_path / "replay.json")["cycles"] == best["cycles"]
    assert main([*own, "-o", str(folder)]) == 2  # there are files
    assert "holds files" in capsys.readouterr().err


def test_the_front_has_what_no_other_plan_beats(advice: PlanAdvice) -> None:
    front = pareto_front(advice.tried)
    assert front == advice.front and front
    for plan in advice.tried:
        if plan.meets and plan not in front:
            assert any(
                (other.replayed_ms or 0) <= (plan.replayed_ms or 0) and other.figure("sram") <= plan.figure("sram")
                for other in front
            )


def test_an_objective_and_limits_choose(capsys: pytest.CaptureFixture[str]) -> None:
    small = mcusim.advise("figure-1", F746, objective="sram", trials=12, finalists=0)
    assert small.best is not None and small.best.sram_bytes == 0 and small.best.fidelity == "replay"
    assert main(["advise", "figure-1", "--trials", "6", "--finalists", "0", "--max-latency", "1 us"]) == 1
    text = capsys.readouterr()
    assert text.out.startswith("nothing meets it: 6 plans tried for figure-1") and "exceeds 1 µs by" in text.out
    assert "no plan of figure-1 that was tried meets" in text.err


def test_an_interrupted_search_advises_the_best_so_far() -> None:
    calls: list[object] = []

    def interrupting(item: object) -> None:
        calls.append(item)
        if len(calls) == 3:
            raise KeyboardInterrupt

    advice = mcusim.advise("figure-1", F746, finalists=2, progress=interrupting)
    assert (
        advice.fits and len(advice.tried) == 3 and advice.notes == ("interrupted after 3 plans: nothing was emulated",)
    )


def test_networks_of_floats_are_compared_within_what_exp_may_differ_by() -> None:
    advice = mcusim.advise(float_network(), F746, trials=6, finalists=2)
    assert advice.best is not None and advice.best.verified == "LiteRT" and advice.best.fidelity == "emulate"


def test_without_litert_the_reference_kernels_say_what_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    advice = mcusim.advise("figure-1", F746, trials=6, finalists=1)
    assert advice.best is not None and advice.best.verified == "kernel set reference"
    assert advice.notes == ("LiteRT is not installed: outputs are compared with those of kernel set reference",)


def test_moves_are_of_the_board_and_the_policy() -> None:
    flags = {
        (board, str(plan["policy"])): {flag for move in moves(load_machine(board), plan) for flag in move}
        for board in (F746, G474)
        for plan in seeds()
        if "runtime" not in plan
    }
    assert "weights" in flags[F746, "internal"] and "weights" not in flags[G474, "internal"]
    assert "buffering" in flags[F746, "tinyops"] and "buffering" not in flags[F746, "external"]
    assert {"in-place", "order", "allocator"} <= flags[G474, "internal"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"objective": "speed"}, "objective 'speed' is not known; choose from: latency, energy, sram"),
        ({"trials": 0}, "trials = 0: must be a whole number from 1"),
        ({"finalists": True}, "finalists = True: must be"),
        ({"reserve": {"ccm": "1 KiB"}}, "--reserve ccm: stm32f746g-disco has "),
        ({"reserve": {"dtcm": "64 KiB"}}, "has 65,536 B of it"),
        ({"max_sram": "many"}, "--max-sram"),
        ({"kernels": "cmsis-2021-gcc9"}, "are a cost profile of code that is not here"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        mcusim.advise("figure-1", F746, **arguments)
