"""The plan of a network as something to tune: how a policy's overlays use a board's memories.

Knobs are the policy's own options: tile buffers, parts of rows and channels, operands that are read in place, what
stays on chip. The replay of a plan says what it is expected to take, the emulated core what it takes; outputs are
compared with LiteRT's for the network as it is. Not modelled: streams of other priorities, activations that are chosen
one by one.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from io import StringIO
from math import log2
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.api.simulate import plan_program, simulate_loaded
from mcusim.errors import DoesNotFit, McusimError, NegativeResult, UnsupportedError, UsageError
from mcusim.model.channel_tiles import model_operators
from mcusim.model.geometry import geometry
from mcusim.plan.operand_roles import data_inputs
from mcusim.plan.options import PlanOptions
from mcusim.plan.overlay.tiling import partition, smallest_factor
from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plan.registry import declared_options, find_policy, plan_options, takers
from mcusim.program import program_graph, write_program
from mcusim.program.program import Compute, Program
from mcusim.run_config.input_tensors import random_inputs
from mcusim.run_config.settings import Settings, settings
from mcusim.sweeps.input_hashes import description_sha256
from mcusim.tuning.config_space import Config, ConfigSpace, Knob
from mcusim.tuning.trial import Outcome, TrialResult
from mcusim.tuning.tune import TunedTask, TuningPlan, check_search
from mcusim.verification.equivalence import litert_outputs

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.model.graph import Graph
    from mcusim.results.result import Result

Array = np.ndarray[Any, Any]
KNOBS = ("channel_tiles", "tile_buffer", "row_tiles", "uncopied", "on_chip")  # of a policy: what a plan is tuned by
WORST = 8  # operators with a knob of their own, those that wait longest
COMMON, WHOLE = "common", 1 << 30
GOALS = (0, 16384, 8192, 6144, 4096, 3072, 2048, 1024)  # bytes of a tile; 0: as many as fit
OWN = (COMMON, "1024", "2048", "4096", "8192", "whole", "input in place", "filter in place")
POOL = 24  # configurations that a model ranks: each is a replay
KIB = 1024
_MEMORIES = ("sdram", "qspi", "dma_wait")  # causes of a run


@dataclass(frozen=True)
class PlanTask:
    """``graph`` on ``machine`` under ``policy`` with ``options`` as a user gives them, which stay; ``kernels`` is the
    set that is emulated, ``expected`` are LiteRT's outputs for ``inputs``."""

    graph: Graph
    machine: Machine
    policy: str
    kernels: str
    options: Mapping[str, object]
    inputs: Sequence[Array] = field(repr=False)
    expected: Sequence[Array] = field(repr=False)

    @property
    def described(self) -> dict[str, Any]:
        """As the log has it."""
        return {
            "model": self.graph.name, "policy": self.policy, "kernels": self.kernels,
            "options": self.options_text({}), "sha256": self.sha256,
        }  # fmt: skip

    @property
    def sha256(self) -> str:
        """Of the network, its values, and the knobs."""
        held = hashlib.sha256(f"{self.graph.sha256} {self.space.knobs} {description_sha256(self.machine)}".encode())
        for array in (*self.inputs, *self.expected):
            held.update(array.tobytes())
        return held.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made when it is needed: other processes make it again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def base(self) -> Result:
        """The plan as the policy makes it, replayed. Raises DoesNotFit."""
        result = self._replayed({})
        if result.run is None or result.request is None or result.request.program is None:
            raise result.does_not_fit or UsageError(str(result.unusable))
        return result

    @cached_property
    def space(self) -> ConfigSpace:
        """Knobs for all operators, and for those that wait longest; of filters that are read in place, their parts."""
        knobs = [Knob("on_chip", "choice", self._on_chip(), 0), Knob("tile_buffer", "choice", self._buffers(), 0)]
        knobs.append(Knob("goal", "choice", GOALS, 0))
        knobs += [Knob(f"channels_{n}", "choice", parts, 1) for n, parts in self._parts().items()]
        knobs += [Knob(f"operator_{n}", "choice", OWN, COMMON) for n in self._worst()]
        return ConfigSpace(tuple(knob for knob in knobs if len(knob.values) > 1))

    def features(self) -> PlanFeatures:
        """What tuners see of it."""
        return PlanFeatures(self)

    def sets(self, kernels: str) -> dict[str, TrialResult]:
        """Nothing: the default is the policy's own plan."""
        return {}

    def to_json(self, config: Config | None) -> dict[str, Any]:
        """What it is, for tables, and the options of a configuration as words of a command line."""
        options = {} if config is None else {"options": self.options_text(config)}
        return {"model": self.graph.name, "policy": self.policy, "kernels": self.kernels, **options}

    def planned(self, config: Config) -> dict[str, object]:
        """The options of a configuration, besides those that stay."""
        if {**config} == dict(self.space.default) or not config:
            return {}
        goal, rows, channels = int(config.get("goal", 0)), dict[int, int](), dict[int, int]()
        kept: list[str] = []
        for op in self._graph.operators:
            own = str(config.get(f"operator_{op.index}", COMMON))
            if own.endswith(" in place"):
                kept.append(f"{op.index}:{own.removesuffix(' in place')}")
            wanted = {COMMON: goal, "filter in place": goal, "input in place": 0, "whole": WHOLE}.get(own)
            factor = self._factor(op.index, int(own) if wanted is None else wanted)
            if factor:
                rows[op.index] = factor
            if int(config.get(f"channels_{op.index}", 1)) > 1:
                channels[op.index] = int(config[f"channels_{op.index}"])
        entries: dict[str, object] = {"row_tiles": rows, "channel_tiles": channels, "uncopied": ",".join(kept)}
        entries |= {name: int(config.get(name, 0)) for name in ("tile_buffer", "on_chip")}
        return {name: value for name, value in entries.items() if value}

    def options_text(self, config: Config) -> str:
        """The words of a command line for a configuration, with the options that stay."""
        declared, knobs = declared_options(), self.planned(config)
        if rows := self._needed_rows(knobs):
            knobs["row_tiles"] = rows
        else:
            knobs.pop("row_tiles", None)
        asked = plan_options(**self._with(knobs))
        words = []
        for name, value in asked.values:
            option = declared[name]
            text = option.to_cli(value)
            words.append(f"--{option.flag}" + (f' "{text}"' if " " in text else f" {text}") * (not option.is_flag))
        return " ".join(words)

    def _with(self, knobs: Mapping[str, object]) -> dict[str, Any]:
        """All options of a plan; buffers are as large as may be, for a tuner tries smaller ones itself."""
        own = {BUFFER_SIZES.name: "largest"} if self.policy in takers(BUFFER_SIZES.name) else {}
        return {**self.options, **own, **knobs}

    def _needed_rows(self, knobs: Mapping[str, Any]) -> dict[int, int]:
        """Parts of rows that the plan would not have without saying so."""
        rows: Mapping[int, int] = knobs.get("row_tiles", {})
        if not rows:
            return {}
        others = {name: value for name, value in knobs.items() if name != "row_tiles"}
        program = plan_program(self.graph, self.machine, self._settings(others, "emulate"))
        numbers = model_operators(program_graph(program, self.graph))
        tiles = {numbers[task.operator]: task.tiles for task in program.tasks if isinstance(task, Compute)}
        return {
            n: count for n, count in rows.items() if count > tiles.get(n, 1) or (count == 1 and tiles.get(n, 1) > 1)
        }

    def run(self, number: int) -> TrialResult:
        """The trial of a configuration's number: emulated, its outputs compared."""
        began = perf_counter()
        try:
            asked = self._settings(self.planned(self.space.config(number)), "emulate")
            result = simulate_loaded(self.graph, self.machine, asked)
        except McusimError as error:
            return TrialResult("does_not_fit", text=" ".join(str(error).split())[:300])
        seconds = perf_counter() - began
        if result.run is None:
            outcome: Outcome = "fault" if result.does_not_fit is None else "does_not_fit"
            return TrialResult(outcome, text=" ".join(str(result.negative).split())[:300], seconds=seconds)
        for output, right in zip(result.outputs, self.expected, strict=True):
            wrong = int(np.count_nonzero(output.values != right))
            if wrong:
                text = f"{wrong:,} of {right.size:,} values of {output.name[:80]} differ"
                return TrialResult("wrong_output", text=text, seconds=seconds)
        causes = {cause: float(cycles) for cause, cycles in result.run.by_cause.items() if cycles}
        return TrialResult("ok", float(result.run.cycles), causes, seconds=seconds)

    def program(self, config: Config) -> Program:
        """As it is emulated."""
        return plan_program(self.graph, self.machine, self._settings(self.planned(config), "emulate"))

    def replayed_cycles(self, config: Config) -> float:
        """What a configuration is expected to take; endless where it cannot be planned."""
        try:
            result = self._replayed(self.planned(config))
        except (DoesNotFit, UsageError):
            return float("inf")
        return float("inf") if result.run is None else float(result.run.cycles)

    def _replayed(self, knobs: Mapping[str, object]) -> Result:
        return simulate_loaded(self.graph, self.machine, self._settings(knobs, "replay"))

    def _settings(self, knobs: Mapping[str, object], fidelity: str) -> Settings:
        options = self._with(knobs)
        inputs = list(self.inputs) if fidelity == "emulate" else None
        return settings(self.policy, self.kernels, options, fidelity=fidelity, inputs=inputs)

    @cached_property
    def _graph(self) -> Graph:
        asked: PlanOptions = plan_options(**self.options)
        return asked.runtime.executed(self.graph)

    @property
    def _program(self) -> Program:
        """Of the plan without changes."""
        request = self.base.request
        assert request is not None and request.program is not None  # base is a run
        return request.program

    @property
    def _tasks(self) -> list[Compute]:
        """The first kernel call of each operator."""
        return [task for task in self._program.tasks if isinstance(task, Compute) and task.tile == 0]

    def _on_chip(self) -> tuple[int, ...]:
        """0, what call structures take, and more for activations."""
        nodes = sum(b.span.bytes for b in self._program.header.buffers if b.name.startswith("node"))
        least = -(-max(nodes, 1) // KIB) * KIB
        return (0, *(least + more * KIB for more in (0, 8, 16, 24, 32)))

    def _buffers(self) -> tuple[int, ...]:
        """0, and sizes below that of the plan's tile buffer."""
        largest = int(self._program.header.options.get("tile_buffer") or 0)
        return (0, *(largest * part // 16 for part in (12, 10, 8, 6, 4))) if largest >= 64 else (0,)

    def _parts(self) -> dict[int, tuple[int, ...]]:
        """Of operators whose filter does not fit its buffer: counts of parts that do."""
        header, parts = self._program.header, {}
        room = int(header.options.get("second_buffer") or 0)
        for task in self._tasks:
            filters = [operand.span for operand in task.operands if operand.role == "filter"]
            op = self._graph.operators[task.operator]
            if not filters or filters[0].bytes <= room or room == 0 or op.traits.depthwise:
                continue
            channels = self._graph.tensors[op.outputs[0]].shape[-1]
            least = -(-filters[0].bytes // room)
            counts = sorted({min(channels, n) for n in (least, least + 1, least * 3 // 2 + 1, least * 2)})
            parts[op.index] = (1, *(n for n in counts if n > 1))
        return parts

    def _worst(self) -> list[int]:
        """Operators in tiles, those first that wait longest for memories and transfers."""
        run = self.base.run
        assert run is not None
        waits = Counter({op.index: sum(op.by_cause.get(name, 0) for name in _MEMORIES) for op in run.operators})
        able = {task.operator for task in self._tasks if self._row(task.operator)}
        return sorted([number for number, _ in waits.most_common() if number in able][:WORST])

    def _row(self, number: int) -> int:
        """Bytes of a row of the operator's input; 0 for one that is not partitioned."""
        op = self._graph.operators[number]
        g = geometry(self._graph, op)
        if not op.traits.partitionable or g.batch != 1:
            return 0
        return self._graph.tensors[data_inputs(self._graph, op)[0]].bytes // g.in_h

    def _factor(self, number: int, goal: int) -> int:
        """Tiles of an operator so that none is larger than ``goal``; 0 where that is left to the policy."""
        row = self._row(number)
        if not goal or not row:
            return 0
        g = geometry(self._graph, self._graph.operators[number])
        if goal == WHOLE:
            return 1
        factor = smallest_factor(g, row, goal) or g.in_h
        return len(partition(g, factor))


class PlanFeatures:
    """What a tuner sees of a :class:`PlanTask`: its space, and what the replay expects."""

    pool = POOL

    def __init__(self, task: PlanTask) -> None:
        self.task, self.space = task, task.space
        self._expected: dict[int, float] = {}

    def estimate(self, config: Config) -> float:
        """Cycles by the replay; endless where it cannot be planned."""
        number = self.space.number(config)
        if number not in self._expected:
            self._expected[number] = self.task.replayed_cycles(config)
        return self._expected[number]

    def of(self, number: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The replay's cycles against the plain plan's, and each knob's place."""
        config, plain = self.space.config(number), self.estimate(self.space.default)
        cycles = min(self.estimate(config), 4 * plain)
        places = [float(knob.values.index(config[knob.name])) for knob in self.space.knobs]
        return np.array([log2(cycles / plain), *places])


def best_program(tasks: Sequence[TunedTask]) -> bytes | None:
    """The program of the fastest configuration, as `mcusim plan` writes it; None where kernels were tuned.

    Raises NegativeResult where no configuration is right.
    """
    pair = next(((task.task, task.best) for task in tasks if isinstance(task.task, PlanTask)), None)
    if pair is None:
        return None
    task, best = pair
    assert isinstance(task, PlanTask)  # it was looked for
    if best is None:
        raise NegativeResult("no trial is right; there is nothing to apply")
    text = StringIO()
    write_program(task.program(best.config), text)
    return text.getvalue().encode()


def plan_tuning(
    task: PlanTask, tuner: str = "replay", trials: int = 64, seed: int = 0, budget: float | None = None
) -> TuningPlan:
    """The tuning of ``task``, for :func:`~mcusim.tuning.tune.tune_tasks`. Raises UsageError for what cannot be used."""
    check_search(tuner, trials)
    name = f"plan: {task.graph.name} on {task.machine.name}, {task.policy}"
    return TuningPlan(task.machine, {name: task}, tuner, trials, seed, budget, task.kernels)


def plan_task(graph: Graph, machine: Machine, policy: str, kernels: str, options: Mapping[str, object]) -> PlanTask:
    """The plan of ``graph`` to tune. Raises UsageError for a policy without such knobs and for knobs that are given,
    UnsupportedError where LiteRT does not take the network, DoesNotFit for one that does not fit as it is."""
    arguments = {name: value for name, value in options.items() if value is not None}
    own = {option.name for option in find_policy(policy).options}
    if not set(KNOBS) & own:
        raise UsageError(f"policy {policy} decides nothing that could be tuned for memories; tinyops does")
    fixed = [declared_options()[name].flag for name in KNOBS if name in arguments]
    if fixed:
        raise UsageError(f"--{fixed[0]} is what is tuned; leave it out")
    inputs = random_inputs(graph)
    try:
        outputs = litert_outputs(graph, inputs)
    except ImportError:
        raise UsageError(
            "tuning needs LiteRT, which says what a network must compute: pip install 'mcusim[tune]'"
        ) from None
    except (ValueError, RuntimeError) as error:
        raise UnsupportedError(f"{graph.name}: LiteRT does not take it: {str(error)[:200]}") from None
    values = {
        t: value for op in graph.operators for t, value in zip(op.outputs, outputs.get(op.index, ()), strict=False)
    }
    task = PlanTask(graph, machine, policy, kernels, arguments, inputs, [values[t] for t in graph.outputs])
    if not task.space.knobs:
        raise UsageError(f"{graph.name} under {policy}: the plan has nothing to tune")
    return task
