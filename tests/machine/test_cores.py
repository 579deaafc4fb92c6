"""The table of cores: an unknown core is one error everywhere, and a new one is one entry and its pipeline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mcusim.cpu.decode.instruction import Instruction
from mcusim.cpu.pipeline.timing import AccessTiming, Timing
from mcusim.cpu.system import ppb
from mcusim.emulator.emulator import Emulator
from mcusim.errors import MachineError
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import Machine, load_machine
from mcusim.machine.cores import CORES, core_named
from mcusim.machine.description import Core
from mcusim.memory.system import MemorySystem
from mcusim.runtime.planning_costs import operator_cycles

KNOWN = "known are cortex-m4, cortex-m7"
NEW = "cortex-m3"
# movs r0,#20; adds r0,#22; bx lr
ANSWER = bytes.fromhex("1420 1630 7047")
# ldr r0,[r0]; bx lr
LOAD = bytes.fromhex("0068 7047")
CPUID = 0xE000_ED00
REVISION = 0xF0_000F  # of its bits, those that a part may have otherwise than the table


def with_core(machine: Machine, isa: str) -> Machine:
    """A machine that was built in Python, past the checks of a machine file."""
    return replace(machine, core=Core(isa, machine.core.clock))


@pytest.mark.parametrize(
    ("isa", "says"),
    [
        ('"cortex-m33"', '"cortex-m33": must be one of cortex-m4, cortex-m7; the nearest'),
        ("33", "33: must be one of cortex-m4, cortex-m7"),
        ('"arm7"', '"arm7": must be one of cortex-m4, cortex-m7'),
    ],
)
def test_an_unknown_core_in_a_file_is_refused_at_its_place(tmp_path: Path, isa: str, says: str) -> None:
    shipped = (Path(__file__).parents[2] / "machine_configs" / "stm32f469i-disco.toml").read_text(encoding="utf-8")
    path = tmp_path / "board.toml"
    path.write_text(shipped.replace('"cortex-m4"', isa), encoding="utf-8")
    with pytest.raises(MachineError) as error:
        load_machine(path)
    text = str(error.value)
    assert "\n" not in text and f"core.isa = {says}" in text
    assert not text.rstrip().endswith(";")


@pytest.mark.parametrize(
    "use",
    [
        core_named,
        operator_cycles,
        lambda isa: MemorySystem(with_core(load_machine("stm32f469i-disco"), isa)),
        lambda isa: Emulator(with_core(load_machine("stm32f469i-disco"), isa)),
    ],
    ids=["table", "interpreter", "memory", "emulator"],
)
def test_an_unknown_core_is_the_same_error_wherever_it_is_met(use: object) -> None:
    assert callable(use)
    with pytest.raises(MachineError) as error:
        use("cortex-m33")
    assert str(error.value) == f'core.isa = "cortex-m33": unknown core; {KNOWN}'


@pytest.mark.parametrize("isa", CORES)
def test_a_core_has_its_registers_and_its_kernels(isa: str) -> None:
    board = next(name for name in ("stm32f469i-disco", "stm32f746g-disco") if load_machine(name).core.isa == isa)
    emulator = Emulator(load_machine(board))
    differs = int.from_bytes(emulator.read(CPUID, 4), "little") ^ core_named(isa).reset["CPUID"]
    assert differs & ~REVISION == 0
    assert int.from_bytes(emulator.read(ppb.BASE + ppb.MPU_TYPE, 4), "little") == 8 << 8
    assert load_set("reference").elf(isa).is_file()


class OneCycleEach:
    """The pipeline of the core that the test below adds."""

    def schedule(self, block: Sequence[Instruction], line: int = 0) -> Timing:
        accesses = [AccessTiming(at) for at, one in enumerate(block) for _ in one.accesses]
        return Timing(tuple(range(len(block))), len(block), tuple(accesses))


@pytest.fixture
def new_core(monkeypatch: pytest.MonkeyPatch) -> str:
    """A core more: one entry of the table."""
    m4 = CORES["cortex-m4"]
    entry = replace(
        m4,
        pipeline="one_cycle_each:OneCycleEach",
        emulator="UC_CPU_ARM_CORTEX_M3",
        reset={"CPUID": 0x412F_C231, "CCR": 0x200},
        branch_refill=5,
    )
    monkeypatch.setitem(CORES, NEW, entry)
    monkeypatch.setitem(sys.modules, "mcusim.cpu.pipeline.one_cycle_each", sys.modules[__name__])
    return NEW


def called(machine: Machine, code: bytes, argument: int = 0) -> tuple[int, int]:
    """r0 and cycles of the function ``code`` in the first SRAM of ``machine``."""
    emulator = Emulator(machine)
    sram = machine.memory["sram1"].base
    emulator.write(sram, code)
    emulator.set_stack(sram + 0x1000, 0)
    emulator.call(sram, (argument,))
    assert emulator.run().kind == "returned"
    return emulator.registers()["r0"], emulator.cycles


def test_a_new_core_is_one_entry_and_its_pipeline(new_core: str) -> None:
    board = load_machine("stm32f469i-disco", {"core.isa": new_core})
    m4 = load_machine("stm32f469i-disco")
    answer, cycles = called(board, ANSWER)
    before = called(m4, ANSWER)
    assert (answer, before[0]) == (42, 42)
    assert cycles == 3 + 5  # one each; the Cortex-M4 fetches its way over the system bus
    assert before[1] == 3 + 1 + 1
    emulator = Emulator(board)
    assert emulator.read(CPUID, 4) == (0x412F_C231).to_bytes(4, "little")


@pytest.mark.parametrize(("offset", "parts"), [(0, 1), (1, 3), (2, 2)])
def test_the_entry_decides_what_an_unaligned_load_costs(new_core: str, offset: int, parts: int) -> None:
    board = load_machine("stm32f469i-disco", {"core.isa": new_core})
    data = board.memory["sram1"].base + 0x100
    cost = called(board, LOAD, data + offset)[1] - called(board, LOAD, data)[1]
    assert cost >= parts - 1
    assert (cost > 0) is (parts > 1)
