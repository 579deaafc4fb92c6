"""Runs that a process has done, for points that differ only in what a run did not depend on.

A run depends on its model, its options, the plan, the core, the bus and the caches; on the devices of the regions that
it touched, on the DMA if it moved anything by it, and not on ``power``. So a study of SDRAM timings runs a policy that
keeps out of SDRAM once. An emulated run is taken to depend on everything but ``power``.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcusim.machine.description import Machine
from mcusim.plan.kept_plans import planned_for
from mcusim.results.energy import Usage
from mcusim.results.measurement.interval import RunFeatures

if TYPE_CHECKING:
    from mcusim.engine.run import Run

MOST_KINDS = 16  # of models and options whose runs are kept
MOST_RUNS = 64  # of each


@dataclass(frozen=True, slots=True)
class Played:
    """What a row needs of a run, whatever the power table: outputs and their ``usage``; of a verdict ``row`` alone.

    ``situation`` is that of the run on the machine that it was first played on; ``deviation``: what of
    the run is set otherwise than in the published ones.
    """

    row: Mapping[str, Any]
    situation: RunFeatures | None = None
    usage: Usage | None = None
    deviation: str | None = None


class PlanView:
    """A machine as a plan sees it (:func:`~mcusim.plan.kept_plans.planned_for`): equal when the plans are, whatever
    takes how long."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.key = machine, planned_for(machine)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlanView) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


Parts = dict[str, Any]


def keys_run_read(run: Run, machine: Machine, code: int) -> Collection[str]:
    """What a replayed run depends on of the machine, besides its layout: regions by name and ``dma``.

    A region counts when the program has a buffer there, when bytes moved there, or when kernels run from it: ``code``
    is their address.
    """
    regions = {buffer.span.region for buffer in run.header.buffers} | set(run.traffic)
    regions |= {region.name for region in machine.memory.values() if region.base <= code < region.end}
    moved = any(lane != "core" for lane in run.busy)
    return regions | ({"dma"} if moved else set())


def all_keys(machine: Machine) -> Collection[str]:
    """All that a run can depend on of the machine."""
    return {*machine.memory, "dma", "peripherals"}


def _parts(machine: Machine, names: Collection[str]) -> Parts:
    parts: Parts = {
        "core": machine.core,
        "bus": machine.bus,
        "caches": (machine.instruction_cache, machine.data_cache),
    }
    parts |= {f"memory.{name}": region.device for name, region in machine.memory.items() if name in names}
    return parts | {name: getattr(machine, name) for name in ("dma", "peripherals") if name in names}


class RunCache:
    """The last runs of each kind: of a model with its options on machines of one layout."""

    def __init__(self) -> None:
        self._runs: OrderedDict[Hashable, deque[tuple[frozenset[str], Parts, Played]]] = OrderedDict()

    def find(self, kind: Hashable, machine: Machine) -> Played | None:
        """A run of ``kind`` that would be the same on ``machine``."""
        result = self._runs.get(kind)
        if result is None:
            return None
        self._runs.move_to_end(kind)
        mine: dict[frozenset[str], Parts] = {}
        for names, parts, played in reversed(result):
            if names not in mine:
                mine[names] = _parts(machine, names)
            if mine[names] == parts:
                return played
        return None

    def keep(self, kind: Hashable, machine: Machine, names: Collection[str], played: Played) -> None:
        """Remember a run of ``kind`` that depends on ``names`` of ``machine``."""
        runs = self._runs.setdefault(kind, deque(maxlen=MOST_RUNS))
        runs.append((frozenset(names), _parts(machine, names), played))
        if len(self._runs) > MOST_KINDS:
            self._runs.popitem(last=False)

    def forget(self) -> None:
        """All of them."""
        self._runs.clear()
