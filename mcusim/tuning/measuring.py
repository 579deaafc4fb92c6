"""Where trials are made: in this process, in processes of this computer, or on a Dask cluster.

Results come in the order of what was asked for. A trial that ends its process twice is a fault. Not modelled: machines
of different speed; a trial's cycles are the same everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mcusim.errors import UnsupportedError, UsageError
from mcusim.kernels.kernel_set import NAMES
from mcusim.processes import deaf, pool, processes
from mcusim.sweeps.executors import dask_client
from mcusim.tuning.features import ConfigFeatures
from mcusim.tuning.template import open_template
from mcusim.tuning.trial import TrialResult, measure_set, run_trial

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.tuning.config_space import Config
    from mcusim.tuning.layer import Layer
    from mcusim.tuning.tuners import TunerFeatures

DIED = "the process that ran it died, twice"


class TuningTask(Protocol):
    """What is tuned: described for the log, with the features that tuners see, the trial of a configuration's number,
    what kernel sets take for it, and what tables say of it and of a configuration."""

    @property
    def described(self) -> dict[str, Any]: ...
    def features(self) -> TunerFeatures: ...
    def run(self, number: int) -> TrialResult: ...
    def sets(self, kernels: str) -> dict[str, TrialResult]: ...
    def to_json(self, config: Config | None) -> dict[str, Any]: ...


@dataclass(frozen=True)
class TrialTask:
    """A layer by a template, which is a name or a path: what a trial needs besides its configuration."""

    layer: Layer
    machine: Machine
    template: str

    @property
    def described(self) -> dict[str, Any]:
        """As the log has it: enough to know the layer again, and to learn from its trials for another one."""
        g = self.layer.geometry
        shape = {name: getattr(g, name) for name in NAMES}
        return {
            "template": open_template(self.template).name, "operator": g.type, "shape": shape,
            "places": dict(self.layer.places), "sha256": self.sha256,
        }  # fmt: skip

    @property
    def sha256(self) -> str:
        """Of the layer's values and places, and of the template's files."""
        layer, template = self.layer, open_template(self.template)
        held = hashlib.sha256(repr((layer.name, sorted(layer.places.items()))).encode())
        for array in (layer.input, layer.expected, *(tensor.data for tensor in layer.graph.tensors)):
            held.update(b"" if array is None else array.tobytes())
        for path in template.files:
            held.update(path.read_bytes())
        return held.hexdigest()

    def features(self) -> ConfigFeatures:
        """What tuners see of it."""
        template, g = open_template(self.template), self.layer.geometry
        return ConfigFeatures(g, self.layer.places, self.machine, template, template.space(g))

    def run(self, number: int) -> TrialResult:
        """The trial of a configuration's number."""
        template = open_template(self.template)
        space = template.space(self.layer.geometry)
        return run_trial(self.layer, self.machine, template, space, space.config(number))

    def sets(self, kernels: str) -> dict[str, TrialResult]:
        """What the functions of kernel sets take for the layer: of the reference one and ``kernels``."""
        trial_results = {}
        for name in dict.fromkeys(("reference", kernels)):
            with suppress(UnsupportedError):  # the set has no function for it
                trial_results[name] = measure_set(self.layer, self.machine, name)
        return trial_results

    def to_json(self, config: Config | None) -> dict[str, Any]:
        """What it is, for tables."""
        return {
            "template": open_template(self.template).name, "operators": list(self.layer.operators),
            "places": dict(self.layer.places),
        }  # fmt: skip


def measure(task: TuningTask, number: int) -> TrialResult:
    """The trial of a configuration's number."""
    return task.run(number)


_tasks: dict[str, TuningTask] = {}  # of a process


def _prepare(tasks: dict[str, TuningTask]) -> None:
    _tasks.update(tasks)


def _measured(task: str, number: int) -> TrialResult:
    return _tasks[task].run(number)


class Measurer:
    """Makes trials of ``tasks``, by name, in ``jobs`` processes (None: one a core) or on the cluster ``dask``."""

    def __init__(self, tasks: dict[str, TuningTask], jobs: int | None, dask: str | None) -> None:
        if dask is not None and jobs is not None:
            raise UsageError("--jobs has no effect with --dask; the cluster has its own workers")
        self.tasks, self._count, self._dask = tasks, processes(jobs), dask
        self._open = ExitStack()
        self._pool: Any = None
        self._client: Any = None
        self._sent: dict[str, Any] = {}

    def __enter__(self) -> Measurer:
        if self._dask is not None:
            self._client = self._open.enter_context(dask_client(self._dask))
        return self

    def __exit__(self, *reason: Any) -> None:
        self._open.__exit__(*reason)

    def measured(self, task: str, numbers: Sequence[int]) -> Iterator[TrialResult]:
        """The results of a batch, each as soon as it and all before it are there."""
        if self._client is not None:
            yield from self._on_cluster(task, numbers)
        elif self._count == 1 or len(numbers) == 1:
            yield from (measure(self.tasks[task], number) for number in numbers)
        else:
            yield from self._shared(task, list(numbers))

    def _on_cluster(self, task: str, numbers: Sequence[int]) -> Iterator[TrialResult]:
        from distributed import KilledWorker

        if task not in self._sent:
            self._sent[task] = self._client.scatter(self.tasks[task], broadcast=True)
        futures = [self._client.submit(measure, self._sent[task], number, pure=False) for number in numbers]
        for future in futures:
            try:
                yield future.result()
            except KilledWorker:
                yield TrialResult("fault", text=DIED)

    def _shared(self, task: str, numbers: list[int]) -> Iterator[TrialResult]:
        if self._pool is None:
            self._pool = self._open.enter_context(pool(self._count, "the tuning", _prepare, (self.tasks,)))
        with deaf():
            futures = [self._pool.submit(_measured, task, number) for number in numbers]
        for index, future in enumerate(futures):
            try:
                yield future.result()
            except BrokenProcessPool:
                self._pool = None
                yield from self._one_by_one(task, numbers[index:])
                return

    def _one_by_one(self, task: str, numbers: Sequence[int]) -> Iterator[TrialResult]:
        """What is left after a process died: each in a process of its own."""
        for number in numbers:
            try:
                with pool(1, "the tuning", _prepare, (self.tasks,)) as alone:
                    with deaf():
                        future = alone.submit(_measured, task, number)
                    yield future.result()
            except UsageError:
                yield TrialResult("fault", text=DIED)
