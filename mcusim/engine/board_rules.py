"""What a board does not do, of a program that is sound otherwise: one list for replay and emulation.

| rule | replay | emulation |
|---|---|---|
| an unaligned access to Device memory, on a core that faults then | the kernels' loop nests say | as it happens |
| a DMA transfer off the boundary of its beats (a warning) | of the program | the same |
| code where nothing executes | :func:`~mcusim.engine.execute.code_address` | the same |

Not modelled: what a profile without loop nests does (those of the compiled set that its kernels are most like are
walked), and faults of an interpreter. Where a transfer is off its beats the bytes that are meant are moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mcusim.errors import KernelFault
from mcusim.kernels.cost.profile import Profile
from mcusim.machine.cores import CORES
from mcusim.machine.description import Machine, Region
from mcusim.memory.state_layout import MemoryState
from mcusim.program.check import check_lane
from mcusim.program.program import Compute, Program, Transfer
from mcusim.text import size


def transfer_warnings(program: Program, machine: Machine) -> list[str]:
    """What to say of transfers whose ends or size are no multiples of their beats, by controller."""
    transfers = [task for task in program.tasks if isinstance(task, Transfer)]
    off: Counter[tuple[str, int]] = Counter()
    for task in transfers:
        dma = check_lane(task, machine)
        values = task.source.address, task.destination.address, task.source.bytes
        if dma is not None and task.setting is None and any(value % dma.beat for value in values):
            off[dma.name, dma.beat] += 1
    return [
        f"{number:,} of {len(transfers):,} transfers do not begin or end on a beat of {beat} B: a board's {name} drops"
        f" the lowest bits of an address; with --set 'dma.{name}.beat=1 B' it moves what is meant (mcusim verify lists"
        " them)"
        for (name, beat), number in off.items()
    ]


def require_aligned_accesses(
    program: Program, machine: Machine, profile: Profile, memory: MemoryState, opaque: Mapping[int, int | None]
) -> None:
    """Raise KernelFault for the first kernel call that accesses Device memory unaligned, on a core that faults then.

    ``memory`` is the state of the machine's memory, which is only looked at; calls in ``opaque`` are not known. Not
    modelled: tasks that overlap; the first is that of the program's order.
    """
    devices = [region for region in machine.memory.values() if region.attribute == "device"]
    if not devices or not CORES[machine.core.isa].device_faults:
        return
    for task in program.tasks:
        if isinstance(task, Compute) and task.id not in opaque and _touches(task, devices):
            _check_call(task, machine, profile, memory)


def mpu_region(machine: Machine, address: int) -> str:
    """The MPU region that makes the memory at ``address`` Normal, as the end of a sentence that speaks of one."""
    region = next((region for region in machine.memory.values() if region.base <= address < region.end), None)
    if region is None:
        return ""
    return (
        f" over {region.base:#010x} ({size(region.size)}; TEX 1, C 1, B 1: write-back, TEX 1, C 0, B 0: uncached), here"
        f" --set memory.{region.name}.attribute=write-back or =uncached"
    )


def _touches(task: Compute, regions: list[Region]) -> bool:
    spans = [operand.span for operand in task.operands]
    return any(span.address < region.end and region.base < span.end for span in spans for region in regions)


def _check_call(task: Compute, machine: Machine, profile: Profile, memory: MemoryState) -> None:
    from mcusim.kernels.cost.fitted.call import Call, device_fault

    operands = [(str(operand.role), operand.span.address, operand.span.bytes) for operand in task.operands]
    fault = device_fault(memory, Call(task.geometry, task.rows, operands, 0), profile.compiled_like(task.geometry))
    if fault is None:
        return
    text = (
        f"a {'store' if fault.write else 'load'} of {fault.size} B at {fault.address:#010x} is not aligned, and the"
        " address is Device memory, where every access must be; align it, or make the range Normal by an MPU region"
        f"{mpu_region(machine, fault.address)}"
    )
    symbol = fault.kind.partition("-")[0]
    where = task.operator, task.geometry.type, task.tile, task.tiles
    raise KernelFault(*where, symbol, "unaligned access", text, address=fault.address)
