"""Fronts of boards: what is in them, that nothing changes them, the command, its text and its page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import NegativeResult, UsageError
from mcusim.machine import load_machine
from mcusim.nas_search.evolution import EvolutionSettings
from mcusim.nas_search.front import FrontBoard, FrontPlan, best_for, nas_fronts
from mcusim.nas_search.latency import ReplayBoard
from mcusim.nas_search.network_figures import network_graph
from mcusim.nas_search.space import NasNetwork, NasSpace, drawn
from mcusim.nas_search.stats import NasRules
from mcusim.nas_search.tables import fronts_json, fronts_text
from mcusim.sweeps.ordered_work import OrderedWork
from tests.nas_search.test_nas_search import by_formula, replays_by_size  # noqa: F401  # a fixture
from tests.support.cases import sample_size
from tests.support.pages.browser import opened
from tests.support.pages.lab_page import axe_findings
from tests.support.pages.pages import Page, asks_for_nothing

BOARD = "nucleo-l4r5zi"
SPACES = (NasSpace(Fraction(1, 5), 48), NasSpace(Fraction(3, 10), 48))
SMALL = EvolutionSettings(population=20, parents=6, crossovers=6, mutations=6, generations=2)


def on(runtime: str, *spaces: NasSpace, ram: int | None = None) -> FrontBoard:
    machine = load_machine(BOARD)
    return FrontBoard(ReplayBoard(machine, runtime), NasRules.of(machine, runtime, ram), spaces)


def plan(*boards: FrontBoard) -> FrontPlan:
    return FrontPlan(boards or (on("tflm", *SPACES), on("tinyengine", SPACES[0])), "macs", SMALL, points=3)


def test_a_front_is_what_none_is_better_than_and_each_network_takes_what_is_said() -> None:
    boards = [on(runtime, SPACES[0]) for runtime in ("tinyengine", "tflm")[: sample_size(2, 1)]]
    fronts = nas_fronts(plan(*boards))
    for front in fronts:
        points = np.array([one.values(("score", "latency")) for one in front.networks])
        assert len(points) > 2 and not any((points >= p).all(axis=1).sum() > 1 for p in points)
        best = front.networks[0]
        run = mcusim.simulate(network_graph(front.on.network(best)), BOARD, runtime=front.on.rules.runtime)
        assert run.run is not None and run.interval is not None
        assert (run.run.cycles, run.macs) == (best.replayed.cycles, best.macs)
        assert run.interval.latency_ms == (best.replayed.low_ms, best.replayed.high_ms)
        middle = front.networks[1].score
        assert front.fastest(middle) == front.networks[1] and front.fastest(best.score + 1) is None


@pytest.mark.usefixtures("by_formula")
def test_all_boards_may_have_one_set_of_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in any front is replayed wherever it fits; a log has those replays too."""
    monkeypatch.setattr("mcusim.nas_search.front.replay_all", replays_by_size)
    small = on("tflm", SPACES[0], ram=60_000)
    boards = (small, on("tinyengine", SPACES[1]))
    alone, log = nas_fronts(plan(*boards)), tmp_path / "log.jsonl"
    chosen = replace(plan(*boards), shared=True)
    fronts, data = nas_fronts(chosen, log), log.read_bytes()
    every = {one.identity for front in alone for one in front.networks}
    for front in fronts:
        assert {one.identity for one in front.networks} <= {one.identity for one in front.shared} <= every
        assert all(one.ram <= front.on.rules.ram for one in front.shared)
        points = np.array([one.values(("score", "latency")) for one in front.shared])
        best = {one.identity for one, p in zip(front.shared, points, strict=True)
                if not ((points >= p).all(axis=1) & (points > p).any(axis=1)).any()}  # fmt: skip
        assert {one.identity for one in front.networks} == best
    assert 0 < len(fronts[0].shared) < len(every) == len(fronts[1].shared)
    log.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])
    assert nas_fronts(chosen, log) == fronts and log.read_bytes() == data
    *before, last = data.splitlines(keepends=True)
    log.write_bytes(b"".join(before) + re.sub(rb'"macs":(\d)', rb'"macs":1\1', last, count=1))
    with pytest.raises(UsageError, match="are not those of its genes"):
        nas_fronts(chosen, log)
    times = fronts_json(chosen, fronts)["shared"]
    assert len(times) == len(every) and any(None in one["latency_ms"] for one in times)
    assert f"one set of {len(every)} networks" in fronts_text(chosen, fronts)


@pytest.mark.usefixtures("by_formula")
def test_a_log_cut_anywhere_is_gone_on_with(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    found, data = nas_fronts(plan(), whole), whole.read_bytes()
    dice = np.random.default_rng(2)
    for _ in range(sample_size(30, 2)):
        log = tmp_path / "cut.jsonl"
        log.write_bytes(data[: int(dice.integers(len(data) + 1))])
        assert nas_fronts(plan(), log) == found and log.read_bytes() == data
    with pytest.raises(UsageError, match=r"is the log of other fronts \(boards: "):
        nas_fronts(plan(on("tflm", SPACES[0])), whole)
    (tmp_path / "other").write_text("{}\n")
    with pytest.raises(UsageError, match="is not a log of `mcusim nas front`"):
        nas_fronts(plan(), tmp_path / "other")


def test_a_board_that_draws_no_current_is_replayed() -> None:
    machine = load_machine(BOARD, {"power.run": "0 mA", "power.stalled": "0 mA", "power.dma_active": "0 mA"})
    network = NasNetwork.of(SPACES[0], drawn(1, np.random.default_rng(0))[0])
    found = ReplayBoard(machine, "tflm").replayed(network)
    assert found.energy_mj == 0 and found.cycles


@pytest.mark.usefixtures("by_formula")
def test_a_space_or_a_board_without_a_network_says_so() -> None:
    (front,) = nas_fronts(plan(on("tflm", NasSpace(Fraction(1), 224))))
    assert not front.networks and "w1-r224: of 12,800 random networks 0 fit" in front.reasons[0]
    with pytest.raises(NegativeResult, match=r"nucleo-l4r5zi, tflm: no search space has enough networks"):
        plan(on("tflm"))
    with pytest.raises(UsageError, match=r"nucleo-l4r5zi, tflm is there twice"):
        plan(on("tflm", *SPACES), on("tflm", SPACES[0]))


def test_spaces_by_default_are_the_best_for_parts_of_the_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcusim.nas_search.front.DRAWN", 20)
    spaces = [NasSpace(Fraction(width, 10), side) for width in (2, 5) for side in (48, 96, 144)]
    monkeypatch.setattr("mcusim.nas_search.front.all_spaces", lambda classes: spaces)
    own = NasRules.of(load_machine("stm32f746g-disco"), "tinyengine")
    with OrderedWork(1, None, "the statistics") as work:
        assert [str(space) for space in best_for(own, 100, work)] == ["w0.5-r144", "w0.2-r96"]


@pytest.mark.usefixtures("by_formula")
def test_the_command_and_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, browser: Any
) -> None:
    page, command = tmp_path / "page.html", ["nas", "front", "w0.2-r48", "-m", BOARD, "--runtime", "tflm,tinyengine"]
    command += ["--generations", "0", "-j", "1", "--points", "3"]
    assert main([*command, "--html", str(page), "-o", str(tmp_path / "nets"), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [front["runtime"] for front in found["fronts"]] == ["tflm", "tinyengine"]
    first = found["fronts"][0]["networks"][0]
    assert first["low_ms"] < first["latency_ms"] < first["high_ms"] and first["blocks"][0]["kernel"] in (3, 5, 7)
    net = json.loads((tmp_path / "nets" / f"{BOARD}-tflm" / "01-w0.2-r48.json").read_text())
    assert net == first
    run = mcusim.simulate(tmp_path / "nets" / f"{BOARD}-tflm" / "01-w0.2-r48.tflite", BOARD)
    assert (run.macs, run.run.header.memory.arena) == (net["macs"], net["ram"])  # type: ignore[union-attr]
    assert main([*command, "-o", str(tmp_path / "nets")]) == 2 and "holds files; --force" in capsys.readouterr().err
    assert main(command) == 0
    text = capsys.readouterr().out
    assert f"{first['latency_ms']:,.1f}" in text and "the fastest network of a score" in text
    assert max(map(len, text.splitlines())) <= 80
    monkeypatch.setattr("mcusim.nas_search.evolution.MOST_DRAWS", 2)
    assert main([*command, "--ram", "8 KiB"]) == 1 and "random networks 0 fit" in capsys.readouterr().out
    drawn = Page(page.read_text())
    assert asks_for_nothing(drawn)
    assert [trace["x"][0] for trace in drawn.figures[0]["data"][1::2]] == [
        front["networks"][0]["latency_ms"] for front in found["fronts"]
    ]
    with opened(browser, page.read_text(), tmp_path, width=390, scheme="dark") as seen:
        assert not axe_findings(seen.page) and seen.page.locator(".plot .main-svg").count() >= 1
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.usefixtures("by_formula")
@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda n, r: n["genes"].__setitem__(0, (n["genes"][0] + 1) % 3), "are not those of its genes"),
        (lambda n, r: n.__setitem__("macs", n["macs"] - 1), "are not those of its genes"),
        (lambda n, r: n.__setitem__("ram", -4), "is no record of a space"),
        (lambda n, r: n.__setitem__("score", float("nan")), "is no record of a space"),
        (lambda n, r: n["replayed"].__setitem__("cycles", n["replayed"]["cycles"] * 2), "are not those of its genes"),
        (lambda n, r: n.__setitem__("space", str(SPACES[1])), "are not those of its genes"),
        (lambda n, r: r.__setitem__("space", "w0.9-r208"), "no such search belongs to these fronts"),
    ],
)  # fmt: skip
def test_an_edited_log_is_refused(edit: Any, says: str, tmp_path: Path) -> None:
    log, fronts = tmp_path / "fronts.jsonl", plan(on("tflm", SPACES[0]))
    nas_fronts(fronts, log)
    head, line = log.read_text(encoding="utf-8").splitlines()
    record = json.loads(line)
    edit(record["networks"][0], record)
    log.write_text(f"{head}\n{json.dumps(record)}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=says) as caught:
        nas_fronts(fronts, log)
    assert "\n" not in str(caught.value)


def test_one_point_is_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    from mcusim.nas_search.selection import spread

    assert [spread(range(9), count) for count in (1, 2, 9)] == [[0], [0, 8], [*range(9)]]
