"""What to know of a run's figures before they are used: memories that its energy, or the cache, leaves out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import DeviceKind, Machine
from mcusim.run_config.period import STANDBY
from mcusim.text import size

if TYPE_CHECKING:
    from mcusim.engine.run import Run
    from mcusim.results.duty import Duty
    from mcusim.results.result import Result

EXTERNAL: tuple[DeviceKind, ...] = ("sdram", "qspi")


def cautions(result: Result) -> tuple[str, ...]:
    """Sentences, each with what to do next; none without a run."""
    run, machine = result.run, result.machine
    if run is None:
        return ()
    used = {name for name, traffic in run.traffic.items() if traffic.total}
    return (
        *_lost(run, result.duty),
        *_not_in_the_energy(used, machine),
        *(f"{text}; {fix}" for text, fix in uncached(used, machine)),
    )


def _lost(run: Run, duty: Duty | None) -> Iterator[str]:
    state = run.header.memory.state
    if duty is not None and duty.sleep == STANDBY and state:
        yield f"standby loses its variables ({size(state)}): --sleep stop keeps them"


def _not_in_the_energy(used: Collection[str], machine: Machine) -> Iterator[str]:
    for region in machine.memory.values():
        keys = [key for key, _ in unpaid((region.name,), machine)] if region.name in used else []
        if keys:
            settings = " ".join(f'--set "{key}=..."' for key in keys)
            board = next((name for name in machine_names() if _pays(load_machine(name), region.kind)), "")
            yield (
                f"the energy leaves {region.name} out, as {machine.name} does not have {' and '.join(keys)};"
                f" `mcusim machines {board}` shows those of a board that has: {settings}"
            )


def unpaid(regions: Collection[str], machine: Machine) -> Iterator[tuple[str, str]]:
    """Keys of the power table that leave out an external memory among ``regions``, and what each says."""
    power = machine.power
    currents = {"sdram": power.sdram_active, "qspi": power.qspi_active}
    used = [region for name, region in machine.memory.items() if name in regions and region.kind in currents]
    for kind in dict.fromkeys(region.kind for region in used):
        if not currents[kind]:
            yield f"power.{kind}_active", f"power.{kind}_active = 0 A: the memory's current is not in the energy"
    for region in used:
        key = f"power.energy_per_byte.{region.name}"
        if region.name not in power.energy_per_byte:
            yield key, f"power.energy_per_byte has no {region.name}: its accesses are not in the energy"
        elif not power.energy_per_byte[region.name]:
            yield key, f"{key} = 0 J: its accesses are not in the energy"


def _pays(machine: Machine, kind: str) -> bool:
    regions = [region.name for region in machine.memory.values() if region.kind == kind]
    return bool(regions) and not any(unpaid(regions, machine))


def uncached(used: Collection[str], machine: Machine) -> Iterator[tuple[str, str]]:
    """External memories that pass the data cache because the default memory map has them so, and how to change that."""
    if machine.data_cache is None or not machine.data_cache.size:
        return
    for name, region in machine.memory.items():
        figure = machine.figures.get(f"memory.{name}.attribute")
        default = figure is not None and figure.source.startswith("default")
        if name in used and region.kind in EXTERNAL and region.attribute == "device" and default:
            text = f"{name} is not cached: the default memory map makes {region.base:#010x} device memory"
            yield text, f"as with an MPU region that caches it: --set memory.{name}.attribute=write-back"
