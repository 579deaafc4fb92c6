"""Published measurements: what ``published.csv`` has on a model, a machine and a policy, and ``published_memory.csv``
on accesses to memory.

A row of the table is one number with its unit, source and ``use``: ``calibrate`` (a machine parameter was fitted to
it), ``validate`` (nothing was), ``duplicate`` (the same number as another row) or ``context`` (measured under other
conditions, not compared).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from mcusim.model.zoo.names import PADS
from mcusim.results.measurement.measured import Measured

_FIRMWARE_2023 = "TinyOps README 2023"  # policy tinyops in its variant 2023; networks without explicit PADs

_FIGURE = {
    ("latency", "ms"): ("latency_ms", 1.0),
    ("supply_current", "mA"): ("supply_current_ma", 1.0),
    ("energy", "mJ"): ("energy_mj", 1.0),
    ("energy", "uJ"): ("energy_mj", 1e-3),
    ("arena", "KB"): ("arena_bytes", 1e3),
}


@cache
def rows() -> tuple[Mapping[str, str], ...]:
    """All rows of ``published.csv``, keyed by its header."""
    return _table("published.csv")


@cache
def memory_rows() -> tuple[Mapping[str, str], ...]:
    """The memory micro-benchmarks, with the same keys: ``model`` is what was done, ``placement`` how it was cached."""
    return _table("published_memory.csv")


def _table(name: str) -> tuple[Mapping[str, str], ...]:
    text = files("mcusim.measurements.published").joinpath(name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def measured(model: str, machine: str, policy: str, variant: str = "2022") -> Measured | None:
    """Published figures of ``model`` (name without suffix) on ``machine`` under ``policy``; None when there are none.

    ``variant`` is that of policy ``tinyops``: each source ran its own.

    Figures come from the first source that has the combination; a figure printed in several of its tables is taken
    from the first. A name that ends in ``-pad`` is the same network with explicit padding operators, as the
    TinyOps networks of 2022 are inferred to have been (:mod:`mcusim.plan.pytorch_arena`); those of 2023 were not.

    Not modelled: figures without a simulated counterpart (accuracy, file size) and ``context`` rows.
    """
    key = (model.removesuffix(PADS), machine, policy)
    matching = [row for row in rows() if _key(row) == key and row["use"] != "context" and _ran(row, model, variant)]
    figures: dict[str, float] = {}
    use: dict[str, str] = {}
    tables: dict[str, None] = {}
    for row in matching:
        figure = _FIGURE.get((row["quantity"], row["unit"]))
        if row["source"] != matching[0]["source"] or figure is None or figure[0] in figures:
            continue
        figures[figure[0]] = float(row["value"]) * figure[1]
        use[figure[0]] = row["use"]
        tables[row["table"]] = None
    return Measured(matching[0]["source"], tuple(tables), figures, use) if figures else None


def _ran(row: Mapping[str, str], model: str, variant: str) -> bool:
    """Did the publication run this form of the network, and this variant of the policy?"""
    later = row["source"] == _FIRMWARE_2023
    if row["placement"] == "tinyops" and variant != ("2023" if later else "2022"):
        return False
    return not (later and model.endswith(PADS))


def _key(row: Mapping[str, str]) -> tuple[str, str, str]:
    """Model, machine and policy in this package's names; the model's name ends at a comment in brackets."""
    return row["model"].partition(" (")[0], row["board"].lower(), row["placement"]
