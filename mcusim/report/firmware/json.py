"""An emulated program as plain data for ``json.dumps``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mcusim.cpu.system.interrupts import ExceptionCount
from mcusim.emulator.stops.fault_log import TakenFault
from mcusim.emulator.stops.stop import Fault
from mcusim.machine.clock_rules import clock_json
from mcusim.memory.state_layout import TICK
from mcusim.report.firmware.set_up_json import set_up_json
from mcusim.report.firmware.table import hint, rates
from mcusim.results.emulation import EmulationResult, place
from mcusim.results.hot_spots import Cost, functions, lines
from mcusim.soc.peripheral_findings import PeripheralFinding


def emulation_json(result: EmulationResult) -> dict[str, Any]:
    """Every key is described in :data:`mcusim.report.firmware.keys.EMULATION_KEYS`.

    Cycles are those of the core, with the fraction that memories on other clocks cause; sizes and addresses plain.
    ``causes{}`` sums to ``cycles``, and so do the cycles of ``functions[]``.
    """
    return {
        "program": result.image.path,
        "images": [part.path for part in result.image.parts] or [result.image.path],
        "machine": result.machine.name,
        "clock_hz": result.machine.core.clock,
        "set": dict(result.machine.changes),
        "clock": clock_json(result.machine),
        "start": _start(result),
        "stop": _stop(result),
        **_figures(result),
        "stack": {"top": result.stack.top, "limit": result.stack.limit or None, "used": result.stack.used},
        "result": result.result,
        "dumps": [{"address": d.address, "name": d.name, "hex": d.data.hex()} for d in result.dumps],
        **_events(result),
        "unforeseen": result.profile.unforeseen,
        "assumptions": list(result.assumptions),
        "warnings": list(result.image.warnings),
    }


def _events(result: EmulationResult) -> dict[str, Any]:
    return {
        "exceptions": [_exception(result, exception) for exception in result.profile.exceptions],
        "nesting": [{"depth": depth, "count": count} for depth, count in result.profile.depths.items()],
        "task_stacks": [asdict(task_stack) | {"used": task_stack.used} for task_stack in result.task_stacks],
        "resets": len(result.resets),
        "reset_log": [asdict(reset) | {"function": place(result.image, reset.pc)} for reset in result.resets],
        "faults": [_taken(result, fault) for fault in result.faults],
        "dma": [asdict(use) for use in result.dma],
        "findings": [_finding(result, finding) for finding in result.findings],
        "set_up": set_up_json(result),
    }


def _finding(result: EmulationResult, finding: PeripheralFinding) -> dict[str, Any]:
    line = result.image.line_at(finding.pc) if finding.pc is not None else None
    return {
        "rule": finding.rule,
        "text": finding.text,
        "fix": finding.fix,
        "pc": finding.pc,
        "function": None if finding.pc is None else place(result.image, finding.pc),
        "file": line[0] if line else None,
        "line": line[1] if line else None,
        "address": finding.address,
        "count": finding.count,
    }


def _start(result: EmulationResult) -> dict[str, Any]:
    return {
        "kind": result.started,
        "address": result.pc,
        "function": place(result.image, result.pc),
        "arguments": list(result.arguments),
        "caches": result.caches,
    }


def _exception(result: EmulationResult, exception_count: ExceptionCount) -> dict[str, Any]:
    return {
        "number": exception_count.number,
        "name": exception_count.name,
        "count": exception_count.count,
        "cycles": exception_count.cycles,
        "latency": exception_count.latency,
        "jitter": exception_count.jitter,
        "histogram": [dict(zip(("from", "to", "count"), row, strict=True)) for row in exception_count.histogram()],
        "handler": place(result.image, exception_count.handler),
    }


def _figures(result: EmulationResult) -> dict[str, Any]:
    profile = result.profile
    return {
        "cycles": profile.cycles,
        "instructions": profile.issued,
        "ipc": result.ipc,
        "seconds": result.seconds,
        "causes": dict(profile.causes),
        "regions": {name: _region(counters) for name, counters in profile.regions.items()},
        "caches": {name: {"hits": hits, "total": total} for name, hits, total, _ in rates(result)},
        "counters": dict(profile.counters),
        "branches": dict(profile.branches),
        "functions": [_function(row) for row in functions(profile, result.image)],
        "lines": [{"file": file, "line": line, **_cost(cost)} for (file, line), cost in lines(profile, result.image)],
        "hottest": _hottest(result),
    }


def _stop(result: EmulationResult) -> dict[str, Any]:
    stop = result.stop
    return {
        "kind": stop.kind,
        "until": result.until,
        "status": result.exit_status,
        "exit_status": stop.status if stop.kind == "exit" else None,
        "fault": None if stop.fault is None else _fault(result, stop.fault),
    }


def _taken(result: EmulationResult, fault: TakenFault) -> dict[str, Any]:
    return {
        **_fault(result, fault.fault),
        "exception": fault.exception,
        "handler": place(result.image, fault.handler),
        "count": fault.count,
        "cfsr": fault.cfsr,
        "hfsr": fault.hfsr,
    }


def _fault(result: EmulationResult, fault: Fault) -> dict[str, Any]:
    line = result.image.line_at(fault.pc)
    return {
        "kind": fault.kind,
        "text": fault.text,
        "pc": fault.pc,
        "address": fault.address,
        "function": place(result.image, fault.pc),
        "file": line[0] if line else None,
        "line": line[1] if line else None,
        "registers": dict(fault.registers),
        "branches": [
            {"from": a, "to": b, "text": f"{place(result.image, a)} -> {place(result.image, b)}"}
            for a, b in fault.branches
        ],
        "hint": hint(fault.kind),
    }


def _region(counters: dict[str, int]) -> dict[str, Any]:
    row: dict[str, Any] = {name: counters[name] for name in ("reads", "writes", "read_bytes", "write_bytes")}
    row["data_stall"] = (counters["stall"] - counters["fetch_stall"]) / TICK
    row["fetch_stall"] = counters["fetch_stall"] / TICK
    return row


def _function(row: Any) -> dict[str, Any]:
    return {"name": row.name, "address": row.address, "calls": row.calls, "inclusive": row.inclusive, **_cost(row)}


def _cost(cost: Any) -> dict[str, Any]:
    names = {"issued": "instructions", "data": "data_stall", "fetch": "fetch_stall", "pipeline": "pipeline_stall"}
    values = asdict(cost)
    return {names.get(name, name): values[name] for name in Cost.__slots__}


def _hottest(result: EmulationResult, count: int = 50) -> list[dict[str, Any]]:
    profile = result.profile
    rows = sorted(profile.instructions.items(), key=lambda row: (-row[1].cycles, row[0]))
    return [
        {"address": at, "function": place(result.image, at), "text": profile.text.get(at, ""), **_cost(cost)}
        for at, cost in rows[:count]
        if cost.cycles or cost.issued
    ]
