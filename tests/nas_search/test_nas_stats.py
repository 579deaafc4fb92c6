"""Statistics of search spaces: the planner's own figures, the published order, logs, the command and its page."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model.geometry import graph_macs
from mcusim.nas_search.network_figures import network_figures, network_graph
from mcusim.nas_search.space import NasNetwork, NasSpace, all_spaces, drawn
from mcusim.nas_search.stats import NasRules, best_spaces, nas_stats
from mcusim.plan.array_choice import planned_array
from mcusim.plan.placement import memory_needs
from mcusim.results.flash import flash_use
from mcusim.runtime.planning_costs import costs_of
from mcusim.runtime.runtime import find_runtime
from mcusim.sweeps.ordered_work import OrderedWork
from tests.support.cases import sample_size
from tests.support.pages.browser import opened
from tests.support.pages.lab_page import axe_findings

BOARD = "stm32f746g-disco"
# Lin et al. 2020, figure 3: mean MFLOPs of the ten best, to be read as an order
PUBLISHED = {
    "w0.5-r144": 52.0, "w0.4-r144": 46.9, "w0.5-r128": 46.9, "w0.6-r112": 41.3, "w0.4-r128": 39.3, "w0.7-r112": 38.4,
    "w0.5-r112": 38.3, "w0.3-r160": 32.5, "w0.4-r112": 32.4, "w0.7-r96": 31.4,
}  # fmt: skip


def rules(**others: Any) -> NasRules:
    return NasRules.of(load_machine(BOARD), "tinyengine", **{"networks": 40, **others})


@pytest.mark.parametrize("runtime", ["tinyengine", "tflm"])
def test_figures_are_those_of_the_planner(runtime: str) -> None:
    """MACs, RAM and flash of random networks, to the byte."""
    machine, dice = load_machine(BOARD), np.random.default_rng(5)
    found = find_runtime(runtime)
    kernels = load_set(found.kernels[1])
    for _ in range(sample_size(30, 2)):
        width, side, classes = (int(dice.integers(*ends)) for ends in ((2, 11), (3, 15), (2, 1000)))
        space = NasSpace(Fraction(width, 10), 16 * side, classes)
        choices = drawn(sample_size(4, 2), dice)
        for in_place in (True, False) if found.array is not None else (True,):
            figures = network_figures(space, choices, runtime, "cortex-m7", in_place)
            for number, choice in enumerate(choices):
                graph = network_graph(NasNetwork.of(space, choice))
                if found.array is not None:
                    executed = found.executed(graph)
                    ways = (True, False) if in_place else (False,)  # the runtime takes the one that needs least
                    ram = min(planned_array(executed, found, way).total for way in ways)
                else:
                    ram = memory_needs(graph, costs_of(kernels, found)).memory().arena
                flash = sum(part.bytes for part in flash_use(graph, machine, kernels, None, None, found).parts)
                ours = figures.macs[number], figures.ram[number], figures.flash[number]
                assert ours == (graph_macs(graph), ram, flash)


def test_the_published_spaces_are_in_the_published_order() -> None:
    """320 kB and 1 MB, as the paper's planner was: the first is the first, ranks agree, the 80th percentile too."""
    spaces = [space for space in all_spaces() if str(space) in PUBLISHED]
    stats = nas_stats(spaces, rules(ram=320_000, flash=1_000_000, networks=400, in_place=False))
    means = {found.space: found.mean_flops or 0.0 for found in stats if found.fitting}
    assert max(means, key=means.__getitem__) == "w0.5-r144"
    ours, theirs = [[values[name] for name in means] for values in (means, PUBLISHED)]
    ranks = [np.argsort(np.argsort(values)) for values in (ours, theirs)]
    assert np.corrcoef(*ranks)[0, 1] > 0.9
    (first,) = (found for found in stats if found.space == "w0.5-r144")
    assert first.p80_flops == pytest.approx(50.3e6, rel=0.05)


def test_more_memory_never_lowers_what_fits() -> None:
    space = NasSpace(Fraction(1, 2), 128)
    figures = network_figures(space, drawn(200, np.random.default_rng(1)), "tinyengine", "cortex-m7")
    limits = ((128, 900), (256, 900), (256, 1200))
    counts = [int(figures.fitting(ram << 10, flash << 10).sum()) for ram, flash in limits]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    best = [max(figures.macs[figures.fitting(ram << 10, 1 << 20)], default=0) for ram in (128, 192, 256, 320, 512)]
    assert best == sorted(best)


def without_times(path: Path) -> list[Any]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def test_a_log_cut_anywhere_is_gone_on_with_and_processes_give_the_same(tmp_path: Path) -> None:
    spaces, whole = all_spaces([Fraction(1, 5), Fraction(3, 10)], [48, 64, 96]), tmp_path / "whole.jsonl"
    found = nas_stats(spaces, rules(), whole)
    data, dice = whole.read_bytes(), np.random.default_rng(2)
    for _ in range(sample_size(40, 1)):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[: int(dice.integers(len(data) + 1))])
        again = nas_stats(spaces, rules(), path)
        assert [one.to_json() for one in again] == [one.to_json() for one in found]
        assert without_times(path) == without_times(whole)
    with OrderedWork(2, None, "the statistics") as work:
        nas_stats(spaces, rules(), tmp_path / "two.jsonl", work)
    assert without_times(tmp_path / "two.jsonl") == without_times(whole)
    with pytest.raises(UsageError, match=r"log of other statistics \(classes: \[100\], now \[7\]\)"):
        nas_stats(all_spaces([Fraction(1, 5)], [48], 7), rules(), whole)
    with pytest.raises(UsageError, match=r"log of other statistics \(seed: 0, now 1\)"):
        nas_stats(spaces, rules(seed=1), whole)
    (tmp_path / "other.txt").write_text("something\n")
    with pytest.raises(UsageError, match="is not a log of `mcusim nas stats`"):
        nas_stats(spaces, rules(), tmp_path / "other.txt")
    whole.write_bytes(data.replace(b'"fitting":', b'"fits":', 1))
    with pytest.raises(UsageError, match=r"whole\.jsonl:2: is no record of a space"):
        nas_stats(spaces, rules(), whole)
    assert best_spaces(found, 0.5)[0].space == "w0.3-r96"


def test_the_command_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str], browser: Any) -> None:
    page = tmp_path / "page.html"
    command = ["nas", "stats", "-m", BOARD, "--networks", "50", "-j", "1"]
    command += ["--resolutions", "96,144", "--widths", "0.3,0.5"]
    assert main([*command, "--html", str(page), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == "w0.5-r144" == found["spaces"][0]["space"] and len(found["spaces"]) == 4
    assert {"width", "resolution", "fitting", "mean_flops", "p80_flops"} < {*found["spaces"][0]}
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "w0.5-r144" in text and max(map(len, text.splitlines())) <= 80
    assert main([*command, "--ram", "20 KiB"]) == 1
    with opened(browser, page.read_text(), tmp_path, width=390, scheme="dark") as seen:
        assert not axe_findings(seen.page) and seen.page.locator(".plot .main-svg").count() >= 2
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
