"""The model behind the intervals: known cases, what makes it wider, and its own promise on drawn errors."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest

from mcusim.measurements.interval.error_model import CURRENT, FLAGS, OF_MODEL, PRIOR, WEIGHTS, ErrorModel, likeness
from mcusim.results.measurement.interval import LEVEL, RunFeatures

BASE = RunFeatures("board", "cortex-m4", "code", "replay", "tinyops", (("CONV_2D", 0.6), ("ADD", 0.4)), "model")


def width(ends: tuple[float, float]) -> float:
    return ends[1] - ends[0]


def rows(count: int, **changes: Any) -> list[RunFeatures]:
    """Rows of one publication, each of a model of its own."""
    return [replace(BASE, model=f"model {n}", source="one", **changes) for n in range(count)]


def test_many_rows_of_one_kind_give_their_own_quantiles() -> None:
    """With many rows of the very same kind, the source known, the scales are known: 5 % and 95 % of a normal."""
    errors = np.random.default_rng(1).normal(0.03, 0.06, 60)
    found = ErrorModel(rows(60), errors.tolist()).range(replace(BASE, source="one"), LEVEL)
    mean, apart = float(errors.mean()), 1.645 * float(errors.std())
    assert found == pytest.approx((mean - apart, mean + apart), abs=0.008)


def test_without_rows_the_prior_is_symmetric_and_wide() -> None:
    low, high = ErrorModel([], []).range(BASE, LEVEL)
    assert low == pytest.approx(-high, abs=1e-6) and high > 0.15


@pytest.mark.parametrize(
    "changes",
    [
        {"machine": "other"}, {"machine": "other", "core": "cortex-m7"}, {"code": "other"}, {"policy": "internal"},
        {"fidelity": "emulate"}, {"setting": "weights in qspi"}, {"clock": 0.5}, {"mix": (("CONV_2D uint8", 1.0),)},
        {"mix": (("runtime", 0.9), ("CONV_2D", 0.1))}, {"flags_known": False},
    ],
    ids=str,
)  # fmt: skip
def test_what_was_not_measured_makes_it_wider(changes: dict[str, Any]) -> None:
    errors = [0.05, -0.02, 0.08, 0.01, -0.04, 0.06]
    model = ErrorModel(rows(6), errors)
    assert width(model.range(replace(BASE, **changes), LEVEL)) > 1.005 * width(model.range(BASE, LEVEL))


def test_rows_that_do_not_differ_in_an_effect_leave_it_at_the_prior() -> None:
    """60 errors of 2 %, from two policies: a third policy is as good as known. A clock, a setting and a type of
    operator that no row has add PRIOR by their weights, whatever the rows say: for what is new, and for what of the
    rows' own offset is theirs, of which the rows know the sum over six such effects alone."""
    two = [replace(one, policy=f"{n % 2}") for n, one in enumerate(rows(60))]
    model = ErrorModel(two, np.random.default_rng(2).normal(0, 0.02, 60).tolist())
    known = width(model.range(replace(BASE, policy="0"), LEVEL))
    assert width(model.range(replace(BASE, policy="new"), LEVEL)) < 1.2 * known

    def added(weight: float, **changes: Any) -> None:
        found = width(model.range(replace(BASE, policy="0", **changes), LEVEL))
        least = ((2 * 1.645 * PRIOR) ** 2 * weight + known**2) ** 0.5
        assert 0.97 * least < found < 1.2 * least

    constant = sum(WEIGHTS[name] for name in ("machine", "core", "code", "fidelity", "setting", "clock"))
    added(WEIGHTS["setting"] * (2 - WEIGHTS["setting"] / constant), setting="weights in qspi")
    added(WEIGHTS["clock"] * (2 - WEIGHTS["clock"] / constant), clock=0.05)
    added(WEIGHTS["mix"], mix=(("CONV_2D uint8", 1.0),))
    added(WEIGHTS["mix"] * 0.5, mix=(("CONV_2D", 0.3), ("ADD", 0.2), ("runtime", 0.5)))


def test_kernels_without_a_row_of_known_flags_may_be_any_build() -> None:
    """Rows of unknown flags do not make a build known; two runs of the same kernels share it."""
    errors = [0.05, -0.02, 0.08, 0.01, -0.04, 0.06]
    unknown, known = ErrorModel(rows(6, flags_known=False), errors), ErrorModel(rows(6), errors)
    assert width(unknown.range(BASE, LEVEL)) > width(known.range(BASE, LEVEL)) + FLAGS
    own, other = (replace(BASE, code="own", source="me", policy=policy) for policy in ("a", "b"))
    assert width(known.difference(own, other, LEVEL)) < 0.5 * width(known.range(own, LEVEL))
    cmsis = replace(other, code=BASE.code)
    assert width(known.difference(own, cmsis, LEVEL)) > width(known.difference(own, other, LEVEL)) + FLAGS


def test_another_build_draws_another_current() -> None:
    """60 errors of 1 % from one source: what they share may be its current's, and so may another's differ; not so the
    next row of that source, nor a ratio of two runs on one machine by the same people."""
    drawn = np.random.default_rng(3).normal(0, 0.01, 60).tolist()
    plain, known = ErrorModel(rows(60), drawn), ErrorModel(rows(60), drawn, CURRENT)
    added = width(known.range(BASE, LEVEL)) ** 2 - width(plain.range(BASE, LEVEL)) ** 2
    share = (2 * 1.645 * CURRENT) ** 2  # of this source, and once more of the rows', if it was not the common offset's
    assert 0.9 * share < added < 2.2 * share
    own = replace(BASE, source="one")
    assert width(known.range(own, LEVEL)) == pytest.approx(width(plain.range(own, LEVEL)), rel=0.02)
    first, second = (replace(BASE, source="the user", model=name) for name in "ab")
    ends = (width(model.difference(first, second, LEVEL)) for model in (plain, known))
    assert next(ends) == pytest.approx(next(ends), rel=0.02)
    elsewhere = replace(second, machine="other")
    assert width(known.difference(first, elsewhere, LEVEL)) > 1.5 * width(known.difference(first, second, LEVEL))


def test_farther_is_wider_step_by_step() -> None:
    """Another policy, then other kernels too, then another board, another core, another clock and operators."""
    model = ErrorModel(rows(6), [0.05, -0.02, 0.08, 0.01, -0.04, 0.06])
    steps: list[dict[str, Any]] = [
        {}, {"policy": "x"}, {"code": "x"}, {"machine": "x"}, {"core": "x"}, {"clock": 0.25}, {"mix": (("A", 1.0),)},
    ]  # fmt: skip
    situation, widths = BASE, []
    for step in steps:
        situation = replace(situation, **step)
        widths.append(width(model.range(situation, LEVEL)))
    assert widths == sorted(widths) and widths[-1] > 1.3 * widths[0]


def test_what_another_source_would_measure_is_less_certain() -> None:
    """Two sources that disagree: each knows its own next row well, a third source's less."""
    two = [replace(one, source="one" if n % 2 else "two") for n, one in enumerate(rows(12))]
    model = ErrorModel(two, [0.1 + 0.01 * (n % 3) if n % 2 else -0.1 - 0.01 * (n % 3) for n in range(12)])
    known = model.range(replace(BASE, source="one"), LEVEL)
    assert width(model.range(BASE, LEVEL)) > 2 * width(known) and known[0] > 0.05


def test_a_ratio_is_narrower_and_that_of_a_run_to_itself_is_one() -> None:
    model = ErrorModel(rows(6), [0.05, -0.02, 0.08, 0.01, -0.04, 0.06])
    one, other = replace(BASE, source="me"), replace(BASE, source="me", policy="internal")
    apart = model.difference(one, other, LEVEL)
    assert width(apart) < 0.8 * width(model.range(other, LEVEL))
    assert model.difference(other, one, LEVEL) == pytest.approx((-apart[1], -apart[0]), abs=1e-6)
    assert width(model.difference(one, one, LEVEL)) < 1e-4
    far = replace(other, machine="x", core="y", code="z", model="another")
    assert width(model.difference(one, far, LEVEL)) > width(apart)


def test_likeness_is_the_sum_of_what_is_alike() -> None:
    everything = sum(WEIGHTS.values())
    assert likeness(BASE, BASE) == pytest.approx(everything)
    assert likeness(BASE, replace(BASE)) == pytest.approx(everything - WEIGHTS["source"])  # nobody's source is alike
    half = replace(BASE, mix=(("CONV_2D", 0.3), ("PAD", 0.7)))
    assert likeness(BASE, half) == pytest.approx(everything - WEIGHTS["source"] - 0.7 * WEIGHTS["mix"])
    slow = replace(BASE, clock=0.5)
    gone = WEIGHTS["source"] + WEIGHTS["clock"] * (1 - exp(-0.5))
    assert likeness(BASE, slow) == pytest.approx(everything - gone)
    assert 0 < OF_MODEL < 1


def test_it_keeps_its_word_on_errors_drawn_from_what_it_assumes() -> None:
    """200 worlds of three boards and three sources: of runs nobody measured nine of ten are inside, no more than
    the binomial spread apart. Drawn with scales that the model does not know."""
    draw, inside, worlds = np.random.default_rng(18), 0, 200
    for _ in range(worlds):
        t, s = (float(draw.uniform(0.02, 0.12)) for _ in range(2))
        effects: dict[tuple[str, str], float] = {}

        def error(
            one: RunFeatures, t: float = t, s: float = s, effects: dict[tuple[str, str], float] = effects
        ) -> float:
            total = float(draw.normal(0, s))
            for name in ("machine", "core", "code", "policy", "source"):
                key = name, str(getattr(one, name))
                scale = t * WEIGHTS[name] ** 0.5
                total += effects.setdefault(key, float(draw.normal(0, scale)))
            return total

        known = [
            replace(BASE, machine=f"board {n % 3}", source=f"source {n % 2 + n % 3}", policy=f"{n % 2}", model=f"{n}")
            for n in range(12)
        ]
        model = ErrorModel(known, [error(one) for one in known])
        run = replace(BASE, machine=f"board {draw.integers(4)}", policy="0", source=None, model="new")
        low, high = model.range(run, LEVEL)
        inside += low <= error(replace(run, source="nobody")) <= high
    assert 0.84 <= inside / worlds <= 0.97


def test_errors_are_logarithms() -> None:
    """Twice and half are equally far."""
    model = ErrorModel(rows(2), [log(2), -log(2)])
    low, high = model.range(BASE, LEVEL)
    assert low == pytest.approx(-high, abs=1e-3)
