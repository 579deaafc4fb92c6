"""Commands as functions: what `mcusim memory`, `plan` and `inspect` do, with their options as keyword arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Unpack

from mcusim.api.plan_memory import memory, priced
from mcusim.api.simulate import changed
from mcusim.api.simulate import plan_program as planned_program
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.plan.options import ARENA, PATCH_MACS, PATCH_SPLIT, PATCHES, PERSISTENT, SCRATCH, MemoryKeywords, runtime_of
from mcusim.plan.policy_keywords import PolicyOptions
from mcusim.program import Program
from mcusim.program.unknown_operators import opaque_types, require_known
from mcusim.results.flash import flash_use
from mcusim.results.memory_plan import MemoryPlan
from mcusim.results.model_inspection import ModelInspection
from mcusim.run_config.kernel_choice import resolve
from mcusim.run_config.run_options import documented
from mcusim.run_config.settings import MachineArg, ModelArg, require_overrides, require_type, settings


@documented(ARENA, PERSISTENT, SCRATCH, PATCHES, PATCH_SPLIT, PATCH_MACS, plans=False)
def plan_memory(
    model: str | Path | Graph,
    *,
    runtime: str | None = None,
    order: str = "default",
    in_place: bool | None = None,
    im2col: str | None = None,
    weights: str = "flash",
    allocator: str | None = None,
    machine: str | Path | Machine | None = None,
    overrides: Mapping[str, str] | None = None,
    kernels: str | None = None,
    align: int | None = None,
    seconds: float = 60.0,
    progress: Callable[[int, int], object] | None = None,
    **options: Unpack[MemoryKeywords],
) -> MemoryPlan:
    """Which tensors of ``model``, a path, name or graph, are alive when, and where allocators put them.

    ``runtime`` executes it, by default ``tflm``. ``order`` is ``default``, as stored, or ``optimal``, that of the least
    peak, searched for at most ``seconds``. ``in_place`` and ``weights`` say what counts
    (:class:`~mcusim.plan.liveness.accounting.Accounting`). All allocators place the same blocks, at multiples of
    ``align`` bytes (None: the runtime's); ``allocator`` (``greedy``, ``linear``, ``dynamic``, ``optimal`` or
    ``offline``, the plan in the file, the default where there is one) is the one that counts. With ``machine``, whose
    keys ``overrides`` changes, the plan says whether it fits, with what ``kernels`` need and data in named regions, and
    what moves of ``dynamic`` cost; ``progress`` gets bytes moved of all. A compiled ``runtime`` has one static array
    (``plan.array``), columns of inputs by ``im2col`` (``two``, ``adaptive``), and patches. Raises UsageError for what
    does not exist. Not modelled: what timelines of tensors and the allocators do not.
    """
    require_type("model", model, ModelArg)
    require_overrides(overrides)
    plan = memory(
        model, runtime=runtime, order=order, in_place=in_place, im2col=im2col, weights=weights, allocator=allocator,
        machine=machine, overrides=overrides, kernels=kernels, align=align, seconds=seconds, **options,
    )  # fmt: skip
    return priced(plan, progress)


@documented()
def plan_program(
    model: str | Path | Graph,
    machine: str | Path | Machine = "stm32f746g-disco",
    policy: str = "internal",
    kernels: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    allow_unknown: bool = False,
    costs: Mapping[str, str] | None = None,
    **options: Unpack[PolicyOptions],
) -> Program:
    """The program that ``policy`` makes of ``model`` for ``machine``: its tasks, buffers and what waits for what.

    Arguments are those of :func:`mcusim.simulate`; ``kernels`` is a cost profile or a kernel set.
    :func:`mcusim.replay` plays it, ``Program.save(path)`` writes it as `mcusim plan` does.

    Raises DoesNotFit when a memory is too small, :class:`~mcusim.errors.InputError` for a model, machine, key or option
    that cannot be used. Not modelled: what the policy does not.
    """
    require_type("model", model, ModelArg)
    require_type("machine", machine, MachineArg)
    require_overrides(overrides)
    chosen = settings(policy, resolve(kernels, "plan", runtime_of(options)), options, costs=costs)
    graph = _graph(model, allow_unknown)
    require_known(opaque_types(op.type for op in graph.operators), chosen.options.costs)
    return planned_program(graph, changed(machine, overrides), chosen, overrides)


def inspect(
    model: str | Path | Graph,
    *,
    machine: str | Path | Machine | None = None,
    kernels: str = "cmsis",
) -> ModelInspection:
    """Operators, MACs and peak of live activations of ``model``, and the flash that it needs on boards.

    ``model`` is a path to a ``.tflite``, a name of `mcusim models` or a graph; operators that mcusim does
    not know or does not run are named as such. ``machine`` is the board whose flash counts, by default all that ship;
    ``kernels`` whose code counts, a set or a cost profile. Raises :class:`~mcusim.errors.InputError` for one of them
    that cannot be used. Not modelled: what :mod:`mcusim.results.flash` does not.
    """
    require_type("model", model, ModelArg)
    graph = model if isinstance(model, Graph) else load_model(model, strict=False)
    chosen = resolve(kernels, "plan").for_planning()
    boards = [load_machine(name) for name in machine_names()] if machine is None else [changed(machine, None)]
    uses = tuple((board, flash_use(graph, board, chosen)) for board in boards)
    return ModelInspection(graph, kernels, uses)


def _graph(model: str | Path | Graph, allow_unknown: bool) -> Graph:
    return model if isinstance(model, Graph) else load_model(model, allow_unknown)
