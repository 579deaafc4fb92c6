"""Bounded least squares and its tests of what rows determine, on problems with a known answer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mcusim.evidence.calibrate.least_squares import (
    Array,
    Problem,
    Solution,
    confounded,
    independent,
    jacobian,
    leave_out,
    solve,
    step_of,
)


def linear(matrix: Array, right: Array, low: float = -1e9, high: float = 1e9) -> Problem:
    n = matrix.shape[1]
    return Problem(lambda x: matrix @ x - right, np.full(n, low), np.full(n, high), np.ones(n))


@pytest.mark.parametrize("seed", range(40))
def test_linear_problems_in_a_box_against_all_active_sets(seed: int) -> None:
    """Every parameter free, at its low or at its high bound: the best feasible of these is the answer."""
    random = np.random.default_rng(seed)
    rows, count = int(random.integers(4, 9)), int(random.integers(1, 4))
    matrix, right = random.normal(size=(rows, count)), random.normal(size=rows) * 3
    problem = linear(matrix, right, -0.5, 0.5)
    best = np.inf
    for sides in product((None, -0.5, 0.5), repeat=count):
        x = np.array([0.0 if side is None else side for side in sides])
        free = np.array([side is None for side in sides])
        if free.any():
            x[free] = np.linalg.lstsq(matrix[:, free], right - matrix @ x, rcond=None)[0]
        if np.all(np.abs(x) <= 0.5 + 1e-12):
            best = min(best, float(np.sum((matrix @ x - right) ** 2)))
    x, _ = solve(problem, np.zeros(count))
    assert np.all(np.abs(x) <= 0.5)
    assert float(np.sum((matrix @ x - right) ** 2)) <= best * 1.001 + 1e-9


def test_a_curved_staircase_is_fitted_to_its_steps() -> None:
    def residuals(x: Array) -> Array:
        steps = np.round(x * 256) / 256
        return np.array([steps[0] ** 2 + steps[1] - 11, steps[0] + steps[1] ** 2 - 7, steps[0] * steps[1] - 6]) / 10

    problem = Problem(residuals, np.array([0.0, 0.0]), np.array([10.0, 10.0]), np.array([1.0, 1.0]))
    x, steps = solve(problem, np.array([8.0, 0.5]))
    assert x == pytest.approx([3, 2], abs=0.01)
    assert steps < 20


def test_a_minimum_at_a_corner_is_reached() -> None:
    x, _ = solve(linear(np.eye(2), np.array([-5.0, 9.0]), 0, 4), np.array([1.0, 1.0]))
    assert list(x) == [0, 4]


def test_a_start_outside_is_moved_inside_and_an_exact_one_stays() -> None:
    problem = linear(np.eye(1), np.array([2.0]), 0, 4)
    assert solve(problem, np.array([99.0]))[0] == pytest.approx([2])
    assert solve(problem, np.array([2.0])) == (np.array([2.0]), 0)


def test_slopes_are_taken_inside_the_bounds() -> None:
    seen = []

    def residuals(x: Array) -> Array:
        seen.append(x.copy())
        return x**2

    problem = Problem(residuals, np.array([0.0]), np.array([4.0]), np.array([1.0]))
    assert jacobian(problem, np.array([4.0]), np.array([16.0])) == pytest.approx(np.array([[7.5]]))
    assert all(0 <= x[0] <= 4 for x in seen)


def test_columns_that_are_alike_form_a_group() -> None:
    random = np.random.default_rng(1)
    a, b, c, d = random.normal(size=(4, 8))
    assert confounded(np.stack([a, b, c], axis=1)) == []
    assert confounded(np.stack([a, b, 3 * a + 0.001 * d], axis=1)) == [[0, 2]]
    assert confounded(np.stack([a, b, a + b, c, 2 * c, d], axis=1)) == [[0, 1, 2], [3, 4]]
    assert confounded(np.stack([a, b, c, d], axis=1)[:3]) != []  # four parameters, three rows


def test_independent_columns_are_taken_by_their_size() -> None:
    random = np.random.default_rng(2)
    a, b, c = random.normal(size=(3, 8))
    columns = np.stack([a, 10 * a, b / 5, 1e-6 * c], axis=1)
    assert independent(columns, 1e-3, 4) == [1, 2]
    assert independent(columns, 1e-3, 1) == [1]
    assert independent(columns, 100.0, 4) == []


def test_of_columns_that_the_rows_do_not_tell_apart_one_is_taken() -> None:
    """What the second adds is more than the least effect, but too little of its own to go by; the third is another."""
    random = np.random.default_rng(3)
    a, b, c = random.normal(size=(3, 8))
    columns = np.stack([10 * a, 10 * a + 0.2 * b, c], axis=1)
    assert confounded(columns) == [[0, 1]]
    (first, second) = independent(columns, 1e-3, 3)
    assert first in (0, 1) and second == 2
    assert independent(columns, 1e-3, 2) == [first, second]


@pytest.mark.parametrize("seed", range(10))
def test_leaving_a_row_out_is_the_fit_without_it(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix, right = random.normal(size=(7, 2)), random.normal(size=7)
    problem = linear(matrix, right)
    x, _ = solve(problem, np.zeros(2))
    found = Solution(x, matrix @ x - right, matrix, np.ones(2), 1)
    out = np.arange(7) == seed % 7
    step, foreseen = leave_out(problem, found, out)
    assert x + step == pytest.approx(np.linalg.lstsq(matrix[~out], right[~out], rcond=None)[0], abs=1e-6)
    assert foreseen.tolist() == [True]


def test_a_row_that_alone_shows_a_parameter_is_not_foreseen_and_leaves_it_where_it_is() -> None:
    matrix = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 2.0]])
    found = Solution(np.zeros(2), np.array([0.1, 0.3, 0.2]), matrix, np.ones(2), 1)
    step, foreseen = leave_out(linear(matrix, np.zeros(3)), found, np.array([False, False, True]))
    assert step == pytest.approx([-0.2, 0], abs=1e-9)
    assert foreseen.tolist() == [False]
    _, other = leave_out(linear(matrix, np.zeros(3)), found, np.array([True, False, False]))
    assert other.tolist() == [True]


def test_a_step_is_cut_at_a_bound_and_the_others_make_up_for_it() -> None:
    matrix, residuals = np.array([[1.0, 1.0], [1.0, -0.5]]), np.array([-4.0, -4.0])
    problem = linear(matrix, np.zeros(2), -1, 1)
    step = step_of(matrix, residuals, np.zeros(2), problem)
    assert step[0] == pytest.approx(1)
    assert step[1] == pytest.approx(
        np.clip(np.linalg.lstsq(matrix[:, 1:], -residuals - matrix[:, 0], rcond=None)[0][0], -1, 1)
    )
