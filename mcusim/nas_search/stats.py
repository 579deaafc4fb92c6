"""Statistics of search spaces: which share of random networks fits a board, and what those that fit compute.

The method is TinyNAS's first step (Lin et al. 2020, section 3.1): the space whose networks that fit compute most, on
average, is the best for a board, without training any. FLOPs are counted as there: multiply-accumulates. A space of
which few networks fit may have a high average of those few; ``share`` is the least that counts for the best.

Not modelled: accuracy; networks of other shapes than the space's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from mcusim._version import __version__
from mcusim.errors import UsageError
from mcusim.nas_search.network_figures import network_figures
from mcusim.nas_search.space import NasSpace, drawn
from mcusim.plan.pools import largest_pool, largest_region
from mcusim.record_log import LogKind, RecordLog
from mcusim.sweeps.ordered_work import OrderedWork

if TYPE_CHECKING:
    from mcusim.machine.description import Machine

QUANTILES = 41  # points of a distribution that are kept
KIB = 1024
# RAM and flash of the map of best spaces
GRID = ((192, 256, 320, 384, 448, 512), (512, 768, 1024, 1536, 2048))
Progress = Callable[[int, int], object] | None


@dataclass(frozen=True)
class NasRules:
    """What networks have to fit: ``runtime`` and core say how it is planned, ``ram`` and ``flash`` are bytes;
    ``networks`` are drawn of each space. ``in_place``: compiled depthwise convolutions write over their input."""

    machine: str
    runtime: str
    isa: str
    ram: int
    flash: int
    networks: int = 1000
    seed: int = 0
    in_place: bool = True

    @classmethod
    def of(
        cls, machine: Machine, runtime: str, ram: int | None = None, flash: int | None = None, **others: Any
    ) -> NasRules:
        """Those of a board: its largest run of on-chip RAM and its largest flash, unless given. Raises UsageError for a
        board without."""
        region = largest_region(machine, "flash")
        if region is None and flash is None:
            raise UsageError(f"machine {machine.name} has no flash: say how much a network may have (--flash)")
        room = flash if flash is not None or region is None else region.size
        assert room is not None  # one of the two
        return cls(machine.name, runtime, machine.core.isa, ram or largest_pool(machine).size, room, **others)

    @property
    def head(self) -> dict[str, Any]:
        """The first line of a log."""
        return {"version": __version__, **self.__dict__}


class SpaceStats(BaseModel):
    """Of one space: how many of its ``networks`` are ``fitting``, mean, 80th percentile and quantiles of their
    multiply-accumulates (None where none fits), and the mean and share for each cell of :data:`GRID`; ``seconds`` are
    the host's, the one figure that changes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    space: str
    width: float
    resolution: int
    networks: int = Field(ge=1)
    fitting: int = Field(ge=0)
    mean_flops: float | None = None
    p80_flops: float | None = None
    quantiles: list[float] = []
    cells: list[list[tuple[float, float]]] = []
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """Of its networks, those that fit."""
        return self.fitting / self.networks

    def to_json(self) -> dict[str, Any]:
        """As tables have it."""
        return self.model_dump(exclude={"cells", "seconds", "quantiles"})


STATS_LOG = LogKind("mcusim-nas-stats", "mcusim nas stats", "other statistics", "space", SpaceStats)


def space_stats(space: NasSpace, rules: NasRules) -> SpaceStats:
    """Draw networks of a space and see which fit; the same for any number of processes."""
    began = perf_counter()
    dice = np.random.default_rng([rules.seed, space.resolution, space.width.numerator, space.width.denominator])
    result = network_figures(space, drawn(rules.networks, dice), rules.runtime, rules.isa, rules.in_place)
    kept = np.sort(result.macs[result.fitting(rules.ram, rules.flash)])
    cells = []
    for ram in GRID[0]:
        line = []
        for flash in GRID[1]:
            inside = result.macs[result.fitting(ram * KIB, flash * KIB)]
            line.append((float(inside.mean()) if len(inside) else 0.0, len(inside) / rules.networks))
        cells.append(line)
    return SpaceStats(
        space=str(space), width=float(space.width), resolution=space.resolution, networks=rules.networks,
        fitting=len(kept), mean_flops=float(kept.mean()) if len(kept) else None,
        p80_flops=float(np.percentile(kept, 80)) if len(kept) else None,
        quantiles=[float(q) for q in np.quantile(kept, np.linspace(0, 1, QUANTILES))] if len(kept) else [],
        cells=cells, seconds=round(perf_counter() - began, 3),
    )  # fmt: skip


def best_spaces(stats: Sequence[SpaceStats], share: float) -> list[SpaceStats]:
    """The best first: by the mean of what fits, those of which less than ``share`` fits behind all others."""
    return sorted(
        stats,
        key=lambda statistics: (
            statistics.share < share,
            -(statistics.mean_flops or 0.0),
            statistics.width,
            statistics.resolution,
        ),
    )


def nas_stats(
    spaces: Sequence[NasSpace],
    rules: NasRules,
    log: Path | None = None,
    work: OrderedWork | None = None,
    progress: Progress = None,
) -> list[SpaceStats]:
    """Statistics of each space in its order; those that the log has are not computed again.

    Raises UsageError for a log of other statistics.
    """
    head = {**rules.head, "classes": sorted({space.classes for space in spaces})}
    work = OrderedWork(1, None, "the statistics") if work is None else work
    with RecordLog(log, STATS_LOG, head) as written:
        known = {space_stats.space: space_stats for space_stats in written.known}
        missing = [space for space in spaces if str(space) not in known]
        known_before = len(spaces) - len(missing)
        for done, statistics in enumerate(
            work.map(_space_stats, [(space, rules) for space in missing]), known_before + 1
        ):
            known[statistics.space] = statistics
            written.append(statistics)
            if progress is not None:
                progress(done, len(spaces))
    return [known[str(space)] for space in spaces]


def _space_stats(job: tuple[NasSpace, NasRules]) -> SpaceStats:
    return space_stats(*job)
