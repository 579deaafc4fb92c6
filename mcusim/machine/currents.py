"""Currents by clock: what the figures of ``[power]`` come to at the clocks that a machine has.

A figure such as ``"96 mA at 216 MHz"`` holds at that clock. At another one the microcontroller's part of it follows the
table of its regulator's scales (``[power.scale.NAME]``, from its data sheet), and the rest of the board stays::

    I(f) = board + (I(at) - board) x table(f) / table(at)          run, stalled, sleep; table: static + per_mhz x f
    I(f) = I(at) - per_mhz x (at - f)                              sdram, qspi, dma; f: that interface's clock

Neither part is more than the whole. ``stalled`` follows the table's ``sleep``, as a core that waits for data does no
more than one that sleeps; where it is the same as ``run`` it follows ``run``. Each scale of the table is a line of its
own, so a current has a step where the scale changes. A figure without a clock is constant.

Not modelled: how long a change of scale takes, the efficiency of a switching regulator, and the supply's voltage (the
regulators of the shipped machines are linear: the current barely depends on it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mcusim.machine.clock_rules import setting_at
from mcusim.machine.description import (
    ClockedCurrent,
    Figure,
    Power,
    PowerScale,
    Qspi,
    Region,
    RegulatorSetting,
    Sdram,
    SleepMode,
)
from mcusim.units import hertz

_TABLED = ("run", "stalled", "sleep")  # of the microcontroller's part, which the table of scales gives
_INTERFACES = ("sdram", "qspi", "dma")


@dataclass(frozen=True, slots=True)
class Clocks:
    """Hz of the core, the bus and the external memories; 0 for a memory that is not there."""

    core: int
    bus: int
    sdram: int = 0
    qspi: int = 0

    @classmethod
    def of(cls, core: int, bus: int, memory: Mapping[str, Region]) -> Clocks:
        """Those of a machine; of several memories of a kind the fastest clock."""
        devices = [region.device for region in memory.values()]
        sdram = max((device.clock for device in devices if isinstance(device, Sdram)), default=0)
        return cls(core, bus, sdram, max((device.clock for device in devices if isinstance(device, Qspi)), default=0))

    def interface(self, name: str) -> int:
        """That of ``sdram``, ``qspi`` or ``dma``, which has the bus's."""
        return {"sdram": self.sdram, "qspi": self.qspi, "dma": self.bus}[name]


def _clock(name: str, clocks: Clocks) -> int:
    """The clock in Hz that a current follows."""
    return clocks.core if name in _TABLED else clocks.interface(name.removesuffix("_active"))


@dataclass(frozen=True, slots=True)
class PowerTable:
    """``[power]`` as a file has it; ``board`` is what of ``run``, ``stalled`` and ``sleep`` follows no clock."""

    supply: float
    run: ClockedCurrent
    sdram_active: ClockedCurrent
    qspi_active: ClockedCurrent
    dma_active: ClockedCurrent
    energy_per_byte: Mapping[str, float]
    stalled: ClockedCurrent
    sleep: ClockedCurrent
    board: float
    sdram_per_mhz: float  # A/MHz
    qspi_per_mhz: float
    dma_per_mhz: float
    peripherals_per_mhz: float
    scale: Mapping[str, PowerScale]
    mcu_supply: float | None
    self_refresh: float | None
    mode: Mapping[str, SleepMode]


@dataclass(frozen=True, slots=True)
class Currents:
    """The currents of a ``table`` at any clock; ``regulator`` has its settings by rising clock.

    ``setting`` is the name of the one that is set; ``measured`` has the file's clock in Hz with its setting, at which
    figures at that clock hold. Else, and for None, it is the lowest that allows the clock.
    """

    table: PowerTable
    regulator: Sequence[RegulatorSetting] = ()
    setting: str | None = None
    measured: tuple[int, str | None] = (0, None)

    def power(self, clocks: Clocks) -> Power:
        """All of the table at ``clocks``."""
        table = self.table
        drawn = {name: self.tabled(name, clocks.core) for name in _TABLED}
        drawn |= {f"{name}_active": self.interface(name, clocks.interface(name)) for name in _INTERFACES}
        idle = table.qspi_active.value - (self._clocked("qspi", at) if (at := table.qspi_active.at) else 0.0)
        return Power(
            supply=table.supply,
            energy_per_byte=table.energy_per_byte,
            qspi_idle=idle,
            peripherals=table.peripherals_per_mhz * clocks.core / 1e6,
            scale=self.scale(clocks.core, self.setting),
            board=table.board,
            mcu_supply=table.mcu_supply,
            self_refresh=table.self_refresh,
            modes=table.mode,
            followed=frozenset(name for name in drawn if self._moved(name, clocks)),
            **drawn,
        )

    def _moved(self, name: str, clocks: Clocks) -> bool:
        current: ClockedCurrent = getattr(self.table, name)
        if current.at is None or (name in _TABLED and self._as_measured(current.at, clocks.core)):
            return False
        return name in _TABLED or _clock(name, clocks) not in (0, current.at)

    def _as_measured(self, at: int, clock: int) -> bool:
        return at == clock and self.scale(at, self._measured(at)) == self.scale(clock, self.setting)

    def _measured(self, at: int) -> str | None:
        clock, name = self.measured
        return name if at == clock else None

    def scale(self, clock: int, name: str | None = None) -> PowerScale | None:
        """What the microcontroller draws at a core clock of ``clock`` Hz with the regulator set to ``name``."""
        setting = setting_at(self.regulator, clock, name)
        return None if setting is None else self.table.scale.get(setting.name)

    def tabled(self, name: str, clock: int) -> float:
        """``run``, ``stalled`` or ``sleep`` in A at a core clock of ``clock`` Hz."""
        current: ClockedCurrent = getattr(self.table, name)
        if current.at is None or self._as_measured(current.at, clock):
            return current.value
        running = current == self.table.run
        line, to = self._line(running, current.at, self._measured(current.at)), self._line(running, clock, self.setting)
        board = min(self.table.board, current.value)
        return board + (current.value - board) * to / line

    def _line(self, running: bool, clock: int, name: str | None) -> float:
        scale = self.scale(clock, name)
        drawn = 0.0 if scale is None else scale.run(clock) if running else scale.sleep(clock)
        return drawn or 1.0  # nothing: ``broken`` refuses that

    def interface(self, name: str, clock: int) -> float:
        """``sdram``, ``qspi`` or ``dma`` in A at its ``clock`` in Hz."""
        current: ClockedCurrent = getattr(self.table, f"{name}_active")
        if current.at is None or current.at == clock or not clock:
            return current.value
        clocked = self._clocked(name, current.at)
        return current.value - clocked + clocked * clock / current.at

    def _clocked(self, name: str, at: int) -> float:
        current: ClockedCurrent = getattr(self.table, f"{name}_active")
        per_mhz: float = getattr(self.table, f"{name}_per_mhz")
        return min(per_mhz * at / 1e6, current.value)

    def restated(self, clocks: Clocks, figures: Mapping[str, Figure]) -> Iterator[Figure]:
        """The figures that hold at another clock than the machine has, as what they come to at its own."""
        power, scale = self.power(clocks), self.scale(clocks.core, self.setting)
        for name in sorted(power.followed):
            by = f"scale.{scale.name}" if name in _TABLED and scale else f"{name.removesuffix('_active')}_per_mhz"
            figure = figures[f"power.{name}"]
            source = f"{figure.text} ({figure.source}), at {hertz(_clock(name, clocks))} by power.{by}"
            yield replace(figure, text=f"{1e3 * getattr(power, name):.6g} mA", basis="assumed", source=source)

    def broken(self) -> Iterator[tuple[str, str]]:
        """The dotted key and the text of each rule that the table breaks."""
        for name in _TABLED:
            current: ClockedCurrent = getattr(self.table, name)
            if current.at is not None and not self.table.scale:
                yield f"power.{name}", "a current at a clock needs [power.scale]: how it follows the clock"
        settings = {setting.name: None for setting in self.regulator}
        for scale in self.table.scale.values():
            if scale.name not in settings:
                known = f"settings are {', '.join(settings)}" if settings else "the machine has none"
                yield f"power.scale.{scale.name}", f"is no setting of [regulator]: {known}"
            if not scale.run(1) or not scale.sleep(1):
                yield f"power.scale.{scale.name}", "draws nothing: give run and sleep a current above zero"
        lacking = [name for name in settings if name not in self.table.scale]
        if self.table.scale and lacking:
            yield "power.scale", f"lacks {', '.join(lacking)} of [regulator]"
