"""The memory micro-benchmarks published for the STM32F746G-DISCO, played on the access path: each within 20 %.

The loops were not published; two cycles of core work per access represent them.
"""

from __future__ import annotations

import pytest

from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.memory.ports import replay
from mcusim.memory.ports.replay import stream_of
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import MemorySystem
from tests.support.boards.sdram_measurements import READS, WRITES

LOOP = 2 * TICK


def board(core: str, sdram: str, **keys: str) -> Machine:
    overrides = {"core.clock": core, "memory.sdram.clock": sdram, "memory.flash.wait_states": "6"}
    return load_machine("stm32f746g-disco", overrides | keys)


def cycles_per_access(machine: Machine, size: int, write: int) -> float:
    memory = MemorySystem(machine)
    total = 1 << 18
    replay.walk(memory.state, stream_of(memory.state, size, write, LOOP), machine.memory["sdram"].base, total)
    return float(memory.state.now) / TICK / (total / size)


@pytest.mark.parametrize("size", READS)
def test_uncached_sdram_reads(size: int) -> None:
    machine = board("200 MHz", "100 MHz", **{"memory.sdram.attribute": "uncached"})
    assert cycles_per_access(machine, size, 0) == pytest.approx(READS[size], rel=0.2)


@pytest.mark.parametrize("size", WRITES)
def test_uncached_sdram_writes(size: int) -> None:
    machine = board("200 MHz", "100 MHz", **{"memory.sdram.attribute": "uncached"})
    assert cycles_per_access(machine, size, 1) == pytest.approx(WRITES[size], rel=0.2)


@pytest.mark.parametrize(("attribute", "milliseconds"), [("write-back", 27.0), ("uncached", 40.0)])
def test_copy_of_one_mebibyte(attribute: str, milliseconds: float) -> None:
    """MicroPython at 192 MHz, SDRAM to SDRAM, cacheable and with the default attribute (micropython PR 4032).

    memcpy moves a line at a time (LDM, STM).
    """
    machine = board("192 MHz", "96 MHz", **{"memory.sdram.attribute": attribute})
    memory = MemorySystem(machine)
    base = machine.memory["sdram"].base
    for offset in range(0, 1 << 20, 32):
        replay.walk(memory.state, stream_of(memory.state, 4, 0, LOOP), base + offset, 32)
        replay.walk(memory.state, stream_of(memory.state, 4, 1, LOOP), base + (1 << 20) + offset, 32)
    assert float(memory.state.now) / TICK / 192e3 == pytest.approx(milliseconds, rel=0.2)


def test_line_fill_at_100_mhz() -> None:
    """STM32H723, caches on, 16 bit at 100 MHz: sequential reads at 127 MB/s, 25.2 SDCLK a line (hpm_sdk issue 33)."""
    machine = board("200 MHz", "100 MHz")
    memory = MemorySystem(machine)
    replay.walk(memory.state, stream_of(memory.state, 4, 0, LOOP), machine.memory["sdram"].base, 1 << 20)
    per_line = float(memory.state.now) / TICK / (1 << 15) / 2
    assert per_line == pytest.approx(25.2, rel=0.2)
