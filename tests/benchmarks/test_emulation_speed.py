"""How fast the emulated core runs an int8 convolution; only ratios within one run are asserted.

The convolution's tensors and stack are in SDRAM behind the caches, its code in flash; pipeline, caches, SDRAM and
fetch are all modelled. ``ratio_to_bare_unicorn`` is the speed as a part of Unicorn's without any hook;
``ratio_to_python_callbacks`` is how many times faster it is than hooks in Python that call the same native functions.
"""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from unicorn import UC_HOOK_BLOCK, UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, UC_MEM_WRITE
from unicorn.arm_const import UC_ARM_REG_PC, UC_ARM_REG_XPSR

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import accesses, blocks
from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.cpu.unicorn_selftest import skip_flag_offset
from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import Machine, load_machine
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange
from tests.support.other_processes import LONGEST_WAIT

SDRAM_LOW = {"memory.sdram.base": "0x2000_0000"}
BOARDS = {  # SDRAM where the program expects its data; what was there is out of the way
    "cortex-m4": ("stm32f469i-disco", ("sram1", "sram2", "sram3")),
    "cortex-m7": ("stm32f746g-disco", ("dtcm", "sram1", "sram2")),
}
LAYER = 1  # 3x3 with SMLAD
STACK = 0x2001_0000
REPEATS = 4
PYTHON = 150_000  # instructions under Python callbacks
IT_BITS = 0x0600_FC00


def machine_of(isa: str) -> Machine:
    name, moved = BOARDS[isa]
    shipped = load_machine(name)
    away = {f"memory.{region}.base": hex(shipped.memory[region].base + 0x1000_0000) for region in moved}
    return load_machine(name, SDRAM_LOW | away)


def ready(isa: str) -> tuple[Emulator, int]:
    """An emulator with the program loaded, and the address of the layer's function."""
    emulator = Emulator(machine_of(isa))
    image = load_image(program_path("conv", isa))
    emulator.load(image, as_started=True)
    emulator.set_stack(STACK, 0)
    return emulator, image.symbol("run_layer").address & ~1


def run(emulator: Emulator, function: int, repeats: int, limit: int | None = None) -> int:
    emulator.set_stack(STACK, 0)
    emulator.call(function, (LAYER, repeats))
    stop = emulator.run(limit)
    assert stop.kind == ("returned" if limit is None else "limit")
    return emulator.registers()["r0"]


def bare_core(isa: str, function: int, like: Emulator) -> Callable[[int], int]:
    """Calls the same function on a core without hooks; what it returns."""
    machine = machine_of(isa)
    core = UnicornCore(machine)
    for region in machine.memory.values():
        if region.kind == "flash" or region.name == "sdram":
            core.uc.mem_write(region.base, like.read(region.base, min(region.size, 1 << 20)))

    def call(repeats: int) -> int:
        registers = {"r0": LAYER, "r1": repeats, "sp": STACK, "lr": core.return_address | 1}
        for name, value in registers.items():
            core[name] = value
        core.uc.emu_start(function | 1, core.return_address)
        return core["r0"]

    return call


class PythonHooks:
    """The native hooks' work by Python callbacks, for an emulator whose core has no others."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator, self.uc = emulator, emulator.core.uc
        self.flag = ctypes.c_uint8.from_address(self.uc._uch.value + (skip_flag_offset() or 0))
        self.uc.hook_add(UC_HOOK_BLOCK, self.block)
        self.uc.hook_add(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, self.access)

    def stop(self, reason: int, address: int, size: int) -> None:
        state = self.emulator.state
        state.stop, state.stop_address, state.stop_size = reason, address, size
        self.uc.emu_stop()

    def block(self, uc: Any, address: int, size: int, _: Any) -> None:
        hook, state, tables = self.emulator.core.hook, self.emulator.state, self.emulator.tables
        blocks.leave(hook, address)
        if address == state.return_address:
            return self.stop(C.RETURNED, address, size)
        if state.instructions >= state.instruction_limit:
            return self.stop(C.AT_LIMIT, address, size)
        slot = tables.table.slots[blocks.slot_of(tables.table, address)]
        if slot.address < 0 or tables.blocks.records[slot.index].size != size:
            return self.stop(C.UNKNOWN, address, size)
        blocks.enter(hook, slot.index)
        state.slow = tables.blocks.records[slot.index].flags & C.CONDITIONAL_ACCESS
        self.flag.value = 1 - state.slow
        return None

    def access(self, uc: Any, kind: int, address: int, size: int, value: int, _: Any) -> None:
        hook, state, memory = self.emulator.core.hook, self.emulator.state, self.emulator.memory.state
        if state.slow:
            accesses.seek(hook, uc.reg_read(UC_ARM_REG_PC))
            uc.reg_write(UC_ARM_REG_XPSR, uc.reg_read(UC_ARM_REG_XPSR) & ~IT_BITS)
        write = int(kind == UC_MEM_WRITE)
        index = accesses.foreseen(hook, size, write)
        record = self.emulator.tables.accesses.records[index]
        accesses.begin(state, address, size, write, record.pc)
        state.access.value, state.access.flags = value, record.flags
        accesses.ordinary(hook, AddressRange(memory, find(memory, address)), index)


def best(count: int, *actions: Callable[[], object]) -> list[float]:
    """The shortest processor time of each action, in seconds, turn about; what else runs does not count."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(count):
        for action, taken in zip(actions, times, strict=True):
            started = time.thread_time()
            action()
            taken.append(time.thread_time() - started)
    return [min(taken) for taken in times]


@pytest.mark.parametrize("isa", list(BOARDS))
def test_emulated_convolution_against_bare_unicorn(isa: str, benchmark: Any) -> None:
    emulator, function = ready(isa)
    bare = bare_core(isa, function, emulator)
    result = run(emulator, function, 1)
    assert bare(1) == result  # and both have translated the code now
    regions = emulator.memory.by_region()  # behind the caches: fills
    assert regions["sdram"]["reads"] > 100
    assert regions["flash"]["fetches"] > 10
    ours, unhooked = best(15, lambda: run(emulator, function, REPEATS), lambda: bare(REPEATS))
    benchmark.extra_info["ratio_to_bare_unicorn"] = unhooked / ours
    benchmark.pedantic(run, args=(emulator, function, REPEATS), rounds=3)
    assert emulator.unforeseen == 0
    assert unhooked / ours >= 1 / 8


@pytest.mark.parametrize("isa", list(BOARDS))
def test_emulated_convolution_against_python_callbacks(
    isa: str, benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    native, function = ready(isa)
    monkeypatch.setattr(UnicornCore, "attach", lambda _: None)
    slow, _ = ready(isa)
    PythonHooks(slow)
    for emulator in (native, slow):
        run(emulator, function, 1, limit=PYTHON)
    assert (slow.cycles, slow.instructions) == (native.cycles, native.instructions)
    assert slow.memory.counters() == native.memory.counters()  # the same work
    started = time.thread_time()
    run(slow, function, 1, limit=PYTHON)
    rate = PYTHON / (time.thread_time() - started)
    before = native.instructions
    (seconds,) = best(5, lambda: run(native, function, REPEATS))
    ratio = (native.instructions - before) / 5 / seconds / rate
    benchmark.extra_info["ratio_to_python_callbacks"] = ratio
    benchmark.pedantic(run, args=(native, function, REPEATS), rounds=3)
    assert ratio >= 15


def test_emulated_program_starts_fast_the_second_time(benchmark: Any) -> None:
    """Loading, hooks from the disk, a small program and its table: under 3 s of the processor, start included."""
    command = [sys.executable, "-m", "mcusim", "emulate", str(program_path("faults", "cortex-m7"))]
    command += ["--machine", "stm32f746g-disco"]

    def start() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
        assert "faults: each function fails" in done.stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    start()  # compiles what is not on disk yet
    times: list[float] = []
    benchmark.pedantic(lambda: times.append(start()), rounds=3)
    assert min(times) < 3
