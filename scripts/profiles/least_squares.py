"""Non-negative least squares, and the costs of loop levels that follow from counts and measured cycles."""

from __future__ import annotations

from typing import Any

import numpy as np


def nonnegative(a: Any, b: Any) -> Any:
    """The x >= 0 with the least |a x - b| (Lawson and Hanson, Solving Least Squares Problems, 1974, NNLS)."""
    n = a.shape[1]
    x, passive = np.zeros(n), np.zeros(n, bool)
    for _ in range(3 * n):
        gradient = a.T @ (b - a @ x)
        gradient[passive] = -np.inf
        best = int(np.argmax(gradient))
        if gradient[best] <= 1e-9 * np.abs(a.T @ b).max():
            break
        passive[best] = True
        while True:
            trial = np.zeros(n)
            trial[passive] = np.linalg.lstsq(a[:, passive], b, rcond=1e-12)[0]
            if trial[passive].min() > 0:
                break
            low = passive & (trial <= 0)
            reach = (x[low] / np.maximum(x[low] - trial[low], 1e-300)).min()
            x += reach * (trial - x)
            passive &= x > 1e-12
            x[~passive] = 0
            if not passive.any():
                trial = np.zeros(n)
                break
        x = trial
    return x


def fit(counts: Any, values: Any, scale: Any) -> Any:
    """Costs of the columns of ``counts`` that give ``values`` with the least error relative to ``scale``."""
    rows = counts / scale[:, None]
    size = np.abs(rows).max(axis=0)
    used = size > 0
    costs = np.zeros(counts.shape[1])
    costs[used] = nonnegative(rows[:, used] / size[used], values / scale) / size[used]
    return costs
