"""Errors of the published rows that intervals are made from, as they ship: a run reads these alone.

``residuals.json`` is what :func:`mcusim.measurements.interval.published_errors.stored_errors` gives of the published
rows and the figures that ship; ``scripts/evidence/validation`` writes it. Not modelled: what
:mod:`mcusim.measurements.interval.error_model` does not model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from mcusim.measurements.interval.error_model import CURRENT, ErrorModel
from mcusim.results.measurement.interval import RunFeatures

QUANTITIES = ("latency", "energy")
_OF_USERS = ("builds", "peripherals", "unfitted")  # features of runs of which nobody said these
STORED = "residuals.json"  # in this folder


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    """``error`` is ln(measured / simulated) of a published ``quantity``, whose run was in ``situation``."""

    quantity: str
    situation: RunFeatures
    error: float

    @property
    def unmeasured(self) -> RunFeatures:
        """The same run as a user's: of no publication."""
        return replace(self.situation, source=None)

    def to_json(self) -> dict[str, Any]:
        """As plain data, which :func:`stored_residuals` reads."""
        situation = {name: value for name, value in asdict(self.situation).items() if name not in _OF_USERS}
        return {"quantity": self.quantity, "situation": situation, "error": self.error}


@cache
def stored_residuals() -> tuple[Residual, ...]:
    """Those that ship."""
    entries = json.loads(files(__package__).joinpath(STORED).read_text(encoding="utf-8"))
    return tuple(Residual(entry["quantity"], _situation(entry["situation"]), entry["error"]) for entry in entries)


def _situation(entry: dict[str, Any]) -> RunFeatures:
    return RunFeatures(**entry | {"mix": tuple((name, share) for name, share in entry["mix"])})


def error_model(residuals: Iterable[Residual], quantity: str) -> ErrorModel:
    """Fitted to those of ``quantity``."""
    own = [residual for residual in residuals if residual.quantity == quantity]
    current = CURRENT if quantity == "energy" else 0.0
    return ErrorModel([residual.situation for residual in own], [residual.error for residual in own], current)
