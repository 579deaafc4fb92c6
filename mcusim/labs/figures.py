"""Figures of a lab's runs: what a student reads off a table, and what answers are computed from."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcusim.labs.lab import Design, Explore, Lab, LabRun, LabTableModel, SetUp, Watch
from mcusim.labs.texts import BRACES, filled, text_fields
from mcusim.sweeps.expressions import Expression, parse
from mcusim.text import columns

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.program.program import Span
    from mcusim.results import Result
    from mcusim.verification.verification import Verification

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
_OTHERS = {
    "macs": "MACs",
    "activation_bytes": "activations, B",
    "flash_bytes": "flash, B",
    "dcache_hits": "data cache hits",
    "dcache_misses": "data cache misses",
    "dcache_writebacks": "lines written back",
    "icache_hits": "instruction cache hits",
    "icache_misses": "instruction cache misses",
    "flash_data_hits": "flash buffer hits, data",
    "flash_data_misses": "flash buffer misses, data",
    "flash_fetch_misses": "flash buffer misses, code",
    "sdram_row_misses": "SDRAM rows opened",
    "sdram_refreshes": "SDRAM refreshes",
    "dma_bytes": "copied by DMA, B",
    "findings": "findings",
    "wrong_bytes": "wrong bytes of an output",
    "output_bytes": "  of so many bytes",
    "unordered": "  unordered",
    "missing_clean": "  missing-clean",
    "missing_invalidate": "  missing-invalidate",
    "lost_store": "  lost-store",
    "dirty_target": "  dirty-target",
    "shared_line": "  shared-line",
}
_RULES = ("unordered", "missing_clean", "missing_invalidate", "lost_store", "dirty_target", "shared_line")
COUNTERS = tuple(name for name in _OTHERS if name.startswith(("dcache", "icache", "flash_d", "flash_f", "sdram")))
LABELS: Mapping[str, str] = {**_TABLE, **{cause: f"  {cause}" for cause in CAUSES}, **_OTHERS}
FIGURES = tuple(LABELS)
"""All that an expression can ask of a run."""
USUAL = (*_TABLE, *CAUSES)
"""What tables have where a lab does not say."""
Values = Mapping[str, float | None]
AnyStep = TypeVar("AnyStep", bound=LabTableModel)


def figures_of(result: Result | Verification) -> dict[str, float | None]:
    """The figures of one run by name; ``calls`` counts kernel calls, the buffers are those of single tiles and filters.

    All are None for a result without a run; of a verified program those that it has not.
    """
    from mcusim.verification.verification import Verification

    if isinstance(result, Verification):
        return _of_verification(result)
    run, energy = result.run, result.energy
    if run is None or energy is None:
        return dict.fromkeys(FIGURES)
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
        "macs": result.macs or 0,
        "activation_bytes": _extent([buffer.span for buffer in run.header.buffers if buffer.kind == "activation"]),
        "flash_bytes": 0 if result.flash is None else result.flash.total,
        **{name: run.counters.get(name, 0) for name in COUNTERS},
        "dma_bytes": sum(traffic.dma_write for traffic in run.traffic.values()),
        **dict.fromkeys(("findings", "wrong_bytes", "output_bytes", *_RULES)),
    }  # fmt: skip


def _of_verification(verification: Verification) -> dict[str, float | None]:
    """What it took, ``findings`` of all kinds and of each, and bytes that differ from the untiled run's, of the first
    tensor in which some do, and how many that has."""
    if verification.ran is None or verification.untiled is None:
        return dict.fromkeys(FIGURES)
    rules, cycles = (
        [finding.finding.rule.replace("-", "_") for finding in verification.findings],
        int(verification.ran["cycles"]),
    )
    wrong = verification.untiled.difference
    return {
        **dict.fromkeys(FIGURES),
        "latency_ms": 1000 * cycles / verification.machine.core.clock,
        "cycles": cycles,
        "findings": len(rules),
        "wrong_bytes": 0 if wrong is None else wrong.count,
        "output_bytes": None if wrong is None else wrong.bytes,
        **{rule: rules.count(rule) for rule in _RULES},
    }


def _extent(spans: Sequence[Span]) -> int:
    """Bytes from the first to the last of what lies in one region, of all regions together."""
    regions = {span.region for span in spans}
    own = [[span for span in spans if span.region == region] for region in regions]
    return sum(max(s.address + s.bytes for s in each) - min(s.address for s in each) for each in own)


def figures_table(runs: Mapping[str, Values], figures: Sequence[str] = (), width: int | None = None) -> str:
    """:func:`figures_rows` as a text; what is wider than ``width`` comes in parts below each other."""
    return _within(figures_rows(runs, figures), width)


def figures_rows(runs: Mapping[str, Values], figures: Sequence[str] = ()) -> list[list[str]]:
    """The ``figures`` of several runs, one column each, below a row with the runs' names; causes of no cycle are left
    out."""
    rows = [["", *runs]]
    for figure in figures or USUAL:
        values = [run[figure] for run in runs.values()]
        if figure not in CAUSES or any(values):
            rows.append([LABELS[figure], *("-" if v is None else shown(v, figure) for v in values)])
    return rows


def _within(rows: list[list[str]], width: int | None) -> str:
    texts, count = columns(rows), len(rows[0])
    if width is None or count == 2 or max(map(len, texts)) <= width:
        return "\n".join(texts)
    middle = count // 2 + 1
    return "\n\n".join(
        _within([[row[0], *row[part]] for row in rows], width) for part in (slice(1, middle), slice(middle, None))
    )


@dataclass(frozen=True, slots=True)
class LabSimulation:
    """A set-up as :func:`~mcusim.api.simulate.simulate` has it, ``options`` and changed ``keys`` as sorted pairs."""

    model: str
    machine: str
    policy: str
    kernels: str | None
    options: tuple[tuple[str, Any], ...]
    keys: tuple[tuple[str, str], ...]
    verify: bool = False

    @classmethod
    def of(cls, lab_model: str, setup: SetUp, folder: Path | None) -> LabSimulation:
        """Of the lab's model where the set-up names none; files are looked for in ``folder``."""
        return cls(
            located(setup.model or lab_model, folder),
            located(setup.machine, folder),
            setup.policy,
            setup.kernels,
            tuple(sorted(setup.options.items())),
            tuple((key, str(value)) for key, value in sorted(setup.set.items())),
            setup.verify,
        )

    @property
    def overrides(self) -> dict[str, str]:
        return {key: value.lower() if value in ("True", "False") else value for key, value in self.keys}

    def result(self, **others: Any) -> Result:
        """What :func:`~mcusim.api.simulate.simulate` says, of a program :func:`~mcusim.api.simulate.replay`."""
        from mcusim.api.simulate import replay, simulate

        options = {**dict(self.options), **others}
        if is_program(self.model):
            return replay(self.model, self.machine, kernels=self.kernels, overrides=self.overrides, **options)
        return simulate(self.model, self.machine, self.policy, self.kernels, overrides=self.overrides, **options)

    def verification(self) -> Verification:
        """What :func:`mcusim.verify` says: of a program, as it is, else of the model's."""
        from mcusim.api.verify import verify

        own: dict[str, Any] = {"policy": self.policy, **dict(self.options)}
        planned = {} if is_program(self.model) else own
        return verify(self.model, machine=self.machine, kernels=self.kernels, overrides=self.overrides, **planned)


@dataclass(frozen=True, slots=True)
class DesignTry:
    """A setting of the design ``id``: its knobs and its figures."""

    id: str
    knobs: Mapping[str, Any]
    values: Values


class Figures(Mapping[str, float | None]):
    """``run.figure`` of a lab's runs, each simulated when first asked for. ``folder``: what paths are relative to."""

    def __init__(self, lab: Lab, folder: Path | None = None) -> None:
        self.lab = lab
        self.folder = folder

    def of(self, setup: SetUp) -> Values:
        """The figures of a set-up."""
        return _simulated(self.simulation(setup))

    def simulation(self, setup: SetUp) -> LabSimulation:
        """A set-up with the lab's model and folder."""
        return LabSimulation.of(self.lab.model, setup, self.folder)

    def run(self, name: str) -> Values:
        """Those of the run ``name``."""
        return self.of(self.lab.runs[name])

    def table(self, names: Sequence[str], figures: Sequence[str] = (), width: int | None = None) -> str:
        return figures_table({name: self.run(name) for name in names}, figures or self.lab.figures, width)

    def expression(self, text: str, tried: DesignTry | None = None) -> Expression:
        """``text`` over the figures of the runs, and over those and the knobs of a design. Raises UsageError."""
        names, knobs = ([*self.lab.runs], []) if tried is None else ([*self.lab.runs, tried.id], [*tried.knobs])
        return parse(text, [*known_names(names), *knobs, *machine_keys(self.lab.runs.values(), self.folder)])

    def value(self, text: str, tried: DesignTry | None = None) -> float:
        """The number that an expression is, a truth being 0 or 1.

        Raises ValueError for an expression that has no value, UsageError for one that is none.
        """
        value = self.asked(text, tried)
        if not isinstance(value, int | float):
            raise ValueError(f"{text} has no value")
        return value

    def asked(self, text: str, tried: DesignTry | None = None) -> Any:
        """The same as it is, None for no value."""
        expression = self.expression(text, tried)
        return expression({name: self._column(name, tried) for name in expression.names})

    def _column(self, name: str, tried: DesignTry | None) -> Any:
        run, _, figure = name.rpartition(".")
        if tried is not None and (name in tried.knobs or run == tried.id):
            return tried.knobs[name] if name in tried.knobs else tried.values[figure]
        return self[name] if figure in LABELS and run in self.lab.runs else self._key(name)

    def _key(self, name: str) -> str:
        """A key of a run's machine, as it is written."""
        run, _, key = name.partition(".")
        return machine_of(self.lab.runs[run], self.folder).figures[key].text

    def text(self, text: str) -> str:
        """``text`` with the numbers of the expressions in its braces. Raises ValueError where one has no value."""
        return filled(text, self._number)

    def _number(self, expression: str) -> str:
        asked = self.asked(expression)
        if asked is None:
            raise ValueError(f"{expression} has no value")
        return asked if isinstance(asked, str) else shown(asked, expression.rpartition(".")[2])

    def filled(self, step: AnyStep) -> AnyStep:
        """``step`` with the numbers in its texts. Raises ValueError as :meth:`text`."""
        raw = step.model_dump(by_alias=True)
        places = [place for place, text in text_fields(raw) if BRACES.search(text)]
        for *above, key in places:
            table: Any = raw
            for name in above:
                table[name] = list(table[name]) if isinstance(table[name], tuple) else table[name]
                table = table[name]
            table[key] = self.text(table[key])
        return type(step).model_validate(raw) if places else step

    def worked(self, text: str) -> str:
        """The expression with the numbers in their places: ``148.63 / 67.38``."""
        for name in sorted(self.expression(text).names, key=len, reverse=True):
            value = self[name]
            text = text.replace(name, "-" if value is None else shown(value))
        return text

    def __getitem__(self, name: str) -> float | None:
        run, _, figure = name.rpartition(".")
        return self.run(run)[figure]

    def __iter__(self) -> Iterator[str]:
        return (f"{run}.{figure}" for run in self.lab.runs for figure in FIGURES)

    def __len__(self) -> int:
        return len(self.lab.runs) * len(FIGURES)


def known_names(runs: Iterable[str]) -> list[str]:
    """What an expression can ask of runs with these names."""
    return [f"{run}.{figure}" for run in runs for figure in FIGURES]


def machine_of(setup: SetUp, folder: Path | None) -> Machine:
    """The machine that a set-up runs on. Raises InputError for one that there is not."""
    return _machine(LabSimulation.of("", setup, folder))


def machine_keys(runs: Iterable[LabRun], folder: Path | None) -> list[str]:
    """``run.key`` of the keys of all their machines."""
    return [f"{run.run}.{key}" for run in runs for key in machine_of(run, folder).figures]


@lru_cache(maxsize=512)
def _machine(simulation: LabSimulation) -> Machine:
    from mcusim.api.simulate import changed

    return changed(simulation.machine, simulation.overrides)


def is_program(name: str) -> bool:
    """A program by its name, or else a model."""
    return name.endswith(".jsonl")


def located(name: str, folder: Path | None) -> str:
    """A file in the folder of a lab of one's own, else the name as it is."""
    if folder is not None and (folder / name).is_file():
        return str(folder / name)
    return name


@lru_cache(maxsize=512)
def _simulated(simulation: LabSimulation) -> Values:
    return figures_of(simulation.verification() if simulation.verify else simulation.result())


def shown(value: float, figure: str = "") -> str:
    """A number as the lab writes it: whole ones whole, others with four significant digits."""
    whole = isinstance(value, int) and figure not in ("latency_ms", "energy_mj")
    return f"{value:,.0f}" if whole or abs(value) >= 10_000 else f"{value:.4g}"


def command(lab: Lab, run: SetUp) -> str:
    """The command line of a run."""
    model = run.model or lab.model
    program = is_program(model)
    words = ["mcusim", "verify" if run.verify else "replay" if program else "run", model, "--machine", run.machine]
    words += [] if program else ["--policy", run.policy]
    words += [] if run.kernels is None else ["--kernels", run.kernels]
    for key, value in run.options.items():
        flag = key.replace("_", "-")
        words += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    for key, value in run.set.items():
        words += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
    words += ["--film", "film.html", "--film-window", run.window, "--force"] if isinstance(run, Watch) else []
    return " ".join(f'"{word}"' if " " in word else shlex.quote(word) for word in words)


def python_call(lab: Lab, run: SetUp) -> str:
    """The same in Python."""
    model = run.model or lab.model
    name, program = "verify" if run.verify else "replay" if is_program(model) else "simulate", is_program(model)
    arguments = [repr(model), f"machine={run.machine!r}", *([] if program else [f"policy={run.policy!r}"])]
    arguments += [] if run.kernels is None else [f"kernels={run.kernels!r}"]
    arguments += [f"{key}={value!r}" for key, value in run.options.items()]
    if run.set:
        keys = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in run.set.items()}
        arguments.append(f"overrides={keys!r}")
    arguments += [f"film={run.window!r}"] if isinstance(run, Watch) else []
    return f"mcusim.{name}({', '.join(arguments)})".replace("'", '"')


def setups(lab: Lab) -> list[SetUp]:
    """Everything that the lab can simulate, every setting of its knobs too."""
    set_ups: list[SetUp] = []
    for step in lab.steps:
        if isinstance(step, LabRun):
            set_ups.append(step)
        elif isinstance(step, Explore | Design):
            set_ups += [step.of(setting) for setting in step.settings]
    return set_ups
