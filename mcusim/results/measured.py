"""A published measurement beside a simulated figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["FIGURES", "Measured", "error_percent", "reference"]

FIGURES = ("latency_ms", "supply_current_ma", "energy_mj", "arena_bytes")


@dataclass(frozen=True)
class Measured:
    """``figures`` has some of :data:`FIGURES`; ``use`` says of each whether it was used to calibrate or to validate.

    ``source`` is the publication, ``tables`` where in it the figures stand.
    """

    source: str
    tables: tuple[str, ...]
    figures: Mapping[str, float]
    use: Mapping[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """Source and tables as one text."""
        return reference(self.source, self.tables)


def reference(source: str, tables: Iterable[str]) -> str:
    """``"A paper, Table 2, Table 3"``."""
    return ", ".join((source, *sorted(set(tables))))


def error_percent(simulated: float, measured: float) -> float:
    """Relative error in percent, positive when the simulation is above the measurement."""
    return 100.0 * (simulated - measured) / measured
