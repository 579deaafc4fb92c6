"""Bounded least squares for a handful of parameters and a function that is slow, nearly linear and a fine staircase.

Levenberg-Marquardt (Marquardt 1963; Nocedal and Wright, Numerical Optimization, chapter 10), each step the exact one
within the bounds. The Jacobian is by one-sided differences over steps that are long against the function's staircase
(simulated time comes in 1/256 cycles, some keys in whole cycles), so that its noise stays below one per cent.
Deterministic.

Not modelled: minima besides the one that the start leads to, and robust weights: an outlier pulls like any other row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
MOST_STEPS = 30
EXACT = 1e-6  # root of the mean squared residual that nothing is gained below
CLOSE = 1e-3  # of a parameter's doubt: a step this short ends the fit
SAME_DIRECTION = 0.03  # singular value of the columns at unit length below which their effects are one and the same
FIRST_DAMPING, LARGEST_DAMPING = 1e-6, 1e3


@dataclass(frozen=True)
class Problem:
    """``residuals`` of a point; ``low`` and ``high`` bound it, ``doubt`` scales it (one entry a parameter)."""

    residuals: Callable[[Array], Array]
    low: Array
    high: Array
    doubt: Array


@dataclass(frozen=True)
class Solution:
    """The point, its residuals, its Jacobian (rows x parameters), and how many steps led there.

    ``effects``: change of the row that shows it most for a doubt of each parameter, to the side that shows it less.
    """

    x: Array
    residuals: Array
    jacobian: Array
    effects: Array
    steps: int


def jacobian(problem: Problem, x: Array, at: Array, share: float = 0.5) -> Array:
    """Derivatives of the residuals at ``x``, where they are ``at``, over steps of ``share`` of the doubts."""
    columns = []
    for i, doubt in enumerate(problem.doubt):
        step = share * doubt
        if x[i] + step > problem.high[i]:
            step = -step
        moved = x.copy()
        moved[i] += step
        columns.append((problem.residuals(moved) - at) / step)
    return np.stack(columns, axis=1) if columns else np.zeros((len(at), 0))


def both_sides(problem: Problem, x: Array, at: Array, share: float) -> tuple[Array, Array]:
    """:func:`jacobian` as the mean of steps up and down, and the effect of the smaller of the two on any row for a
    doubt of each parameter; at a bound there is one side."""
    slopes, effects = [], []
    for i, doubt in enumerate(problem.doubt):
        sides = []
        for step in (share * doubt, -share * doubt):
            moved = x.copy()
            moved[i] = min(max(x[i] + step, problem.low[i]), problem.high[i])
            if abs(moved[i] - x[i]) > 0.01 * abs(step):
                sides.append((problem.residuals(moved) - at) / (moved[i] - x[i]))
        slopes.append(np.mean(sides, axis=0))
        effects.append(min(float(np.abs(side).max()) * doubt for side in sides))
    return np.stack(slopes, axis=1), np.array(effects)


def step_of(jacobian: Array, residuals: Array, x: Array, problem: Problem, damping: float = 0.0) -> Array:
    """The step from ``x`` that makes ``residuals + jacobian @ step`` least within the bounds.

    ``damping`` adds the squared step in units of the doubts, times it and the column's own length.
    """
    penalty = np.sqrt(damping) * (np.linalg.norm(jacobian, axis=0) + 1e-12)
    matrix = np.vstack([jacobian, np.diag(penalty)])
    right = np.concatenate([-residuals, np.zeros(len(x))])
    low, high = (problem.low - x) / problem.doubt, (problem.high - x) / problem.doubt
    return _boxed(matrix * problem.doubt, right, low, high) * problem.doubt


def _boxed(matrix: Array, right: Array, low: Array, high: Array) -> Array:
    """The ``y`` of least ``|matrix @ y - right|`` with ``low <= y <= high`` (BVLS: Stark and Parker 1995).

    ``low <= 0 <= high``. A parameter on a bound is released while that helps, one that would leave the box is held.
    """
    y = np.zeros(len(low))
    free = np.zeros(len(low), bool)
    for _ in range(10 * len(low) + 10):
        slope = matrix.T @ (right - matrix @ y)  # downhill
        inward = np.where(free | ((y >= high) & (slope > 0)) | ((y <= low) & (slope < 0)), 0, np.abs(slope))
        if inward.max(initial=0) <= 1e-9 * (np.linalg.norm(matrix) * np.linalg.norm(right) + 1e-300):
            break
        free[int(np.argmax(inward))] = True
        while free.any():
            wanted = y.copy()
            wanted[free] = np.linalg.lstsq(matrix[:, free], right - matrix[:, ~free] @ y[~free], rcond=None)[0]
            outside = free & ((wanted < low) | (wanted > high))
            if not outside.any():
                y = wanted
                break
            limit = np.where(wanted > high, high, low)
            shares = np.where(outside, (limit - y) / np.where(outside, wanted - y, 1), 1)
            first = int(np.argmin(shares))
            y = np.clip(y + shares[first] * np.where(free, wanted - y, 0), low, high)
            y[first] = limit[first]
            free[first] = False
    return y


def solve(problem: Problem, start: Array) -> tuple[Array, int]:
    """The point of least squared residuals that ``start`` leads to, and the number of steps.

    Between Jacobians by differences they are updated by Broyden's formula, which costs no evaluation; a step that does
    not help has them computed again before it is damped.
    """
    x = np.clip(start, problem.low, problem.high)
    residuals = problem.residuals(x)
    slopes, fresh = jacobian(problem, x, residuals), True
    damping, done = FIRST_DAMPING, 0
    while done < MOST_STEPS and residuals @ residuals > len(residuals) * EXACT**2:
        step = step_of(slopes, residuals, x, problem, damping)
        short = bool(np.all(np.abs(step) < CLOSE * problem.doubt))
        values = problem.residuals(x + step)
        if values @ values < residuals @ residuals:
            along = step / problem.doubt**2
            slopes = slopes + np.outer(values - residuals - slopes @ step, along) / (along @ step)
            x, residuals, damping, done, fresh = x + step, values, damping / 10, done + 1, False
        elif not fresh:
            slopes, fresh = jacobian(problem, x, residuals, 0.25), True
            continue
        else:
            damping = max(10 * damping, 1e-3)
        if short or damping > LARGEST_DAMPING:
            break
    return x, done


def leave_out(problem: Problem, solution: Solution, out: Mask) -> tuple[Array, Mask]:
    """The step from ``solution`` to the fit without the rows ``out`` (a mask), and which of these the others foresee.

    A row is foreseen when it hardly depends (a twentieth of its slope) on directions that the other rows do not
    determine; in those the parameters stay where they are.
    """
    slopes = solution.jacobian * problem.doubt
    unit = np.maximum(np.linalg.norm(slopes, axis=0), 1e-12)
    _, values, vectors = np.linalg.svd(slopes[~out] / unit)
    values = np.concatenate([values, np.zeros(len(vectors) - len(values))])
    open_ = vectors[values < SAME_DIRECTION]
    own = slopes[out] / unit
    foreseen = np.linalg.norm(own @ open_.T, axis=1) <= 0.05 * np.linalg.norm(own, axis=1)
    held = open_ * unit / problem.doubt
    matrix = np.vstack([solution.jacobian[~out], held])
    rest = np.concatenate([solution.residuals[~out], np.zeros(len(held))])
    return step_of(matrix, rest, solution.x, problem), foreseen


def independent(scaled: Array, least: float, most: int) -> list[int]:
    """Columns that the rows tell apart, those of the largest own effect first (QR with column pivoting), at most
    ``most``. ``scaled``: effect of a doubt of each parameter on each row; a column counts with at least ``least``."""
    chosen: list[int] = []
    rest = scaled.copy()
    while len(chosen) < min(most, scaled.shape[1]):
        lengths = np.linalg.norm(rest, axis=0)
        lengths[chosen] = 0
        best = int(np.argmax(lengths))
        if lengths[best] < least:
            break
        chosen.append(best)
        if confounded(scaled[:, chosen]):
            chosen.pop()
            rest[:, best] = 0
            continue
        direction = rest[:, best] / lengths[best]
        rest -= np.outer(direction, direction @ rest)
    return chosen


def confounded(scaled: Array) -> list[list[int]]:
    """Groups of columns whose effects on the rows cannot be distinguished; empty when all can.

    By the singular values of the columns at unit length: the right singular vectors of those below SAME_DIRECTION span
    the changes of several parameters that the rows hardly show; parameters that occur together in these form a group.
    """
    columns = scaled / np.maximum(np.linalg.norm(scaled, axis=0), 1e-300)
    count = columns.shape[1]
    _, values, vectors = np.linalg.svd(np.vstack([columns, np.zeros((count, count))]))
    unseen = vectors[values < SAME_DIRECTION]
    shares = np.abs(unseen.T @ unseen)  # two parameters that replace each other have one
    groups: list[list[int]] = []
    rest = {int(i) for i in np.flatnonzero(np.diag(shares) > 0.01)}
    while rest:
        group = [min(rest)]
        for i in group:
            group += sorted(j for j in rest if shares[i, j] > 0.05 and j not in group)
        rest -= set(group)
        groups.append(sorted(group))
    return groups
