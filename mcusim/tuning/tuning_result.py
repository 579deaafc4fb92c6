"""Tuning from Python: what :func:`mcusim.tune` does, and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from mcusim.api.simulate import changed
from mcusim.errors import UsageError
from mcusim.files import write_whole
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.plan.policy_keywords import PolicyOptions
from mcusim.run_config.run_options import documented
from mcusim.run_config.settings import MachineArg, ModelArg, require_type
from mcusim.tuning.layer import Layer, layers_of
from mcusim.tuning.page import tuning_page
from mcusim.tuning.plan_task import best_program, plan_task, plan_tuning
from mcusim.tuning.tune import Progress, TunedTask, TuningPlan, tune_tasks, tuning_plan
from mcusim.tuning.tuned_set import apply_to_set
from mcusim.tuning.tuning_tables import tuning_json, tuning_text


@dataclass(frozen=True, repr=False)
class TuningResult:
    """``tasks``: a layer with a template each, or a plan, with all trials and the best one."""

    plan: TuningPlan
    tasks: tuple[TunedTask, ...]

    def __repr__(self) -> str:
        return tuning_text(self.plan, self.tasks)

    @property
    def data(self) -> dict[str, Any]:
        """As `mcusim tune --json` writes it."""
        return tuning_json(self.plan, self.tasks)

    @property
    def html(self) -> str:
        """The page that `mcusim tune --html` writes."""
        return tuning_page(self.plan, self.tasks)

    def save_kernels(self, folder: str | Path, force: bool = False) -> KernelSet:
        """Write the fastest as a kernel set, as `mcusim tune --apply` does.

        Raises UsageError for a folder that contains files without ``force``, NegativeResult where none is faster.
        """
        return apply_to_set(self.tasks, Path(folder), self.plan.kernels, force)

    def save_program(self, path: str | Path, force: bool = False) -> None:
        """Write the program of the fastest plan. Raises UsageError where kernels were tuned or the file is there
        without ``force``, NegativeResult where no trial is right."""
        data = best_program(self.tasks)
        if data is None:
            raise UsageError("kernels were tuned, no plan: save_kernels writes them")
        write_whole(Path(path), data, force)


@documented()
def tune(
    model: str | Path | Graph,
    machine: str | Path | Machine = "stm32f746g-disco",
    *,
    layers: Sequence[int] | None = None,
    templates: Sequence[str | Path] = (),
    memories: bool = False,
    policy: str | None = None,
    tuner: str | None = None,
    trials: int = 64,
    seed: int = 0,
    kernels: str = "cmsis",
    log: str | Path | None = None,
    warm: Sequence[str | Path] = (),
    overrides: Mapping[str, str] | None = None,
    jobs: int | None = 1,
    progress: Progress = None,
    **options: Unpack[PolicyOptions],
) -> TuningResult:
    """Tune compiled kernels to a network's layers and a board, or with ``memories`` how a policy's plan uses them.

    ``layers`` are numbers of operators, by default all with int8 weights; ``templates`` those to use, by default all
    that ship; ``policy`` (internal; of ``memories`` tinyops) says with ``options`` in which memories operands lie;
    ``tuner`` is model (the default), replay (that of ``memories``), genetic, random or grid;
    ``trials`` is for each layer and template; ``log`` is gone on with; ``warm`` are logs to learn from; ``jobs``
    processes, None: one a core. Raises :class:`~mcusim.errors.InputError` for what cannot be used. Not modelled: what
    :mod:`mcusim.tuning.trial` does not.
    """
    board, graph = changed(machine, overrides), _graph(model, machine)
    named, logs = [str(name) for name in templates], [Path(path) for path in warm]
    if memories:
        if layers is not None or named or logs:
            raise UsageError("layers, templates and warm are for kernels; memories tunes a network's plan")
        task = plan_task(graph, board, policy or "tinyops", kernels, dict(options))
        plan = plan_tuning(task, tuner or "replay", trials, seed)
    else:
        chosen = chosen_layers(layers_of(graph, board, policy or "internal", **options), layers)
        plan = tuning_plan(chosen, board, named, tuner or "model", trials, seed, kernels=kernels, warm=logs)
    return TuningResult(plan, tuple(tune_tasks(plan, None if log is None else Path(log), jobs, None, progress)))


def _graph(model: object, machine: object) -> Graph:
    require_type("model", model, ModelArg)
    require_type("machine", machine, MachineArg)
    return model if isinstance(model, Graph) else load_model(str(model))


def chosen_layers(layers: Sequence[Layer], numbers: Sequence[int] | None) -> list[Layer]:
    """The layers that have some of these operators. Raises UsageError for a number that none has."""
    if numbers is None:
        return [*layers]
    there = {number for layer in layers for number in layer.operators}
    missing = [number for number in numbers if number not in there]
    if missing:
        raise UsageError(
            f"no layer of int8 weights is {', '.join(map(str, missing))[:80]}; there are"
            f" {', '.join(map(str, sorted(there)))}"
        )
    return [layer for layer in layers if {*numbers} & {*layer.operators}]
