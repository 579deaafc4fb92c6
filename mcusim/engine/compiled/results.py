"""What a compiled engine left in its tables, as the engine in SimPy records it."""

from __future__ import annotations

from typing import Any

from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled.tables import CompiledEngine
from mcusim.engine.run import CAUSES
from mcusim.engine.system import Cycles, System
from mcusim.memory.system import CAUSE, AccessStats
from mcusim.program.program import Compute, Transfer

_WAITS = {"flash": E.FLASH, "sram": E.SRAM, "sdram": E.SDRAM, "qspi": E.QSPI}


def recorded(engine: CompiledEngine) -> System:
    """The records of a program that was played to its end."""
    program = engine.program
    system = System(program, engine.machine, engine.core)
    tasks, demands = engine.tasks, _Demands(engine)
    columns = {name: tasks[name].tolist() for name in ("waited_from", "ended_before", "begin", "end")}
    core_end = last = 0
    for number in engine.ended[: len(program.tasks)].tolist():
        task, demand = program.tasks[number], demands.of(number)
        begin, end = columns["begin"][number], columns["end"][number]
        spent: Cycles = {}
        if not isinstance(task, Transfer):
            since, core_end, last = columns["waited_from"][number], end, task.operator
            by_cause = system.account(task.operator)
            if begin > since:
                by_cause["dma_wait"] += system.waited(task.operator, since, begin, columns["ended_before"][number])
            spent = _spent(engine, number, demand)
            for cause, n in spent.items():
                by_cause[cause] += n
        if demand or isinstance(task, Transfer):
            system.count(task, demand)
        if number in engine.tables.watched:
            system.waits.add(task.operator, engine.tables.watched[number], demands.stalls(number), demand)
        system.record(task, begin, end, spent)
    if engine.cycles > core_end:
        system.account(last)["dma_wait"] += system.waited(last, core_end, engine.cycles, len(system.events))
    return system


class _Demands:
    """What each task asked of the memories."""

    def __init__(self, engine: CompiledEngine) -> None:
        self._names = [region.name for region in engine.core.memory.regions]
        self._stats = engine.stats.tolist()
        self._stalls = engine.operand_stalls.tolist()
        self._first, self._count = (engine.tasks[name].tolist() for name in ("operand", "operand_count"))

    def of(self, number: int) -> dict[str, AccessStats]:
        """By region; those not asked are left out."""
        pairs = zip(self._names, self._stats[number], strict=True)
        return {name: AccessStats(*asked[:-1]) for name, asked in pairs if asked[-1]}

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
