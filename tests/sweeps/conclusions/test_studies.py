"""The studies that ship: all run by one command, and each conclusion can fail."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas
import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import machine_names
from mcusim.sweeps import read_study, study_names
from mcusim.sweeps.axis_values import in_base_unit
from mcusim.sweeps.conclusions import board_prices, conclude, concluded
from mcusim.sweeps.conclusions.boards import cheapest
from tests.support.cases import only_with_all_cases
from tests.support.other_processes import LONGEST_WAIT
from tests.support.pages.pages import Page, asks_for_nothing
from tests.support.paths import REPOSITORY

ISSUE = {"sram-budget", "dma-beat", "sdram-width", "buffering", "cache-size", "flash-wait-states", "overlays", "clock",
         "weights", "boards"}  # fmt: skip
INPUTS = ("model", "machine", "policy", "kernels", "fidelity")


def test_ten_studies_ship_and_each_has_conclusions() -> None:
    assert set(study_names()) == set(concluded()) == ISSUE
    for name in study_names():
        study = read_study(name)
        assert study.title and "?" in study.question


@only_with_all_cases
def test_all_run_by_one_command_and_all_they_conclude_holds(tmp_path: Path) -> None:
    script = REPOSITORY / "scripts" / "benchmarks" / "studies"
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=LONGEST_WAIT, check=False
    )
    assert done.returncode == 0 and "DOES NOT HOLD" not in done.stdout, done.stdout + done.stderr
    assert re.search(r"^10 studies, \d+ points, \d+ s; 0 do not hold$", done.stdout, re.MULTILINE)
    for name in study_names():
        assert read_study(name).title in done.stdout
        page = Page((tmp_path / f"{name}.html").read_text(encoding="utf-8"))
        assert asks_for_nothing(page) and page.figures
        frame = pandas.read_parquet(tmp_path / f"{name}.parquet")
        found = conclude(name, frame)
        assert len(found) >= 2 and all(one.holds for one in found)
        assert all(" ".join(one.text.split())[:60] in " ".join(page.text.split()) for one in found)
        for column in ("latency_ms", "cycles", "cycles_dma_wait", "cycles_sram"):
            frame[column] = frame[column].max() + 1 - frame[column]  # what was slow is fast
        assert not all(one.holds for one in conclude(name, frame)), name


def frame(latency: Callable[..., float | None], **axes: list[object]) -> pandas.DataFrame:
    """A table of the points of all ``axes``; latency None is a point that does not fit."""
    rows: list[dict[str, object]] = [{}]
    for name, values in axes.items():
        rows = [{**row, name: value} for row in rows for value in values]
    found = []
    for row in rows:
        value = latency(**row)
        base = {**dict.fromkeys(INPUTS, "-"), **{key.replace("__", "."): one for key, one in row.items()}}
        outputs = {"status": "does-not-fit" if value is None else "ok", "latency_ms": value, "cycles": value}
        found.append({**base, **outputs, "cycles_dma_wait": value, "cycles_sram": 0.0, "cycles_sdram": value})
    return pandas.DataFrame(found)


def holds(name: str, table: pandas.DataFrame) -> list[bool]:
    return [one.holds for one in conclude(name, table)]


BOARDS = ["stm32f469i-disco", "stm32f746g-disco"]
BUDGETS = [16384, 65536, 262144]


def test_a_budget_that_stops_fitting_is_noticed() -> None:
    def latency(machine: str, sram_budget: int) -> float | None:
        return 100 - sram_budget / 4096 if machine == BOARDS[0] else 50 + sram_budget / 4096

    axes: dict[str, list[object]] = {"machine": [*BOARDS], "sram_budget": [*BUDGETS]}
    assert holds("sram-budget", frame(latency, **axes)) == [True, True, True]
    lost = frame(lambda machine, sram_budget: None if sram_budget == 65536 else latency(machine, sram_budget), **axes)
    assert holds("sram-budget", lost)[0] is False
    flat = frame(lambda machine, sram_budget: latency(BOARDS[0], sram_budget), **axes)
    assert holds("sram-budget", flat) == [True, True, False]
    upward = frame(lambda machine, sram_budget: latency(BOARDS[1], sram_budget), **axes)
    assert holds("sram-budget", upward) == [True, False, True]
    hump = frame(lambda sram_budget, **at: latency(sram_budget=sram_budget, **at) + (sram_budget == 65536) * 20, **axes)
    assert holds("sram-budget", hump)[1] is False  # faster in the end, slower on the way


def test_double_buffering_has_to_win_and_to_lose_somewhere() -> None:
    def latency(machine: str, buffering: str, sram_budget: int) -> float | None:
        tight = machine == BOARDS[0] and sram_budget == 65536
        if buffering == "single":
            return 10.0
        return None if sram_budget == 16384 else 12.0 if tight else 9.0

    axes: dict[str, list[object]] = {"machine": [*BOARDS], "buffering": ["single", "double"], "sram_budget": [*BUDGETS]}
    found = frame(latency, **axes)
    found["cycles_dma_wait"] = [1.0 if kind == "double" else 2.0 for kind in found["buffering"]]
    assert holds("buffering", found) == [True] * 4
    assert "at 64 KiB (1.20 times)" in conclude("buffering", found)[3].text
    assert holds("buffering", found.assign(cycles_sdram=0.0)) == [True, True, True, False]  # lost to what?
    found.loc[found["buffering"] == "double", "cycles_dma_wait"] = 3.0
    assert holds("buffering", found)[1] is False
    never = frame(lambda buffering, **_: 10.0 if buffering == "single" else 9.0, **axes)
    assert holds("buffering", never) == [True, True, True, False]
    swapped = frame(
        lambda buffering, **at: latency(buffering="double" if buffering == "single" else "single", **at), **axes
    )
    assert holds("buffering", swapped)[0] is False and holds("buffering", swapped)[2] is False


CLOCKS = [54_000_000, 108_000_000, 216_000_000]
BETWEEN, NONE = "108 MHz (an optimum in between)", "No slower clock takes less than 216 MHz."


def clock_frame(current: Callable[[float, str], float], asleep: Callable[[float], float], power: float = 1.0) -> Any:
    """A network under three policies at 1 V, 10^9 cycles at any clock, every 100 s; the regulator steps at 216 MHz."""

    def latency(clock: int, **_: str) -> float:
        return 1e6 / (clock / 1e6) ** power

    policies: list[object] = ["internal", "tinyops", "external"]
    found = frame(latency, policy=policies, clock=[*CLOCKS], period=[100])
    mhz = found["clock"] / 1e6
    found["cycles"], found["clock_bus"], found["clock_sdram"] = 1e9, mhz * 1e6, mhz * 5e5
    found["wait_states_flash"] = (mhz / 54).astype(int)
    found["regulator"] = ["high" if one == 216 else "low" for one in mhz]
    found["supply_current_ma"] = [current(one, row) for one, row in zip(mhz, found["policy"], strict=True)]
    found["energy_mj"] = found["supply_current_ma"] * 1e3 / mhz
    found["sleep_current_ma"] = [asleep(one) for one in mhz]
    found["period_energy_mj"] = found["energy_mj"] + found["sleep_current_ma"] * (100 - 1e3 / mhz)
    return found


def test_more_than_the_clocks_ratio_is_noticed() -> None:
    def line(mhz: float, _: str) -> float:
        return 10 + mhz / 2

    assert holds("clock", clock_frame(line, lambda mhz: 1 + mhz / 100))[:3] == [True, True, True]
    assert holds("clock", clock_frame(line, lambda mhz: 1 + mhz / 100, power=1.3))[:3] == [True, True, False]
    assert holds("clock", clock_frame(line, lambda mhz: 1 + mhz / 100, power=-1))[0] is False


@pytest.mark.parametrize(
    ("static", "step", "asleep", "alone", "period", "claim"),
    [
        (10, 1.0, 0.0, "216 MHz (race to idle)", "216 MHz (race to idle)", NONE),  # nothing asleep: as alone
        (10, 1.0, 0.2, "216 MHz (race to idle)", "54 MHz (the slower the better)", NONE),  # 0.2 mA/MHz for 100 s asleep
        (10, 1.12, 0.0, BETWEEN, BETWEEN, "no difference can be claimed."),  # 0.98 times the energy
        (0.1, 1.5, 0.0, BETWEEN, BETWEEN, "a difference can be claimed for 3 of 3."),  # 0.67 times
    ],
)
def test_the_clock_of_least_energy_is_read_from_the_table(
    static: float, step: float, asleep: float, alone: str, period: str, claim: str
) -> None:
    """A current of ``static`` + 0.5 mA/MHz, times ``step`` where the regulator's voltage is higher."""

    def current(mhz: float, _: str) -> float:
        return static + mhz / 2 * (step if mhz == 216 else 1)

    found = conclude("clock", clock_frame(current, lambda mhz: asleep * mhz))
    assert f"least energy under internal at {alone}, tinyops at {alone}" in found[3].text
    assert f"least energy is at {period}:" in found[7].text
    assert all(one.holds for one in found[3:6])
    assert found[4].text.endswith(claim)


def test_a_simulator_that_ignores_what_a_study_varies_is_noticed() -> None:
    """No latency depends on the axis, and nothing waits: no conclusion ends in an error, and not all of them hold."""
    for name in sorted(ISSUE):
        study = read_study(name)
        axes: dict[str, list[object]] = {a.key: [*in_base_unit(a.key, a.values)[0]] for a in study.axes}
        table = frame(lambda **_: 90.0, model=["net"], machine=[*study.machines], policy=[*study.policies], **axes)
        table["cycles_dma_wait"] = 0
        for column in ("clock_bus", "clock_sdram", "wait_states_flash", "regulator", "energy_mj", "supply_current_ma",
                       "sleep_current_ma", "period_energy_mj"):  # fmt: skip
            table[column] = 1.0
        assert not all(holds(name, table)), name


def test_flash_that_no_line_can_help_and_a_cache_that_beats_on_chip_ram() -> None:
    states, lines = [0, 1, 5, 7], [0, 8]
    flash: dict[str, list[object]] = {
        "memory.flash.wait_states": [*states],
        "memory.flash.accelerator.data_lines": [*lines],
    }

    def latency(gain: float, at_none: float) -> Callable[..., float]:
        def of(**at: Any) -> float:
            waits, lines = at["memory.flash.wait_states"], at["memory.flash.accelerator.data_lines"]
            return 100 + waits * (1 - gain * bool(lines)) * 3 - at_none * bool(lines)

        return of

    assert holds("flash-wait-states", frame(latency(0.5, 0), **flash)) == [True, True, True]
    assert holds("flash-wait-states", frame(latency(0.5, 1), **flash)) == [True, True, False]
    assert holds("flash-wait-states", frame(latency(0.01, 0), **flash)) == [True, True, False]
    sizes = [0, 4096, 32768]
    cache: dict[str, list[object]] = {"policy": ["internal", "external"], "cache.data.size": [*sizes]}

    def cached(least: float) -> Callable[..., float]:
        far = dict(zip(sizes, (200.0, 130.0, least), strict=True))
        return lambda **at: 100.0 if at["policy"] == "internal" else far[at["cache.data.size"]]

    assert holds("cache-size", frame(cached(101), **cache)) == [True, True]
    assert holds("cache-size", frame(cached(90), **cache)) == [True, False]


def test_overlays_of_little_are_noticed() -> None:
    kinds = read_study("overlays").axes[0].values
    axes: dict[str, list[object]] = {"machine": [*BOARDS], "overlay": [*kinds]}

    def latency(weights: dict[str, float]) -> Callable[..., float]:
        def of(machine: str, overlay: str) -> float:
            saved = sum(weights.get(one, 0) for one in overlay.split(","))
            return 100 - saved if machine == BOARDS[0] else 100 + saved / 10

        return of

    assert holds("overlays", frame(latency({"input": 20, "filter": 20, "bias": 2, "quant": 2}), **axes)) == [True] * 4
    assert holds("overlays", frame(latency({"input": 2, "filter": 2, "bias": 20, "quant": 20}), **axes))[2] is False


def test_a_narrow_bus_that_costs_next_to_nothing_is_noticed() -> None:
    axes: dict[str, list[object]] = {
        "policy": ["external", "tinyops"], "machine": [*BOARDS], "memory.sdram.width": [16, 32],
    }  # fmt: skip

    def latency(external: float, tinyops: float = 0) -> Callable[..., float]:
        cost = {"external": external, "tinyops": tinyops}
        return lambda **at: 100 * (1 + cost[at["policy"]]) if 16 in at.values() else 100

    assert holds("sdram-width", frame(latency(0.06), **axes)) == [True] * 3
    assert holds("sdram-width", frame(latency(0.002), **axes)) == [True, False, False]
    assert holds("sdram-width", frame(latency(-0.06), **axes)) == [False, False, False]
    assert holds("sdram-width", frame(latency(0.06, -0.02), **axes)) == [False, True, True]
    bytewise = frame(latency(0.06, -0.008), **axes)
    assert holds("sdram-width", bytewise) == [True] * 3
    assert "by 0.8 % at most where the DMA copies byte by byte" in conclude("sdram-width", bytewise)[0].text


def test_weights_that_are_read_in_place_have_to_cost() -> None:
    axes: dict[str, list[object]] = {
        "machine": [*BOARDS], "policy": ["external", "tinyops"], "weights": ["sdram", "qspi"],
    }  # fmt: skip

    def latency(read: float, copied: float) -> Callable[..., float]:
        def of(machine: str, policy: str, weights: str) -> float:
            cost = copied if policy == "tinyops" else 2.0 if machine == BOARDS[0] else read
            return 100.0 * (cost if weights == "qspi" else 1.0)

        return of

    assert holds("weights", frame(latency(1.2, 1.0), **axes)) == [True] * 3
    assert holds("weights", frame(latency(1.2, 0.995), **axes)) == [True] * 3
    message = conclude("weights", frame(latency(1.2, 0.995), **axes))[0].text
    assert message.endswith("than in SDRAM, or by 0.5 % at most, where the DMA copies them.")
    assert holds("weights", frame(latency(1.0, 1.0), **axes))[0] is False
    assert holds("weights", frame(latency(1.2, 0.98), **axes))[0] is False


def test_the_cheapest_board() -> None:
    times = {"nucleo-l4r5zi": 300.0, "nucleo-f746zg": 90.0, "stm32f746g-disco": 80.0}
    assert cheapest(times, 100) == "nucleo-f746zg" and cheapest(times, 400) == "nucleo-l4r5zi"
    assert cheapest(times, 85) == "stm32f746g-disco" and cheapest(times, 1) is None
    times |= {"stm32f469i-disco": 200.0, "nucleo-h743zi": 110.0}
    axes: dict[str, list[object]] = {"machine": [*times], "model": ["net"], "policy": ["internal"]}
    table = frame(lambda machine, **_: times[machine], **axes)
    text = conclude("boards", table)[0].text
    assert (
        text
        == "net within 100 ms: 2 of 5 boards make it, the cheapest is nucleo-f746zg with 90.0 ms and 25 USD (assumed)."
    )
    assert holds("boards", table) == [True, True, False]  # an M7 at 480 MHz that is slower than one at 216 MHz
    times["nucleo-h743zi"] = 40.0
    table = frame(lambda machine, **_: times[machine], **axes)
    assert holds("boards", table) == [True] * 3
    message = conclude("boards", table)[2].text
    assert message.startswith(
        "On chip nucleo-h743zi (480 MHz) is 2.25 times as fast as nucleo-f746zg (216 MHz), and that 2.22"
    )
    slow = frame(lambda **_: 101.0, **axes)
    assert holds("boards", slow)[0] is False and "0 of 5 boards make it." in conclude("boards", slow)[0].text


def test_every_price_has_a_basis_and_a_source() -> None:
    raw = tomllib.loads(files("mcusim.sweeps.conclusions").joinpath("board_prices.toml").read_text(encoding="utf-8"))
    assert set(raw) == set(read_study("boards").machines) == set(board_prices()) <= set(machine_names())
    for about in raw.values():
        assert about["price_usd"].keys() == {"value", "basis", "source"} and about["price_usd"]["basis"] == "assumed"


@pytest.mark.parametrize("name", [*concluded(), "none"])
def test_a_table_of_another_study_is_refused(name: str) -> None:
    table = frame(lambda **_: 1.0, something=["a", "b"], model=["net"])
    with pytest.raises(UsageError, match=r"is not that of study|has no conclusions"):
        conclude(name, table)


def test_a_shipped_study_says_what_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "flash.html"
    assert main(["sweep", "flash-wait-states", "--html", str(page), "--jobs", "1"]) == 0
    message = capsys.readouterr().out
    assert "  - More wait states are never faster; 7 of them cost" in message
    assert "More wait states are never faster" in Page(page.read_text(encoding="utf-8")).text
