"""What a program did that a board would not have answered, or not as it is answered here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcusim.cpu import state_layout as C
from mcusim.cpu.notes import notes_of
from mcusim.cpu.state_layout import CoreState
from mcusim.soc.families.family import line_name
from mcusim.soc.register_block import BlockHost, RegisterBlock


@dataclass(frozen=True, slots=True)
class PeripheralFinding:
    """``pc``: the first instruction that did it, None where no single one did; ``count``: how often."""

    rule: str
    text: str
    fix: str
    pc: int | None = None
    address: int | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a block ends the run: a fault's kind and sentence, where, and the registers then."""

    kind: str
    text: str
    pc: int
    address: int | None
    registers: Mapping[str, int]


class Plain(RegisterBlock):
    """A block without a description: storage, which counts its accesses and remembers where the first was made."""

    accesses, first = 0, 0

    def __init__(self, name: str, base: int, size: int, host: BlockHost, place: Callable[[], int]) -> None:
        super().__init__(name, base, size, {}, host)
        self._place = place

    def _count(self) -> None:
        self.first = self.first or self._place()
        self.accesses += 1

    def read(self, offset: int, size: int) -> int:
        self._count()
        return super().read(offset, size)

    def write(self, offset: int, size: int, value: int) -> None:
        self._count()
        super().write(offset, size, value)


def storage(blocks: Iterable[Plain]) -> Iterator[PeripheralFinding]:
    """Those that were used."""
    for block in blocks:
        if block.accesses:
            text = f"{block.name} has no description here and only kept what was stored"
            fix = "describe it as [peripherals.<name>] in the machine file where the program waits for it"
            yield PeripheralFinding("undescribed-block", text, fix, block.first, block.base, block.accesses)


_INVALIDATE = "invalidate it before, all sets and ways by DCISW (CMSIS: SCB_EnableDCache); caches hold anything then"
_NOTED = {
    C.OFF_DIRTY: (
        "cache-off-dirty",
        "the data cache is off and holds a dirty line of what is accessed here: a load gets what memory had before, a"
        " store is lost when the line is written back",
        "clean the lines of the stack and of all that is used until the cache is clean, or touch none of it: newer"
        " CMSIS does so in SCB_DisableDCache",
    ),
    C.OLD_FLASH: (
        "stale-flash",
        "a load gets a line of the data cache from before the flash was erased or programmed",
        "invalidate the lines of what was erased or programmed: SCB_InvalidateDCache_by_Addr",
    ),
    C.LOCKED: (
        "locked-register",
        "stores to the DWT, of which this core takes none while it is locked: CYCCNT does not count",
        "store 0xC5ACCE55 to DWT_LAR (0xE0001FB0) first; a debugger may have done that on a board",
    ),
    C.DATA_ON: (
        "cache-not-invalidated",
        "the data cache is switched on, and not all of its lines were invalidated since the reset",
        _INVALIDATE,
    ),
    C.CODE_ON: (
        "cache-not-invalidated",
        "the instruction cache is switched on, and was not invalidated since the reset",
        "store to ICIALLU before (CMSIS: SCB_EnableICache); caches hold anything then",
    ),
    C.NO_REGION: (
        "no-such-region",
        "an MPU region is switched on whose number the part does not have: what it was to protect or to leave uncached"
        " is as without it",
        "read MPU_TYPE.DREGION, and use a number below it",
    ),
    C.NOT_YET_CLEAN: (
        "cache-not-invalidated",
        "the data cache is written back by set and way, and was not invalidated since the reset: memory may be"
        " overwritten with what its lines happen to hold",
        _INVALIDATE,
    ),
}


def of_notes(state: CoreState) -> Iterator[PeripheralFinding]:
    """What the native hooks have noted in the core's ``state``."""
    for kind, note in notes_of(state).items():
        rule, text, fix = _NOTED[kind]
        yield PeripheralFinding(rule, text, fix, note.pc, note.address, note.times)


def silent_lines(family: str, lines: Iterable[int]) -> Iterator[PeripheralFinding]:
    """Interrupt lines that the program has enabled and that no block here requests."""
    for irq in lines:
        name = line_name(family, irq)
        if name:
            text = f"interrupt {irq} ({name}) is enabled, and nothing here requests it"
            yield PeripheralFinding(
                "silent-interrupt", text, "what waits for it waits for ever: see what the block is to do here"
            )
        elif name is not None:
            text = f"interrupt {irq} is enabled, a line that no STM32{family.upper()} has"
            yield PeripheralFinding("no-such-interrupt", text, "compare it with the part's vector table")
