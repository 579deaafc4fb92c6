"""The shipped machines' calibrated figures are those that a fit to the rows named in ``scripts/evidence/calibration``
gives.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType

import pytest

from mcusim.evidence.calibrate.measurements import read_measurements
from mcusim.measurements.published.matching import SRAM_BUDGETS
from mcusim.measurements.published.rows import rows
from mcusim.units import parse_size
from tests.support.cases import only_with_all_cases
from tests.support.paths import REPOSITORY

SCRIPT = REPOSITORY / "scripts" / "evidence" / "calibration"
FIGURES = {"latency_ms": "latency", "supply_current_ma": "supply_current"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = SourceFileLoader("calibration", str(SCRIPT))
    spec = importlib.util.spec_from_loader("calibration", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_every_calibrated_figure_has_a_fit(script: ModuleType) -> None:
    assert script.unexplained() == []
    assert {path.stem for path in script.ROWS.glob("*.csv")} == set(script.FITS)


def test_the_rows_are_published_ones_that_validate_nothing(script: ModuleType) -> None:
    published = {
        (row["board"].lower(), row["placement"], row["model"], row["quantity"], float(row["value"]))
        for row in rows()
        if row["use"] == "calibrate"
    }
    used = set()
    for path in script.ROWS.glob("*.csv"):
        machine = path.stem.rpartition("-")[0]
        for row in read_measurements(path):
            ran = row.experiment
            if ran.program:
                continue
            used.add((machine, ran.policy, ran.model.removesuffix("-pad"), FIGURES[row.quantity], row.value))
            assert ran.sram_budget is None or parse_size(ran.sram_budget) == SRAM_BUDGETS[machine]
    assert used < published
    # energies follow, the F746's latencies are spare, the explicit PADs were inferred from arenas
    assert {key[3] for key in published - used} == {"latency", "energy", "arena"}


@only_with_all_cases
def test_the_shipped_figures_are_the_fitted_ones(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["calibration", "--check"])
    assert script.main() == 0
    assert capsys.readouterr().out.count("root of the mean squared error") == len(script.FITS)
