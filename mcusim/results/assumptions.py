"""What a result depends on beyond data sheets and measurements."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from mcusim.machine.description import Figure, Machine, Power
from mcusim.results.cautions import EXTERNAL, uncached, unpaid
from mcusim.results.energy import uses, waiting
from mcusim.run_config.period import MCU, STOP, WFI, Period

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_OSCILLATOR = "core.external_clock"  # no cycles depend on it; a clock that was made of it has its basis


def assumptions(run: Run, machine: Machine, asked: Period | None = None) -> tuple[str, ...]:
    """Every machine figure with basis ``assumed`` or ``calibrated`` that the run depends on, then which external
    memories the machine's energy or its cache leaves out, then what the engine and the model say (kernel profile,
    random weights, warnings), without repetitions.

    A region counts when the program keeps bytes there or the run moved bytes there, a DMA controller when it moved
    any, a power figure when :func:`~mcusim.results.energy.energy` uses it (those of sleep when a period is ``asked``
    for), cache maintenance when there was some. Core, bus and the other cache figures always count.

    Not modelled: figures of devices the run does not touch, and those with basis ``datasheet`` or ``measured``.
    """
    lines = [_line(figure) for figure in machine.figures.values() if _counts(figure, run, machine, asked)]
    lines += [text for _, text in unpaid(set(_regions(run)), machine)]
    lines += [text for text, _ in uncached(set(_regions(run)), machine)]
    lines += run.assumptions
    if run.header.random_weights:
        lines.append("random weights: the network's architecture is published, its weights are seeded random numbers")
    lines += run.header.warnings
    return tuple(dict.fromkeys(lines))


def machine_assumptions(
    machine: Machine, regions: Collection[str], maintained: bool, energy: bool = False
) -> tuple[str, ...]:
    """Every figure with basis ``assumed`` or ``calibrated`` that the cycles of a program on the core depend on.

    ``regions`` are those it used, ``maintained`` says whether it cleaned or invalidated caches. ``energy`` adds what
    its :func:`~mcusim.results.energy.delivered` energy depends on, and the external memories whose energy is not in it.
    Not modelled: DMA, which such a run does not have, and the words that peripherals read, which cost nothing.
    """
    kinds = {machine.memory[name].kind for name in regions}

    def counts(figure: Figure) -> bool:
        table, _, rest = figure.key.partition(".")
        if figure.basis not in ("assumed", "calibrated") or table in ("dma", "peripherals"):
            return False
        if figure.key == _OSCILLATOR:
            return False
        if table == "memory":
            return rest.partition(".")[0] in regions
        if table == "power":
            return energy and _power_counts(machine.power, rest, regions, kinds, dma=False)
        return maintained or not figure.key.endswith(".maintenance")

    lines = [_line(figure) for figure in machine.figures.values() if counts(figure)]
    return (*lines, *(text for _, text in unpaid(regions, machine) if energy))


def _line(figure: Figure) -> str:
    source = f": {figure.source}" if figure.source else ""
    return f"{figure.key} = {figure.text} ({figure.basis}{source})"


def _counts(figure: Figure, run: Run, machine: Machine, asked: Period | None) -> bool:
    if figure.basis not in ("assumed", "calibrated") or figure.key == _OSCILLATOR:
        return False
    table, _, rest = figure.key.partition(".")
    name = rest.partition(".")[0]
    if table == "memory":
        alone = rest.endswith(".read_arbitration") and run.fidelity == "replay"  # emulation alone has it
        if rest.endswith(".fetch_latency"):
            return _fetches_past_caches(machine, name)
        unused = machine.memory[name].alias_port and ".accelerator." in rest  # a replay reads nothing through an alias
        return name in set(_regions(run)) and not unused and not alone
    if table == "peripherals":
        return False  # only a program that runs instruction by instruction reads them
    if table == "dma":
        return any(lane.partition(".")[0] == name for lane in run.busy)
    if table == "power":
        if rest in ("sleep", "mcu_supply", "self_refresh") or name == "mode":
            return asked is not None and _asleep(rest, asked, uses(run, machine, "sdram"))
        if rest == "stalled":
            return waiting(run.by_cause) > 0 and machine.power.stalled not in (None, machine.power.run)
        kinds = {kind for kind in EXTERNAL if uses(run, machine, kind)}
        moved = any(lane != "core" for lane in run.busy)
        return _power_counts(machine.power, rest, set(_regions(run)), kinds, moved)
    return not figure.key.endswith(".maintenance") or bool(run.by_cause.get("maintenance"))


def _asleep(key: str, asked: Period, refreshed: bool) -> bool:
    """Whether ``power.<key>`` is in the energy of what is between two inferences."""
    if key == "mcu_supply":
        return asked.domain == MCU
    if key == "self_refresh":
        return refreshed and asked.sleep == STOP and asked.domain != MCU
    return asked.sleep == (key.split(".")[1] if "." in key else WFI)


def _fetches_past_caches(machine: Machine, name: str) -> bool:
    """Whether code in that memory would have a latency of its own, which no cache hides."""
    data, code = (machine.figures[f"memory.{name}.{key}"].text for key in ("read_latency", "fetch_latency"))
    return not machine.caches_code(name) and code != data


def _power_counts(power: Power, key: str, regions: Collection[str], kinds: Collection[str], dma: bool) -> bool:
    """Whether ``power.<key>`` is in the energy of what uses ``regions`` and memories of these ``kinds``.

    What says how a current follows the clock counts when it had to.
    """
    name, _, part = key.partition(".")
    if name == "energy_per_byte":
        return part in regions
    if name in ("board", "scale"):
        used = power.scale is not None and part.partition(".")[0] in ("", power.scale.name)
        return used and "run" in power.followed and not part.partition(".")[2].startswith("sleep")
    interface = name.removesuffix("_active").removesuffix("_per_mhz")
    if name == "sleep" or (name.endswith("_per_mhz") and f"{interface}_active" not in power.followed):
        return False
    return dma if interface == "dma" else interface in kinds or interface not in EXTERNAL


def _regions(run: Run) -> Iterator[str]:
    yield from (name for name, traffic in run.traffic.items() if traffic.total)
    yield from (name for name, bytes in run.header.peak_bytes.items() if bytes)
