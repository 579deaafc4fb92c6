"""What came out, to look at: results are plain data, and these functions make the text or the picture of one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["figure", "table"]

# class: what makes it, loaded on first use
_TABLES = {
    "Result": "mcusim.report.text.run:run_table",
    "Both": "mcusim.api.both:Both.table",
    "Comparison": "mcusim.api.compare:Comparison.__str__",
    "EmulationResult": "mcusim.report.text.emulation:emulation_table",
    "MemoryPlan": "mcusim.report.text.memory:memory_table",
    "Verification": "mcusim.verification.table:verification_table",
    "Validation": "mcusim.evidence.validate.table:validation_table",
    "Calibration": "mcusim.evidence.calibrate.result:calibration_table",
    "Machine": "mcusim.report.text.inspect:machine_table",
    "ModelInspection": "mcusim.report.text.flash:inspection_table",
    "Reordered": "mcusim.report.text.reorder:reorder_table",
    "RunDifference": "mcusim.report.text.diff:diff_table",
    "Graph": "mcusim.report.text.inspect:model_table",
}
_FIGURES = {"Result": "mcusim.report.html.notebook:result_figure"}


def table(found: object) -> str:
    """The text that the command line prints of ``found``: what a function of this package returned, a machine or a
    model. Raises UsageError for an object of another kind."""
    return str(_made(found, _TABLES, "table"))


def figure(found: object) -> Figure:
    """A simulated run as a plotly figure: lanes over time, memory traffic, milliseconds of each operator by cause.

    Raises UsageError for an object that is no :class:`~mcusim.results.result.Result`. Not modelled: figures of the
    other results, which the pages of ``--html`` have.
    """
    return _made(found, _FIGURES, "figure")


def _made(found: object, makers: Mapping[str, str], what: str) -> Any:
    for kind in type(found).__mro__:
        if kind.__name__ in makers and kind.__module__.startswith("mcusim."):
            module, _, name = makers[kind.__name__].partition(":")
            return attrgetter(name)(import_module(module))(found)
    raise UsageError(f"there is no {what} of a {type(found).__name__}; there is one of {', '.join(makers)}")
