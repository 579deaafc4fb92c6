"""One line of the table of what firmware set up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SetUpRow"]


@dataclass(frozen=True, slots=True)
class SetUpRow:
    """``key`` of the machine file, or a name where that has none; ``value`` as the firmware has it, and ``machine`` as
    the machine has it, None for no such key; both as the file writes them. ``differs``: they are not the same.

    ``register`` holds ``word`` since the store at ``pc`` in core cycle ``cycle``; None where that is not known (it is
    as after a reset). ``effect``: ``figure`` of the machine that the run uses, ``followed`` at run time, ``none``: not
    modelled. ``settable``: the machine can be given the value.
    """

    key: str
    value: str
    machine: str | None
    differs: bool
    register: str
    word: int
    pc: int | None
    cycle: int | None
    note: str
    effect: Literal["figure", "followed", "none"]
    settable: bool = False
