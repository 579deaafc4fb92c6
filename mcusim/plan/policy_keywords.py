"""What can be chosen about a plan, as keyword arguments for type checkers: one base for each policy's file."""

from __future__ import annotations

from mcusim.plan.options import PlanKeywords
from mcusim.plan.policies.internal import InternalOptions
from mcusim.plan.policies.tinyops import TinyopsOptions


class PolicyOptions(PlanKeywords, InternalOptions, TinyopsOptions, total=False):
    """Options of a plan as keyword arguments; each may be left out, and None is its default."""
