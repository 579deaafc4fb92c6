"""The program's stores to the registers that set up clocks and memories, with their places.

Not modelled: more than the last 64 changes of a register.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from mcusim.soc.register_block import RegisterBlock

BLOCKS = frozenset({"RCC", "FLASH", "PWR", "FMC", "QUADSPI"})
KEPT = 64
ALL = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class RegisterWrite:
    """A store that made ``before`` ``word``, by the instruction at ``pc``, at core cycle ``cycle``."""

    before: int
    word: int
    pc: int
    cycle: int


class RegisterWrites:
    """Of each register by its label (``RCC_CFGR``) the last stores, those that changed nothing too."""

    def __init__(self) -> None:
        self._kept: dict[str, deque[RegisterWrite]] = {}

    def note(self, label: str, write: RegisterWrite) -> None:
        self._kept.setdefault(label, deque(maxlen=KEPT)).append(write)

    def of(self, label: str) -> list[RegisterWrite]:
        """The stores to a register, the latest first."""
        return list(reversed(self._kept.get(label, ())))


class Registers:
    """What the registers of ``blocks`` hold now, and which store made it so."""

    def __init__(self, blocks: Iterable[RegisterBlock], writes: RegisterWrites) -> None:
        self._blocks = {block.name: block for block in blocks if block.name in BLOCKS}
        self._writes = writes

    def __contains__(self, label: str) -> bool:
        block, _, register = label.partition("_")
        return block in self._blocks and register in self._blocks[block].names

    def __getitem__(self, label: str) -> int:
        block, _, register = label.partition("_")
        return self._blocks[block][register]

    def field(self, label: str, low: int, bits: int) -> int:
        """``bits`` bits from bit ``low`` on."""
        return self[label] >> low & (1 << bits) - 1

    def written(self, *labels: str) -> bool:
        """Whether the program stored to one of them."""
        return any(self._writes.of(label) for label in labels)

    def last(self, label: str, mask: int = ALL) -> RegisterWrite | None:
        """The store that gave the bits ``mask`` what they have: the last that changed one, else the last of all."""
        kept = self._writes.of(label)
        return next((write for write in kept if (write.before ^ write.word) & mask), kept[0] if kept else None)

    def stored(self, label: str) -> Iterable[int]:
        """The words that it was made to hold, the latest first."""
        return (write.word for write in self._writes.of(label))
