"""The DMA controllers that a machine's part has, in place of the plain blocks at their addresses.

Which ones, their interrupts and what they reach is in the family's file. The times of a controller are those of the
machine file's controller of its name, else of the first one there (assumed).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from mcusim.machine.description import Dma, Machine, Region
from mcusim.memory.system import MemorySystem
from mcusim.soc.bus import Peripherals
from mcusim.soc.dma.block import DmaBlock
from mcusim.soc.dma.channels.channel_controller import ChannelController
from mcusim.soc.dma.dma_log import DmaLog
from mcusim.soc.dma.dmamux import Dmamux
from mcusim.soc.dma.host import RequestLine
from mcusim.soc.dma.mdma.mdma_controller import MdmaController
from mcusim.soc.dma.reach import reached
from mcusim.soc.dma.request_lines import Lines, lines_of
from mcusim.soc.dma.streams.stream_controller import StreamController
from mcusim.soc.dma.wiring import Wiring
from mcusim.soc.families.family import family_of
from mcusim.soc.machine_blocks import dma_of, requests_of

MDMA_CHANNELS = 16


class DmaControllers(list[DmaBlock]):
    """The controllers of a machine; ``log`` has all that they move."""

    def __init__(self) -> None:
        super().__init__()
        self.log = DmaLog()

    def serve(self) -> None:
        """A peripheral has a request."""
        for controller in self:
            controller.serve()


def controllers(machine: Machine, memory: MemorySystem, peripherals: Peripherals) -> DmaControllers:
    """The controllers of ``machine``, each where its family has it; none for a machine file that describes no DMA."""
    dma_controllers = DmaControllers()
    family = family_of(machine)
    if family is None or not machine.dma:
        return dma_controllers
    muxes = {
        block.name: Dmamux(block.name, block.base, 16, peripherals)
        for block in peripherals.blocks
        if block.name.startswith("DMAMUX")
    }
    for mux in muxes.values():
        peripherals.replace(mux)
    lines = lines_of(requests_of(family), peripherals.blocks)
    places = {block.name: block.base for block in peripherals.blocks}
    for name, about in dma_of(family).items():
        if name in places:
            shared = (_times(machine, name, about), bool(about["copies"]), memory, peripherals, dma_controllers.log)
            wirings = [_wiring(machine, name, n, about, lines, muxes, shared) for n in range(_count(about))]
            dma_controllers.append(_controller(name, places[name], about, wirings))
            peripherals.replace(dma_controllers[-1])
    for request in requests_of(family):
        block = next((b for b in peripherals.blocks if b.name == request.rpartition("_")[0]), None)
        if block is not None:
            block.served_by = dma_controllers.serve
    return dma_controllers


def _count(about: dict[str, Any]) -> int:
    return MDMA_CHANNELS if about["kind"] == "mdma" else len(about["irqs"])


def _times(machine: Machine, name: str, about: dict[str, Any]) -> Dma:
    """Its own figures, or those of the machine file's first controller under its name."""
    dma = machine.dma.get(name.lower()) or replace(next(iter(machine.dma.values())), name=name.lower())
    return replace(dma, fifo=0, threshold="direct") if about.get("fifo") == 0 else dma


def _wiring(
    machine: Machine,
    name: str,
    n: int,
    about: dict[str, Any],
    lines: Lines,
    muxes: dict[str, Dmamux],
    shared: tuple[Dma, bool, MemorySystem, Peripherals, DmaLog],
) -> Wiring:
    dma, copies, memory, host, log = shared
    irqs = about["irqs"]
    window = about.get("reach")
    reach = partial(reached, machine) if window is None else partial(reached, machine, allowed=partial(_inside, window))
    mux = muxes.get(about.get("mux", ""))
    line = partial(_by_channel, lines, name, n) if mux is None else partial(_by_mux, lines, mux, about["at"] + n)
    return Wiring(
        name, n + about.get("from", 0), irqs[min(n, len(irqs) - 1)], dma, copies, memory, host, log,
        reach, line, None if mux is None else partial(mux.selected, about["at"] + n),
    )  # fmt: skip


def _inside(window: list[int], region: Region) -> bool:
    return region.dma and window[0] <= region.base < window[1]


def _by_channel(lines: Lines, name: str, stream: int, channel: int) -> RequestLine | None:
    return lines.get((name, stream, channel))


def _by_mux(lines: Lines, mux: Dmamux, at: int, _: int) -> RequestLine | None:
    return lines.get((mux.name, 0, mux.selected(at)))


def _controller(name: str, base: int, about: dict[str, Any], wirings: list[Wiring]) -> DmaBlock:
    if about["kind"] == "streams":
        return StreamController(name, base, wirings)
    if about["kind"] == "mdma":
        return MdmaController(name, base, wirings)
    return ChannelController(name, base, wirings, bool(about.get("two_buffers")))
