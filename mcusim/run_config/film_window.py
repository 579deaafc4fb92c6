"""The window of time that a film has, as a user gives it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from mcusim.errors import UsageError
from mcusim.memory import state_layout as L
from mcusim.units import Duration, parse_duration

if TYPE_CHECKING:
    from mcusim.memory.film.film_recorder import FilmRecorder

MOST_CYCLES = (1 << 32) // L.TICK - 1
_START = Duration(Fraction(0), "s")
_FORM = 'two times, such as "2 ms to 3 ms"'


@dataclass(frozen=True, slots=True)
class FilmWindow:
    """From ``begin`` to ``end``, times or cycles; ``end`` None: as long as the film may be."""

    begin: Duration = _START
    end: Duration | None = None

    @classmethod
    def parse(cls, given: object) -> FilmWindow:
        """``"2 ms to 3 ms"``; ``"begin"`` for as much as there is room for. Raises UsageError and UnitError."""
        if given == "begin":
            return cls()
        text = given if isinstance(given, str) else ""
        begin, separator, end = (part.strip() for part in text.partition(" to "))
        if not separator:
            raise UsageError(f"film window {repr(given)[:60]}: must be {_FORM}")
        return cls(parse_duration(begin), parse_duration(end))

    def recorder(self, clock: int) -> FilmRecorder:
        """What takes it at a clock in Hz. Raises UsageError for a window that no film has."""
        since = _cycle(self.begin, clock)
        until = since + MOST_CYCLES if self.end is None else _cycle(self.end, clock)
        if until <= since:
            raise UsageError("film window: the second time must be later than the first")
        if until - since > MOST_CYCLES:
            fits = window_text(since, since + MOST_CYCLES, clock)
            raise UsageError(f"film window: {until - since:,} cycles are too many for a film; {fits} fits")
        from mcusim.memory.film.film_recorder import FilmRecorder  # with native code

        return FilmRecorder(since, until)


def _cycle(moment: Duration, clock: int) -> int:
    return int(moment.value * clock if moment.unit == "s" else moment.value)


def window_text(since: int, until: int, clock: int) -> str:
    """A window as :meth:`FilmWindow.parse` takes it, not longer than it is."""
    begin, end = -(-since * 10**6 // clock), until * 10**6 // clock
    return f'"{begin / 1000:g} ms to {end / 1000:g} ms"'
