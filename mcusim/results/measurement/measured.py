"""A published measurement to compare a run with, and the output tensors of an emulated run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

FIGURES = ("latency_ms", "supply_current_ma", "energy_mj", "arena_bytes")


@dataclass(frozen=True)
class Measured:
    """``figures`` has some of :data:`FIGURES`; ``use`` says of each whether it was used to calibrate or to validate.

    ``source`` is the publication, ``tables`` where in it the figures are.
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


SHOWN = 10


@dataclass(frozen=True, eq=False)
class KernelOutput:
    """One output tensor: its name and values."""

    name: str
    values: np.ndarray[Any, Any]


def output_json(output: KernelOutput) -> dict[str, Any]:
    """Name, type, shape, SHA-256 of the bytes, and all values, flat, when there are no more than a thousand."""
    values = output.values
    row: dict[str, Any] = {"name": output.name, "dtype": str(values.dtype), "shape": list(values.shape)}
    row["sha256"] = hashlib.sha256(values.tobytes()).hexdigest()
    if values.size <= 1000:
        row["values"] = [_finite(value) for value in values.reshape(-1).tolist()]
    return row


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if abs(value) < float("inf") else None


def output_text(output: KernelOutput) -> str:
    """One line: name, type, shape, the first values, and where the largest is."""
    values = output.values.reshape(-1)
    shape = "x".join(map(str, output.values.shape)) or "scalar"
    shown = ", ".join(f"{value:g}" for value in values[:SHOWN].tolist())
    more = f", ... {values.size - SHOWN:,} more" if values.size > SHOWN else ""
    largest = f"; largest at {int(values.argmax())}" if values.size > 1 else ""
    return f"{output.name[:60]} ({output.values.dtype} {shape}): {shown}{more}{largest}"
