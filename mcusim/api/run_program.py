"""Simulate a program under one fidelity, and make the result of what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcusim.errors import DoesNotFit, InputError, KernelFault, UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.results import KernelOutput, Result, assumptions, energy
from mcusim.results.duty import require_mode
from mcusim.results.flash import FlashUse
from mcusim.run_config.input_tensors import SEED, input_series
from mcusim.run_config.run_options import CODE, INVOCATIONS, OPERATOR_OVERHEAD, STACK_REGION
from mcusim.run_config.settings import RunRequest, Settings
from mcusim.verification.verified_emulation import MacProgress

if TYPE_CHECKING:
    from mcusim.engine.run import Invocation, Run
    from mcusim.memory.film.film_recorder import FilmRecorder
    from mcusim.model.graph import Tensor
    from mcusim.program.program import Program
    from mcusim.results.film import Film
    from mcusim.run_config.input_tensors import Array


@dataclass(frozen=True, slots=True)
class _Simulated:
    """What a program did: the first inference, all of them, and what an emulation computed."""

    run: Run
    invocations: tuple[Invocation, ...] = ()
    outputs: tuple[KernelOutput, ...] = ()
    film: Film | None = None


def simulate_program(
    request: RunRequest, machine: Machine, flash: FlashUse | None = None, played: Run | None = None
) -> Result:
    """The result of the program of ``request`` on ``machine``; ``emulate`` needs its graph, ``flash`` is passed on.
    ``played``: one replay of it, if there was one.

    Raises ProgramError, UsageError, UnsupportedError. Code or a stack that find no room are a result, and so is a
    kernel that faults.
    """
    return result_of(request, machine, _outcome(request, machine, played), flash)


def run_or_reason(request: RunRequest, machine: Machine, played: Run | None = None) -> Run | DoesNotFit | KernelFault:
    """The run alone of :func:`simulate_program`, or why there is none."""
    outcome = _outcome(request, machine, played)
    return outcome.run if isinstance(outcome, _Simulated) else outcome


def _outcome(request: RunRequest, machine: Machine, played: Run | None) -> _Simulated | DoesNotFit | KernelFault:
    assert request.program is not None
    if request.settings.period is not None:
        peaks = request.program.header.peak_bytes
        sdram = any(region.kind == "sdram" and peaks.get(region.name) for region in machine.memory.values())
        require_mode(machine, request.settings.period, sdram)
    try:
        outcome = _replayed_once(request.settings, played)
        return outcome or _play(request.program, machine, request.settings, request.graph)
    except (DoesNotFit, KernelFault) as reason:
        return reason


def _replayed_once(chosen: Settings, run: Run | None) -> _Simulated | None:
    """``run``, where it is all that ``chosen`` asks for."""
    asked = chosen.fidelity == "replay" and chosen.film is None and chosen.run[INVOCATIONS] == 1
    return _Simulated(run) if asked and run is not None else None


def result_of(
    request: RunRequest, machine: Machine, outcome: _Simulated | DoesNotFit | KernelFault | InputError,
    flash: FlashUse | None = None,
) -> Result:  # fmt: skip
    """The result of ``request``: what was played, or why there is no run; an InputError is of a row that could not be
    planned. With the published figures of that very experiment, and where a measurement of it is expected
    (:mod:`mcusim.measurements.annotation`)."""
    from mcusim.measurements.annotation import interval_of, measured_of

    chosen, graph, program = request.settings, request.graph, request.program
    header = None if program is None else program.header
    played = outcome if isinstance(outcome, _Simulated) else None
    run, unusable = None if played is None else played.run, isinstance(outcome, InputError)
    used = None if run is None else energy(run, machine)
    return Result(
        model=header.model if header else graph.name if graph else "",
        machine=machine,
        policy=chosen.policy,
        kernels=chosen.kernels.name if run is None else run.kernels,
        fidelity=chosen.fidelity,
        macs=None if unusable else _macs(request),
        run=run,
        energy=used,
        does_not_fit=outcome if isinstance(outcome, DoesNotFit) else None,
        fault=outcome if isinstance(outcome, KernelFault) else None,
        unusable=str(outcome) if unusable else None,
        assumptions=() if run is None else _assumptions(run, machine, request),
        warnings=_warnings(request, machine),
        outputs=() if played is None else played.outputs,
        invocations=() if played is None or chosen.run[INVOCATIONS] == 1 else played.invocations,
        flash=flash,
        request=request,
        film=None if played is None else played.film,
        measured=measured_of(request, machine),
        interval=None if run is None or used is None else interval_of(request, machine, run, used),
    )


def _warnings(request: RunRequest, machine: Machine) -> tuple[str, ...]:
    if request.program is None:
        return () if request.graph is None else request.graph.warnings
    from mcusim.engine.board_rules import transfer_warnings

    return (*request.program.header.warnings, *transfer_warnings(request.program, machine))


def _macs(request: RunRequest) -> int:
    from mcusim.model import graph_macs

    if request.program is not None:
        return sum(operator.macs for operator in request.program.header.operators)
    return 0 if request.graph is None else graph_macs(request.graph)


def _assumptions(run: Run, machine: Machine, request: RunRequest) -> tuple[str, ...]:
    chosen, notes = request.settings, () if request.graph is None else request.graph.notes
    random = chosen.fidelity == "emulate" and chosen.inputs is None
    values = [f"input: random values, seed {SEED}; --input gives a real one"] if random else []
    return (*assumptions(run, machine, chosen.period), *notes, *values)


def _play(program: Program, machine: Machine, chosen: Settings, graph: Graph | None) -> _Simulated:
    if program.header.recorded:
        if chosen.film is not None:
            raise UsageError("a film is of a program that mcusim plans; this one was recorded from a firmware")
        from mcusim.engine.execute import execute_recorded

        return _Simulated(execute_recorded(program, machine))
    if chosen.fidelity == "replay":
        from mcusim.engine.execute import execute_series

        own, profile = chosen.run, chosen.kernels.cost_profile()
        named = own[CODE], own[OPERATOR_OVERHEAD], own[INVOCATIONS]
        film = None if chosen.film is None else chosen.film.recorder(machine.core.clock)
        run, series = execute_series(program, machine, profile, *named, film=film)
        return _Simulated(run, series, film=_film(film, run, program, machine, chosen))
    assert graph is not None
    return _emulate(program, machine, chosen, graph)


def _emulate(program: Program, machine: Machine, chosen: Settings, graph: Graph) -> _Simulated:
    from mcusim.engine.emulated_core import EmulatedCore, Options
    from mcusim.engine.execute import run_again, run_program
    from mcusim.program import check_program, program_graph

    own, kernels, graph = chosen.run, chosen.kernels.compiled(), program_graph(program, graph)
    count = own[INVOCATIONS]
    inputs = input_series(graph, chosen.inputs, count)
    check_program(program, machine)
    named = own[CODE], own[OPERATOR_OVERHEAD], chosen.most_instructions
    options = Options(*named, observe=chosen.observe, stack=own[STACK_REGION])
    core = EmulatedCore(program, machine, graph, kernels, inputs[0], options)
    progress = None if chosen.progress is None else MacProgress(program, chosen.progress)
    film = None if chosen.film is None else chosen.film.recorder(machine.core.clock)
    run = run_program(program, machine, core, kernels.name, "emulate", progress, film=film)
    taken = _film(film, run, program, machine, chosen, core.image.place_of)
    series, computed = [], []
    for invocation in run_again(program, machine, core, run, count - 1, lambda n: core.feed(inputs[n]), progress):
        series.append(invocation)
        computed.append([core.tensor(t) for t in graph.outputs])
    outputs = zip(graph.outputs, zip(*computed, strict=True), strict=True)
    return _Simulated(run, tuple(series), tuple(_output(graph.tensors[t], values) for t, values in outputs), taken)


def _film(
    recorder: FilmRecorder | None,
    run: Run,
    program: Program,
    machine: Machine,
    chosen: Settings,
    place: Callable[[int], str | None] = lambda _: None,
) -> Film | None:
    if recorder is None or chosen.film is None:
        return None
    from mcusim.results.film import FilmScene, film_of

    return film_of(recorder, FilmScene.of_run(run, program, place), machine, chosen.film)


def _output(tensor: Tensor, values: Sequence[Array]) -> KernelOutput:
    """An output of one inference, or of several with an axis for them in front."""
    import numpy as np

    return KernelOutput(tensor.name, values[0] if len(values) == 1 else np.stack(values))
