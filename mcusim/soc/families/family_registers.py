"""What families share of RCC, PWR and FLASH_ACR: clocks, dividers, and what a family has to say of its registers.

Not modelled: fractions of a PLL, clocks that fail; a PLL that is selected counts as running.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from mcusim.soc.register_config.derived_figure import Bits
from mcusim.soc.register_config.register_writes import Registers
from mcusim.units import hertz

MHZ = 10**6
AHB = (1,) * 8 + (2, 4, 8, 16, 64, 128, 256, 512)
APB = (1, 1, 1, 1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Clock:
    """``hz``, None for that of an oscillator that the machine file does not have, and how it is made."""

    hz: Fraction | None
    text: str

    def times(self, factor: Fraction, text: str) -> Clock:
        """A clock made of this one."""
        return Clock(None if self.hz is None else self.hz * factor, self.text + text)


def source(name: str, hz: int | None) -> Clock:
    return Clock(None if hz is None else Fraction(hz), name if hz is None else f"{name} {hertz(hz)}")


def pll(source: Clock, m: int, n: int, p: int) -> Clock:
    if not m:
        return Clock(None, f"{source.text} through a PLL with a divider of 0")
    return source.times(Fraction(n, m * p), f" / {m} x {n} / {p}")


def divided(clock: Clock, divider: int) -> Clock:
    """``clock`` behind a divider."""
    return clock if divider == 1 else clock.times(Fraction(1, divider), f" / {divider}")


Scale = tuple[str, tuple[Bits, ...]] | None
"""A setting of the regulator by the machine file's name, and the bits that make it; None where none were stored."""


@dataclass(frozen=True, slots=True)
class FamilyRegisters:
    """What a family's clocks, regulator and flash are set by.

    ``system``: the clock that is selected, by RCC and the frequency of the external clock in Hz (None: not known), and
    ``bits`` that select it. ``core`` and ``bus``: register and lowest bit of the divider of the core's clock, and of
    the bus's behind it, None where that has the core's. ``regulator``: by PWR and the names of a machine file's
    settings. ``flash_lines``: bits of FLASH_ACR that switch an accelerator's lines: key of the machine file, bit, name;
    None: without an accelerator.
    """

    system: Callable[[Registers, int | None], Clock]
    bits: tuple[Bits, ...]
    regulator: Callable[[Registers, list[str]], Scale]
    core: tuple[str, int] = ("RCC_CFGR", 4)
    bus: tuple[str, int] | None = None
    flash_lines: tuple[tuple[str, int, str], ...] | None = (
        ("instruction_lines", 9, "ICEN"),
        ("data_lines", 10, "DCEN"),
    )
