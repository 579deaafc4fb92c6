"""Plans: lifetimes, arenas, tiles and policies; and programs as files."""

from __future__ import annotations

from mcusim.plan.lifetimes import lifetimes, peak_bytes, usage_bytes
from mcusim.plan.options import OVERLAYS, PlanOptions
from mcusim.plan.planner import plan, policy_names
from mcusim.plan.program import Program

__all__ = [
    "OVERLAYS",
    "PlanOptions",
    "Program",
    "lifetimes",
    "peak_bytes",
    "plan",
    "policy_names",
    "usage_bytes",
]
