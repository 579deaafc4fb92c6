"""Hostile constants, operator codes and costs: one line and status 2, or an answer; 1,000 seeds are run by
scripts/evidence/hostile_models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.support.cases import sample_size
from tests.support.hostile_reading import warm_up, wrong_answer

SEEDS = range(sample_size(20, 8))


def test_hostile_models_and_costs(tmp_path: Path) -> None:
    warm_up()
    statuses: Counter[str] = Counter()
    wrong = {seed: found for seed in SEEDS if (found := wrong_answer(tmp_path, seed, statuses))}
    assert not wrong
    assert statuses["run: status 2"] and statuses["inspect: status 0"]
