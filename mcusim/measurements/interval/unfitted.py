"""What of a run's cycles is in shapes that its kernels' costs were not fitted to, and what that makes of its error.

A profile that was counted has the shapes and errors of the one that was fitted to a set of the same loops. Kernels of
floats, of which there is no published row, add an error that is assumed. Not
modelled: that an operator far outside errs more than one that is just outside
(:mod:`mcusim.kernels.cost.fitted.fitted_shapes` has more).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import exp, hypot, log
from typing import TYPE_CHECKING, NamedTuple

from mcusim.kernels.cost.fitted.families import family
from mcusim.kernels.cost.fitted.fitted_shapes import group, outside
from mcusim.kernels.cost.profile import Profile
from mcusim.model.geometry import Geometry, Tile
from mcusim.program.program import Compute, Program
from mcusim.results.measurement.interval import RUNTIME

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_NAMED = 2  # shapes in a text
FLOATS = log(1.5)  # assumed: products fused with sums, alignment of short loops (6 or 7 cycles), the C library's exp
_SAID = 0.01  # share of floats from which they are named
_Operands = tuple[tuple[str, int, int], ...]


class Unfitted(NamedTuple):
    """The ``share`` of the cycles in such shapes, each by operator type as in ``"CONV_2D kernel_h 13 (1 to 10)"``, and
    the root mean square ``error`` of ln(measured / simulated) that they add to the run, with what the share in
    ``floats`` adds."""

    share: float = 0.0
    error: float = 0.0
    shapes: tuple[str, ...] = ()
    floats: float = 0.0

    def text(self, kernels: str) -> str:
        """In words; empty where all shapes were fitted to and there are no floats."""
        texts = []
        if self.floats >= _SAID:
            texts.append(
                f"{100 * self.floats:.0f} % of the cycles are in loops of float32, which nobody measured (assumed:"
                f" builds differ by a factor of {exp(FLOATS):.1f})"
            )
        if self.shapes:
            more = len(self.shapes) - _NAMED
            named = f"{'; '.join(self.shapes[:_NAMED])}{f'; {more} more' if more > 0 else ''}"
            share = f"{100 * self.share:.1f} % of the cycles"
            texts.append(f"{share} are in shapes that {kernels} was not fitted to: {named}")
        return "; ".join(texts)


def unfitted(run: Run, program: Program, isa: str, profile: Profile) -> Unfitted:
    """Of ``run``, which was replayed with ``profile``."""
    spent = {operator.index: operator.cycles for operator in run.operators}
    cycles, error, texts, floats = 0, 0.0, dict[str, None](), _float_share(run, program)
    for task in program.tasks:
        if not isinstance(task, Compute) or task.tile:
            continue
        own = profile.compiled_like(task.geometry)
        operands = tuple((str(operand.role), 0, operand.span.bytes) for operand in task.operands)
        shapes = _outside(task.geometry, task.rows, operands, isa, own)
        if shapes:
            cycles += spent[task.operator]
            error += spent[task.operator] * own.core(isa).outside.get(group(shapes), 0.0)
            texts |= dict.fromkeys(f"{task.geometry.type} {shape}" for shape in shapes.values())
    total = run.cycles or 1
    return Unfitted(cycles / total, hypot(error / total, floats * FLOATS), tuple(texts), floats)


def of_floats(run: Run, program: Program) -> Unfitted:
    """What floats alone make of it, as of an emulation."""
    floats = _float_share(run, program)
    return Unfitted(error=floats * FLOATS, floats=floats)


def _float_share(run: Run, program: Program) -> float:
    """Of the cycles, in kernels of floats."""
    kinds = {task.operator for task in program.tasks if isinstance(task, Compute) and task.geometry.is_float}
    cycles = sum(
        operator.cycles - operator.by_cause.get(RUNTIME, 0) for operator in run.operators if operator.index in kinds
    )
    return cycles / run.cycles if run.cycles else 0.0


@lru_cache(maxsize=4096)
def _outside(g: Geometry, rows: Tile, operands: _Operands, isa: str, profile: Profile) -> Mapping[str, str]:
    from mcusim.kernels.cost.fitted.call import kernel_kind

    costs = profile.core(isa)
    if costs.families:
        name = family(g)
        return outside(g, costs.families[name].shapes) if name else {}
    fitted = costs.fitted.get(kernel_kind(g, rows, operands, profile))
    return {} if fitted is None else outside(g, fitted.shapes)
