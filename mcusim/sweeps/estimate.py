"""How long a sweep will take: some of its points are timed.

Points of one model, machine, policy, kernels and fidelity are taken to take equally long. Of combinations that there
was no time to measure, as long as the others of their policy, else of their fidelity, on average. Not modelled: that
those have smaller or larger models, how processes of one computer slow each other down, and a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from mcusim.processes import processes
from mcusim.sweeps.parquet import check_derived
from mcusim.sweeps.point import Row, SharedWork, forget, perform, shares
from mcusim.sweeps.points import Point, points, total
from mcusim.sweeps.study import BASE, Study
from mcusim.sweeps.sweep import prepared

ENOUGH = 3.0  # seconds of timing
START = 2.0  # seconds until a process has loaded mcusim
REPEATED = 0.002  # seconds of a point whose run is known
Kind = tuple[Any, ...]


def estimate(study: Study, jobs: int | None = None) -> dict[str, Any]:
    """``points`` and ``points_before_filters``, different ``runs`` among them, and the ``seconds`` that they take in
    ``jobs`` processes; how many points were ``timed``. ``seconds`` is None when none of those ran.

    Raises what :func:`~mcusim.sweeps.sweep.sweep` raises for the study.
    """
    count, chosen = processes(jobs), points(study)
    check_derived(study, chosen)
    work = prepared(study)
    firsts = {shares(work, point): point for point in reversed(chosen)}
    kinds: dict[Kind, list[Point]] = {}
    for key, point in firsts.items():
        kinds.setdefault(key[: len(BASE)], []).append(point)
    timed: dict[Kind, float] = {}
    spent = 0.0
    for kind in sorted(kinds, key=str):
        for point in _examples(kinds[kind]):
            if spent < ENOUGH and kind not in timed:
                seconds, row = _timed(work, point)
                spent += 2 * seconds
                if row["status"] == "ok":
                    timed[kind] = seconds
    total_seconds = sum(len(runs) * _seconds(kind, timed) for kind, runs in kinds.items())
    busy = total_seconds + REPEATED * (len(chosen) - len(firsts))
    return {
        "points": len(chosen),
        "points_before_filters": total(study),
        "runs": len(firsts),
        "jobs": count,
        "timed": len(timed),
        "seconds": round(busy / min(count, len(chosen)) + START, 1) if timed else None,
    }


def _examples(points: Sequence[Point]) -> list[Point]:
    """The first, and others in case that it does not fit: ``points`` has the points in reverse."""
    return [points[-1], points[0], points[len(points) // 2]]


def _timed(work: SharedWork, point: Point) -> tuple[float, Row]:
    """Seconds of a point that is not the first of its process, and its row."""
    perform(work, (("", point),))
    forget()
    began = perf_counter()
    [(_, row)] = perform(work, (("", point),))
    return perf_counter() - began, row


def _seconds(kind: Kind, timed: Mapping[Kind, float]) -> float:
    if kind in timed:
        return timed[kind]
    policy, fidelity = BASE.index("policy"), BASE.index("fidelity")
    alike = [value for key, value in timed.items() if (key[policy], key[fidelity]) == (kind[policy], kind[fidelity])]
    return _mean(
        alike or [value for key, value in timed.items() if key[fidelity] == kind[fidelity]] or [*timed.values()]
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
