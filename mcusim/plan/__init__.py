"""The planner: from a graph and a machine to a program, by lifetimes, arenas, tiles and a policy."""

from __future__ import annotations

from mcusim.plan.liveness.lifetimes import lifetimes, peak_bytes, usage_bytes
from mcusim.plan.options import BUFFERING, OVERLAYS, PlanOptions
from mcusim.plan.planner import plan, require_effect
from mcusim.plan.pytorch_arena import exported_arena_bytes
from mcusim.plan.registry import policy_names, takers

__all__ = [
    "BUFFERING",
    "OVERLAYS",
    "PlanOptions",
    "exported_arena_bytes",
    "lifetimes",
    "peak_bytes",
    "plan",
    "policy_names",
    "require_effect",
    "takers",
    "usage_bytes",
]
