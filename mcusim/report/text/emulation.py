"""A fault of an emulated program as one block of text: what, where, registers, the way there, and what to try."""

from __future__ import annotations

from mcusim.machine.description import Machine
from mcusim.results.emulation import EmulationResult, place
from mcusim.text import columns, wrapped

__all__ = ["fault_lines", "hint", "where"]

_HINTS = {
    "unaligned access": "a pointer cast to a wider type, or a packed structure, often makes such an address",
    "access violation": "compare the address with the MPU regions the program has set, or with a constant's place",
    "no such peripheral": "give the machine the register block, or run the part that needs no peripheral with --call",
    "stack overflow": "a larger stack (--stack for --call, the linker script else), or less recursion and local arrays",
    "no coprocessor": "start-up code usually enables the FPU; --call starts with it on",
    "execution violation": "look for a wild function pointer, a stack overwritten, or code in data memory",
    "bus fault": "look for a pointer that was not set; `mcusim machines NAME` shows where memory is",
    "undefined instruction": "check -mcpu and -mfpu against the machine's core, and jumps into data",
    "invalid state": "a function pointer needs the Thumb bit: its lowest bit set",
    "exception": "call the function that needs no handler with --call, or leave the call out",
    "semihosting": "the host answers output to the console, time and exit, nothing else; check its parameters too",
    "breakpoint": "an assertion or a debugger's breakpoint is compiled in",
}


def where(result: EmulationResult, address: int) -> str:
    """``function+0x1c (file.c:12)``, as far as it is known."""
    line = result.image.line_at(address)
    shown = f" ({line[0].rpartition('/')[2]}:{line[1]})" if line else ""
    return f"{place(result.image, address)}{shown}"


def hint(kind: str) -> str:
    """What to look at for a kind of fault; empty when nothing general can be said."""
    return _HINTS.get(kind, "")


def fault_lines(result: EmulationResult) -> list[str]:
    """The block; the last branches newest last. Empty when there was no fault."""
    fault = result.stop.fault
    if fault is None:
        return []
    text = [f"Fault: {fault.kind}", *wrapped(fault.text)]
    name = where(result, fault.pc)
    text.append(f"  at PC {fault.pc:#010x}, {name if name[:2] != '0x' else 'in no function that is known'}")
    if fault.pc in result.profile.text:
        text[-1] += f": {' '.join(result.profile.text[fault.pc].split())}"
    if fault.address is not None:
        text.append(f"  address {fault.address:#010x}, {_region(result.machine, fault.address)}")
    text += ["  registers", *_registers(dict(fault.registers))]
    if fault.branches:
        text.append("  last branches, newest last")
        pairs = [[place(result.image, a), "->", place(result.image, b)] for a, b in fault.branches]
        text += columns(pairs, left=3, indent=4)
    return [*text, *(wrapped(f"hint: {hint(fault.kind)}") if hint(fault.kind) else [])]


def _region(machine: Machine, address: int) -> str:
    for region in machine.memory.values():
        for base in (region.base, *region.aliases):
            if base <= address < base + region.size:
                return f"{region.name} + {address - base:#x}"
    for block in machine.peripherals.values():
        if block.base <= address < block.base + block.size:
            return f"{block.name} + {address - block.base:#x}"
    return "outside the machine's memory"


def _registers(registers: dict[str, int]) -> list[str]:
    cells = [f"{name:>4} {value:08x}" for name, value in registers.items()]
    return [f"  {'  '.join(cells[i : i + 4])}" for i in range(0, len(cells), 4)]
