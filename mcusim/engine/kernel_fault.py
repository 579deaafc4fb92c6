"""Explains a kernel call that did not end well in one sentence that says what to do.

Not modelled: how the caller of a kernel would have handled it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mcusim.cpu import state_layout as C
from mcusim.engine.board_rules import mpu_region
from mcusim.errors import KernelFault

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator
    from mcusim.emulator.stops.stop import Stop
    from mcusim.engine.guest_program import GuestProgram
    from mcusim.image.image import Image
    from mcusim.program.program import Compute, Span

FAR = 1 << 16  # bytes: further off the nearest buffer explains nothing


class Called(Protocol):
    """The core that the kernel was called on, with its program."""

    emulator: Emulator
    image: Image
    guest: GuestProgram
    stack: Span


def explained(core: Called, task: Compute, stop: Stop, most: int, returned: int) -> KernelFault:
    """What ``stop`` means for the call of ``task``, which might take ``most`` instructions and left ``returned``."""
    pc, address = None, None
    if stop.fault is not None:
        kind, text, pc, address = stop.fault.kind, stop.fault.text, stop.fault.pc, stop.fault.address
        if core.emulator.state.fault == C.UNALIGNED_DEVICE and address is not None:
            text += mpu_region(core.emulator.machine, address)
        if core.emulator.state.fault == C.READ_ONLY and address is not None:
            kind, text = _outside(core, task, address)
    elif stop.kind == "returned":
        kind, text = "error", f"returned {returned}, not 0"
    elif stop.kind in ("limit", "loop", "idle"):
        pc = core.emulator.core["pc"] & ~1
        kind = "does not return"
        text = f"it had not returned after {most:,} instructions; a call may take more with --max-instructions"
        if stop.kind != "limit":
            text = "it waits for ever" if stop.kind == "idle" else "it branches to itself"
    else:
        kind, text = stop.kind, "ended the program instead of returning"
    line = None if pc is None else core.image.line_at(pc)
    shown = f"{line[0].rpartition('/')[2]}:{line[1]}" if line else None
    symbol = core.guest.kernel(task).symbol
    return KernelFault(task.operator, task.geometry.type, task.tile, task.tiles, symbol, kind, text, pc, address, shown)


def _outside(core: Called, task: Compute, address: int) -> tuple[str, str]:
    """Where the store went, seen from the nearest buffer of the call, and whose bytes they are; its kind first."""
    size = core.emulator.state.fault_size
    owner = next((b.name for b in core.guest.program.header.buffers if b.span.address <= address < b.span.end), None)
    spans = [(o.role, o.span) for o in task.operands] + [("stack", core.stack)]
    role, span = min(spans, key=lambda pair: max(pair[1].address - address, address - pair[1].end + 1, 0))
    machine = core.emulator.machine
    if min(abs(address - span.address), abs(address - span.end)) > FAR and owner is None:
        region = next((r.name for r in machine.memory.values() if r.base <= address < r.end), "an alias")
        return "write outside its buffers", f"a store of {size} B at {address:#010x}, in {region}, far from all of them"
    if role == "stack" and address < span.address:
        return "stack overflow", f"a store of {size} B at {address:#010x}, below the stack's {span.bytes:,} B"
    if address < span.address:
        location = f"{span.address - address:,} B before {role}"
    elif address < span.end:
        location = f"in {role}, which it may only read" if address + size <= span.end else f"across the end of {role}"
    else:
        location = f"{address - span.end:,} B after {role}"
    hit = f", in buffer {owner}" if owner is not None else ""
    text = f"a store of {size} B at {address:#010x}{hit}, {location} ({span.address:#010x}, {span.bytes:,} B)"
    return "write outside its buffers", text
