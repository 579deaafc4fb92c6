"""What of a run is set otherwise than in the runs that stand for published rows.

Not modelled: the model and the SRAM budget.
"""

from __future__ import annotations

from mcusim.machine.description import Machine
from mcusim.plan.policies.tinyops import OVERLAYS
from mcusim.plan.pools import largest_region
from mcusim.program.program import Header
from mcusim.program.unknown_operators import left_out
from mcusim.run_config.run_options import CODE, OPERATOR_OVERHEAD, RunOptions


def differs_from_published(header: Header, machine: Machine, run: RunOptions) -> str | None:
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
    by_operator = {"channel_tiles": "parts of channels", "row_tiles": "rows of tiles", "uncopied": "operands in place"}
    for name, words in by_operator.items():
        if name in recorded:
            return f"{words} by operator"
    if "on_chip" in recorded:
        return f"{recorded['on_chip']:,} B of structures and activations on chip"
    planned = {"allocator": "the {} allocator", "order": "the {} order", "in_place": "results in place"}
    for name, words in planned.items():
        if name in recorded:
            return words.format(recorded[name])
    code, overhead = run[CODE], run[OPERATOR_OVERHEAD]
    if code not in (None, "flash"):
        return f"code in {code}"
    if overhead is not None:
        return f"an interpreter's overhead of {overhead:,} cycles an operator"
    return None
