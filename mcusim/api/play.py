"""Simulate a program under one fidelity and assemble the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.program.program import Program
from mcusim.request.settings import Settings
from mcusim.request.tensors import SEED, input_series
from mcusim.results import KernelOutput, Result, assumptions, energy
from mcusim.verification.emulation import MacProgress

if TYPE_CHECKING:
    from mcusim.engine.run import Invocation, Run
    from mcusim.model.graph import Tensor
    from mcusim.request.tensors import Array

__all__ = ["simulate_program"]


def simulate_program(program: Program, machine: Machine, chosen: Settings, graph: Graph | None) -> Result:
    """The result of ``program`` with the kernels, fidelity and execution of ``chosen``; ``emulate`` needs the graph.

    Raises ProgramError, UsageError, UnsupportedError; DoesNotFit when code or stack find no room; KernelFault.
    """
    outputs: tuple[KernelOutput, ...] = ()
    series: tuple[Invocation, ...]
    asked = chosen.execution
    if program.header.recorded:
        from mcusim.engine.execute import execute_recorded

        run, series = execute_recorded(program, machine), ()
    elif chosen.fidelity == "replay":
        from mcusim.engine.execute import execute_series

        profile = chosen.kernels.cost_profile()
        run, series = execute_series(program, machine, profile, asked.code, asked.overhead, asked.invocations)
    else:
        assert graph is not None
        run, series, outputs = _emulate(program, machine, chosen, graph)
    header = program.header
    rests = (*assumptions(run, machine, chosen.period is not None), *(() if graph is None else graph.notes))
    if chosen.fidelity == "emulate" and chosen.execution.inputs is None:
        rests = (*rests, f"input: random values, seed {SEED}; --input gives a real one")
    return Result(
        model=header.model,
        machine=machine,
        policy=header.policy,
        kernels=run.kernels,
        fidelity=chosen.fidelity,
        macs=sum(operator.macs for operator in header.operators),
        run=run,
        energy=energy(run, machine),
        assumptions=rests,
        warnings=header.warnings,
        sram_budget=header.options.get("sram_budget"),
        outputs=outputs,
        invocations=series if asked.invocations > 1 else (),
    )


def _emulate(
    program: Program, machine: Machine, chosen: Settings, graph: Graph
) -> tuple[Run, tuple[Invocation, ...], tuple[KernelOutput, ...]]:
    from mcusim.engine.emulated_core import EmulatedCore, Options
    from mcusim.engine.execute import run_again, run_program
    from mcusim.program import check_program, program_graph

    asked, kernels, graph = chosen.execution, chosen.kernels.compiled(), program_graph(program, graph)
    inputs = input_series(graph, asked.inputs, asked.invocations)
    check_program(program, machine)
    options = Options(asked.code, asked.overhead, asked.most_instructions, observe=asked.observe)
    core = EmulatedCore(program, machine, graph, kernels, inputs[0], options)
    progress = None if asked.progress is None else MacProgress(program, asked.progress)
    run = run_program(program, machine, core, kernels.name, "emulate", progress)
    series, computed = [], []
    for one in run_again(program, machine, core, run, asked.invocations - 1, lambda n: core.feed(inputs[n]), progress):
        series.append(one)
        computed.append([core.tensor(t) for t in graph.outputs])
    outputs = zip(graph.outputs, zip(*computed, strict=True), strict=True)
    return run, tuple(series), tuple(_output(graph.tensors[t], values) for t, values in outputs)


def _output(tensor: Tensor, values: Sequence[Array]) -> KernelOutput:
    """An output of one inference, or of several with an axis for them in front."""
    import numpy as np

    return KernelOutput(tensor.name, values[0] if len(values) == 1 else np.stack(values))
