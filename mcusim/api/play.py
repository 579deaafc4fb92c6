"""Simulate a program under one fidelity and assemble the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.program.program import Program
from mcusim.request.settings import Settings
from mcusim.request.tensors import SEED, model_inputs
from mcusim.results import KernelOutput, Result, assumptions, energy
from mcusim.verification.emulation import MacProgress

if TYPE_CHECKING:
    from mcusim.engine.run import Run

__all__ = ["simulate_program"]


def simulate_program(program: Program, machine: Machine, chosen: Settings, graph: Graph | None) -> Result:
    """The result of ``program`` with the kernels, fidelity and execution of ``chosen``; ``emulate`` needs the graph.

    Raises ProgramError, UsageError, UnsupportedError; DoesNotFit when code or stack find no room; KernelFault.
    """
    outputs: tuple[KernelOutput, ...] = ()
    if chosen.fidelity == "replay":
        from mcusim.engine import execute

        asked = chosen.execution
        run = execute(program, machine, chosen.kernels.cost_profile(), asked.code, asked.overhead)
    else:
        assert graph is not None
        run, outputs = _emulate(program, machine, chosen, graph)
    header = program.header
    rests = (*assumptions(run, machine), *(() if graph is None else graph.notes))
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
    )


def _emulate(
    program: Program, machine: Machine, chosen: Settings, graph: Graph
) -> tuple[Run, tuple[KernelOutput, ...]]:
    from mcusim.engine.emulated_core import EmulatedCore, Options
    from mcusim.engine.execute import run_program
    from mcusim.program import check_program, program_graph

    asked, kernels, graph = chosen.execution, chosen.kernels.compiled(), program_graph(program, graph)
    inputs = model_inputs(graph, asked.inputs)
    check_program(program, machine)
    options = Options(asked.code, asked.overhead, asked.most_instructions, observe=asked.observe)
    core = EmulatedCore(program, machine, graph, kernels, inputs, options)
    progress = None if asked.progress is None else MacProgress(program, asked.progress)
    run = run_program(program, machine, core, kernels.name, "emulate", progress)
    tensors = [(graph.tensors[t], core.tensor(t)) for t in graph.outputs]
    return run, tuple(KernelOutput(tensor.name, values) for tensor, values in tensors)
