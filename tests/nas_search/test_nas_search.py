"""Searches: better than drawing, the planner's figures in what is written, scorers of every kind, logs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import NegativeResult, UsageError
from mcusim.machine import load_machine
from mcusim.model.geometry import graph_macs
from mcusim.nas_search.evolution import PAPER, Candidate, EvolutionSettings, NetworkJudge, evolved, random_search
from mcusim.nas_search.latency import PartCycles, ReplayBoard, ReplayedNetwork, replay_all
from mcusim.nas_search.network_figures import network_graph
from mcusim.nas_search.scorers import scorer_of
from mcusim.nas_search.search import NasSearch
from mcusim.nas_search.segments import space_parts
from mcusim.nas_search.selection import front_of
from mcusim.nas_search.space import NasNetwork, NasSpace, drawn, normalised
from mcusim.nas_search.stats import NasRules
from mcusim.sweeps.ordered_work import OrderedWork
from tests.support.cases import few, only_with_all_cases, sample_size

BOARD, SPACE = "stm32f746g-disco", NasSpace(Fraction(1, 2), 144)
SMALL = EvolutionSettings(
    population=30, parents=8, crossovers=10, mutations=10, generations=6, objectives=("score", "latency")
)


@cache
def rules(seed: int = 0, ram: int | None = None) -> NasRules:
    return NasRules.of(load_machine(BOARD), "tinyengine", ram, seed=seed)


def judge(rules: NasRules, settings: EvolutionSettings = PAPER, cycles: PartCycles | None = None) -> NetworkJudge:
    return NetworkJudge(SPACE, rules, scorer_of("macs"), settings, {}, cycles)


def parts_by_size(space: NasSpace, *_: object) -> PartCycles:
    """Cycles that a test need not replay: of the multiply-accumulates, and of the bytes made."""
    graphs = space_parts(space)
    cycles = [graph_macs(graph) + 40 * graph.tensors[graph.outputs[0]].bytes for graph in graphs]
    return PartCycles(np.array(cycles, np.int64), clock=120_000_000)


def replays_by_size(board: ReplayBoard, networks: list[NasNetwork], *_: object) -> list[ReplayedNetwork]:
    """Whole replays for the same purpose: a little longer than the parts."""
    macs = [network_graph(network).tensors[0].bytes + graph_macs(network_graph(network)) for network in networks]
    times = [(n, board.milliseconds(n)) for n in macs]
    return [ReplayedNetwork(cycles=n, latency_ms=ms, low_ms=ms / 2, high_ms=2 * ms) for n, ms in times]


@pytest.fixture
def by_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """No replays: for what is not about them."""
    monkeypatch.setattr(PartCycles, "replayed", parts_by_size)
    monkeypatch.setattr("mcusim.nas_search.search.replay_all", replays_by_size)


def test_evolution_is_never_below_drawing_at_equal_budget() -> None:
    """The paper's settings; ten seeds."""
    for seed in range(sample_size(10, 1)):
        populations = [*evolved(judge(rules(seed)))]
        best = [population[0].score for population in populations]
        assert best == sorted(best) and len(best) == 31
        assert best[-1] >= max(one.score for one in random_search(judge(rules(seed)), PAPER.budget))
        last = populations[-1]
        assert all(one.ram <= rules().ram and one.flash <= rules().flash for one in last)
        assert len({one.network for one in last}) == len(last)


def test_more_memory_never_lowers_the_best_score() -> None:
    scores, settings = [], EvolutionSettings(generations=sample_size(30, 10))
    for kib in (224, 256, 288, 320):
        (*_, last) = evolved(judge(rules(0, kib << 10), settings))
        scores.append(last[0].score)
    assert scores == sorted(scores) and scores[0] < scores[-1]
    with pytest.raises(NegativeResult, match=r"w0.5-r144: of .* random networks 0 fit 20,000 B"):
        next(evolved(judge(rules(0, 20_000))))


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


def small_search(path: Path) -> NasSearch:
    """By two objectives, so that its log has replays too; the file of its scorer is written to ``path``."""
    board = ReplayBoard(load_machine("nucleo-l4r5zi"), "tflm")
    path.write_text("def f(net):\n    return net['macs'] / (1 + net['blocks'][0]['kernel'])\n")
    own = NasRules.of(board.machine, "tflm")
    return NasSearch(NasSpace(Fraction(3, 10), 64), own, f"{path}:f", SMALL, board, points=4)


@only_with_all_cases
def test_two_processes_write_the_same_bytes_as_one(tmp_path: Path) -> None:
    search, path = small_search(tmp_path / "mine.py"), tmp_path / "mine.py"
    found = search.run(scorer_of(f"{path}:f"), tmp_path / "one.jsonl")
    with OrderedWork(2, None, "the search") as work:
        assert search.run(scorer_of(f"{path}:f", work), tmp_path / "two.jsonl", work) == found
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


@pytest.mark.usefixtures("by_formula")
def test_a_search_that_was_killed_asks_for_nothing_again(tmp_path: Path) -> None:
    asked: list[int] = []
    path = tmp_path / "mine.py"
    search = small_search(path)
    board, score = search.board, scorer_of(f"{path}:f")
    assert board is not None

    def counted(networks):  # type: ignore[no-untyped-def]
        asked.append(len(networks))
        return score(networks)

    whole = tmp_path / "whole.jsonl"
    found, everything = search.run(counted, whole), sum(asked)
    assert len(found.networks) == 4 and all(one.replayed and one.replayed.cycles for one in found.networks)
    data, dice = whole.read_bytes(), np.random.default_rng(1)
    for _ in range(sample_size(40, 2)):
        log = tmp_path / "cut.jsonl"
        log.write_bytes(data[: int(dice.integers(len(data) + 1))])
        kept = sum(len(json.loads(line)["scores"]) for line in log.read_bytes().split(b"\n")[1:-1])
        asked.clear()
        assert search.run(counted, log) == found and log.read_bytes() == data
        assert sum(asked) == everything - kept
    faster = load_machine("nucleo-l4r5zi", {"core.clock": "80 MHz"})
    with pytest.raises(UsageError, match=r"log of another search \(machine_sha256: "):
        replace(search, board=replace(board, machine=faster)).run(counted, whole)
    source = path.read_text()
    path.write_text(source + "# another one\n")
    with pytest.raises(UsageError, match=r"log of another search \(scorer_sha256: "):
        search.run(counted, whole)
    path.write_text(source)
    whole.write_bytes(data.replace(b'"scores"', b'"points"', 1))
    with pytest.raises(UsageError, match=r"whole.jsonl:2: is no record of a search: points: unknown key"):
        search.run(counted, whole)


@few(2)
@pytest.mark.parametrize(("name", "limit"), [("nucleo-l4r5zi", 5e-4), (BOARD, 0.02), ("nucleo-h743zi", 0.02)])
def test_sums_of_parts_are_whole_replays(name: str, limit: float) -> None:
    """To a twentieth of a percent without a cache, to two percent with one."""
    dice, runtimes = np.random.default_rng(3), ("tflm", "tinyengine")
    for number in range(sample_size(12, 1)):
        board = ReplayBoard(load_machine(name), runtimes[number % 2])
        space = NasSpace(Fraction(int(dice.integers(2, 5)), 10), int(dice.integers(3, 9)) * 16)
        with OrderedWork(1, None, "the replays") as work:
            sums, choices = PartCycles.replayed(space, board, work), drawn(sample_size(6, 2), dice)
            wholes = replay_all(board, [NasNetwork.of(space, row) for row in choices], work)
        for expected, own in zip(sums.cycles(choices).tolist(), wholes, strict=True):
            assert own.cycles is None or expected == pytest.approx(own.cycles, rel=limit)
        assert any(own.cycles for own in wholes)


def test_a_front_covers_more_than_drawing_at_equal_budget() -> None:
    """No network of a front is better by both objectives than another; its hypervolume is never below that of as many
    random networks (Deb et al. 2002; hypervolume by moocore)."""
    import moocore

    cycles, both = parts_by_size(SPACE), ("score", "latency")
    settings = EvolutionSettings(objectives=both, generations=sample_size(30, 8))
    for seed in range(sample_size(10, 1)):
        own = judge(rules(seed), settings, cycles)
        (*_, last) = evolved(own)
        fronts = [front_of(last, both), front_of(random_search(own, settings.budget), both)]
        points = [-np.array([one.values(both) for one in front]) for front in fronts]
        assert len(points[0]) > 10 and moocore.is_nondominated(points[0], keep_weakly=True).all()
        worst = np.concatenate(points).max(axis=0)
        ours, theirs = (moocore.hypervolume(values, ref=worst) for values in points)
        assert ours > theirs


def test_slower_networks_do_not_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """The more time, the better the best; whole replays keep to the limit too, to its end where it is to be certain."""
    board, space = ReplayBoard(load_machine("nucleo-l4r5zi"), "tflm"), NasSpace(Fraction(3, 10), 64)
    search = NasSearch(space, NasRules.of(board.machine, "tflm"), "macs", SMALL, board)
    parts = PartCycles.replayed(space, board, OrderedWork(1, None, "parts"))
    monkeypatch.setattr(PartCycles, "replayed", lambda *_: parts)
    scores, score, few_networks = [], scorer_of("macs"), EvolutionSettings(12, 4, 5, 5, generations=sample_size(6, 3))
    for ms in (330, 400):
        most = board.machine.core.clock * ms // 1000
        settings = replace(few_networks, most_cycles=most)
        found = replace(search, settings=settings).run(score)
        assert all(one.replayed and one.replayed.cycles <= most for one in found.networks)  # type: ignore[operator]
        scores.append(found.networks[0].candidate.score)
    assert scores == sorted(scores) and scores[0] < scores[-1]
    certain = replace(few_networks, most_cycles=most, certain=True, generations=1)
    sure = replace(search, settings=certain).run(score)
    assert sure.networks and all(one.replayed.high_ms <= 400 for one in sure.networks)  # type: ignore[operator, union-attr]


def test_several_objectives_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deap", None)
    with pytest.raises(UsageError, match=r'need the package "deap": pip install "mcusim\[nas\]"'):
        front_of(list[Candidate](), ("score", "latency"))


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
        ("def f(net):\n    while True: pass", "scorer FILE:f does not end within 0.2 s; --scorer-limit gives it more"),
        ("while True: pass", "FILE does not end within 0.2 s; --scorer-limit gives it more"),
        ("import time\ndef f(net): time.sleep(60)", "scorer FILE:f does not end within 0.2 s"),
        (
            "def f(net):\n    try:\n        while True: pass\n    except BaseException: return 1",
            "f does not end within 0.2 s",
        ),
        ("def f(net): return 10**400", "which is no finite number"),
        ("def f(net): return 1 + 2j", "scorer FILE:f gives (1+2j), which is no finite number"),
        (
            "class A:\n    def __str__(self): raise ValueError\ndef f(net): return A()",
            "scorer FILE:f gives an object of type A, which",
        ),
        (
            "class B(BaseException):\n    def __str__(self): 1 / 0\ndef f(net): raise B",
            "scorer FILE:f: B: an object of",
        ),
        ("def f(net): raise SystemExit(3)", "scorer FILE:f: SystemExit: 3"),
        ("f = 3", 'FILE has no function "f"'),
        ("def f(:", "FILE: SyntaxError"),
        (None, "FILE: "),
    ],
)
def test_hostile_functions_are_named(source: str | None, error: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    if source is not None:
        path.write_text(source)
    with pytest.raises(UsageError) as raised:
        scorer_of(f"{path}:f", seconds=0.2)([{"macs": 1}])
    assert error.replace("FILE", str(path)) in str(raised.value) and "\n" not in str(raised.value)


def test_a_function_that_ends_its_process_prints_and_imports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of it is the command's: it names who ended the process, what is printed is in no JSON."""
    (tmp_path / "beside.py").write_text("FACTOR = 2\n")
    path = tmp_path / "mine.py"
    path.write_text(
        "import os\nimport beside\ndef f(net):\n    print(1)\n    return beside.FACTOR\ndef g(net): os._exit(0)\n"
    )
    command = ["nas", "search", "w0.3-r64", "--generations", "0", "-j", "1", "--json", "-", "--scorer"]
    assert main([*command, f"{path}:g"]) == 2
    assert f"a process of the search by {path}:g was killed" in capsys.readouterr().err
    assert main([*command, f"{path}:f"]) == 0
    assert json.loads(capsys.readouterr().out)["networks"][0]["score"] == 2
    source = path.read_text()
    for words in (["-o", "LOG"], ["--json", "LOG"], ["--json", "FILE"]):
        files = [word.replace("LOG", str(tmp_path / "log.json")).replace("FILE", str(path)) for word in words]
        assert (
            main([*command[:7], *command[9:], f"{path}:f", "--log", str(tmp_path / "log.json"), "--force", *files]) == 2
        )
        error = capsys.readouterr().err
        assert "is named for two outputs" in error or "is an input file" in error
    assert path.read_text() == source and not (tmp_path / "log.json").exists()


@pytest.mark.usefixtures("by_formula")
@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["w-r48"], 2, '"w-r48" is no search space'),
        (["w1e9999999999-r48"], 2, "is no search space"),
        (["w0.3333-r48"], 2, "width 0.3333: has more than three decimals"),
        (["w0.5"], 2, '"w0.5" is no search space; an example: w0.5-r144'),
        (["w9-r144"], 2, "w9-r144: widths are 0.05 to 2, resolutions 32 to 512"),
        (["w0.5-r144", "--scorer", "best"], 2, '--scorer "best": macs, TABLE.csv or FILE.py:FUNCTION'),
        (["w0.5-r144", "--scorer", "none.csv"], 2, "none.csv"),
        (["w0.5-r144", "--objectives", "score,speed"], 2, '"speed" is none of score, latency, macs, ram, flash'),
        (["w0.5-r144", "--max-latency", "0 ms"], 2, "--max-latency 0 ms: must be a cycle of the core at least"),
        (["w0.5-r144", "--max-latency", "9"], 2, "a duration"),
        (["w0.5-r144", "--scorer-limit", "0 s"], 2, "--scorer-limit 0 s: must be a time above 0"),
        (["w0.5-r144", "--jobs", "2", "--dask", "x"], 2, "--jobs has no effect with --dask"),
        (["w0.3-r64", "--max-latency", "1 us", "-m", "nucleo-l4r5zi", "-j", "1"], 1, "within 0.001 ms; take a"),
        (["w0.5-r144", "-o", "net.txt"], 2, "net.txt: a network is written as .json or .tflite"),
        (["w1-r224"], 1, "w1-r224: of 20,000 random networks 0 fit"),
    ],
)
def test_errors_of_the_command(
    arguments: list[str], status: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["nas", "search", *arguments]) == status
    said = capsys.readouterr()
    assert error in " ".join((said.err if status == 2 else said.out).split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        "macs,score,macs\n1,2,3\n",
        "macs,score\n1,2\n1,3\n",
        "macs,score\n1,1e308\n",
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
