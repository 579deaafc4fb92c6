"""Figures of a lab's runs: what a student reads off a table, and what answers are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mcusim.labs.lab import Lab, LabRun
from mcusim.sweeps.expressions import Expression
from mcusim.text import columns

if TYPE_CHECKING:
    from mcusim.results import Result

__all__ = ["FIGURES", "Figures", "command", "figures_of", "figures_table", "python_call"]

CAUSES = ("compute", "runtime", "flash", "sram", "sdram", "qspi", "dma_wait", "bus", "maintenance")
_TABLE = {
    "latency_ms": "latency, ms",
    "energy_mj": "energy, mJ",
    "sram_bytes": "SRAM, B",
    "tile_buffer": "tile buffer, B",
    "filter_buffer": "filter buffer, B",
    "operators": "operators",
    "calls": "calls",
    "cycles": "cycles",
}
FIGURES = (*_TABLE, *CAUSES)


def figures_of(result: Result) -> dict[str, float]:
    """The figures of one run by name; ``calls`` counts kernel calls, the buffers are those of single tiles and filters.

    Raises ValueError for a result without a run.
    """
    run, energy = result.run, result.energy
    if run is None or energy is None:
        raise ValueError(f"{result.model} on {result.machine.name}: {result.negative or result.unusable}")
    from mcusim.results.result import sram_bytes

    recorded = run.header.options
    return {
        "latency_ms": energy.latency_ms,
        "energy_mj": energy.energy_mj,
        "sram_bytes": sram_bytes(result) or 0,
        "tile_buffer": recorded.get("tile_buffer", 0),
        "filter_buffer": recorded.get("second_buffer", 0),
        "operators": len(run.operators),
        "calls": sum(operator.tiles for operator in run.operators),
        "cycles": run.cycles,
        **{cause: run.by_cause.get(cause, 0) for cause in CAUSES},
    }


def figures_table(results: Mapping[str, Result], width: int | None = None) -> str:
    """The figures of several runs, one column each; causes of no cycle are left out. What is wider than ``width`` comes
    in parts below each other."""
    found = {name: figures_of(result) for name, result in results.items()}
    rows = [["", *found]]
    for figure in FIGURES:
        values = [one[figure] for one in found.values()]
        if figure in _TABLE or any(values):
            label = _TABLE.get(figure, f"  {figure}")
            rows.append([label, *(shown(v) if figure in ("latency_ms", "energy_mj") else f"{v:,}" for v in values)])
    return _within(rows, width)


def _within(rows: list[list[str]], width: int | None) -> str:
    found, count = columns(rows), len(rows[0])
    if width is None or count == 2 or max(map(len, found)) <= width:
        return "\n".join(found)
    middle = count // 2 + 1
    return "\n\n".join(
        _within([[row[0], *row[part]] for row in rows], width) for part in (slice(1, middle), slice(middle, None))
    )


class Figures(Mapping[str, float]):
    """``run.figure`` of a lab's runs, each simulated when first asked for."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self._results: dict[str, Result] = {}

    def result(self, name: str) -> Result:
        """The run ``name``, simulated once."""
        if name not in self._results:
            from mcusim.api.simulate import simulate

            run = self.lab.runs[name]
            self._results[name] = simulate(self.lab.model, run.machine, run.policy, **run.options)  # type: ignore[arg-type]
        return self._results[name]

    def table(self, names: tuple[str, ...], width: int | None = None) -> str:
        return figures_table({name: self.result(name) for name in names}, width)

    def value(self, expression: Expression) -> float:
        """Raises ValueError for an expression that has no value."""
        found = expression({name: self[name] for name in expression.names})
        if not isinstance(found, int | float):
            raise ValueError(f"{expression.text} has no value")
        return found

    def worked(self, expression: Expression) -> str:
        """The expression with the numbers in their places: ``148.63 / 67.38``."""
        text = expression.text
        for name in sorted(expression.names, key=len, reverse=True):
            text = text.replace(name, shown(self[name]))
        return text

    def __getitem__(self, name: str) -> float:
        run, _, figure = name.rpartition(".")
        return figures_of(self.result(run))[figure]

    def __iter__(self) -> Iterator[str]:
        return (f"{run}.{figure}" for run in self.lab.runs for figure in FIGURES)

    def __len__(self) -> int:
        return len(self.lab.runs) * len(FIGURES)


def shown(value: float) -> str:
    """A number as the lab writes it: whole ones whole, others with four significant digits."""
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 10_000 else f"{value:.4g}"


def command(lab: Lab, run: LabRun) -> str:
    """The command line of a run."""
    options = "".join(f" --{key.replace('_', '-')} {_quoted(value)}" for key, value in run.options.items())
    return f"mcusim run {lab.model} --machine {run.machine} --policy {run.policy}{options}"


def python_call(lab: Lab, run: LabRun) -> str:
    """The same in Python."""
    arguments = [repr(lab.model), repr(run.machine), repr(run.policy)]
    arguments += [f"{key}={value!r}" for key, value in run.options.items()]
    return f"mcusim.simulate({', '.join(arguments)})".replace("'", '"')


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value
