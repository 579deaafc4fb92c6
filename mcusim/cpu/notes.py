"""What the native hooks note of a program's doing, once for each kind: where it was first done, and how often."""

from __future__ import annotations

from typing import NamedTuple

from mcusim.cpu.state_layout import MOST_NOTES, CoreState
from mcusim.native.functions import native


class Note(NamedTuple):
    """``pc``: the first instruction that did it, at ``address``."""

    pc: int
    address: int
    times: int


@native
def note(core: CoreState, kind: int, pc: int, address: int) -> None:
    """It is done once more."""
    noted = core.notes[kind]
    if noted.count == 0:
        noted.pc, noted.address = pc, address
    noted.count += 1


def notes_of(core: CoreState) -> dict[int, Note]:
    """By kind what was done at all."""
    notes = ((kind, core.notes[kind]) for kind in range(MOST_NOTES))
    return {kind: Note(note.pc, note.address, note.count) for kind, note in notes if note.count}
