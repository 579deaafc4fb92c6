"""Polls that can never end: the core reads the same registers again and again, and nothing can change any more.

Proved, not guessed: after many reads that found nothing new the core's registers and the number of stores are noted
at one read. Where a later read of that register finds both unchanged, no register of the core's own bus (a counter)
was read and no block has a change to come, the core will do the same for ever.

Not modelled: loops that store while they poll, or count down in a register (they end by themselves, or at the limit of
instructions); a poll with an interrupt to come is never called endless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FIRST = 1024  # reads without anything new before the first look
TRIES = 64  # reads in which the register has to come again


class Polls:
    """``state()`` is everything that a loop may change, as something to compare."""

    def __init__(self, state: Callable[[], Any], quiet: Callable[[], bool]) -> None:
        self._state, self._quiet = state, quiet
        self._seen: dict[int, int] = {}
        self.idle, self._next = 0, FIRST  # loads in succession that found nothing new; when to look
        self._noted: tuple[int, Any] | None = None

    def stored(self) -> None:
        """A store to a block: the polling begins anew."""
        self.idle, self._next, self._noted = 0, FIRST, None
        self._seen.clear()

    @property
    def read(self) -> tuple[int, ...]:
        """The addresses that the polling reads."""
        return tuple(self._seen)

    def loaded(self, address: int, value: int) -> bool:
        """A load of ``value``; says whether it is one of an endless poll."""
        if self._seen.get(address) != value:
            self.stored()
            self._seen[address] = value
            return False
        self.idle += 1
        if self.idle < self._next:
            return False
        if self.idle > self._next + TRIES or self._noted is None:
            if self._noted is not None:
                self._next, self._noted = 2 * self.idle, None
                return False
            self._noted = address, self._state()
            return False
        return self._noted[0] == address and self._noted[1] == self._state() and self._quiet()

    def beyond(self, loads: int, step: int) -> int:
        """Of so many loads more, ``step`` a round: rounds to run so that a look at the state is not left out."""
        idle, look = self._after(loads)
        return -(-(idle - look + 1) // step) if step and idle >= look else 0

    def left_out(self, loads: int) -> None:
        """So many loads more would find the same."""
        before = self._next
        self.idle, self._next = self._after(loads)
        if self._next != before:
            self._noted = None

    def _after(self, loads: int) -> tuple[int, int]:
        """``idle`` then, and the next look."""
        idle, look = self.idle + loads, self._next
        while idle > look + TRIES:
            look = 2 * (look + TRIES + 1)
        return idle, look
