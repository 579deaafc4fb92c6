"""Write a model as C: what `mcusim generate` does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from mcusim.api.simulate import changed
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.plan import plan_options
from mcusim.plan.array_choice import resolve_options
from mcusim.plan.options import IN_PLACE, PATCH_MACS, PATCH_SPLIT, PATCHES, PatchKeywords
from mcusim.run_config.input_tensors import random_inputs
from mcusim.run_config.kernel_choice import resolve
from mcusim.run_config.run_options import documented
from mcusim.run_config.settings import MachineArg, ModelArg, require_type
from mcusim.runtime.runtime import find_runtime, runtime_names

if TYPE_CHECKING:
    from mcusim.codegen.generated import Generated


@documented(PATCHES, PATCH_SPLIT, PATCH_MACS, plans=False)
def generate(
    model: str | Path | Graph,
    folder: str | Path,
    machine: str | Path | Machine = "stm32f746g-disco",
    *,
    runtime: str | None = None,
    in_place: bool | None = None,
    force: bool = False,
    **patches: Unpack[PatchKeywords],
) -> Generated:
    """Write ``model`` (a path, a name of `mcusim models`, or a graph) as C for ``runtime`` into ``folder``.

    ``runtime``: one that compiles, by default the first that does; the sources of its kernels are copied as far as they
    are needed. ``machine`` says where the linker script puts code and data, ``in_place`` False keeps depthwise
    convolutions from writing over their inputs. The result has the files and their sizes. Raises UsageError for a
    runtime that interprets and for a folder that contains files unless ``force``;
    :class:`~mcusim.errors.UnsupportedError` naming operator and shapes for what cannot be generated. Nothing is written
    then. Not modelled: start-up code.
    """
    require_type("model", model, ModelArg)
    require_type("machine", machine, MachineArg)
    able = [name for name in runtime_names() if find_runtime(name).array is not None]
    executes = find_runtime(able[0] if runtime is None else runtime)
    if executes.array is None:
        raise UsageError(
            f"--runtime {executes.name} interprets the model: no code is generated; {', '.join(able)} compiles it"
        )
    asked = plan_options(runtime=executes.name, in_place=in_place, **patches)
    from mcusim.codegen.folder import check_folder, write_folder
    from mcusim.codegen.generated import generated

    check_folder(Path(folder), force)
    graph = model if isinstance(model, Graph) else load_model(model, allow_unknown=True)
    asked = resolve_options(asked, graph)
    executes = asked.runtime
    kernels, board = resolve(None, "emulate", executes).compiled(), changed(machine, None)
    result = generated(executes.executed(graph), executes, kernels, board, random_inputs, asked[IN_PLACE])
    write_folder(Path(folder), result.files, force)
    return result
