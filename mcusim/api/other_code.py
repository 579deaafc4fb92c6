"""A result with what others' code for its runtime would take: a further replay for each.

Not modelled: more than :mod:`mcusim.results.other_code` says.
"""

from __future__ import annotations

from dataclasses import replace

from mcusim.api.best_plan import best_plan
from mcusim.api.run_program import run_or_reason
from mcusim.engine.run import Run
from mcusim.errors import UnsupportedError
from mcusim.results import Result
from mcusim.results.other_code import OtherCode
from mcusim.run_config.kernel_choice import kernels_title, resolve
from mcusim.run_config.settings import RunRequest


def with_other_code(result: Result) -> Result:
    """``result``, of a model that was planned and fits; any other as it is."""
    request = result.request
    if result.run is None or request is None or request.graph is None or request.given:
        return result
    runtime, kernels = request.settings.options.runtime, request.settings.kernels
    own = kernels.name if kernels.changed else kernels.stands_for
    others = (name for name in runtime.profiles if name != own)
    return replace(result, other_code=tuple(_other(result, request, name) for name in others))


def _other(result: Result, request: RunRequest, name: str) -> OtherCode:
    chosen = replace(
        request.settings,
        kernels=resolve(name, "replay", request.settings.options.runtime),
        fidelity="replay",
        inputs=None,
        film=None,
        observe=None,
    )
    assert request.graph is not None
    title, kernels = kernels_title(name), chosen.kernels.for_planning("replay")
    try:
        best = best_plan(request.graph, result.machine, chosen, kernels)
        run = run_or_reason(RunRequest(chosen, request.graph, best.program), result.machine, best.run)
    except UnsupportedError as refused:
        return OtherCode(name, title, reason=str(refused))
    if not isinstance(run, Run):
        return OtherCode(name, title, reason=str(run))
    return OtherCode(name, title, 1e3 * run.cycles / run.clock)
