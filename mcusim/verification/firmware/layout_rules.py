"""What follows from where variables and transfers lie, without a wrong byte in the run.

Not modelled: images without symbols, in which no variable has an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mcusim.emulator.emulator import Emulator
from mcusim.memory.range_lookup import addresses_at
from mcusim.soc.dma.dma_log import LoggedTransfer
from mcusim.verification.firmware.firmware_variables import ProgramVariables
from mcusim.verification.firmware.memory_shadow import Shadow


def beyond(transfer: LoggedTransfer, variables: ProgramVariables) -> Iterator[tuple[str, int, int]]:
    """Of a transfer's source and target those that go past their variable: what to say, and the bytes past it."""
    sides = {"memory to peripheral": ("source",), "peripheral to memory": ("target",)}
    for side in sides.get(transfer.direction, ("source", "target")):
        low, high = (transfer.reads if side == "source" else transfer.writes)[0]
        variable = variables.at(low)
        if variable is not None and high > variable.end:
            verb = "reads" if side == "source" else "writes"
            yield f"{verb} {high - variable.end:,} B past the end of {variable.name[:60]}", variable.end, high


def fixed(transfer: LoggedTransfer, variables: ProgramVariables) -> Iterator[tuple[str, int, int]]:
    """Of a transfer's source and target those that stay at one address of a variable that is large enough for all:
    what to say, and the variable's bytes."""
    sides = {"memory to peripheral": ("source",), "peripheral to memory": ("target",)}
    for side in sides.get(transfer.direction, ("source", "target")):
        low, high = (transfer.reads if side == "source" else transfer.writes)[0]
        variable = variables.at(low)
        if variable is None or transfer.units < 2 or high - low > transfer.unit or low + transfer.size > variable.end:
            continue
        verb = "reads all of its units from" if side == "source" else "writes all of its units to"
        bit = "MINC" if side == "target" or transfer.direction == "memory to peripheral" else "PINC"
        yield f"{verb} the first {high - low} B of {variable.name[:60]}: {bit} is not set", low, low + transfer.size


def shared(
    emulator: Emulator, shadow: Shadow, transfers: Iterable[LoggedTransfer], variables: ProgramVariables
) -> Iterator[tuple[LoggedTransfer, int, int, int]]:
    """Lines that a transfer writes a part of and the core other variables in: transfer, bytes, the core's store."""
    memory = emulator.memory.state
    cache = emulator.machine.data_cache
    if cache is None or not cache.size or not memory.data_cache:
        return
    for transfer in transfers:
        if transfer.direction == "memory to peripheral":
            continue
        low, high = transfer.writes[0]
        own = variables.at(low)
        first, end = low // cache.line * cache.line, -(-high // cache.line) * cache.line
        for a, b in ((first, low), (high, end)):
            addresses = addresses_at(memory, a)
            if a >= b or addresses is None or addresses.attribute == 0:
                continue
            stores = [(at, pc) for at, pc in shadow.written_by_core(a, b) if own is None or variables.at(at) != own]
            if stores:
                yield transfer, stores[0][0], stores[-1][0] + 1, stores[0][1]
