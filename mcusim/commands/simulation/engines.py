"""``mcusim engines``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import check_outputs, fail, write_bytes
from mcusim.commands.shared.progress import bar_of_steps

if TYPE_CHECKING:
    from mcusim.results.engine_choice import EngineChoice

Machines = Annotated[
    str, option("LIST", "Machines, separated by commas, or all of those that ship.", names="--machine -m")
]
Html = Annotated[Path | None, option("FILE", "A page: latencies with their intervals, RAM and flash.", names="--html")]


@grouped
def engines(
    model: options.Model,
    *,
    machine: Machines = "stm32f746g-disco",
    policy: Annotated[str, option("NAME", "Planner, as in `mcusim run`.", names="--policy -p")] = "internal",
    fidelity: Annotated[
        str, option("NAME", "replay: cost profiles; emulate: compiled kernels where there are any.", names="--fidelity")
    ] = "replay",
    keys: MachineKeys,
    html: Html = None,
    written: Written,
) -> int:
    """Which inference engine on which board: TensorFlow Lite Micro with its reference kernels or CMSIS-NN, compiled
    code, MIT's TinyEngine, and ST's by version, as an estimate.

    A row says latency with its interval, RAM and flash, whose kernels they are and what the figures rest on; above it
    stand the fastest, with those that may be as fast, and the smallest. Exit status 1: no engine runs the model.

    \b
    Examples:
      mcusim engines mcunet-vww1
      mcusim engines my.tflite --machine stm32f746g-disco,nucleo-h743zi --html engines.html
      mcusim engines ds-cnn --machine all --json engines.json
    """
    from mcusim.report.engines.page import engines_page
    from mcusim.report.engines.table import engines_table

    named = options.machine_list(machine) or []
    output = written.to(model, *named)
    check_outputs([html] if html else [], written.json, [model, *named], written.force)
    choice = _simulated(model, named, policy, fidelity, keys)
    if html is not None:
        write_bytes(html, engines_page(choice).encode(), written.force)
    output.emit(lambda: engines_table(choice), choice.to_json)
    if not choice.runs:
        fail(f"no engine runs {choice.model} on {', '.join(board.machine for board in choice.boards)}")
    return 0 if choice.runs else 1


def _simulated(model: str, named: list[str], policy: str, fidelity: str, keys: MachineKeys) -> EngineChoice:
    from mcusim.api.engines import engines as simulated
    from mcusim.runtime.runtime import inference_engines

    with bar_of_steps("simulating", "rows", len(named) * len(inference_engines())) as step:
        return simulated(model, named, policy, fidelity=fidelity, overrides=keys.overrides, progress=step)
