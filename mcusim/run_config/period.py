"""How often an inference is wanted, and the cell that it runs on, as a user names them.

Not modelled: cells in series or parallel other than as one of their sum.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

from mcusim.errors import UnitError, UsageError
from mcusim.units import parse_duration, parse_voltage, quoted

_CELL = re.compile(r"(\d+(?:_\d+)*(?:\.\d+)?)\s*(mAh|Ah)\s+(\S+\s*m?V)", re.ASCII)
WFI, STOP, STANDBY = SLEEPS = ("wfi", "stop", "standby")
BOARD, MCU = DOMAINS = ("board", "mcu")
_LONGEST = Fraction(366 * 86_400)  # s


@dataclass(frozen=True, slots=True)
class Battery:
    """A cell: its charge in mAh, its voltage in V, the largest current in mA that it is meant for (None: not known)."""

    name: str
    capacity_mah: float
    voltage: float
    most_ma: float | None = None
    source: str = "named by the user"

    @classmethod
    def of(cls, text: str) -> Battery:
        """A name of :func:`batteries` in any case, or charge and voltage: ``"1000 mAh 3.7 V"``. Raises UsageError."""
        known = {name.lower(): cell for name, cell in batteries().items()}
        if text.strip().lower() in known:
            return known[text.strip().lower()]
        match = _CELL.fullmatch(text.strip()) if len(text) <= 64 else None
        if match is None:
            names = ", ".join(batteries())
            raise UsageError(
                f'--battery {quoted(text)}: must be one of {names}, or charge and voltage ("1000 mAh 3.7 V")'
            )
        return _cell(text.strip(), f"{match[1]} {match[2]}", match[3])


@cache
def batteries() -> Mapping[str, Battery]:
    """The cells that have a name; their figures are assumptions, see ``batteries.toml``."""
    raw = tomllib.loads(Path(__file__).with_name("batteries.toml").read_text(encoding="utf-8"))
    return {
        name: _cell(name, item["capacity"], item["voltage"], item["most_ma"], item["source"])
        for name, item in raw.items()
    }


def _cell(
    name: str, capacity: str, voltage: str, most: float | None = None, source: str = "named by the user"
) -> Battery:
    number, _, unit = capacity.partition(" ")
    try:
        volts = parse_voltage(voltage)
    except UnitError as error:
        raise UsageError(f"--battery {quoted(name)}: {error}") from None
    charge = Fraction(number.replace("_", "")) * (1000 if unit == "Ah" else 1)
    if not 0 < charge <= 10**9 or not 0 < volts <= 1000:
        raise UsageError(
            f"--battery {quoted(name)}: charge and voltage must be more than zero, at most 10^9 mAh and 1000 V"
        )
    return Battery(name, float(charge), float(volts), most, source)


@dataclass(frozen=True, slots=True)
class Period:
    """An inference every ``seconds``; the core sleeps in what is left of them, as ``sleep`` says (:data:`SLEEPS`).
    ``domain`` (:data:`DOMAINS`) is whose energy counts."""

    seconds: Fraction
    battery: Battery | None = None
    sleep: str = WFI
    domain: str = BOARD

    @classmethod
    def of(cls, period: str | None, battery: str | None = None, sleep: str = WFI, domain: str = BOARD) -> Period | None:
        """Of texts: ``"1 s"``, and what :meth:`Battery.of` takes; None without a period. Raises UsageError."""
        if period is None:
            others = {"battery": battery is not None, "sleep": sleep != WFI, "domain": domain != BOARD}
            if named := next((name for name, chosen in others.items() if chosen), None):
                raise UsageError(f"--{named} needs --period: how often an inference is wanted")
            return None
        try:
            length = parse_duration(period)
        except UnitError as error:
            raise UsageError(f"--period {error}") from None
        if length.unit != "s" or not 0 < length.value <= _LONGEST:
            raise UsageError(f'--period {quoted(period)}: must be a time above zero and at most a year, such as "1 s"')
        return cls(length.value, None if battery is None else Battery.of(battery), sleep, domain)
