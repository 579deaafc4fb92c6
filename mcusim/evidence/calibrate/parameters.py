"""The physical figures of a machine that :func:`~mcusim.evidence.calibrate.calibrate.calibrate` may fit, with bounds
and units.

A key is listed when it is a property of the hardware that vendors do not print or print as a bound, and when the
simulated time or energy follows it smoothly. Not fitted on purpose: what a user sets in a register and so knows
(clocks, SDRAM timing in whole clocks, cache geometry), kernel costs (they are data of a profile,
``scripts/profiles/fit_profiles``), and anything without a physical meaning. Bounds are what such a circuit or driver
can plausibly take, not what fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import floor, log10

from mcusim.machine.description import Machine, Region
from mcusim.units import parse_current_at, parse_duration, parse_energy

OVERHEAD = "operator_overhead"
"""The one key that is not a figure of a machine: an interpreter's cycles an operator, ``--operator-overhead``."""


@dataclass(frozen=True, slots=True)
class _Fittable:
    """``doubt``: by how much such a figure is typically off, or a share of the figure where that is more; it scales the
    keys against each other and sets the steps of finite differences. ``whole``: the simulation takes whole numbers
    only. ``default``: may be fitted when nobody names keys."""

    pattern: str
    low: float
    high: float
    doubt: float
    sees: str  # the measurement that it shows in
    whole: bool = False
    default: bool = True


_TABLE = (
    _Fittable("memory.<sdram>.read_overhead", 0, 40, 3, "reads of {region} that no cache serves: policy external"),
    _Fittable("memory.<sdram>.write_overhead", 0, 40, 3, "a store loop over {region}, longer than its FIFO"),
    _Fittable("memory.<qspi>.read_overhead", 0, 60, 4, "weights read from {region}"),
    _Fittable("memory.<sram>.read_latency", 0, 16, 0.5, "a load loop over {region}, or activations there"),
    _Fittable("memory.<sram>.write_latency", 0, 16, 0.5, "a store loop over {region}", default=False),
    _Fittable("memory.<flash>.wait_states", 0, 15, 1, "code in {region} and the same code in RAM", True, default=False),
    _Fittable("memory.<flash>.read_latency", 0, 24, 1, "weights in {region} that no cache holds"),
    _Fittable("memory.<flash>.accelerator.line_change", 0, 8, 0.5, "code in {region} and the same code in RAM"),
    _Fittable("cache.data.maintenance", 0, 64, 4, "cleaning a range of known size, or policy tinyops with large tiles"),
    _Fittable("dma.*.port_cost", 0, 32, 1, "policy tinyops where copying takes longer than computing"),
    _Fittable("memory.<sdram>.dma_latency", 0, 40, 2, "copies from {region} and copies on chip", default=False),
    _Fittable("dma.*.request_setup", 0, 5000, 100, "policy tinyops with many small transfers", True),
    _Fittable("dma.*.completion_interrupt", 0, 5000, 100, "transfers that end while the core waits", True, False),
    _Fittable(OVERHEAD, 0, 50_000, 1000, "a network of many small operators and one of few large ones", True),
    _Fittable("power.run", 0.1, 500, 5, "the current of a run in on-chip memory"),
    _Fittable(
        "power.stalled", 0, 500, 3, "currents of runs that wait much and little for data, and of one that does not",
        default=False,
    ),
    _Fittable("power.sdram_active", 0, 300, 5, "the current of a run that keeps buffers in SDRAM, and of one on chip"),
    _Fittable("power.qspi_active", 0, 100, 3, "the current of a run with weights in QSPI, and of one on chip"),
    _Fittable("power.dma_active", 0, 100, 1, "the currents of policies tinyops and external"),
    _Fittable("power.energy_per_byte.*", 0, 20, 0.5, "currents of runs that move much and little through {region}"),
)  # fmt: skip
_FINE = 50  # from here on one more or less is nothing
_SHARE = 0.2  # of a figure, that it may typically be off by


@dataclass(frozen=True, slots=True)
class Parameter:
    """One key of one machine: where the fit starts, its bounds and how much it is typically off, all in ``unit``.

    ``sees`` is a measurement that the key shows in. ``stated``: the file gives it as measured or from a data sheet.
    ``at``: the clock that a current holds at, as the file writes it (`` at 216 MHz``).
    """

    key: str
    unit: str
    start: float
    low: float
    high: float
    doubt: float
    whole: bool
    default: bool
    stated: bool
    sees: str
    at: str = ""

    @property
    def stepped(self) -> bool:
        """Whether one more or less is much: both whole numbers around a value are looked at."""
        return self.whole and self.doubt < _FINE

    def text(self, value: float) -> str:
        """``value`` as a machine file has it."""
        number = f"{self.rounded(value):.{self._digits}f}"
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return f"{number} {self.unit}{self.at}".rstrip()

    def rounded(self, value: float) -> float:
        """To whole numbers where the simulation takes only those, else to a ten-thousandth or what is little here."""
        return round(value, self._digits)

    @property
    def _digits(self) -> int:
        return 0 if self.whole else max(4, 3 - floor(log10(self.doubt)))


def candidates(machine: Machine, overhead: int | None = None) -> tuple[Parameter, ...]:
    """Every fittable key that ``machine`` has, in the order of the table; ``overhead`` is where that one starts (None:
    not among them)."""
    return tuple(_found(machine, overhead))


def _found(machine: Machine, overhead: int | None) -> Iterator[Parameter]:
    for entry in _TABLE:
        if entry.pattern == OVERHEAD:
            if overhead is not None:
                yield _parameter(entry, OVERHEAD, "cycles", overhead, False)
            continue
        matcher = _matcher(entry.pattern)
        for key, figure in machine.figures.items():
            match = matcher.fullmatch(key)
            name = match[1] if match is not None and matcher.groups else ""
            if match is not None and _kind_fits(entry.pattern, machine.memory.get(name)):
                unit, start, scale = _value(machine, key, figure.text)
                stated = figure.basis in ("datasheet", "measured")
                parameter = _parameter(entry, key, unit, start, stated, name, scale)
                at = "".join(figure.text.partition(" at ")[1:])
                yield replace(
                    parameter,
                    at=at,
                    low=max(parameter.low, _board(machine)) if key == "power.run" and at else parameter.low,
                )


def _board(machine: Machine) -> float:
    """What of the run current follows no clock, in mA: no run at a clock draws less."""
    figure = machine.figures.get("power.board")
    return 0.0 if figure is None else float(parse_current_at(figure.text)[0] * 1000)


def _parameter(
    entry: _Fittable, key: str, unit: str, start: float, stated: bool, region: str = "", scale: float = 1.0
) -> Parameter:
    """``scale``: how many of ``unit`` are one of the table's."""
    return Parameter(
        key=key,
        unit=unit,
        start=start,
        low=min(scale * entry.low, start),
        high=max(scale * entry.high, 2 * start),
        doubt=max(scale * entry.doubt, _SHARE * start),
        whole=entry.whole,
        default=entry.default and not stated,
        stated=stated,
        sees=entry.sees.format(region=region),
    )


def _matcher(pattern: str) -> re.Pattern[str]:
    inside = re.sub(r"<\w+>|\\\*", "([A-Za-z0-9_-]+)", re.escape(pattern))
    return re.compile(inside)


def _kind_fits(pattern: str, region: Region | None) -> bool:
    kind = re.search(r"<(\w+)>", pattern)
    return kind is None or (region is not None and region.kind == kind[1])


def _value(machine: Machine, key: str, text: str) -> tuple[str, float, float]:
    """Unit and number of a figure as written, currents in mA and energies in nJ; and how many of the unit are one of
    the table's: clocks of any kind one, times what a core cycle takes."""
    if key.startswith("power.energy"):
        return "nJ", float(parse_energy(text) * 10**9), 1.0
    if key.startswith("power."):
        return "mA", float(parse_current_at(text)[0] * 1000), 1.0
    if text.strip().isdigit():
        return "", float(text), 1.0
    length, unit = parse_duration(text, ("sdclk", "qclk", "hclk")), text.strip().lstrip("0123456789._ ")
    if length.unit != "s":
        return unit, float(length.value), 1.0
    unit_seconds = parse_duration(f"1 {unit}").value
    return unit, float(length.value / unit_seconds), float(1 / unit_seconds / machine.core.clock)


def parameter_of(key: str, known: tuple[Parameter, ...]) -> Parameter | None:
    """The parameter named ``key``, or None."""
    return next((parameter for parameter in known if parameter.key == key), None)
