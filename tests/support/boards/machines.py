"""Machines for tests: shipped boards with parts idealised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from mcusim.machine import Machine, load_machine
from mcusim.machine.description import Duration, Tcm

ZERO = Duration(Fraction(0), "cycles")


def free_regions(machine: Machine, names: Iterable[str]) -> Machine:
    """The machine with these regions as fast as tightly coupled memory."""
    memory = dict(machine.memory)
    for name in names:
        memory[name] = replace(memory[name], device=Tcm(), attribute="uncached")
    return replace(machine, memory=memory)


def free_dma(machine: Machine) -> Machine:
    """The machine with transfers, their set-up, interrupts and cache maintenance at no cost."""
    dma = {
        name: replace(d, port_cost=ZERO, matrix_cost=ZERO, request_setup=ZERO, completion_interrupt=ZERO)
        for name, d in machine.dma.items()
    }
    data = machine.data_cache
    endless = replace(machine.bus, clock=10**18)  # no time for a data cycle, nor for a wait state of flash
    return replace(machine, bus=endless, dma=dma, data_cache=replace(data, maintenance=ZERO) if data else None)


def ideal(name: str = "stm32f469i-disco") -> Machine:
    """A board whose every memory answers at once."""
    machine = load_machine(name)
    return free_regions(machine, machine.memory)
