"""What a program did that a board would not have answered, or not as it is answered here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcusim.cpu.peripherals.register_block import BlockHost, RegisterBlock
from mcusim.cpu.system.register_names import line_name

__all__ = ["MISTAKES", "RULES", "Ending", "PeripheralFinding", "Plain", "locked_stores", "silent_lines", "storage"]

RULES: Mapping[str, str] = {
    "sdram-not-ready": "SDRAM is used before the FMC has started it, or at an address that is not mapped to it",
    "undescribed-block": "a register block without a description is used as storage (lenient)",
    "no-answer": "a register block, or what is connected to it, is used in a way that it does not answer",
    "flash-store": "a store to flash that is not open for it: locked, or without PG",
    "flash-error": "a store to flash that its controller refuses with an error flag",
    "flash-not-erased": "flash is programmed whose bits are clear already",
    "other-set-up": "on the machine that the firmware has set up it sets up another one",
    "locked-register": "a register is stored to that takes no store while it is locked",
    "region-misaligned": "an MPU region does not begin at a multiple of its size",
    "reserved-encoding": "an MPU region is on whose attributes are reserved",
    "silent-interrupt": "an interrupt is enabled that nothing here requests",
    "no-such-interrupt": "an interrupt is enabled that the part does not have",
}


# what is wrong whatever the program is for; the others may be meant, or are about what is modelled here
MISTAKES = (
    "flash-store",
    "flash-error",
    "flash-not-erased",
    "locked-register",
    "region-misaligned",
    "reserved-encoding",
)


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
    for one in blocks:
        if one.accesses:
            text = f"{one.name} has no description here and only kept what was stored"
            fix = "describe it as [peripherals.<name>] in the machine file where the program waits for it"
            yield PeripheralFinding("undescribed-block", text, fix, one.first, one.base, one.accesses)


def locked_stores(pc: int) -> Iterator[PeripheralFinding]:
    """The first store to the DWT while it was locked, at ``pc``; 0: there was none."""
    if pc:
        text = "stores to the DWT, of which this core takes none while it is locked: CYCCNT does not count"
        fix = "store 0xC5ACCE55 to DWT_LAR (0xE0001FB0) first; a debugger may have done that on a board"
        yield PeripheralFinding("locked-register", text, fix, pc, 0xE000_1000)


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
