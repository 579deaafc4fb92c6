"""Tuning: proposals in batches, trials, records; the same for any number of processes.

Not modelled: transfer of what was learned between the layers of one tuning (a log given beforehand does that).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcusim._version import __version__
from mcusim.errors import UnsupportedError, UsageError
from mcusim.kernels.kernel_set import load_set
from mcusim.record_log import RecordLog
from mcusim.sweeps.input_hashes import description_sha256
from mcusim.tuning.layer import Layer
from mcusim.tuning.log import TUNING_LOG, TrialRecord
from mcusim.tuning.measuring import Measurer, TrialTask, TuningTask
from mcusim.tuning.template import open_template, template_names
from mcusim.tuning.trial import TrialResult
from mcusim.tuning.tuner_warm_start import WarmTrial, warm_trials
from mcusim.tuning.tuners import TUNERS
from mcusim.units import quoted

if TYPE_CHECKING:
    from mcusim.machine.description import Machine

BATCH = 8  # proposals before a tuner hears of results
Progress = Callable[[int, int], object] | None


@dataclass(frozen=True)
class TunedTask:
    """What was tuned, its ``records``, and what the sets' functions for it take, by set."""

    name: str
    task: TuningTask
    records: Sequence[TrialRecord]
    sets: Mapping[str, TrialResult]

    @property
    def kernel(self) -> TrialTask:
        """The layer with a template that it is. Raises UsageError where a plan was tuned."""
        if not isinstance(self.task, TrialTask):
            raise UsageError(f"{self.name} is a plan: it has no kernel; its options are what is applied")
        return self.task

    @property
    def layer(self) -> Layer:
        """That the kernel is for."""
        return self.kernel.layer

    @property
    def template(self) -> str:
        """Of the kernel, by name or path."""
        return self.kernel.template

    @property
    def default(self) -> TrialRecord:
        """The trial of the plain configuration, which is the first."""
        return self.records[0]

    @property
    def best(self) -> TrialRecord | None:
        """The fastest trial with right outputs, the earlier of two alike; None for none."""
        best = min(self.records, key=lambda record: record.best_of)
        return best if best.result == "ok" else None


@dataclass(frozen=True)
class TuningPlan:
    """What is tuned and how; ``budget`` in seconds, None for none. ``kernels`` is the set that it is compared with,
    besides the reference one. ``warm`` are trials of other tunings to learn from."""

    machine: Machine
    tasks: Mapping[str, TuningTask]
    tuner: str = "model"
    trials: int = 64
    seed: int = 0
    budget: float | None = None
    kernels: str = "cmsis"
    warm: Sequence[WarmTrial] = ()

    @property
    def head(self) -> dict[str, Any]:
        """The first line of its log."""
        return {
            "version": __version__, "machine": self.machine.name, "machine_sha256": description_sha256(self.machine),
            "tuner": self.tuner, "seed": self.seed, "warm": len(self.warm),
            "tasks": {name: task.described for name, task in self.tasks.items()},
        }  # fmt: skip


def tuning_plan(
    layers: Sequence[Layer],
    machine: Machine,
    templates: Sequence[str] = (),
    tuner: str = "model",
    trials: int = 64,
    seed: int = 0,
    budget: float | None = None,
    kernels: str = "cmsis",
    warm: Sequence[Path] = (),
) -> TuningPlan:
    """A plan for ``layers``; ``warm`` are logs. Raises InputError for what cannot be used."""
    check_search(tuner, trials)
    load_set(kernels)
    tasks = tasks_of(layers, machine, templates)
    known = [*dict.fromkeys(task.template for task in tasks.values())]
    learnt = warm_trials(warm, machine, known) if warm else ()
    return TuningPlan(machine, tasks, tuner, trials, seed, budget, kernels, learnt)


def check_search(tuner: str, trials: int) -> None:
    """Raise UsageError for a tuner that is none, or trials that are no number."""
    if tuner not in TUNERS:
        raise UsageError(f"tuner = {quoted(tuner)}: there are {', '.join(TUNERS)}")
    if isinstance(trials, bool) or not isinstance(trials, int) or trials < 1:
        raise UsageError(f"trials = {str(trials)[:40]}: must be a whole number from 1 on")


def tasks_of(layers: Sequence[Layer], machine: Machine, templates: Sequence[str] = ()) -> dict[str, TrialTask]:
    """A task for each layer and template that computes it: of ``templates``, or of all that ship.

    Raises UnsupportedError where there is none, and for one of ``templates`` that computes none of the layers, with the
    reason for each layer.
    """
    tasks, reasons = {}, dict[str, list[str]]()
    for layer in layers:
        for name in templates or template_names():
            template = open_template(name)
            against = template.applies(layer.geometry)
            if against is None:
                tasks[f"{template.name}: {layer.name}"] = TrialTask(layer, machine, str(name))
            else:
                reasons.setdefault(str(name), []).append(f"{template.name}: not {layer.name}: {against}")
    for name in templates:
        if len(against_all := reasons.get(str(name), [])) == len(layers):
            raise UnsupportedError.of_lines(f"{quoted(name)} computes no layer of it", against_all[:20])
    if not tasks:
        lines = [line for several in reasons.values() for line in several]
        raise UnsupportedError.of_lines("no template computes a layer of it", lines[:20])
    return tasks


def tune_tasks(
    plan: TuningPlan,
    log: Path | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress = None,
) -> list[TunedTask]:
    """Tune each task, trials of the log not again. ``progress`` gets trials done and all.

    Raises UsageError for a log of another tuning, or a cluster that is not there, InputError for a template that has no
    value for a configuration.
    """
    ends, tuned = monotonic() + (plan.budget or float("inf")), list[TunedTask]()

    def step(done: int) -> None:
        if progress is not None:
            progress(len(tuned) * plan.trials + done, len(plan.tasks) * plan.trials)

    with RecordLog(log, TUNING_LOG, plan.head) as written, Measurer(dict(plan.tasks), jobs, dask) as measurer:
        for name, task in plan.tasks.items():
            records = _tuned(plan, name, task, written, measurer, ends, step)
            tuned.append(TunedTask(name, task, records, _sets(task, plan.kernels)))
    return tuned


def _sets(task: TuningTask, kernels: str) -> dict[str, TrialResult]:
    return task.sets(kernels)


def _tuned(
    plan: TuningPlan, name: str, task: TuningTask, log: RecordLog[TrialRecord], measurer: Measurer, ends: float,
    progress: Callable[[int], object],
) -> list[TrialRecord]:  # fmt: skip
    features = task.features()
    space, tuner = features.space, TUNERS[plan.tuner](features, plan.seed, name)
    tuner.warm([trial for trial in plan.warm if trial.template == task.described.get("template")])
    known, records = [record for record in log.known if record.task == name], list[TrialRecord]()
    while len(records) < plan.trials:
        if records and monotonic() >= ends and len(records) >= len(known):
            break
        numbers = tuner.propose(min(BATCH, plan.trials - len(records)))
        if not numbers:
            break
        old = known[len(records) : len(records) + len(numbers)]
        for record, number in zip(old, numbers, strict=False):
            _same(record, len(records), space.config(number))
            records.append(record)
        for number, measured in zip(numbers[len(old) :], measurer.measured(name, numbers[len(old) :]), strict=True):
            expected = tuner.predicted.get(number)
            records.append(TrialRecord.of(name, len(records), space.config(number), measured, expected))
            log.append(records[-1])
            progress(len(records))
        tuner.learn(numbers, [record.best_of for record in records[-len(numbers) :]])
    return records


def _same(record: TrialRecord, trial: int, config: Mapping[str, Any]) -> None:
    if record.trial != trial or record.config != dict(config):
        raise UsageError(
            f"the log's trial {record.trial} of {record.task} is not the one that this tuning makes; its template or"
            " the tuner has changed: name a new file"
        )
