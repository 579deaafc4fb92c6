"""What a result's latency and energy are worth: the interval in which nine measurements of ten are expected."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

LEVEL = 0.9  # of all intervals that are printed
AS_PUBLISHED = ""  # the setting of a run that is set like the published ones
RUNTIME = "runtime"  # the interpreter's share in a mix

Range = tuple[float, float]  # low, high


@dataclass(frozen=True, slots=True)
class RunFeatures:
    """What a run, or the run that represents a published row, may have in common with others.

    ``machine`` is the board's name and ``core`` its core. ``code`` is the kernel set, or the profile where it was
    fitted to none; ``setting`` what is set otherwise than in published runs, in words. ``clock`` is the core's over
    that of the machine as it ships or as its file has it. ``mix`` has the share of the cycles in each type of
    operator (``uint8`` and other types apart from int8) and in the interpreter (:data:`RUNTIME`); they sum to 1.
    ``source`` is the publication, None for a run that nobody measured; ``flags_known`` is false where it says that
    the compiler's flags are not known. ``builds``, where nobody named the kernels: the latency with each build
    that they may be, over the run's. ``peripherals``: the energy with the microcontroller's peripherals on, over it.
    ``unfitted``: the root mean square error of the logarithm by shapes that the kernels' costs were not fitted to.
    """

    machine: str
    core: str
    code: str
    fidelity: str
    policy: str
    mix: tuple[tuple[str, float], ...]
    model: str
    setting: str = AS_PUBLISHED
    clock: float = 1.0
    source: str | None = None
    flags_known: bool = True
    builds: tuple[float, ...] = ()
    peripherals: float = 1.0
    unfitted: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As plain data, without ``source`` and ``flags_known``, which are of published rows."""
        row = asdict(self) | {"mix": dict(self.mix), "builds": list(self.builds)}
        return {name: value for name, value in row.items() if name not in ("source", "flags_known")}


@dataclass(frozen=True, slots=True)
class Interval:
    """A measurement of the run is expected from low to high with probability ``level``.

    ``latency_ms`` and ``energy_mj`` are low and high. ``rows`` published latencies of the run's inference engine that
    were not used to fit anything are what the interval is made from, those of the widest engine where there are none;
    ``like`` of them are of the same machine, kernels and policy.
    ``not_measured`` is what no such row has of this run, in words: each makes the interval wider. So does
    ``not_fitted``, the share of the cycles in shapes that the kernels' costs were not fitted to, in words.
    """

    level: float
    latency_ms: Range
    energy_mj: Range
    rows: int
    like: int
    not_measured: tuple[str, ...]
    situation: RunFeatures = field(repr=False)
    not_fitted: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain data; ranges are lists of low and high."""
        return {
            "level": self.level,
            "latency_ms": list(self.latency_ms),
            "energy_mj": list(self.energy_mj),
            "rows": self.rows,
            "like": self.like,
            "not_measured": list(self.not_measured),
            "not_fitted": self.not_fitted,
            "situation": self.situation.to_json(),
        }


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """One run's figure over another's: ``simulated``, and ``low`` to ``high`` as it is expected to be measured.

    Narrower than the intervals of the two, for what they share in error cancels.
    """

    level: float
    simulated: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether 1 is outside, so that the two differ."""
        return not self.low <= 1.0 <= self.high

    def to_json(self) -> dict[str, Any]:
        """As plain data, with ``differs``."""
        return {**asdict(self), "differs": self.differs}


@dataclass(frozen=True, slots=True)
class Ratios:
    """Latency and energy of a run over those of the run that it is compared with."""

    latency: RatioInterval
    energy: RatioInterval

    def to_json(self) -> dict[str, Any]:
        """Both, as plain data."""
        return {"latency_ratio": self.latency.to_json(), "energy_ratio": self.energy.to_json()}
