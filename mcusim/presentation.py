"""What came out, to look at: results are plain data, and these functions make the text or the picture of one."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.display import Kind
from mcusim.errors import UsageError
from mcusim.files import write_whole
from mcusim.program import Program, program_lines
from mcusim.run_config.settings import require_type

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["figure", "notebook_html", "save", "table"]

# class: what makes it, loaded on first use
_TABLES = {
    "Advice": "mcusim.report.text.advice:advice_table",
    "Result": "mcusim.report.text.run:run_table",
    "FidelityComparison": "mcusim.api.fidelity_comparison:FidelityComparison.table",
    "Comparison": "mcusim.api.compare:Comparison.__str__",
    "EmulationResult": "mcusim.report.text.emulation:emulation_table",
    "MemoryPlan": "mcusim.report.text.memory:memory_table",
    "FirmwareVerification": "mcusim.verification.firmware.table:firmware_verification_table",
    "Verification": "mcusim.verification.table:verification_table",
    "Validation": "mcusim.evidence.validate.table:validation_table",
    "Calibration": "mcusim.evidence.calibrate.result:calibration_table",
    "Machine": "mcusim.report.text.inspect:machine_table",
    "ModelInspection": "mcusim.report.text.flash:inspection_table",
    "Reordered": "mcusim.report.text.reorder:reorder_table",
    "RunDifference": "mcusim.report.text.diff:diff_table",
    "Graph": "mcusim.report.text.inspect:model_table",
}
_HTML = {"Result": "mcusim.report.html.notebook:result_html"}
_PAGES = {
    "Result": "mcusim.report.html.pages:result_page",
    "FidelityComparison": "mcusim.report.html.pages:both_page",
    "Comparison": "mcusim.report.html.pages:rows_page",
    "EmulationResult": "mcusim.report.html.firmware_page:firmware_page",
    "MemoryPlan": "mcusim.report.html.memory_page:memory_html",
    "RunDifference": "mcusim.report.html.diff_page:diff_page",
    "Film": "mcusim.report.html.film_page:film_page",
}
_JSON = {
    "Advice": "mcusim.results.advice:Advice.to_json",
    "Result": "mcusim.results.result:to_json",
    "FidelityComparison": "mcusim.api.fidelity_comparison:FidelityComparison.to_json",
    "Comparison": "mcusim.api.compare:Comparison.to_json",
    "EmulationResult": "mcusim.report.json.emulation:emulation_json",
    "MemoryPlan": "mcusim.report.json.memory:memory_json",
    "ModelInspection": "mcusim.report.text.flash:inspection_json",
    "RunDifference": "mcusim.results.saved.run_difference:RunDifference.to_json",
    "Film": "mcusim.results.film:Film.to_json",
    "FirmwareVerification": "mcusim.verification.firmware.result:FirmwareVerification.to_json",
    "Verification": "mcusim.verification.verification:Verification.to_json",
}
_TRACES = {
    "Result": "mcusim.report.export.perfetto:perfetto_json",
    "EmulationResult": "mcusim.report.export.firmware:firmware_perfetto",
}
_PROGRAMS = {"Program": "mcusim.presentation:_program_text"}
_LINES = 400  # of a table in a notebook
_FIGURES = {"Result": "mcusim.report.html.notebook:result_figure"}


def table(value: object) -> str:
    """The text that the command line prints of ``value``: what a function of this package returned, a machine or a
    model. Raises UsageError for an object of another kind."""
    return str(_made(value, _TABLES, "table"))


def figure(value: object) -> Figure:
    """A simulated run as a plotly figure: lanes over time, memory traffic, milliseconds of each operator by cause.

    Raises UsageError for an object that is no :class:`~mcusim.results.result.Result`. Not modelled: figures of the
    other results, which the pages of ``--html`` have.
    """
    return _made(value, _FIGURES, "figure")


def notebook_html(value: object) -> str:
    """What a notebook shows: a summary of a result, the first lines of the table of what has one, else one line."""
    if _maker(value, _HTML) is not None:
        return str(_made(value, _HTML, "summary"))
    text = table(value) if _maker(value, _TABLES) is not None else repr(value)
    lines = text.splitlines()
    more = [f"... {len(lines) - _LINES:,} more lines"] if len(lines) > _LINES else []
    plain = "\n".join(html.escape(line[:400]) for line in [*lines[:_LINES], *more])
    return f"<pre>{plain}</pre>"


def save(value: object, path: str | Path, kind: Kind, force: bool = False) -> None:
    """Write the page, the JSON or the trace of ``value``; raises UsageError where it has none."""
    require_type("path", path, ((str, Path), "a path"))
    makers = {"html": _PAGES, "json": _JSON, "perfetto": _TRACES, "program": _PROGRAMS}[kind]
    if kind == "perfetto" and getattr(value, "run", value) is None:
        raise UsageError(f"{path}: there is no run to trace")
    made = _made(value, makers, {"html": "page", "json": "JSON", "perfetto": "trace"}.get(kind, kind))
    text = made if isinstance(made, str) else json.dumps(made, indent=2, allow_nan=False) + "\n"
    write_whole(Path(path), text.encode(), force)


def _maker(value: object, makers: Mapping[str, str]) -> str | None:
    kinds = (kind.__name__ for kind in type(value).__mro__ if kind.__module__.startswith("mcusim."))
    return next((makers[kind] for kind in kinds if kind in makers), None)


def _made(value: object, makers: Mapping[str, str], what: str) -> Any:
    maker = _maker(value, makers)
    if maker is None:
        raise UsageError(f"there is no {what} of a {type(value).__name__}; there is one of {', '.join(makers)}")
    module, _, name = maker.partition(":")
    return attrgetter(name)(import_module(module))(value)


def _program_text(program: Program) -> str:
    return "".join(f"{line}\n" for line in program_lines(program))
