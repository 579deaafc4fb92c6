"""What runs of ``mcusim validate`` give; of all of them, what ships comes out, the second time from the cache."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim.api.firmware.emulate import emulate
from mcusim.api.plan_memory import memory, priced
from mcusim.api.simulate import simulate
from mcusim.evidence.validate import validate as study
from mcusim.evidence.validate.validate import stored_validation, validate
from mcusim.evidence.validate.validation_runs import perform
from mcusim.kernels.test_programs import FOLDER
from mcusim.machine import load_machine
from mcusim.measurements.published.runs import PublishedRun, published
from mcusim.measurements.published.stored import stored_outcomes, stored_rows
from mcusim.measurements.published.validation_result import Validation
from mcusim.model.zoo import parse_name
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.paths import REPOSITORY, shared_models


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def found(cache: Path) -> Validation:
    return validate(models=shared_models(), jobs=2)


@only_with_all_cases
def test_the_figures_that_ship_are_those_of_the_runs(found: Validation) -> None:
    """Of every model that is here. A change of these is one of the model: look at it, then run
    scripts/evidence/validation.
    """
    stored = stored_validation().figures
    assert len(found.figures) >= 28
    assert list(found.figures) == [run for run in stored if run in found.figures]
    for run, figures in found.figures.items():
        assert figures == pytest.approx(stored[run], rel=1e-6), run
    for row in found.rows:
        assert row.reason is None or not row.run or "models" in row.reason or "another file" in row.reason, row


ZOO = [
    run
    for run, done in stored_outcomes().items()
    if run.fidelity == "replay" and done.figures and parse_name(run.model)
]


@few(2)
@pytest.mark.parametrize("run", sampled(ZOO, 6), ids=lambda run: run.command)
def test_figures_that_ship_are_those_of_their_run(run: PublishedRun) -> None:
    """A sample, quickly made; of all, the test above."""
    assert perform(run, run.model).figures == pytest.approx(stored_outcomes()[run].figures, rel=1e-6)


@only_with_all_cases
def test_a_second_time_runs_nothing(found: Validation, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "perform", None)
    assert validate(models=shared_models(), jobs=2) == found


def run_of(**changes: Any) -> PublishedRun:
    plain = PublishedRun("ds-cnn", None, "replay", "nucleo-f767zi", "internal", "cmsis-2021-gcc9", why="a test")
    return replace(plain, **changes)


def test_a_run_has_the_figures_of_the_command_of_its_name() -> None:
    found = perform(run_of(), "ds-cnn").figures
    result = simulate("ds-cnn", "nucleo-f767zi", policy="internal")
    assert found["latency_ms"] == pytest.approx(result.value("latency_ms"))
    assert found["energy_mj"] == pytest.approx(result.value("energy_mj"))
    assert found["supply_current_ma"] == pytest.approx(result.value("supply_current_ma"))
    assert (found["macs"], found["arena_bytes"]) == (result.macs, result.arena(exported=True))


@pytest.mark.parametrize(("machine", "policy"), [("nucleo-f767zi", "internal"), ("stm32f469i-disco", "external")])
def test_moves_of_a_dynamic_allocator_are_added(machine: str, policy: str) -> None:
    runs = (run_of(machine=machine, policy=policy, allocator=name) for name in ("", "dynamic"))
    plain, moved = (perform(run, "ds-cnn").figures for run in runs)
    plan = priced(memory("ds-cnn", allocator="dynamic", machine=machine))
    (cost,) = (one for one in plan.defragmentation if one.copy == "bytes")
    assert cost.seconds > 0
    assert moved["latency_ms"] - plain["latency_ms"] == pytest.approx(1e3 * cost.seconds, rel=1e-4)
    assert moved["energy_mj"] - plain["energy_mj"] == pytest.approx(cost.energy_mj, rel=1e-4)
    charges = (one["supply_current_ma"] * one["latency_ms"] for one in (plain, moved))
    own = 1e3 * cost.energy_mj / load_machine(machine).power.supply  # V: microcoulombs of the moves
    assert own + next(charges) == pytest.approx(next(charges), rel=1e-6)
    # moves in on-chip memory take less than a run that keeps its data in SDRAM
    assert (moved["supply_current_ma"] < 0.995 * plain["supply_current_ma"]) is (policy == "external")


def test_what_cannot_be_run_is_an_outcome() -> None:
    assert "does not fit" in str(perform(run_of(options=(("sram_budget", "1000 B"),)), "ds-cnn").reason)
    assert "no model 'none'" in str(perform(run_of(), "none").reason)
    assert "external" in str(perform(run_of(policy="external"), "ds-cnn").reason)  # a board without such memory


def test_a_micro_benchmark_is_a_call_of_a_test_program() -> None:
    run = next(one.run for one in published() if one.run.function == "read_u64")
    path, changes = FOLDER / "memory-cortex-m7.elf", dict(run.changes)
    found = emulate(path, "stm32f746g-disco", call="read_u64", arguments=run.arguments, overrides=changes)
    assert perform(run, "").figures == {"cycles_per_access": pytest.approx(found.profile.cycles / 32768)}
    copy = next(one.run for one in published() if one.run.function == "copy_words")
    assert 20 < perform(copy, "").figures["copy_ms"] < 30


def test_the_diagnosis_names_the_stored_errors() -> None:
    """The last column of its table: latency, and energy in brackets where it has one."""
    text = (REPOSITORY / "docs" / "pages" / "evidence" / "why-is-it-off.md").read_text(encoding="utf-8")
    rows = [row for row in stored_rows() if row.source.startswith("TinyOps (")]
    stored = {(row.model, row.board[5:9], row.placement, row.quantity): row.error for row in rows}
    table_3 = {"F469": "proxyless-w0.25-r160", "F746": "proxyless-w0.25-r192"}
    pattern = r"^\| [23] \| ([\w.-]+), (\w+) \|.*\| ([-+][\d.]+) %(?: \(([-+][\d.]+) %\))? \|$"
    found = re.findall(pattern, text, re.MULTILINE)
    assert len(found) == 15
    for first, second, latency, energy in found:
        model, board = (table_3[first], first) if first in table_3 else (first, second)
        placement = second.lower() if first in table_3 else "tinyops"
        for quantity, message in (("latency", latency), ("energy", energy)):
            error = stored[model, board, placement, quantity]
            assert not message or (error is not None and abs(float(message) - error) < 0.06), (model, board, quantity)
