"""How a program starts on a machine: from a reset vector or from the ELF entry point, and with which stack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcusim.errors import ImageError
from mcusim.image.image import Image
from mcusim.machine.description import Machine, Region
from mcusim.machine.document import show_address

TABLE = 128  # VTOR has bits 31 to 7 of a table's address (DDI0403 B3.2.5)
_TABLES = ("g_pfnVectors", "__isr_vector", "__Vectors", "_vectors", "__vectors", "vector_table", "__vector_table")
_STACK_TOPS = (
    "_estack",
    "__StackTop",
    "__stack",
    "_stack_top",
    "__stack_top",
    "__initial_sp",
    "__stack_end__",
    "_stack",
)
_STACK_LIMITS = ("__StackLimit", "_sstack", "__stack_limit", "__stack_start__", "_stack_limit", "__STACK_LIMIT")
_STACK_SIZES = ("_Min_Stack_Size", "__stack_size__", "__STACK_SIZE", "__StackSize", "_stack_size")
_DATA_ENDS = ("_end", "end", "__end__", "__bss_end__", "_ebss")
_ROOM = 1024  # bytes of stack a program is given at least where nothing else is


@dataclass(frozen=True, slots=True)
class Start:
    """``pc`` without the Thumb bit; ``vectors`` is the address of the vector table, None when there is none."""

    kind: Literal["reset", "entry"]
    pc: int
    sp: int
    vectors: int | None = None


def start(image: Image, machine: Machine) -> Start:
    """Where the core begins: at the reset vector when the image has a plausible one, else at the ELF entry point.

    A vector table is accepted where a core looks for it (the start of a flash and its aliases), at the start of a
    segment and at the usual symbols, in this order, where VTOR can name it: its first word, whose two lowest bits a
    core ignores, is in or at the end of writable memory, its second is odd and in an executable segment. Raises
    ImageError when the entry point is in none.
    """
    for address in _table_addresses(image, machine):
        if table := _table_at(image, machine, address):
            return Start("reset", table[1], table[0], address)
    if image.entry is None or not _runs(image, image.entry & ~1):
        raise ImageError(f"{image.path}: {_no_start(image, machine)}")
    return Start("entry", image.entry & ~1, stack_top(image, machine))


def start_at(image: Image, machine: Machine, address: int) -> Start:
    """As after a reset, but at ``address``: that of a vector table in the image, else of code there."""
    if table := _table_at(image, machine, address):
        return Start("reset", table[1], table[0], address)
    if not _runs(image, address):
        raise ImageError(
            f"{image.path}: the entry {show_address(address)} is in no executable segment: --entry SYMBOL|ADDRESS names"
            " code or a vector table of the program"
        )
    try:
        result = start(image, machine)
    except ImageError:
        return Start("reset", address, stack_top(image, machine))
    return Start("reset", address, result.sp, result.vectors)


def _table_at(image: Image, machine: Machine, address: int) -> tuple[int, int] | None:
    """Stack pointer and address of the reset code that a plausible vector table at ``address`` has."""
    sp, reset = image.word_at(address), image.word_at(address + 4)
    if address % TABLE or sp is None or reset is None or not _is_stack(sp, machine) or not reset & 1:
        return None
    return (sp & ~3, reset & ~1) if any(_runs(image, alias) for alias in _seen_at(machine, reset & ~1)) else None


def _seen_at(machine: Machine, address: int) -> Iterator[int]:
    """``address``, and where else its byte is: at the other addresses of its region."""
    yield address
    for region in machine.memory.values():
        bases = (region.base, *region.aliases)
        yield from (other + address - base for base in bases for other in bases if base <= address < base + region.size)


def _no_start(image: Image, machine: Machine) -> str:
    """Why neither vector table nor entry point will do."""
    first = next(
        (
            table_address
            for table_address in _table_addresses(image, machine)
            if image.word_at(table_address) is not None
        ),
        0,
    )
    sp, reset = image.word_at(first), image.word_at(first + 4)
    table = ""
    if first % TABLE:
        table = f" ({show_address(first)} is no multiple of {TABLE}, as a vector table's address is)"
    elif sp is not None and reset is not None:
        table = f" (the words at {show_address(first)}, {show_address(sp)} and {show_address(reset)}, are none)"
    if image.entry is None:
        return (
            f"no vector table was found{table}, and the file names no entry point; a table begins with a stack pointer"
            f" in writable memory of {machine.name} and an odd address in the image"
        )
    return (
        f"no vector table was found, and the entry point {show_address(image.entry)} is in no"
        " executable segment; link it with --entry=<function> or with its vector table first"
    )


def _table_addresses(image: Image, machine: Machine) -> Iterator[int]:
    for region in machine.memory.values():
        if region.kind == "flash":
            yield from (region.base, *region.aliases)
    yield from (segment.load_address for segment in image.segments if segment.data)
    for name in _TABLES:
        symbol = image.symbols.get(name)
        if symbol is not None:
            yield _loaded(image, symbol.address)


def _loaded(image: Image, address: int) -> int:
    """The load address of what the program uses at ``address``."""
    for segment in image.segments:
        if segment.address <= address < segment.end:
            return address - segment.address + segment.load_address
    return address


def _runs(image: Image, address: int) -> bool:
    return any(s.executable and s.address <= address < s.address + len(s.data) for s in image.segments)


def _is_stack(sp: int, machine: Machine) -> bool:
    return any(base < sp <= base + region.size for region, base in _writable(machine))


def _writable(machine: Machine) -> Iterator[tuple[Region, int]]:
    for region in machine.memory.values():
        if region.writable:
            yield from ((region, base) for base in (region.base, *region.aliases))


def stack_top(image: Image, machine: Machine) -> int:
    """The initial stack pointer of a program without a vector table, a multiple of 8.

    What a linker script calls the top of the stack when it is in writable memory; else the end of the largest writable
    on-chip region that no segment fills. Raises ImageError when the machine has no such region.
    """
    for name in _STACK_TOPS:
        symbol = image.symbols.get(name)
        if symbol is not None and symbol.address and _is_stack(symbol.address & ~7, machine):
            return symbol.address & ~7
    regions = sorted(
        (r for r in machine.memory.values() if r.writable and r.kind in ("tcm", "sram")),
        key=lambda r: (-r.size, r.base),
    )
    if not regions:
        raise ImageError(f"{image.path}: {machine.name} has no writable on-chip memory for a stack; define _estack")
    free = (r for r in regions if not any(s.address < r.end and r.end - _ROOM < s.end for s in image.segments))
    return next(free, regions[0]).end & ~7


def stack_limit(image: Image, sp: int) -> int | None:
    """The lowest address a stack that begins at ``sp`` may reach, or None when the image does not tell.

    What a linker script calls the limit of the stack; else the end of static data (its symbol, or the end of the
    nearest writable segment below): linker scripts of ST reserve ``_Min_Stack_Size`` bytes, but the stack may grow on.
    Only without either is it ``sp`` less the reserved size. Not modelled: a heap in between.
    """
    for candidates in (_limits(image, sp), _data_ends(image, sp)):
        if candidates:
            return max(candidates)
    sizes = [size for size in _values(image, _STACK_SIZES) if size <= sp]
    return sp - sizes[0] if sizes else None


def stack_is_reserved(image: Image, sp: int) -> bool:
    """Whether nothing but the stack may use the bytes above :func:`stack_limit`.

    Not where the limit is only the end of static data: a heap (``malloc``) begins there.
    """
    return bool(_limits(image, sp)) or not _data_ends(image, sp)


def _limits(image: Image, sp: int) -> list[int]:
    return [address for address in _values(image, _STACK_LIMITS) if address < sp]


def _data_ends(image: Image, sp: int) -> list[int]:
    ends = _values(image, _DATA_ENDS) + [s.end for s in image.segments if s.writable]
    return [address for address in ends if address <= sp]


def _values(image: Image, names: tuple[str, ...]) -> list[int]:
    symbols = (image.symbols.get(name) for name in names)
    return [symbol.address for symbol in symbols if symbol is not None and symbol.address]
