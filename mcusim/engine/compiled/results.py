"""What a compiled engine left in its tables, as the engine in SimPy records it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled.tables import CompiledEngine
from mcusim.engine.run import CAUSES, Traffic
from mcusim.engine.system import Cycles, System
from mcusim.memory.system import CAUSE, AccessStats
from mcusim.program.program import Compute, Transfer

_BYTES = slice(2, 4)  # of AccessStats: read and written
_WAITS = {"flash": E.FLASH, "sram": E.SRAM, "sdram": E.SDRAM, "qspi": E.QSPI}


def recorded(engine: CompiledEngine) -> System:
    """The records of a program that was played to its end."""
    program = engine.program
    system = System(program, engine.machine, engine.core)
    tasks, demands = engine.tasks, _Demands(engine)
    columns = {name: tasks[name].tolist() for name in ("waited_from", "ended_before", "begin", "end")}
    core_end = last = 0
    for number in engine.ended[: len(program.tasks)].tolist():
        task = program.tasks[number]
        begin, end = columns["begin"][number], columns["end"][number]
        spent: Cycles = {}
        if not isinstance(task, Transfer):
            since, core_end, last = columns["waited_from"][number], end, task.operator
            by_cause = system.account(task.operator)
            if begin > since:
                by_cause["dma_wait"] += system.waited(task.operator, since, begin, columns["ended_before"][number])
            demand = demands.of(number)
            spent = _spent(engine, number, demand)
            for cause, n in spent.items():
                by_cause[cause] += n
            if number in engine.tables.watched:
                system.waits.add(task.operator, engine.tables.watched[number], demands.stalls(number), demand)
        system.moved[task.id] = demands.moved(number)
        system.record(task, begin, end, spent)
    system.traffic = demands.traffic(engine.tasks["kind"] == E.TRANSFER)
    if engine.cycles > core_end:
        system.account(last)["dma_wait"] += system.waited(last, core_end, engine.cycles, len(system.events))
    return system


class _Demands:
    """What each task asked of the memories."""

    def __init__(self, engine: CompiledEngine) -> None:
        self._names = [region.name for region in engine.core.memory.regions]
        self._array, self._stats = engine.stats, engine.stats.tolist()
        self._bytes = engine.stats[:, :, _BYTES].sum(axis=2).tolist()
        self._stalls = engine.operand_stalls.tolist()
        self._first, self._count = (engine.tasks[name].tolist() for name in ("operand", "operand_count"))

    def of(self, number: int) -> dict[str, AccessStats]:
        """By region; those not asked are left out."""
        pairs = zip(self._names, self._stats[number], strict=True)
        return {name: AccessStats(*asked[:-1]) for name, asked in pairs if asked[-1]}

    def moved(self, number: int) -> dict[str, int]:
        """Bytes by region."""
        return {name: count for name, count in zip(self._names, self._bytes[number], strict=True) if count}

    def traffic(self, by_dma: np.ndarray[Any, np.dtype[np.bool_]]) -> dict[str, Traffic]:
        """Of all tasks, those ``by_dma`` and the core's."""
        asked = self._array[:, :, -1].max(axis=0, initial=0).tolist()
        sides = [self._array[side][:, :, _BYTES].sum(axis=0).tolist() for side in (~by_dma, by_dma)]
        rows = zip(self._names, asked, *sides, strict=True)
        return {name: Traffic(*core, *dma) for name, was_asked, core, dma in rows if was_asked}

    def stalls(self, number: int) -> list[int]:
        """Ticks of each of the task's operand ranges."""
        first = self._first[number]
        return list(self._stalls[first : first + self._count[number]])


def _spent(engine: CompiledEngine, number: int, demand: dict[str, AccessStats]) -> Cycles:
    """The core's cycles for the task, by cause."""
    row: Any = engine.tasks[number]
    spent: Cycles = {}
    if isinstance(engine.program.tasks[number], Compute):
        spent = {"compute": int(row["compute"]), "runtime": int(row["overhead"])}
        for name in demand:
            cause = CAUSE[engine.machine.memory[name].kind]
            spent[cause] = int(row["waits"][_WAITS[cause]])
        spent["bus"] = int(row["late"])
    elif engine.core.memory.state.data_cache:
        spent = {"maintenance": int(row["alone"]), "bus": int(row["late"])}
    spent["runtime"] = spent.get("runtime", 0) + int(row["stolen"])
    assert set(spent) <= set(CAUSES)
    return spent
