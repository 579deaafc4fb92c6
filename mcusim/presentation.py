"""What came out, to look at: results are plain data, and these functions make the text or the picture of one."""

from __future__ import annotations

import html
import json
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.display import Kind
from mcusim.errors import UsageError
from mcusim.files import write_whole
from mcusim.program import Program, program_lines
from mcusim.provenance import made
from mcusim.run_config.settings import require_type

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# what makes what of a class, loaded on first use
_MAKERS: dict[str, dict[str, str]] = {
    "mcusim.results.advice:Advice": {
        "table": "mcusim.report.run.advice_text:advice_table",
        "JSON": "mcusim.results.advice:Advice.to_json",
    },
    "mcusim.results.result:Result": {
        "table": "mcusim.report.run.table:run_table",
        "summary": "mcusim.report.html.notebook:result_html",
        "page": "mcusim.report.html.pages:result_page",
        "JSON": "mcusim.results.provenance:run_json",
        "trace": "mcusim.report.export.perfetto:perfetto_json",
        "figure": "mcusim.report.html.notebook:result_figure",
    },
    "mcusim.api.fidelity_comparison:FidelityComparison": {
        "table": "mcusim.api.fidelity_comparison:FidelityComparison.table",
        "page": "mcusim.report.html.pages:both_page",
        "JSON": "mcusim.api.fidelity_comparison:FidelityComparison.to_json",
    },
    "mcusim.api.compare:Comparison": {
        "table": "mcusim.api.compare:Comparison.__str__",
        "page": "mcusim.report.html.pages:rows_page",
        "JSON": "mcusim.api.compare:Comparison.to_json",
    },
    "mcusim.results.plan_advice:PlanAdvice": {
        "table": "mcusim.report.advise.table:advise_table",
        "JSON": "mcusim.results.plan_advice:PlanAdvice.to_json",
    },
    "mcusim.results.engine_choice:EngineChoice": {
        "table": "mcusim.report.engines.table:engines_table",
        "page": "mcusim.report.engines.page:engines_page",
        "JSON": "mcusim.results.engine_choice:EngineChoice.to_json",
    },
    "mcusim.results.emulation:EmulationResult": {
        "table": "mcusim.report.firmware.table:emulation_table",
        "page": "mcusim.report.firmware.page:firmware_page",
        "JSON": "mcusim.report.firmware.json:emulation_json",
        "trace": "mcusim.report.export.firmware:firmware_perfetto",
    },
    "mcusim.results.memory_plan:MemoryPlan": {
        "table": "mcusim.report.memory.table:memory_table",
        "page": "mcusim.report.memory.page:memory_html",
        "JSON": "mcusim.report.memory.json:memory_json",
    },
    "mcusim.verification.firmware.firmware_verification:FirmwareVerification": {
        "table": "mcusim.verification.firmware.table:firmware_verification_table",
        "JSON": "mcusim.verification.firmware.firmware_verification:FirmwareVerification.to_json",
    },
    "mcusim.verification.verification:Verification": {
        "table": "mcusim.verification.table:verification_table",
        "JSON": "mcusim.verification.verification:Verification.to_json",
    },
    "mcusim.measurements.published.validation_result:Validation": {
        "table": "mcusim.evidence.validate.table:validation_table",
    },
    "mcusim.evidence.calibrate.calibration:Calibration": {
        "table": "mcusim.evidence.calibrate.calibration:calibration_table",
    },
    "mcusim.machine.description:Machine": {
        "table": "mcusim.report.inspection_tables:machine_table",
    },
    "mcusim.results.model_inspection:ModelInspection": {
        "table": "mcusim.report.flash_text:inspection_table",
        "JSON": "mcusim.report.flash_text:inspection_json",
    },
    "mcusim.report.reorder_table:Reordered": {
        "table": "mcusim.report.reorder_table:reorder_table",
    },
    "mcusim.results.saved.run_difference:RunDifference": {
        "table": "mcusim.report.diff.table:diff_table",
        "page": "mcusim.report.diff.page:diff_page",
        "JSON": "mcusim.results.saved.run_difference:RunDifference.to_json",
    },
    "mcusim.model.graph:Graph": {
        "table": "mcusim.report.inspection_tables:model_table",
    },
    "mcusim.results.film:Film": {
        "page": "mcusim.report.html.film_page:film_page",
        "JSON": "mcusim.results.film:Film.to_json",
    },
    "mcusim.program.program:Program": {
        "program": "mcusim.presentation:_program_text",
    },
}
_LINES = 400  # of a table in a notebook


def table(value: object) -> str:
    """The text that the command line prints of ``value``: what a function of this package returned, a machine or a
    model. Raises UsageError for an object of another kind."""
    return str(_made(value, "table"))


def figure(value: object) -> Figure:
    """A simulated run as a plotly figure: lanes over time, memory traffic, milliseconds of each operator by cause.

    Raises UsageError for an object that is no :class:`~mcusim.results.result.Result`. Not modelled: figures of the
    other results, which the pages of ``--html`` have.
    """
    return _made(value, "figure")


def notebook_html(value: object) -> str:
    """What a notebook shows: a summary of a result, the first lines of the table of what has one, else one line."""
    if _maker(value, "summary") is not None:
        return str(_made(value, "summary"))
    text = table(value) if _maker(value, "table") is not None else repr(value)
    lines = text.splitlines()
    more = [f"... {len(lines) - _LINES:,} more lines"] if len(lines) > _LINES else []
    plain = "\n".join(html.escape(line[:400]) for line in [*lines[:_LINES], *more])
    return f"<pre>{plain}</pre>"


def save(value: object, path: str | Path, kind: Kind, force: bool = False) -> None:
    """Write the page, the JSON or the trace of ``value``; raises UsageError where it has none."""
    require_type("path", path, ((str, Path), "a path"))
    if kind == "perfetto" and getattr(value, "run", value) is None:
        raise UsageError(f"{path}: there is no run to trace")
    form = _made(value, {"html": "page", "json": "JSON", "perfetto": "trace"}.get(kind, kind))
    if not isinstance(form, str):
        form = json.dumps({**form, "made": form.get("made") or made().to_json()}, indent=2, allow_nan=False) + "\n"
    write_whole(Path(path), form.encode(), force)


def _maker(value: object, what: str) -> str | None:
    kinds = (f"{kind.__module__}:{kind.__qualname__}" for kind in type(value).__mro__)
    return next((_MAKERS[kind][what] for kind in kinds if what in _MAKERS.get(kind, ())), None)


def _made(value: object, what: str) -> Any:
    maker = _maker(value, what)
    if maker is None:
        known = [kind.partition(":")[2] for kind, makers in _MAKERS.items() if what in makers]
        raise UsageError(f"there is no {what} of a {type(value).__name__}; there is one of {', '.join(known)}")
    module, _, name = maker.partition(":")
    return attrgetter(name)(import_module(module))(value)


def _program_text(program: Program) -> str:
    return "".join(f"{line}\n" for line in program_lines(program, made(model_sha256=program.header.model_sha256)))
