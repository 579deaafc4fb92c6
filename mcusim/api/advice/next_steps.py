"""What is worth running next of a result that needs no way out, as commands.

Not modelled: what they would come to. Nothing is run for them.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.errors import InputError
from mcusim.model.operators import is_opaque
from mcusim.plan import takers
from mcusim.results import Result
from mcusim.results.advice import NextStep
from mcusim.run_config.command_line import Options, run_command
from mcusim.run_config.kernel_choice import resolve
from mcusim.run_config.period import STOP, WFI
from mcusim.runtime.runtime import inference_engines

WAITS = ("flash", "sram", "sdram", "qspi", "dma_wait", "bus", "maintenance")
MUCH = 0.1  # share of the cycles from which waiting for memory is worth another policy
_TAKEN = ("kernels", "runtime")  # by compare, besides the board
_BOARD = ("machine", "set", "clock", "force-clock")


def next_steps(result: Result, model: str, options: Options) -> tuple[NextStep, ...]:
    """At most two, for ``result`` of ``model``, made by the command with ``options``."""
    if result.run is None or result.left_out:
        return ()
    board = {name: value for name, value in options.items() if name in _BOARD}
    return tuple(_steps(result, model, options, board))[:2]


def _steps(result: Result, model: str, options: Options, board: Options) -> Iterator[NextStep]:
    assert result.run is not None
    waits = sum(result.run.by_cause.get(cause, 0) for cause in WAITS) / max(1, result.run.cycles)
    duty = result.duty
    if duty is not None and duty.sleep == WFI and STOP in result.machine.power.modes:
        text = "asleep in stop, not with the clocks on"
        yield NextStep(text, run_command(model, {**options, "sleep": STOP}))
    taken = {name: value for name, value in options.items() if name in _TAKEN}
    external = any(region.kind == "sdram" for region in result.machine.memory.values())
    if waits >= MUCH and external:
        text = f"{100 * waits:.0f} % of the cycles wait for memories; other policies side by side"
        yield NextStep(text, run_command(model, {**board, **taken}, "compare"))
    elif result.planner not in takers("overlay") and not _own_costs(result):
        count = len(inference_engines())
        yield NextStep(f"the {count} inference engines side by side", run_command(model, board, "engines"))
    if result.fidelity == "replay" and (emulated := _emulated(result)) is not None:
        yield NextStep(
            "the kernels' own code, emulated", run_command(model, {**options, "fidelity": "emulate", **emulated})
        )
    elif result.fidelity != "replay":
        page = {**options, "fidelity": result.fidelity, "html": "run.html"}
        yield NextStep("what happens when, as a page", run_command(model, page))


def _has_opaque(result: Result) -> bool:
    """Whether a run has operators of which there is no code."""
    return result.run is not None and any(is_opaque(op.type) for op in result.run.header.operators)


def _own_costs(result: Result) -> bool:
    """Whether some of a run's operators cost what the user said; other commands do not take that."""
    request = result.request
    return request is not None and bool(request.settings.options.costs)


def _emulated(result: Result) -> Options | None:
    """The options of kernels that can be emulated for those of a replay; None where there are none."""
    request = result.request
    if request is None or _has_opaque(result):
        return None
    kernels, runtime = request.settings.kernels, request.settings.options.runtime
    if not kernels.named:
        return {}
    try:
        resolve(kernels.name, "emulate", runtime)
    except InputError:
        own = None if kernels.profile is None else kernels.profile.set
        return None if own is None else {"kernels": own}
    return {}
