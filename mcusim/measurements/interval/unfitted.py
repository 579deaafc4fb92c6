"""What of a run's cycles is in shapes that its kernels' costs were not fitted to, and what that makes of its error.

A profile that was counted has the shapes and errors of the one that was fitted to a set of the same loops. Not
modelled: that an operator far outside errs more than one that is just outside
(:mod:`mcusim.kernels.cost.fitted.fitted_shapes` has more).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from mcusim.kernels.cost.fitted.families import family
from mcusim.kernels.cost.fitted.fitted_shapes import group, outside
from mcusim.kernels.cost.profile import Profile
from mcusim.model.geometry import Geometry, Tile
from mcusim.program.program import Compute, Program

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_NAMED = 2  # shapes in a text
_Operands = tuple[tuple[str, int, int], ...]


class Unfitted(NamedTuple):
    """The ``share`` of the cycles in such shapes, each by operator type as in ``"CONV_2D kernel_h 13 (1 to 10)"``, and
    the root mean square ``error`` of ln(measured / simulated) that they add to the run."""

    share: float = 0.0
    error: float = 0.0
    shapes: tuple[str, ...] = ()

    def text(self, kernels: str) -> str:
        """In words; empty where all shapes were fitted to."""
        if not self.shapes:
            return ""
        more = len(self.shapes) - _NAMED
        named = f"{'; '.join(self.shapes[:_NAMED])}{f'; {more} more' if more > 0 else ''}"
        return f"{100 * self.share:.1f} % of the cycles are in shapes that {kernels} was not fitted to: {named}"


def unfitted(run: Run, program: Program, isa: str, profile: Profile) -> Unfitted:
    """Of ``run``, which was replayed with ``profile``."""
    spent = {operator.index: operator.cycles for operator in run.operators}
    cycles, error, texts = 0, 0.0, dict[str, None]()
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
    return Unfitted(cycles / run.cycles, error / run.cycles, tuple(texts)) if texts and run.cycles else Unfitted()


@lru_cache(maxsize=4096)
def _outside(g: Geometry, rows: Tile, operands: _Operands, isa: str, profile: Profile) -> Mapping[str, str]:
    from mcusim.kernels.cost.fitted.call import kernel_kind

    costs = profile.core(isa)
    if costs.families:
        name = family(g)
        return outside(g, costs.families[name].shapes) if name else {}
    fitted = costs.fitted.get(kernel_kind(g, rows, operands, profile))
    return {} if fitted is None else outside(g, fitted.shapes)
