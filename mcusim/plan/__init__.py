"""The planner: from a graph and a machine to a program, by lifetimes, arenas, tiles and a policy."""

from __future__ import annotations

from mcusim.plan.liveness.lifetimes import lifetimes, peak_bytes, usage_bytes
from mcusim.plan.options import BUFFERING, OVERLAYS, PlanOptions
from mcusim.plan.planner import TAKEN_BY, plan, policy_names, require_effect
from mcusim.plan.pytorch_arena import exported_arena_bytes

__all__ = [
    "BUFFERING",
    "OVERLAYS",
    "TAKEN_BY",
    "PlanOptions",
    "exported_arena_bytes",
    "lifetimes",
    "peak_bytes",
    "plan",
    "policy_names",
    "require_effect",
    "usage_bytes",
]
