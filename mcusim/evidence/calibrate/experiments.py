"""The measured experiments, simulated on a machine whose figures are being varied; no run is simulated twice.

Not modelled: what :func:`~mcusim.api.simulate.simulate` and :func:`~mcusim.api.firmware.emulate.emulate` do not model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcusim.errors import InputError, McusimError, UsageError
from mcusim.evidence.calibrate.measurements import Experiment, Row
from mcusim.evidence.calibrate.parameters import OVERHEAD, Parameter
from mcusim.machine.description import Machine
from mcusim.machine.loader import replace_all
from mcusim.model.graph import Graph
from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plan.registry import takers
from mcusim.results.energy import Usage, delivered, usage
from mcusim.run_config.settings import Settings, settings

MOST_INSTRUCTIONS = 100_000_000
_WHOLE_SHARE = 1e-9


@dataclass(frozen=True)
class _ExperimentCost:
    """Core cycles of an experiment, and what its energy is computed from; of a program that is its time alone."""

    cycles: float
    usage: Usage


@dataclass
class Rig:
    """``rows`` on ``machine``, with ``parameters`` to vary. ``step`` is called after every run that was played."""

    machine: Machine
    rows: Sequence[Row]
    parameters: Sequence[Parameter] = ()
    step: Callable[[object], object] | None = None
    _graphs: dict[str, Graph] = field(default_factory=dict)
    _runs: dict[tuple[Experiment, tuple[tuple[str, str], ...]], _ExperimentCost] = field(default_factory=dict)

    @property
    def played(self) -> int:
        """How many different runs it took so far."""
        return len(self._runs)

    def simulate(self, values: Mapping[str, float]) -> list[float]:
        """What the simulation says of every row, in its own unit, with the machine's keys at ``values``.

        A key that takes whole numbers is interpolated between two of them, where one more is much. Raises UsageError
        naming the row whose experiment cannot be run.
        """
        corners = [(self._texts(values), weight) for values, weight in self._corners(values)]
        return [sum(weight * self._figure(row, keys) for keys, weight in corners) for row in self.rows]

    def check(self) -> None:
        """Raise UsageError for the first row that names what does not exist, before anything is played."""
        for row in self.rows:
            self._machine(row, {})
            try:
                if row.experiment.program:
                    self._file(row.experiment)
                else:
                    _settings(row.experiment, None)
                    self._graph(row.experiment.model)
            except McusimError as error:
                raise UsageError(f"{row.where}: {row.experiment}: {error}") from None

    def _corners(self, values: Mapping[str, float]) -> list[tuple[dict[str, float], float]]:
        """Points of whole numbers around ``values``, with weights that sum to one."""
        corners = [(dict(values), 1.0)]
        for parameter in self.parameters:
            value = values.get(parameter.key)
            if value is None or not parameter.stepped:
                continue
            below = float(int(value + _WHOLE_SHARE))
            share = value - below
            shares = [(below, 1.0)] if share < _WHOLE_SHARE else [(below, 1 - share), (below + 1, share)]
            corners = [({**point, parameter.key: w}, weight * s) for point, weight in corners for w, s in shares]
        return corners

    def _texts(self, values: Mapping[str, float]) -> dict[str, str]:
        return {p.key: p.text(values[p.key]) for p in self.parameters if p.key in values}

    def _figure(self, row: Row, keys: Mapping[str, str]) -> float:
        played = self._play(row, keys)
        if row.quantity == "cycles":
            return played.cycles
        if row.quantity == "latency_ms":
            return 1e3 * played.usage.seconds
        energy = delivered(self._machine(row, keys), played.usage)
        return energy.supply_current_ma if row.quantity == "supply_current_ma" else energy.energy_mj

    def _machine(self, row: Row, keys: Mapping[str, str]) -> Machine:
        changes = {key: text for key, text in keys.items() if key != OVERHEAD}
        try:
            return replace_all(self.machine, {**dict(row.experiment.set), **changes})
        except InputError as error:
            raise UsageError(f"{row.where}: {error}") from None

    def _play(self, row: Row, keys: Mapping[str, str]) -> _ExperimentCost:
        timing = tuple(sorted((key, text) for key, text in keys.items() if not key.startswith("power.")))
        where = (row.experiment, timing)
        if where not in self._runs:
            machine = self._machine(row, keys)
            try:
                play = self._program if row.experiment.program else self._network
                self._runs[where] = play(row.experiment, machine, keys.get(OVERHEAD))
            except McusimError as error:
                raise UsageError(f"{row.where}: {row.experiment}: {error}") from None
            if self.step is not None:
                self.step(None)
        return self._runs[where]

    def _network(self, asked: Experiment, machine: Machine, overhead: str | None) -> _ExperimentCost:
        from mcusim.api.simulate import simulate_loaded

        result = simulate_loaded(self._graph(asked.model), machine, _settings(asked, overhead))
        run = result.run
        if run is None:
            raise UsageError(str(result.negative))
        return _ExperimentCost(run.cycles, usage(run, machine))

    def _graph(self, model: str) -> Graph:
        from mcusim.model import load_model

        if model not in self._graphs:
            self._graphs[model] = load_model(model)
        return self._graphs[model]

    def _file(self, asked: Experiment) -> Path:
        """The ELF file: as named, or the test program of that name."""
        from mcusim.kernels.test_programs import program_path

        path = Path(asked.program)
        return path if path.suffix or path.exists() else program_path(asked.program, self.machine.core.isa)

    def _program(self, asked: Experiment, machine: Machine, overhead: str | None) -> _ExperimentCost:
        from mcusim.api.firmware.emulate import emulate

        result = emulate(
            self._file(asked),
            machine,
            call=asked.function,
            arguments=asked.arguments,
            max_instructions=MOST_INSTRUCTIONS,
        )
        if result.stop.kind != "returned":
            text = result.stop.fault.text if result.stop.fault else f"it {result.stop.kind}"
            raise UsageError(f"the function did not return: {text}")
        return _ExperimentCost(result.profile.cycles, Usage(result.profile.cycles / machine.core.clock))


def _settings(asked: Experiment, overhead: str | None) -> Settings:
    cycles = None if overhead is None else int(overhead.split()[0])
    options = {"sram_budget": asked.sram_budget, "weights": asked.weights}
    if asked.policy in takers(BUFFER_SIZES.name):
        options[BUFFER_SIZES.name] = "largest"  # as the publications' planner has them
    run = {"code": asked.code, "operator_overhead": cycles}
    return settings(asked.policy, asked.kernels, options, run, fidelity=asked.fidelity)
