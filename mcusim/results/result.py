"""The outcome of one simulation, and its JSON form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from mcusim.display import Displayed, SavedAsJson, SavedAsPage, SavedAsTrace
from mcusim.errors import DoesNotFit, KernelFault
from mcusim.machine.clock_rules import clock_json
from mcusim.machine.description import Machine
from mcusim.plan import SRAM_BUDGET, policy_options, takers
from mcusim.plan.options import ALLOCATOR, EVERY_PLAN, IN_PLACE, ORDER, PATCHES, RUNTIME, WITHOUT, Cell, Option
from mcusim.plan.registry import policy_label
from mcusim.plan.verdict import MemoryVerdict, program_verdict
from mcusim.program.order import program_graph
from mcusim.program.unknown_operators import left_out
from mcusim.results.advice import Advice
from mcusim.results.by_operator import OperatorResult, operator_json, operator_results, outside
from mcusim.results.duty import Duty, duty
from mcusim.results.energy import Energy, usage
from mcusim.results.flash import FlashUse
from mcusim.results.measurement.interval import Interval, Ratios
from mcusim.results.measurement.measured import KernelOutput, Measured, error_percent, output_json
from mcusim.results.other_code import OtherCode
from mcusim.results.places import TensorPlace, buffer_places, tensor_places

if TYPE_CHECKING:
    from mcusim.engine.run import Invocation, Run
    from mcusim.model.graph import Graph
    from mcusim.program.program import Header, Program
    from mcusim.results.film import Film
    from mcusim.run_config.settings import RunRequest


@dataclass(frozen=True)
class Result(Displayed, SavedAsJson, SavedAsPage, SavedAsTrace):
    """One row: a model on a machine under a policy.

    Exactly one of ``run``, ``does_not_fit``, ``fault`` and ``unusable`` is set. ``outputs`` are what an emulated
    network computed. Of several inferences one after the other ``run`` is the first, ``invocations`` has them all (it
    is empty for one), and each of ``outputs`` has a leading axis for them.

    ``unusable`` says why the row could not be planned at all (a model that is not available, a policy that needs a
    memory the machine does not have). ``macs`` is None when the model could not be loaded. ``measured`` are the
    published figures of this very experiment and ``interval`` is where a measurement of it is expected
    (:mod:`mcusim.measurements.annotation`). ``request`` is what was asked for.
    ``ratios`` are those of a row of a comparison over the row that it is explained by
    (:mod:`mcusim.report.compare.pairs`).
    ``flash`` is what flash keeps; None where the model is not known, as in the replay of a saved program.
    ``advice`` has limits and ways out (:mod:`mcusim.api.advice`). ``step`` is that of an ablation, of which the row is.
    ``other_code`` is what others' code for the same runtime would take (:mod:`mcusim.api.other_code`).
    ``film`` is that of a window, where one was asked for (:mod:`mcusim.results.film`).
    """

    model: str
    machine: Machine
    policy: str
    kernels: str
    fidelity: str
    macs: int | None
    run: Run | None = None
    energy: Energy | None = None
    does_not_fit: DoesNotFit | None = None
    unusable: str | None = None
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    measured: Measured | None = None
    fault: KernelFault | None = None
    outputs: tuple[KernelOutput, ...] = ()
    interval: Interval | None = None
    ratios: Ratios | None = field(default=None, repr=False)
    invocations: tuple[Invocation, ...] = ()
    flash: FlashUse | None = None
    advice: Advice = field(default=Advice(), repr=False)
    request: RunRequest | None = field(default=None, repr=False, compare=False)
    step: str = ""
    film: Film | None = field(default=None, repr=False, compare=False)
    other_code: tuple[OtherCode, ...] = field(default=(), repr=False)

    @property
    def negative(self) -> DoesNotFit | KernelFault | None:
        """The verdict that there is no run."""
        return self.does_not_fit or self.fault

    @property
    def operators(self) -> tuple[OperatorResult, ...]:
        """What each operator took and moved, and where its operands are; none without a run."""
        program, graph = self._asked
        return () if self.run is None else operator_results(self.run, self.machine, program, graph)

    @property
    def tensors(self) -> tuple[TensorPlace, ...]:
        """Where each tensor lies and when it lives; none without a run."""
        return () if self.run is None else tensor_places(self.run.header, self._asked[1])

    @property
    def _asked(self) -> tuple[Program | None, Graph | None]:
        if self.request is None:
            return None, None
        program, graph = self.request.program, self.request.graph
        return program, graph if program is None or graph is None else program_graph(program, graph)

    @property
    def data_types(self) -> str:
        """What most bytes of the activations are of, and filters of int4: ``"int8"``, ``"int8, int4 filters"``; empty
        where the network is not known."""
        graph = self._asked[1]
        if graph is None:
            return ""
        held = Counter[str]()
        for tensor in graph.tensors:
            held[tensor.dtype] += 0 if tensor.constant else tensor.bytes
        packed = any(tensor.dtype == "int4" for tensor in graph.tensors)
        return max(held, key=lambda dtype: held[dtype], default="") + ", int4 filters" * packed

    @property
    def energy_missing(self) -> str | None:
        """Why ``energy`` is None; None when it is there."""
        if self.energy is not None:
            return None
        return f"there was no run: {self.negative or self.unusable or 'it was not simulated'}"

    @property
    def duty(self) -> Duty | None:
        """Energy for each period, where a period was asked for; None without one or without a run."""
        period = None if self.request is None else self.request.settings.period
        if period is None or self.run is None:
            return None
        result = duty(self.machine, usage(self.run, self.machine), period)
        if self.interval is None or self.energy is None or not self.energy.energy_mj:
            return result
        share = result.run_mj / self.energy.energy_mj  # of the board's, in the domain that was asked for
        return result.within((share * self.interval.energy_mj[0], share * self.interval.energy_mj[1]))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Operators that cycles, latency and energy do not have: mcusim does not know them, and they got no cost."""
        return () if self.run is None else left_out(self.run.header)

    @property
    def costs(self) -> dict[str, str]:
        """What operators that mcusim does not know were said to cost."""
        return {} if self.run is None else dict(self.run.header.options.get("costs", {}))

    @property
    def verdict(self) -> MemoryVerdict | None:
        """What was counted, and whether it fits; None for a row that could not be planned, or whose kernel faulted."""
        if self.does_not_fit is not None:
            return MemoryVerdict.of(self.does_not_fit)
        return None if self.run is None else program_verdict(self.run.header, self.machine)

    @property
    def planning(self) -> dict[str, Any]:
        """``runtime``, ``order``, ``allocator``, ``in_place``, ``without`` and ``patches`` as they were asked for or,
        of a program, as it records them; patches of a program alone."""
        if self.run is not None:
            recorded = self.run.header.options
            return {
                "runtime": recorded.get(RUNTIME.name, RUNTIME.default),
                "order": recorded.get("order", "default"),
                "allocator": recorded.get("allocator", "greedy"),
                "in_place": recorded.get("in_place", False),
                "without": recorded.get(WITHOUT.name),
                "patches": _patches(recorded, self.run.header.memory.arena),
            }
        asked = None if self.request is None else self.request.settings.options
        wanted: tuple[Option[Any], ...] = (RUNTIME, ORDER, ALLOCATOR, IN_PLACE)
        entries = {option.name: None if asked is None else asked[option] for option in wanted}
        left_out = asked is not None and asked[WITHOUT]
        return {**entries, WITHOUT.name: WITHOUT.to_json(left_out) if left_out else None, PATCHES.name: None}

    def option(self, option: Option[Any]) -> Cell:
        """A plan's option as JSON has it: what was asked for, or what a program that was given records."""
        asked = self.request
        if asked is not None and not asked.given:
            return option.to_json(asked.settings.options[option])
        header = asked.program.header if asked and asked.program else self.run.header if self.run else None
        own: Cell = (header.options if header else {}).get(option.name, option.to_json(option.default))
        return own

    @property
    def sram_budget(self) -> int | None:
        """The limit of on-chip RAM that was asked for, in bytes; None without one."""
        budget = self.option(SRAM_BUDGET)
        return budget if isinstance(budget, int) else None

    @property
    def planner(self) -> str:
        """The policy, with those of its own options that are part of its name."""
        return policy_label(self.policy, {name: self.option(option) for name, option in policy_options().items()})

    @property
    def label(self) -> str:
        """The step of an ablation; else the policy, what of the options of every plan is in a name, and patches."""
        if self.step:
            return self.step
        planning, named = self.planning, [option for option in EVERY_PLAN if option.label]
        chosen = [(option, planning[option.name] or option.default) for option in named]
        words = [str(option.label).format(value) for option, value in chosen if value != option.default]
        return " ".join([self.planner, *words, *([planning["patches"]["grid"]] if planning["patches"] else [])])

    @property
    def fits(self) -> bool:
        """Whether the model ran."""
        return self.run is not None

    def value(self, name: str) -> float | None:
        """A simulated figure by the name of its measured counterpart; None when there is no run.

        Where an arena is published, ``arena_bytes`` is that of the network with explicit PADs before padded strided
        windows: the published networks are inferred to have had them (:mod:`mcusim.plan.pytorch_arena`). Elsewhere it
        is the arena as planned.
        """
        if self.run is None or self.energy is None:
            return None
        if name == "arena_bytes":
            return self.arena(self.arena_published)
        value: float = getattr(self.energy, name)
        return value

    def arena(self, exported: bool) -> int | None:
        """Bytes of the arena as planned, or as ``exported``, with explicit PADs; None when there is no run."""
        if self.run is None:
            return None
        memory = self.run.header.memory
        return memory.arena if not exported or memory.arena_exported is None else memory.arena_exported

    @property
    def arena_published(self) -> bool:
        """Whether there is a published arena to compare with."""
        return self.measured is not None and "arena_bytes" in self.measured.figures

    @property
    def planned_arena_error(self) -> float | None:
        """Error of the arena as planned against the published one, in percent; None when one of the two is missing."""
        planned, measured = self.arena(False), self.measured.figures.get("arena_bytes") if self.measured else None
        return None if planned is None or measured is None else error_percent(planned, measured)

    def error_percent(self, name: str) -> float | None:
        """Error of a figure against its published measurement; None when one of the two is missing."""
        simulated = self.value(name)
        measured = self.measured.figures.get(name) if self.measured else None
        return None if simulated is None or measured is None else error_percent(simulated, measured)

    def _line(self) -> str:
        what = f"{self.model} on {self.machine.name}, {self.planner}"
        if self.run is None or self.energy is None:
            return f"{what}: {self.negative or self.unusable or 'not run'}"
        figures = f"{self.energy.latency_ms:.4g} ms, {self.energy.energy_mj:.4g} mJ"
        return f"{what}, {self.fidelity}: {figures}, {(sram_bytes(self) or 0) / 1024:.1f} KiB SRAM"


def _patches(recorded: Mapping[str, Any], arena: int) -> dict[str, Any] | None:
    """What a header says of patches."""
    if recorded.get(PATCHES.name) is None:
        return None
    halos = recorded.get("halo_macs")
    own = {"grid": recorded[PATCHES.name], "split": recorded["patch_split"], "halo_macs": halos, "arena": arena}
    return {**own, "arena_without": recorded.get("uncut_arena")}


def sram_bytes(result: Result) -> int | None:
    """Peak bytes in on-chip RAM (SRAM and TCM regions together); None when there is no run."""
    return None if result.run is None else peak_on_chip(result.run.header, result.machine)


def peak_on_chip(header: Header, machine: Machine) -> int:
    """Peak bytes in on-chip RAM, SRAM and TCM regions together."""
    kinds = {name: region.kind for name, region in machine.memory.items()}
    return sum(n for name, n in header.peak_bytes.items() if kinds.get(name) in ("sram", "tcm"))


def to_json(result: Result) -> dict[str, Any]:
    """The result as plain data for ``json.dumps``; keys of a run are null when the model does not fit.

    Sizes are in bytes, cycles are those of the core. ``fits`` is false with the reason in ``does_not_fit``, ``fault``
    or ``unusable``; ``set`` has the machine keys that were changed, ``clock`` what moved with them
    (:func:`mcusim.machine.clock_rules.clock_json`). ``memory.arena`` is the arena as planned, ``memory.arena_exported``
    the one with explicit PADs, which ``measured.error_percent.arena_bytes`` is about.
    ``flash`` is as :meth:`mcusim.results.flash.FlashUse.to_json` has it, null when the model is not known.
    ``interval`` is as :meth:`mcusim.results.measurement.interval.Interval.to_json` has it; null without a run.
    """
    row: dict[str, Any] = {
        "model": result.model,
        "machine": result.machine.name,
        "policy": result.policy,
        "kernels": result.kernels,
        "fidelity": result.fidelity,
        "fits": result.fits,
        "sram_budget": result.sram_budget,
        **_planned(result),
        **_machine(result.machine),
        "model_sha256": model_sha256(result),
        "options": _options(result.run.header.options) if result.run else None,
        **_figures(result),
        "interval": None if result.interval is None else result.interval.to_json(),
        "other_code": [asdict(other) for other in result.other_code],
        "assumptions": list(result.assumptions),
        "warnings": list(result.warnings),
    }
    if (reason := result.does_not_fit) is not None:
        row["does_not_fit"] = {name: getattr(reason, name) for name in ("region", "needed", "available", "what")}
    if result.fault is not None:
        fault = ("operator", "type", "tile", "tiles", "symbol", "kind", "text", "pc", "address", "line")
        row["fault"] = {name: getattr(result.fault, name) for name in fault}
    row |= {"outputs": [output_json(output) for output in result.outputs]} if result.outputs else {}
    row |= {"invocations": [asdict(invocation) for invocation in result.invocations]} if result.invocations else {}
    if result.unusable is not None:
        row["unusable"] = result.unusable
    if result.measured is not None:
        row["measured"] = _measured(result, result.measured)
    return row


def _planned(result: Result) -> dict[str, Any]:
    verdict = None if result.verdict is None else result.verdict.to_json(result.machine)
    labelled = [(name, option) for name, option in policy_options().items() if option.label]
    own = {name: result.option(option) if result.policy in takers(name) else None for name, option in labelled}
    return {**own, **result.planning, "verdict": verdict}


def _machine(machine: Machine) -> dict[str, Any]:
    return {"set": dict(machine.changes), "clock": clock_json(machine)}


def model_sha256(result: Result) -> str | None:
    """Of the model's file, or of a built-in network's definition; None where the model is not known."""
    graph = result._asked[1]
    return result.run.header.model_sha256 if result.run else graph.sha256 if graph else None


def _figures(result: Result) -> dict[str, Any]:
    run, energy = result.run, result.energy
    memory = asdict(run.header.memory) if run else None
    return {
        "cycles": run.cycles if run else None,
        "clock_hz": result.machine.core.clock,
        "latency_ms": energy.latency_ms if energy else None,
        "energy_mj": energy.energy_mj if energy else None,
        "energy_missing": result.energy_missing,
        "supply_current_ma": energy.supply_current_ma if energy else None,
        "period": result.duty.to_json() if result.duty else None,
        "macs": result.macs,
        "left_out": list(result.left_out),
        "costs": result.costs,
        "peak_bytes": dict(sorted(run.header.peak_bytes.items())) if run else None,
        "peak_sram_bytes": sram_bytes(result),
        "memory": memory,
        "cycles_by_cause": dict(run.by_cause) if run else None,
        "operators": [operator_json(operator) for operator in result.operators] if run else None,
        "outside_operators": asdict(outside(run, result.machine)) if run else None,
        "tensors": [_tensor(tensor) for tensor in result.tensors] if run else None,
        "buffers": [asdict(item) for item in buffer_places(run.header)] if run else None,
        "traffic": {name: asdict(t) for name, t in run.traffic.items()} if run else None,
        "busy": dict(run.busy) if run else None,
        "counters": dict(run.counters) if run else None,
        "flash": result.flash.to_json() if result.flash else None,
        **result.advice.to_json(),
    }


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Of a plan, in the order in which a saved program has them; changed keys of the machine are a key of their own."""
    return {name: options[name] for name in sorted(options) if name != "set"}


def _tensor(tensor: TensorPlace) -> dict[str, Any]:
    return asdict(tensor) | {"shape": None if tensor.shape is None else list(tensor.shape)}


def _measured(result: Result, measured: Measured) -> dict[str, Any]:
    errors = {name: result.error_percent(name) for name in measured.figures}
    known: Mapping[str, float] = {name: error for name, error in errors.items() if error is not None}
    return {
        **measured.figures,
        "source": measured.reference,
        "use": dict(measured.use),
        "error_percent": dict(known),
    }
