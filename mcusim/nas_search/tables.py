"""Statistics of search spaces as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.nas_search.stats import NasRules, SpaceStats, best_spaces
from mcusim.text import columns, wrapped

__all__ = ["stats_json", "stats_text"]

LISTED = 15


def stats_text(rules: NasRules, stats: Sequence[SpaceStats], share: float) -> str:
    """The best spaces, at most 80 columns wide."""
    ranked = best_spaces(stats, share)
    lines = [f"{rules.machine}, runtime {rules.runtime}: {rules.ram:,} B of RAM, {rules.flash:,} B of flash"]
    lines += wrapped(
        f"{rules.networks:,} networks of each of {len(stats)} spaces, seed {rules.seed}; the best: highest mean of"
        f" those that fit, where at least {share:.0%} of them do"
    )
    rows = [["", "space", "fitting", "mean MFLOPs", "80 %", ""]]
    for number, found in enumerate(ranked[:LISTED], 1):
        few = "few fit" if found.share < share else ""
        figures = [f"{n / 1e6:.1f}" if n is not None else "-" for n in (found.mean_flops, found.p80_flops)]
        rows.append([str(number), found.space, f"{found.share:.1%}", *figures, few])
    lines += ["", *columns(rows, left=2)]
    more = len(ranked) - LISTED
    return "\n".join([*lines, *([f"  and {more} more, in --json"] if more > 0 else [])])


def stats_json(rules: NasRules, stats: Sequence[SpaceStats], share: float) -> dict[str, Any]:
    """All spaces, the best first; FLOPs are multiply-accumulates, as the paper counts them."""
    ranked = best_spaces(stats, share)
    best = ranked[0].space if ranked and ranked[0].share >= share else None
    return {
        "machine": rules.machine, "runtime": rules.runtime, "ram": rules.ram, "flash": rules.flash,
        "networks": rules.networks, "seed": rules.seed, "in_place": rules.in_place, "min_fitting": share, "best": best,
        "spaces": [found.to_json() for found in ranked],
    }  # fmt: skip
