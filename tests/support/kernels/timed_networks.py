"""Whole networks made ready on the emulated core, and the processor time that a run takes."""

from __future__ import annotations

import time

from mcusim.engine.emulated_core import EmulatedCore
from mcusim.engine.execute import run_program
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph
from mcusim.plan import plan
from mcusim.program import check_program
from mcusim.run_config.input_tensors import random_inputs

BOARD, KERNELS = "stm32f746g-disco", "cmsis"
SMALL = "mobilenet-v1-w0.25-r096"


def ready(graph: Graph, policy: str) -> EmulatedCore:
    """The network planned and loaded, not run."""
    machine, kernels = load_machine(BOARD), load_set(KERNELS)
    program = plan(graph, machine, policy, kernels)
    check_program(program, machine)
    return EmulatedCore(program, machine, graph, kernels, random_inputs(graph))


def run(core: EmulatedCore) -> float:
    """Processor seconds for the network: other programs on the machine disturb them less."""
    started = time.process_time()
    run_program(core.guest.program, core.emulator.machine, core, KERNELS, "emulate")
    return time.process_time() - started
