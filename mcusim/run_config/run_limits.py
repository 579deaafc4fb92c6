"""What a run may take at most, as a user names it: latency, energy, on-chip RAM, flash.

Not modelled: limits on single operators, on the supply current and on external memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mcusim.errors import UnitError, UsageError
from mcusim.units import Duration, parse_duration, parse_energy, parse_size


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The most that a run may take; None is no limit. ``energy`` in J, ``sram`` and ``flash`` in bytes."""

    latency: Duration | None = None
    energy: Fraction | None = None
    sram: int | None = None
    flash: int | None = None

    @classmethod
    def of(
        cls, latency: str | None = None, energy: str | None = None, sram: str | None = None, flash: str | None = None
    ) -> RunLimits:
        """The limits of texts with units: ``"100 ms"`` (or ``"5_000 cycles"`` of the core), ``"20 mJ"``, ``"128 KiB"``.

        Raises UsageError, which names the option.
        """
        return cls(
            _parsed("--max-latency", latency, parse_duration),
            _parsed("--max-energy", energy, parse_energy),
            _parsed("--max-sram", sram, parse_size),
            _parsed("--max-flash", flash, parse_size),
        )

    def any(self) -> bool:
        """Whether there is a limit."""
        return any(limit is not None for limit in (self.latency, self.energy, self.sram, self.flash))


def _parsed(option: str, text: str | None, parse: Callable[[object], Any]) -> Any:
    if text is None:
        return None
    try:
        return parse(text)
    except UnitError as error:
        raise UsageError(f"{option} {error}") from None
