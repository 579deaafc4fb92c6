"""The clocks that RCC is set to, and the scale of the regulator, by part family.

ST RM0090 and RM0386 (F4), RM0385 and RM0410 (F7), RM0432 (L4+), RM0433 (H7): RCC_CR, CFGR, PLLCFGR (H7: PLLCKSELR,
PLL1DIVR, D1CFGR, D2CFGR) and PWR; bits from memory, not verified.

Not modelled: fractions of the H7's PLL, LSE trimming of the MSI, clocks that fail; a PLL that is selected counts as
running. Memories have their timing at the machine's clock, and a run's time is its cycles at that clock: the slower
one before the switch is not modelled there; what RCC, PWR and others wait for takes cycles of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from mcusim.machine.description import Machine
from mcusim.soc.register_config.derived_figure import Bits, DerivedFigure
from mcusim.soc.register_config.register_writes import Registers
from mcusim.units import hertz

__all__ = ["clock_figures", "core_clock", "core_clock_now", "regulator_figures"]

MHZ = 10**6
AHB = (1,) * 8 + (2, 4, 8, 16, 64, 128, 256, 512)
APB = (1, 1, 1, 1, 2, 4, 8, 16)
MSI = (100_000, 200_000, 400_000, 800_000, *(n * MHZ for n in (1, 2, 4, 8, 16, 24, 32, 48)))  # by CR.MSIRANGE


@dataclass(frozen=True, slots=True)
class Clock:
    """``hz``, None for that of an oscillator that the machine file does not have, and how it is made."""

    hz: Fraction | None
    text: str

    def times(self, factor: Fraction, text: str) -> Clock:
        """A clock made of this one."""
        return Clock(None if self.hz is None else self.hz * factor, self.text + text)


def _source(name: str, hz: int | None) -> Clock:
    return Clock(None if hz is None else Fraction(hz), name if hz is None else f"{name} {hertz(hz)}")


def _pll(source: Clock, m: int, n: int, p: int) -> Clock:
    if not m:
        return Clock(None, f"{source.text} through a PLL with a divider of 0")
    return source.times(Fraction(n, m * p), f" / {m} x {n} / {p}")


def _system_f(r: Registers, external: int | None) -> Clock:
    """F4 and F7: HSI, HSE, PLL by its P, by its R (F446, F469)."""
    hsi, hse, switch = _source("HSI", 16 * MHZ), _source("HSE", external), r.field("RCC_CFGR", 0, 2)
    if switch < 2:
        return hse if switch else hsi
    word = r["RCC_PLLCFGR"]
    last = 2 * (word >> 16 & 3) + 2 if switch == 2 else max(1, word >> 28 & 7)
    return _pll(hse if word >> 22 & 1 else hsi, word & 63, word >> 6 & 511, last)


def _system_l4(r: Registers, external: int | None) -> Clock:
    own = r.field("RCC_CR", 4, 4) if r.field("RCC_CR", 3, 1) else 6  # CR.MSIRGSEL; 4 MHz after a reset
    msi = _source("MSI", MSI[min(own, len(MSI) - 1)])
    sources = [msi, _source("HSI16", 16 * MHZ), _source("HSE", external)]
    switch, word = r.field("RCC_CFGR", 0, 2), r["RCC_PLLCFGR"]
    if switch < 3:
        return sources[switch]
    if not word & 3:
        return Clock(None, "a PLL without a source")
    return _pll(sources[(word & 3) - 1], (word >> 4 & 15) + 1, word >> 8 & 127, 2 * (word >> 25 & 3) + 2)


def _system_h7(r: Registers, external: int | None) -> Clock:
    hsi = _source("HSI", 64 * MHZ >> r.field("RCC_CR", 3, 2))
    sources = [hsi, _source("CSI", 4 * MHZ), _source("HSE", external)]
    switch, word = r.field("RCC_CFGR", 0, 3), r["RCC_PLL1DIVR"]
    if switch < 3:
        return sources[switch]
    chosen = r.field("RCC_PLLCKSELR", 0, 2)
    if switch > 3 or chosen > 2:
        return Clock(None, "a PLL without a source" if switch == 3 else "no clock")
    m = r.field("RCC_PLLCKSELR", 4, 6)
    return _pll(sources[chosen], m, (word & 511) + 1, (word >> 9 & 127) + 1)


_SYSTEM: dict[str, tuple[Callable[[Registers, int | None], Clock], tuple[Bits, ...]]] = {
    "f4": (_system_f, (Bits("RCC_CFGR", 0xF3), Bits("RCC_PLLCFGR", 0x7043_7FFF))),
    "f7": (_system_f, (Bits("RCC_CFGR", 0xF3), Bits("RCC_PLLCFGR", 0x43_7FFF))),
    "l4": (_system_l4, (Bits("RCC_CFGR", 0xF3), Bits("RCC_PLLCFGR", 0x600_7FF3), Bits("RCC_CR", 0xF8))),
    "h7": (
        _system_h7,
        (Bits("RCC_CFGR", 7), Bits("RCC_D1CFGR", 0xF00), Bits("RCC_PLLCKSELR", 0x3F3), Bits("RCC_PLL1DIVR", 0xFFFF)),
    ),
}
# where the dividers of the buses are: register, lowest bit
_APB = {
    "f4": (("RCC_CFGR", 10), ("RCC_CFGR", 13)),
    "f7": (("RCC_CFGR", 10), ("RCC_CFGR", 13)),
    "l4": (("RCC_CFGR", 8), ("RCC_CFGR", 11)),
    "h7": (("RCC_D2CFGR", 4), ("RCC_D2CFGR", 8)),
}


def _tree(r: Registers, family: str, external: int | None) -> tuple[Clock, Clock] | None:
    """The clocks of core and bus; None where RCC is not known."""
    if family not in _SYSTEM or "RCC_CFGR" not in r:
        return None
    system = _SYSTEM[family][0](r, external)
    if family == "h7":
        core = _divided(system, AHB[r.field("RCC_D1CFGR", 8, 4)])
        return core, _divided(core, AHB[r.field("RCC_D1CFGR", 0, 4)])
    core = _divided(system, AHB[r.field("RCC_CFGR", 4, 4)])
    return core, core


def _divided(clock: Clock, divider: int) -> Clock:
    return clock if divider == 1 else clock.times(Fraction(1, divider), f" / {divider}")


def _written(r: Registers, family: str) -> bool:
    """Whether the program has set the clocks up."""
    return family in _SYSTEM and r.written(*(bits.register for bits in _SYSTEM[family][1]))


def core_clock_now(r: Registers, machine: Machine, family: str) -> int:
    """Of the core in Hz as RCC is, after a reset too; the machine's where an oscillator's clock is not known."""
    tree = _tree(r, family, machine.core.external_clock)
    return machine.core.clock if tree is None or not tree[0].hz else int(tree[0].hz)


def core_clock(r: Registers, machine: Machine, family: str) -> tuple[int, int]:
    """Of core and bus in Hz: as RCC is set, else as the machine has them."""
    tree = _tree(r, family, machine.core.external_clock) if _written(r, family) else None
    if tree is None or tree[0].hz is None or tree[1].hz is None:
        return machine.core.clock, machine.bus.clock
    return int(tree[0].hz), int(tree[1].hz)


def clock_figures(r: Registers, machine: Machine, family: str) -> Iterator[DerivedFigure]:
    """Core, bus where it has a clock of its own, and the dividers of the two peripheral buses."""
    tree = _tree(r, family, machine.core.external_clock) if _written(r, family) else None
    if tree is None:
        return
    core, bus = tree
    bits = _SYSTEM[family][1]
    note = core.text if core.hz is not None else f"{core.text}: the machine file has no core.external_clock"
    yield DerivedFigure("core.clock", None if core.hz is None else int(core.hz), bits, "MHz", note)
    if family == "h7" and bus.hz is not None:
        yield DerivedFigure("bus.clock", int(bus.hz), (*bits, Bits("RCC_D1CFGR", 0xF)), "MHz", bus.text)
    for name, (register, low) in zip(("apb1", "apb2"), _APB[family], strict=True):
        divider = APB[r.field(register, low, 3)]
        note = "" if bus.hz is None else hertz(int(bus.hz / divider))
        if r.written(register):
            yield DerivedFigure(f"{name} divider", divider, (Bits(register, 7 << low),), "", note, "followed")


def regulator_figures(r: Registers, machine: Machine, family: str) -> Iterator[DerivedFigure]:
    """``core.regulator`` by the names that the machine file has for its settings."""
    names = [setting.name for setting in machine.regulator]
    pair = _REGULATOR[family](r, names) if family in _REGULATOR else None
    if pair is not None and pair[0] in names:
        yield DerivedFigure("core.regulator", pair[0], pair[1])


def _scale_f(r: Registers, names: list[str]) -> tuple[str, tuple[Bits, ...]] | None:
    """PWR_CR: VOS, two bits where the part has three scales, ODEN and ODSWEN."""
    if not r.written("PWR_CR1"):
        return None
    vos = r.field("PWR_CR1", 14, 2)
    if "scale3" not in names:
        scale = "scale1" if vos & 1 else "scale2"
    else:
        scale = ("scale3", "scale3", "scale2", "scale1")[vos]
    over_drive = r.field("PWR_CR1", 16, 2) == 3 and f"{scale}-over-drive" in names
    return scale + "-over-drive" * over_drive, (Bits("PWR_CR1", 0x3_C000),)


def _range_l4(r: Registers, names: list[str]) -> tuple[str, tuple[Bits, ...]] | None:
    """PWR_CR1.VOS, PWR_CR5.R1MODE (0: boost)."""
    if not r.written("PWR_CR1", "PWR_CR5"):
        return None
    boost = not r.field("PWR_CR5", 8, 1)
    text = "range2" if r.field("PWR_CR1", 9, 2) == 2 else "range1-boost" if boost else "range1"
    return text, (Bits("PWR_CR1", 3 << 9), Bits("PWR_CR5", 1 << 8))


def _scale_h7(r: Registers, names: list[str]) -> tuple[str, tuple[Bits, ...]] | None:
    """PWR_D3CR.VOS; VOS0 is SYSCFG's, which has no description."""
    if not r.written("PWR_D3CR"):
        return None
    return f"vos{(3, 3, 2, 1)[r.field('PWR_D3CR', 14, 2)]}", (Bits("PWR_D3CR", 3 << 14),)


_REGULATOR = {"f4": _scale_f, "f7": _scale_f, "l4": _range_l4, "h7": _scale_h7}
