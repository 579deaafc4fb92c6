"""Published measurements compared with simulated figures: rows, and the statistics of their errors.

Errors are relative, in percent, positive when the simulation is above the measurement. Not modelled: the spread of the
measurements themselves, of which the publications say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median

from mcusim.display import Displayed
from mcusim.results.measurement.measured import error_percent

ALL_BOARDS = "all boards"
FLAGS = {False: "flags unknown", True: "all but these"}  # rows of all boards by what is known of their builds
QUANTITIES = (
    "latency",
    "energy",
    "supply_current",
    "arena",
    "peak_activations",
    "access",
    "copy",
    "dma",
    "macs",
    "file_size",
)
USES = ("validate", "calibrate")  # what is counted, apart
RANKED = 4  # rows of a board, at least


@dataclass(frozen=True)
class ValidationRow:
    """One published number and the run that is closest to what was measured.

    ``source`` to ``use`` and ``measured`` are the publication's, ``build`` what it says of its kernels; ``use`` is
    ``calibrate``, ``validate`` or ``context`` (shown, not counted). ``simulated`` is in ``unit`` too, None with a
    ``reason`` when there is no run. ``kernels``, ``fidelity``, ``machine``, ``policy`` and ``variant`` (of the policy,
    empty for its default) are those of the run, ``run`` is the command that repeats it, ``why`` what makes it the
    nearest. ``interval`` is where rows of other sources say that the measurement is expected, low and high in ``unit``;
    None for quantities without one and for rows that are not ``validate``.
    """

    source: str
    table: str
    board: str
    model: str
    engine: str
    build: str
    placement: str
    quantity: str
    unit: str
    use: str
    measured: float
    simulated: float | None = None
    kernels: str = ""
    fidelity: str = ""
    machine: str = ""
    policy: str = ""
    run: str = ""
    why: str = ""
    reason: str | None = None
    interval: tuple[float, float] | None = None
    variant: str = ""

    @property
    def error(self) -> float | None:
        """Percent of the measurement; None without a simulated figure."""
        return None if self.simulated is None else error_percent(self.simulated, self.measured)

    @property
    def covered(self) -> bool | None:
        """Whether the measurement is inside the interval; None without one."""
        return None if self.interval is None else self.interval[0] <= self.measured <= self.interval[1]

    @property
    def flags_known(self) -> bool:
        """Whether the publication says with which compiler's flags it was built, or is not known not to say so."""
        return "flags unknown" not in self.build

    @property
    def network(self) -> str:
        """The model without the comment that some sources add to its name."""
        return self.model.partition(" (")[0]

    @property
    def built(self) -> str:
        """The model, and what the publication ran it with."""
        return f"{self.network} ({self.source}: {self.engine}, {self.build})"


@dataclass(frozen=True)
class Statistics:
    """Errors of ``count`` rows of one quantity and use on a board, in percent.

    ``median`` is that of the absolute errors, ``worst`` the error of largest size with its sign, ``bias`` the mean of
    the signed errors, ``rank`` Spearman's correlation of measured and simulated within the board, None for fewer than
    four rows and over several boards.
    """

    board: str
    quantity: str
    use: str
    count: int
    median: float
    worst: float
    bias: float
    rank: float | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Rows of ``quantity``, each predicted from those that are not of its source, or not of its board, or from all
    other rows (``left_out``): ``covered`` of ``count`` are inside their interval.

    ``half_width`` is the median of half the interval over the simulated figure, in percent. ``narrower``: to what
    share of their width all intervals could shrink and still cover as many rows as ``level`` asks for; None where
    they cover fewer than that. ``engines``: each inference engine with how many of its rows are inside, and how many
    there are.
    """

    quantity: str
    left_out: str
    level: float
    count: int
    covered: int
    half_width: float
    narrower: float | None
    engines: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One figure: ``measured`` (or published) and ``simulated``, in the unit of its trial."""

    name: str
    measured: float
    simulated: float

    @property
    def error(self) -> float:
        """Per cent of the measured figure."""
        return 100 * (self.simulated / self.measured - 1)


@dataclass(frozen=True, slots=True)
class Trial:
    """Programs of one ``source`` on one ``machine``: ``tried`` says what was compiled and how it was run."""

    name: str
    machine: str
    unit: str
    tried: str
    source: str
    rows: tuple[TrialRow, ...]

    @property
    def summary(self) -> str:
        """Mean of the signed errors, and the largest."""
        return f"mean of signed errors {self.bias:+.1f} %, furthest {self.worst:+.1f} %"

    @property
    def bias(self) -> float:
        """Mean of the signed errors in percent."""
        return fmean(row.error for row in self.rows)

    @property
    def worst(self) -> float:
        """The error of largest size in percent, with its sign."""
        return max((row.error for row in self.rows), key=abs)


@dataclass(frozen=True)
class Validation(Displayed):
    """``rows`` in the order of the data set; ``figures`` has all that each run gave, by :attr:`ValidationRow.run`;
    ``coverage`` says whether the intervals keep their word; ``trials`` are no runs of mcusim's."""

    rows: tuple[ValidationRow, ...]
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    coverage: tuple[Coverage, ...] = ()
    trials: tuple[Trial, ...] = ()

    @cached_property
    def summary(self) -> tuple[Statistics, ...]:
        """By quantity and use: all boards, then each of them where there are several; validate rows of builds
        with unknown compiler flags are also counted apart."""
        summaries = []
        for quantity in QUANTITIES:
            for use in USES:
                rows = [
                    row for row in self.rows if row.quantity == quantity and row.use == use and row.error is not None
                ]
                boards = list(dict.fromkeys(row.board for row in rows))
                if len(boards) > 1:
                    summaries += [statistics(rows, ALL_BOARDS), *(_by_flags(rows) if use == USES[0] else [])]
                summaries += [statistics([row for row in rows if row.board == board], board) for board in boards]
        return tuple(summaries)

    @property
    def missing(self) -> dict[str, list[ValidationRow]]:
        """Rows that were not run, by reason."""
        rows: dict[str, list[ValidationRow]] = {}
        for row in self.rows:
            if row.reason is not None:
                rows.setdefault(row.reason, []).append(row)
        return rows

    def _line(self) -> str:
        ran = sum(row.error is not None for row in self.rows)
        return f"{len(self.rows)} published figures, {ran} simulated"


def _by_flags(rows: Sequence[ValidationRow]) -> list[Statistics]:
    """None where no row or every one is of unknown flags."""
    parts = {name: [row for row in rows if row.flags_known is known] for known, name in FLAGS.items()}
    return [statistics(part, name) for name, part in parts.items()] if all(parts.values()) else []


def statistics(rows: Sequence[ValidationRow], board: str) -> Statistics:
    """Of rows of one quantity and use, all of them run; at least one."""
    errors = [row.error for row in rows if row.error is not None]
    rank = None
    if board not in (ALL_BOARDS, *FLAGS.values()) and len(errors) >= RANKED:
        rank = rank_correlation([row.measured for row in rows], [row.simulated or 0.0 for row in rows])
    sizes = [abs(error) for error in errors]
    worst = max(errors, key=abs)
    return Statistics(board, rows[0].quantity, rows[0].use, len(errors), median(sizes), worst, fmean(errors), rank)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's: the correlation of the ranks, equal values sharing the mean of theirs; None when all are equal.

    Source: C. Spearman, "The proof and measurement of association between two things", 1904.
    """
    a, b = _ranks(first), _ranks(second)
    middle = (len(a) + 1) / 2
    together = sum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    spread = sum((x - middle) ** 2 for x in a) * sum((y - middle) ** 2 for y in b)
    return together / spread**0.5 if spread else None


def _ranks(values: Iterable[float]) -> list[float]:
    ordered = sorted(values_ := list(values))
    return [(ordered.index(value) + 1 + len(ordered) - ordered[::-1].index(value)) / 2 for value in values_]
