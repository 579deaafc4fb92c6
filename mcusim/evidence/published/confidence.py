"""The confidence of a result, from the published results of its machine, kernels and policy.

A combination of machine, kernels and policy is *validated* to the largest error of its published rows that nothing was
fitted to, *calibrated* where it has rows of the other kind alone, and *extrapolated* where it has none, or where
weights, overlays, buffers, code or the interpreter's overhead are not those of the measured runs. Not modelled: the
model and the SRAM budget; a network of other operators may be further off than those that were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from mcusim.evidence.published.stored import stored_rows
from mcusim.evidence.published.validation_result import ValidationRow
from mcusim.machine import load_shipped, machine_names
from mcusim.machine.description import Machine
from mcusim.plan.options import OVERLAYS
from mcusim.plan.pools import largest_region
from mcusim.program.opaque import left_out
from mcusim.program.program import Header
from mcusim.request.settings import Execution

__all__ = ["confidence", "confidence_of_row", "differs_from_published"]

_RESULT = ("latency", "energy")


def confidence(machine: str | Machine, kernels: str, policy: str, deviation: str | None = None) -> str:
    """The confidence of a run's latency and energy: ``validated to x %``, ``calibrated`` or ``extrapolated``, and why.

    ``machine`` is a shipped machine's name or a machine: one that differs from the shipped one of its name was not
    measured. ``kernels`` is the profile or set that the run used, ``deviation`` what
    :func:`differs_from_published` says of it.
    x is the largest absolute error of a stored row.
    """
    name = machine if isinstance(machine, str) else machine.name
    if name not in machine_names():
        return f"extrapolated: no published result of {name} to compare with"
    if not isinstance(machine, str) and machine != load_shipped(name):
        return f"extrapolated: this is not {name} as it ships, and was not measured"
    if deviation is not None:
        return f"extrapolated: no published result with {deviation} to compare with"
    rows = [row for row in _counted() if (row.machine, row.kernels, row.policy) == (name, kernels, policy)]
    found = {quantity: [row for row in rows if row.quantity == quantity] for quantity in _RESULT}
    validated = {quantity: _worst(of_one, "validate") for quantity, of_one in found.items()}
    latency, energy = (None if size is None else f"{size} %" for size in validated.values())
    where = f"{policy} on {name} with {kernels}"
    if latency is not None:
        also = f", energy to {energy}" if energy is not None else ""
        count = sum(row.use == "validate" for row in found["latency"])
        return f"latency validated to {latency}{also}: the largest error of {_results(count)} of {where}"
    met = _worst(found["latency"], "calibrate")
    if met is not None:
        return f"calibrated: machine figures were fitted to the published result of {where}; latency is within {met} %"
    return f"extrapolated: no published result of {where} to compare with"


def differs_from_published(header: Header, machine: Machine, execution: Execution) -> str | None:
    """What of a run is set otherwise than in the published ones, in words; None when nothing is."""
    recorded = header.options
    without = left_out(header)
    if without or "costs" in recorded:
        return "operators left out" if without else "operators that cost what was said"
    region = largest_region(machine, "flash" if header.policy == "internal" else "sdram")
    usual = region.name if region is not None else None
    overlay = recorded.get("overlay", list(OVERLAYS))
    if recorded.get("weights", usual) != usual:
        return f"weights in {recorded['weights']}"
    if header.policy == "tinyops" and set(overlay) != set(OVERLAYS):
        return f"overlays of {', '.join(overlay) or 'nothing'} alone"
    if recorded.get("buffering", "double") != "double":
        return f"{recorded['buffering']} buffering"
    planned = {"allocator": "the {} allocator", "order": "the {} order", "in_place": "results in place"}
    for name, words in planned.items():
        if name in recorded:
            return words.format(recorded[name])
    if execution.code not in (None, "flash"):
        return f"code in {execution.code}"
    if execution.overhead is not None:
        return f"an interpreter's overhead of {execution.overhead:,} cycles an operator"
    return None


def confidence_of_row(row: ValidationRow) -> str | None:
    """The same of one published figure: among the stored rows of its quantity. None when it was not run."""
    if row.simulated is None:
        return None
    key = row.machine, row.kernels, row.policy, row.quantity
    rows = [one for one in _counted() if (one.machine, one.kernels, one.policy, one.quantity) == key]
    size = _worst(rows, "validate")
    if size is not None:
        return f"validated to {size} %"
    return "calibrated" if rows else "extrapolated"


def _worst(rows: Sequence[ValidationRow], use: str) -> str | None:
    sizes = [abs(row.error) for row in rows if row.use == use and row.error is not None]
    return f"{max(sizes):.0f}" if sizes and max(sizes) >= 1 else f"{max(sizes):.1f}" if sizes else None


@cache
def _counted() -> tuple[ValidationRow, ...]:
    """The stored rows that were run and count."""
    return tuple(row for row in stored_rows() if row.error is not None and row.use != "context")


def _results(count: int) -> str:
    return f"{count} published results" if count > 1 else "the published result"
