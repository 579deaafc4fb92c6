"""The planner: from a graph and a machine to a program, by lifetimes, arenas, tiles and a policy."""

from __future__ import annotations

from mcusim.plan.liveness.lifetimes import lifetimes, peak_bytes, usage_bytes
from mcusim.plan.options import SRAM_BUDGET, Option, PlanOptions
from mcusim.plan.planner import plan, require_effect
from mcusim.plan.pytorch_arena import exported_arena_bytes
from mcusim.plan.registry import declared_options, plan_options, policy_names, policy_options, takers

__all__ = [
    "SRAM_BUDGET",
    "Option",
    "PlanOptions",
    "declared_options",
    "exported_arena_bytes",
    "lifetimes",
    "peak_bytes",
    "plan",
    "plan_options",
    "policy_names",
    "policy_options",
    "require_effect",
    "takers",
    "usage_bytes",
]
