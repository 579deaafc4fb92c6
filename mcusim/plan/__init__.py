"""Plans: lifetimes, arenas, tiles and policies; and programs as files."""

from __future__ import annotations

from mcusim.plan.check import check_program
from mcusim.plan.exported import exported_arena_bytes
from mcusim.plan.jsonl import program_lines, read_program, write_program
from mcusim.plan.lifetimes import lifetimes, peak_bytes, usage_bytes
from mcusim.plan.options import BUFFERING, OVERLAYS, PlanOptions
from mcusim.plan.planner import TAKEN_BY, plan, policy_names, require_effect
from mcusim.plan.program import Program

__all__ = [
    "BUFFERING",
    "OVERLAYS",
    "TAKEN_BY",
    "PlanOptions",
    "Program",
    "check_program",
    "exported_arena_bytes",
    "lifetimes",
    "peak_bytes",
    "plan",
    "policy_names",
    "program_lines",
    "read_program",
    "require_effect",
    "usage_bytes",
    "write_program",
]
