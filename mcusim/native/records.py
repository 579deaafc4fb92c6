"""Records: named slots of the int64 arrays that native functions share, assigned in order and then frozen.

    region = Record("region")
    KIND, WAIT = region.fields("KIND", "WAIT")  # 0, 1
    OPEN = region.array("OPEN", 16)             # 2, up to 17
    REGION = region.freeze()                    # 18 words

Native functions take the offsets as module-level constants: ``s[r + KIND]``. As slots are assigned one behind the
other, two of a record cannot overlap; a name that is declared twice, or after the record was frozen, is an error.

Not modelled: alignment, types other than int64, and whether the Python name that takes an offset is the slot's (a test
of the layouts compares them).
"""

from __future__ import annotations

from typing import NamedTuple


class Slot(NamedTuple):
    """``length`` words from ``offset`` on."""

    name: str
    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + self.length


class Record:
    """The slots of one kind of record in an array; ``slots`` has them in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.slots: list[Slot] = []
        self._frozen = False

    def field(self, name: str) -> int:
        """Offset of one more word."""
        return self.array(name, 1)

    def fields(self, *names: str) -> tuple[int, ...]:
        """Offsets of one more word for each name."""
        return tuple(self.field(name) for name in names)

    def array(self, name: str, length: int) -> int:
        """Offset of the first of ``length`` more words; raises ValueError naming what is wrong with the declaration."""
        if self._frozen:
            raise ValueError(f"record {self.name}: the slot {name} comes after freeze()")
        if any(slot.name == name for slot in self.slots):
            raise ValueError(f"record {self.name}: the slot {name} is declared twice")
        if length < 1:
            raise ValueError(f"record {self.name}: the slot {name} has {length} words: at least 1")
        offset = self._end
        self.slots.append(Slot(name, offset, length))
        return offset

    def freeze(self) -> int:
        """No slot comes behind these; returns how many words they are."""
        if self._frozen:
            raise ValueError(f"record {self.name} is frozen twice")
        self._frozen = True
        return self._end

    @property
    def _end(self) -> int:
        return self.slots[-1].end if self.slots else 0
