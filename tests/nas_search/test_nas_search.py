"""Searches: better than drawing, the planner's figures in what is written, scorers of every kind, logs."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import UsageError, Verdict
from mcusim.machine import load_machine
from mcusim.nas_search.evolution import EvolutionSettings, evolved, random_search
from mcusim.nas_search.scorers import scorer_of
from mcusim.nas_search.search import NasSearch
from mcusim.nas_search.space import NasNetwork, NasSpace, drawn, normalised
from mcusim.nas_search.stats import NasRules
from tests.support.cases import sample_size

BOARD, SPACE = "stm32f746g-disco", NasSpace(Fraction(1, 2), 144)
SMALL = EvolutionSettings(population=30, parents=8, crossovers=10, mutations=10, generations=6)


@cache
def rules(seed: int = 0, ram: int | None = None) -> NasRules:
    return NasRules.of(load_machine(BOARD), "tinyengine", ram, seed=seed)


def test_evolution_is_never_below_drawing_at_equal_budget() -> None:
    """The paper's settings; ten seeds."""
    score = scorer_of("macs")
    for seed in range(sample_size(10, 3)):
        populations = [*evolved(SPACE, rules(seed), score)]
        best = [population[0].score for population in populations]
        assert best == sorted(best) and len(best) == 31
        assert best[-1] >= random_search(SPACE, rules(seed), score, EvolutionSettings().budget).score
        last = populations[-1]
        assert all(one.ram <= rules().ram and one.flash <= rules().flash for one in last)
        assert len({one.network for one in last}) == len(last)


def test_more_memory_never_lowers_the_best_score() -> None:
    scores = []
    for kib in (224, 256, 288, 320):
        (*_, last) = evolved(SPACE, rules(0, kib << 10), scorer_of("macs"))
        scores.append(last[0].score)
    assert scores == sorted(scores) and scores[0] < scores[-1]
    with pytest.raises(Verdict, match=r"w0.5-r144: of .* random networks 0 fit 20,000 B"):
        next(evolved(SPACE, rules(0, 20_000), scorer_of("macs")))


def test_equal_networks_have_equal_rows() -> None:
    rows = drawn(200, np.random.default_rng(4))
    assert np.array_equal(normalised(rows), rows)
    assert len({NasNetwork.of(SPACE, row) for row in rows}) == len(np.unique(rows, axis=0))


def test_what_is_written_runs_with_the_figures_that_were_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "net.json", tmp_path / "net.tflite"]
    words = [word for path in files for word in ("-o", str(path))]
    command = ["nas", "search", "w0.3-r64", "-m", BOARD, "--generations", "2", *words]
    assert main([*command, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    net = json.loads(files[0].read_text())
    assert net == found["networks"][0] and {"kernel", "expand", "in", "out", "stride", "residual"} == {
        *net["blocks"][0]
    }
    run = mcusim.simulate(files[1], BOARD, runtime="tinyengine")
    assert (run.macs, run.run.header.memory.arena) == (net["macs"], net["ram"])  # type: ignore[union-attr]
    assert main(command) == 2 and "exists; --force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0 and max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_search_that_was_killed_asks_for_no_score_again(tmp_path: Path) -> None:
    asked: list[int] = []
    path = tmp_path / "mine.py"
    search = NasSearch(SPACE, rules(), f"{path}:f", SMALL)
    path.write_text("def f(net):\n    return net['macs'] / (1 + net['blocks'][0]['kernel'])\n")
    score = scorer_of(f"{path}:f")

    def counted(networks):  # type: ignore[no-untyped-def]
        asked.append(len(networks))
        return score(networks)

    whole = tmp_path / "whole.jsonl"
    found, everything = search.run(counted, whole), sum(asked)
    data, dice = whole.read_bytes(), np.random.default_rng(1)
    for _ in range(sample_size(40, 4)):
        log = tmp_path / "cut.jsonl"
        log.write_bytes(data[: int(dice.integers(len(data) + 1))])
        kept = sum(len(json.loads(line)["scores"]) for line in log.read_bytes().split(b"\n")[1:-1])
        asked.clear()
        assert search.run(counted, log) == found and log.read_bytes() == data
        assert sum(asked) == everything - kept
    with pytest.raises(UsageError, match=r"log of another search \(seed: 0, now 1\)"):
        NasSearch(SPACE, rules(1), f"{path}:f", SMALL).run(counted, whole)
    source = path.read_text()
    path.write_text(source + "# another one\n")
    with pytest.raises(UsageError, match=r"log of another search \(scorer_sha256: "):
        search.run(counted, whole)
    path.write_text(source)
    whole.write_bytes(data.replace(b'"scores"', b'"points"', 1))
    with pytest.raises(UsageError, match=r"whole.jsonl:2: is no line of a log"):
        search.run(counted, whole)


def test_a_table_is_interpolated(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("macs,score\n1e6,40\n1e8,60\n")
    score = scorer_of(str(path))
    assert score([{"macs": n} for n in (10, 10**6, 10**7, 10**8, 10**9)]) == pytest.approx([40, 40, 50, 60, 60])


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def f(net): raise RuntimeError('no\\nnetwork')", "scorer FILE:f: RuntimeError: no network"),
        ("def f(net): return float('nan')", "scorer FILE:f gives nan, which is no finite number"),
        ("def f(net): return 'good'", "scorer FILE:f gives good, which is no finite number"),
        ("def f(net):\n    while True: pass", "scorer FILE:f does not end within 0.2 s of the processor"),
        ("while True: pass", "FILE: does not end within 0.2 s of the processor"),
        ("def f(net): raise SystemExit(3)", "scorer FILE:f: SystemExit: 3"),
        ("f = 3", 'FILE has no function "f"'),
        ("def f(:", "FILE: SyntaxError"),
        (None, "FILE: "),
    ],
)
def test_hostile_functions_are_named(
    source: str | None, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcusim.nas_search.scorers.SECONDS", 0.2)
    path = tmp_path / "mine.py"
    if source is not None:
        path.write_text(source)
    with pytest.raises(UsageError) as raised:
        scorer_of(f"{path}:f")([{"macs": 1}])
    assert error.replace("FILE", str(path)) in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["w0.5"], 2, '"w0.5" is no search space; an example: w0.5-r144'),
        (["w9-r144"], 2, "w9-r144: widths are 0.05 to 2, resolutions 32 to 512"),
        (["w0.5-r144", "--scorer", "best"], 2, '--scorer "best": macs, TABLE.csv or FILE.py:FUNCTION'),
        (["w0.5-r144", "--scorer", "none.csv"], 2, "none.csv"),
        (["w0.5-r144", "-o", "net.txt"], 2, "net.txt: a network is written as .json or .tflite"),
        (["w1-r224"], 1, "w1-r224: of 20,000 random networks 0 fit"),
    ],
)
def test_errors_of_the_command(
    arguments: list[str], status: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["nas", "search", *arguments]) == status
    assert error in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        "macs,score\n0,3\n",
        "macs,score\n5,nan\n",
        "macs,score\nx,1\n",
        f"macs,score\n{'1' * 200_000},2\n",
    ],
)
def test_tables_that_are_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"t\.csv"):
        scorer_of(str(path))
