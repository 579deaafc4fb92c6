"""The DMA controllers that a machine's part has, in place of the plain blocks at their addresses.

DMA1 of the STM32F4 and F7 does not copy between memories (ST RM0090 10.3.6: its peripheral port is not on the bus
matrix); its times are those of DMA2. Not modelled: controllers of the STM32L4 (channels), and MDMA and BDMA of the H7.
"""

from __future__ import annotations

from functools import partial

from mcusim.cpu.dma.controller import STREAM_IRQS, StreamController
from mcusim.cpu.dma.log import DmaLog
from mcusim.cpu.dma.request_lines import lines_of, transmitters
from mcusim.cpu.peripherals.bus import Peripherals
from mcusim.cpu.system.register_names import family_of
from mcusim.machine.description import Machine
from mcusim.memory.system import MemorySystem

__all__ = ["DmaControllers", "controllers"]

WITH_STREAMS = ("f4", "f7", "h7")


class DmaControllers(list[StreamController]):
    """The controllers of a machine; ``log`` has all that they move."""

    def __init__(self) -> None:
        super().__init__()
        self.log = DmaLog()


def controllers(machine: Machine, memory: MemorySystem, peripherals: Peripherals) -> DmaControllers:
    """DMA1 and DMA2 of ``machine``, each where its family has them; none for a machine file that describes no DMA."""
    found = DmaControllers()
    family = family_of(machine)
    if family not in WITH_STREAMS or not machine.dma:
        return found
    for block in list(peripherals.blocks):
        name = block.name.lower()
        if name in STREAM_IRQS:
            dma = machine.dma.get(name) or next(iter(machine.dma.values()))
            copies = name in machine.dma and (name == "dma2" or family == "h7")
            lines = lines_of(name, peripherals.blocks) if family != "h7" else {}
            found.append(StreamController(name, block.base, dma, copies, memory, peripherals, lines, found.log))
            peripherals.replace(found[-1])
    for usart in transmitters(peripherals.blocks):
        usart.served_by = partial(_serve, found)
    return found


def _serve(found: DmaControllers) -> None:
    for controller in found:
        controller.serve()
