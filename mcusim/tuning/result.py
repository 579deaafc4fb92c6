"""Tuning from Python: what :func:`mcusim.tune` does, and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcusim.api.simulate import changed
from mcusim.errors import UsageError
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.request.settings import MachineArg, ModelArg, require_type
from mcusim.tuning.kernel_set import apply_to_set
from mcusim.tuning.layer import Layer, layers_of
from mcusim.tuning.page import tuning_page
from mcusim.tuning.tables import tuning_json, tuning_text
from mcusim.tuning.tune import Progress, TunedTask, TuningPlan, tune_tasks, tuning_plan

__all__ = ["TuningResult", "chosen_layers", "tune"]


@dataclass(frozen=True, repr=False)
class TuningResult:
    """``tasks``: a layer with a template each, with all its trials and the best one."""

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

        Raises UsageError for a folder that contains files without ``force``, Verdict where none is faster.
        """
        return apply_to_set(self.tasks, Path(folder), self.plan.kernels, force)


def tune(
    model: str | Path | Graph,
    machine: str | Path | Machine = "stm32f746g-disco",
    *,
    layers: Sequence[int] | None = None,
    templates: Sequence[str | Path] = (),
    policy: str = "internal",
    tuner: str = "model",
    trials: int = 64,
    seed: int = 0,
    kernels: str = "cmsis",
    log: str | Path | None = None,
    warm: Sequence[str | Path] = (),
    overrides: Mapping[str, str] | None = None,
    jobs: int | None = 1,
    progress: Progress = None,
) -> TuningResult:
    """Tune compiled kernels to a network's layers and a board.

    ``layers`` are numbers of operators, by default all with int8 weights; ``templates`` those to use, by default all
    that ship; ``policy`` says in which memories operands lie; ``tuner`` is random, grid, genetic or model;
    ``trials`` is for each layer and template; ``log`` is gone on with; ``warm`` are logs to learn from; ``jobs``
    processes, None: one a core. Raises :class:`~mcusim.errors.InputError` for what cannot be used. Not modelled: what
    :mod:`mcusim.tuning.trial` does not.
    """
    require_type("model", model, ModelArg)
    require_type("machine", machine, MachineArg)
    board = changed(machine, overrides)
    graph = model if isinstance(model, Graph) else load_model(model)
    chosen, named = chosen_layers(layers_of(graph, board, policy), layers), [str(name) for name in templates]
    logs = [Path(path) for path in warm]
    plan = tuning_plan(chosen, board, named, tuner, trials, seed, kernels=kernels, warm=logs)
    return TuningResult(plan, tuple(tune_tasks(plan, None if log is None else Path(log), jobs, None, progress)))


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
