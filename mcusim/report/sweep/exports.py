"""The table of a sweep for other programs: as CSV, and for LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcusim.report.sweep.figures.point_table import OUTPUTS, Sweep

if TYPE_CHECKING:
    import pyarrow

    from mcusim.report.sweep.figures.point_table import StudyLike

_LONG = 40  # rows from which the table goes over pages
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "µ": r"$\mu$"}
_SPECIAL |= {character: f"\\{character}" for character in "&%$#_{}"}


def csv_table(table: pyarrow.Table) -> bytes:
    """Every column and row in UTF-8; names of columns of quantities that do not end with their unit have it in
    brackets: ``core.clock [Hz]``. An empty field is a missing value."""
    import pyarrow as pa
    import pyarrow.csv

    names = []
    for field in table.schema:
        unit = (field.metadata or {}).get(b"unit", b"").decode()
        ends = field.name.lower().endswith((f"_{unit.lower()}", "_bytes")) or field.name.startswith("cycles")
        names.append(field.name if not unit or ends else f"{field.name} [{unit}]")
    data = pa.BufferOutputStream()
    pa.csv.write_csv(table.rename_columns(names), data)
    return bytes(data.getvalue())


def latex_table(study: StudyLike, rows: Sequence[Mapping[str, Any]]) -> str:
    """A ``tabular`` of package booktabs, a ``longtable`` of more than 40 rows: inputs that vary, latency, energy and
    peak SRAM of each point, with its interval where it has one; of a point that did not run, its status."""
    sweep = Sweep(rows, study)
    inputs = [*(["model"] if len(sweep.models) > 1 else []), *sweep.varying]
    spec = "l" * len(inputs) + "r" * len(OUTPUTS)
    kind, packages = ("longtable", "booktabs, longtable") if len(sweep.points) > _LONG else ("tabular", "booktabs")
    lines = [f"% {_comment(study.title or study.name)}; \\usepackage{{{packages}}}", f"\\begin{{{kind}}}{{{spec}}}"]
    lines += [r"\toprule", _line([*inputs, *(sweep.title(name) for name in OUTPUTS)]), r"\midrule"]
    lines += [r"\endhead"] if kind == "longtable" else []
    for point in sweep.points:
        cells = [sweep.text(name, point[name]) for name in inputs]
        ran = point["status"] == "ok"
        cells += [sweep.with_ends(name, point) for name in OUTPUTS] if ran else [str(point["status"]), "", ""]
        lines.append(_line(cells))
    return "\n".join([*lines, r"\bottomrule", f"\\end{{{kind}}}"]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join("".join(_SPECIAL.get(c, c) for c in cell if c.isprintable()) for cell in cells) + r" \\"


def _comment(text: str) -> str:
    return " ".join(text.split())
