"""What to know of a run's figures before they are used: memories that its energy, or the cache, leaves out."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import DeviceKind, Machine, Region

if TYPE_CHECKING:
    from mcusim.engine.run import Run

__all__ = ["EXTERNAL", "cautions", "uncached"]

EXTERNAL: tuple[DeviceKind, ...] = ("sdram", "qspi")


def cautions(run: Run, machine: Machine) -> tuple[str, ...]:
    """Sentences, each with what to do next."""
    used = {name for name, traffic in run.traffic.items() if traffic.total}
    return (*_not_in_the_energy(used, machine), *(f"{text}; {fix}" for text, fix in uncached(used, machine)))


def _not_in_the_energy(used: Collection[str], machine: Machine) -> Iterator[str]:
    for region in machine.memory.values():
        keys = _silent(machine, region) if region.name in used and region.kind in EXTERNAL else []
        if keys:
            settings = " ".join(f'--set "{key}=..."' for key in keys)
            board = next((name for name in machine_names() if _pays(load_machine(name), region.kind)), "")
            yield (
                f"the energy leaves {region.name} out, as {machine.name} does not have {' and '.join(keys)};"
                f" `mcusim machines {board}` shows those of a board that has: {settings}"
            )


def _silent(machine: Machine, region: Region) -> list[str]:
    """Keys of the energy of an external memory that the machine leaves at nothing."""
    power = machine.power
    active = {"sdram": power.sdram_active, "qspi": power.qspi_active}[region.kind]
    figures = {f"power.{region.kind}_active": active,
               f"power.energy_per_byte.{region.name}": power.energy_per_byte.get(region.name, 0.0)}  # fmt: skip
    return [key for key, value in figures.items() if not value]


def _pays(machine: Machine, kind: str) -> bool:
    return any(region.kind == kind and not _silent(machine, region) for region in machine.memory.values())


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
