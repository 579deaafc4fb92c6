"""Results of hand-made runs on a hand-made machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from mcusim.engine.run import CAUSES, Event, OperatorRun, Run, Traffic, dma_busy_cycles
from mcusim.machine.description import Bus, Core, Duration, Figure, Machine, Power, Qspi, Region, Sram
from mcusim.program.program import Header, MemoryParts, OperatorInfo
from mcusim.results import Result, energy

CLOCK = 100_000_000
NO_TIME = Duration(Fraction(0), "cycles")


def make_region(name: str, kind: Any, base: int, bytes: int) -> Region:
    device = (
        Qspi(CLOCK, 1, 1, 4, 24, 10, 2, NO_TIME)
        if kind == "qspi"
        else Sram(32, CLOCK, NO_TIME, NO_TIME, NO_TIME, NO_TIME, NO_TIME)
    )
    return Region(name, kind, base, bytes, (), "uncached", True, True, device)


def make_machine() -> Machine:
    figures = [
        ("core.clock", "datasheet"),
        ("bus.clock", "assumed"),
        ("cache.data.maintenance", "assumed"),
        ("memory.sram1.read_latency", "assumed"),
        ("memory.sdram.read_overhead", "calibrated"),
        ("dma.dma2.port_cost", "assumed"),
        ("power.run", "calibrated"),
        ("power.sdram_active", "assumed"),
        ("power.qspi_active", "assumed"),
        ("power.dma_active", "assumed"),
        ("power.energy_per_byte.sdram", "assumed"),
    ]
    return Machine(
        name="bench",
        title="hand-made",
        core=Core("cortex-m4", CLOCK),
        bus=Bus(CLOCK),
        instruction_cache=None,
        data_cache=None,
        memory={
            "sram1": make_region("sram1", "sram", 0x2000_0000, 65536),
            "sdram": make_region("sdram", "sdram", 0x6000_0000, 1 << 20),
            "qspi": make_region("qspi", "qspi", 0x9000_0000, 1 << 20),
        },
        dma={},
        power=Power(5.0, 0.1, 0.02, 0.005, 0.004, {"sdram": 1e-9, "sram1": 5e-10}),
        figures={key: Figure(key, "1", basis, "test", "bench.toml", 1) for key, basis in figures},  # type: ignore[arg-type]
    )


def make_run(cycles: int = 1_000_000, **changes: Any) -> Run:
    header = Header(
        machine="bench",
        model="net",
        model_sha256="0" * 64,
        policy="internal",
        kernels="unit",
        operators=(OperatorInfo(0, "CONV_2D", 1000), OperatorInfo(1, "ADD", 0)),
        memory=MemoryParts(activations=1000, scratch=200, overlay=0, runtime=320, arena=1520, weights=64),
        peak_bytes={"sram1": 1520},
        buffers=(),
    )
    by_cause = dict.fromkeys(CAUSES, 0) | {"compute": cycles - 10, "sram": 10}
    whole = Run(
        header=header,
        machine="bench",
        clock=CLOCK,
        kernels="unit",
        fidelity="replay",
        cycles=cycles,
        by_cause=by_cause,
        operators=(
            OperatorRun(0, "CONV_2D", cycles - 40, 2, {"compute": cycles - 40}),
            OperatorRun(1, "ADD", 40, 1, {}),
        ),
        events=(),
        traffic={"sram1": Traffic(core_read=1000, core_write=500)},
        busy={"core": cycles},
        counters={},
        assumptions=("kernel profile unit (assumed)",),
    )
    if "events" in changes:
        changes.setdefault("dma_busy", transferring(changes["events"]))
        changes.setdefault("busy", {event.lane: event.end - event.start for event in changes["events"]})
    return replace(whole, **changes)


def transferring(events: Sequence[Event]) -> int:
    """Cycles in which a transfer is under way."""
    return dma_busy_cycles((event.lane, event.start, event.end) for event in events if event.kind == "transfer")


def make_result(policy: str = "internal", cycles: int = 1_000_000, **changes: Any) -> Result:
    machine, run = make_machine(), make_run(cycles)
    result = Result(
        "net", machine, policy, "unit", "replay", 1000, run=run, energy=energy(run, machine), assumptions=("a = 1",)
    )
    return replace(result, **changes)
