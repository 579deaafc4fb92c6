"""``mcusim validate`` in full: what ships is what comes out, in processes, and the second time from the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from conftest import shared_models

from mcusim.report.validation import Validation
from mcusim.study import validation as study
from mcusim.study.validation import stored_validation, validate

LONGEST_SECOND = 10.0  # seconds


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def found(cache: Path) -> Validation:
    return validate(models=shared_models(), jobs=2)


@pytest.mark.slow
def test_the_figures_that_ship_are_those_of_the_runs(found: Validation) -> None:
    """Of every model that is here. A change of these is one of the model: look at it, then run scripts/validation."""
    stored = stored_validation().figures
    assert len(found.figures) >= 18
    for run, figures in found.figures.items():
        assert figures == pytest.approx(stored[run], rel=1e-6), run
    for row in found.rows:
        assert row.reason is None or not row.run or "models" in row.reason or "another file" in row.reason, row


@pytest.mark.slow
def test_a_second_time_takes_seconds_and_runs_nothing(
    found: Validation, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "perform", None)
    began = monotonic()
    assert validate(models=shared_models(), jobs=2) == found
    assert monotonic() - began < LONGEST_SECOND
