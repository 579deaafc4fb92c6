"""What the native hooks note of a program's doing, once for each kind: where it was first done, and how often."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcusim.cpu import state_layout as C
from mcusim.native.compile import State, native


class Note(NamedTuple):
    """``pc``: the first instruction that did it, at ``address``."""

    pc: int
    address: int
    times: int


@native
def note(c: State, kind: int, pc: int, address: int) -> None:
    """It is done once more."""
    e = C.NOTES + kind * C.NOTE
    if c[e + C.NOTE_COUNT] == 0:
        c[e + C.NOTE_PC], c[e + C.NOTE_ADDRESS] = pc, address
    c[e + C.NOTE_COUNT] += 1


def noted(state: Any) -> dict[int, Note]:
    """By kind what was done at all."""
    notes = state[C.NOTES : C.NOTES + C.MOST_NOTES * C.NOTE].reshape(-1, C.NOTE).tolist()
    return {kind: Note(*row) for kind, row in enumerate(notes) if row[C.NOTE_COUNT]}
