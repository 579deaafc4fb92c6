"""However a run ends, its cycles are all charged, by cause and by instruction, and nothing is negative."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.profile import CycleProfile, profile
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import load_machine
from tests.support.cases import few

BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
STACK, LIMIT = 0x2001_0000, 60_000


def prepared(
    isa: str, program: str, function: str = "", *arguments: int, keys: dict[str, str] | None = None
) -> Emulator:
    """A program at its reset vector, or about to call ``function``."""
    emulator = Emulator(load_machine(BOARDS[isa], keys or {}))
    image = load_image(program_path(program, isa))
    emulator.load(image, as_started=bool(function))
    if function:
        emulator.set_stack(STACK, STACK - 8192)
        emulator.call(image.symbol(function).address, arguments)
    else:
        emulator.begin()
    return emulator


def interrupted(emulator: Emulator) -> str:
    """As by Ctrl-C, which arrives between two slices."""

    def stop(instructions: int) -> None:
        if instructions > 5000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        emulator.run(max_instructions=LIMIT, progress=stop)
    return "interrupted"


ENDS: dict[str, tuple[tuple[object, ...], Callable[[Emulator], str]]] = {
    "returned": (("integer", "integer", 1), lambda e: e.run().kind),
    "exit": (("system",), lambda e: e.run().kind),
    "limit": (("conv",), lambda e: e.run(max_instructions=LIMIT).kind),
    "horizon": (("pipeline",), lambda e: e.run_until(100_003).kind),
    "interrupted": (("conv",), interrupted),
}
FAULTS = {
    "fault_load": 0x3000_0000,
    "fault_jump": 0x3000_0000,
    "fault_undefined": 0,
    "fault_unaligned_pair": 0,
    "fault_stack": 0,
}
ENDS |= {name: (("faults", name, argument), lambda e: e.run().kind) for name, argument in FAULTS.items()}


def check(found: CycleProfile) -> None:
    assert sum(found.causes.values()) == pytest.approx(found.cycles, abs=1e-6)
    assert sum(cost.cycles for cost in found.instructions.values()) == pytest.approx(found.cycles, abs=1e-6)
    assert sum(cost.issued for cost in found.instructions.values()) == found.issued
    assert min(found.causes.values(), default=0) >= 0
    for address, cost in found.instructions.items():
        assert min(cost.issued, cost.data, cost.fetch, cost.pipeline) >= 0, hex(address)
        assert cost.cycles >= cost.data + cost.fetch + cost.pipeline - 1e-6, f"{address:#x}: {found.text[address]}"


@few(6)
@pytest.mark.parametrize("isa", BOARDS)
@pytest.mark.parametrize("end", ENDS)
def test_every_cycle_is_charged_however_the_run_ends(isa: str, end: str) -> None:
    what, run = ENDS[end]
    emulator = prepared(isa, *what)  # type: ignore[arg-type]
    kind = run(emulator)
    assert kind == (end if not end.startswith("fault") else "fault")
    found = profile(emulator, STACK)
    assert found.cycles > 0
    check(found)


def test_a_stall_is_charged_to_the_instruction_that_waits() -> None:
    """Cortex-M7, LDR then its use by a multiply: the load issues in a cycle of its own, the multiply waits."""
    emulator = prepared("cortex-m7", "pipeline", "p_ldr_mul", 50, 0x2000_4000, 0)
    emulator.run()
    found = profile(emulator)
    waits = [(a, c) for a, c in found.instructions.items() if found.text[a].startswith("mul") and c.issued > 40]
    assert len(waits) > 5
    loads = [c for a, c in found.instructions.items() if found.text[a].startswith("ldr") and c.issued > 40]
    assert sum(c.pipeline for _, c in waits) > 0
    assert all(c.cycles >= c.pipeline for _, c in waits)
    assert sum(c.pipeline for c in loads) == 0


@pytest.mark.parametrize("isa", BOARDS)
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_bytes_of_a_region_are_its_accesses_times_their_size(isa: str, size: int) -> None:
    base, keys = 0xC000_0000, {"memory.sdram.base": "0xC0000000"}
    for verb, read in (("read", True), ("write", False)):
        emulator = prepared(isa, "memory", f"{verb}_u{8 * size}", base, 4096, keys=keys)
        emulator.run()
        sdram = emulator.memory.by_region()["sdram"]
        accesses, moved = (sdram["reads"], sdram["read_bytes"]) if read else (sdram["writes"], sdram["write_bytes"])
        words = 2 if size == 8 and isa == "cortex-m4" else 1  # a 32-bit bus moves a doubleword in two
        assert (accesses, moved) == (4096 // size * words, 4096)


@pytest.mark.parametrize("policy", ["write-back", "write-through"])
def test_hits_and_misses_are_the_accesses(policy: str) -> None:
    """Stores that miss and fill no line are misses too."""
    keys = {"cache.data.policy": policy}
    emulator = prepared("cortex-m7", "memory", "write_u8", 0x6000_0000, 4096, keys=keys)
    emulator.run()
    found = emulator.memory.counters()
    assert found["dcache_hits"] + found["dcache_misses"] == pytest.approx(4096, abs=2)  # a constant from flash
    assert found["dcache_misses"] >= (4096 if policy == "write-through" else 128)


def test_code_read_from_a_flash_without_accelerator_is_counted() -> None:
    """Instruction cache off, AXI port: a line of 32 bytes at a time, none of it before the core asks."""
    emulator = Emulator(load_machine("stm32f746g-disco"), caches=False)
    image = load_image(program_path("memory", "cortex-m7"))
    emulator.load(image, as_started=True)
    emulator.set_stack(STACK, 0)
    emulator.call(image.symbol("copy_words").address, (0x2000_4000, 0x2000_5000, 400))
    emulator.run()
    flash = emulator.memory.by_region()["flash"]
    assert 0 < flash["reads"] <= flash["fetches"]
    assert flash["read_bytes"] == 32 * flash["reads"]


@pytest.mark.parametrize(("snippet", "parts"), [("ldr_unaligned", (1, 2, 1)), ("ldr_unaligned_halfword", (2, 2))])
def test_a_cortex_m4_splits_what_is_not_aligned_into_bytes_and_halfwords(snippet: str, parts: tuple[int, ...]) -> None:
    """DDI0439 3.4: the memory is asked for each part; its controller must not have read some of them ahead."""
    cycles, keys = {}, {"memory.sdram.read_burst": "false"}
    for name in (snippet, "ldr"):
        emulator = prepared("cortex-m4", "pipeline", f"p_{name}", 100, 0xC000_0000, 0, keys=keys)
        assert emulator.run().kind == "returned"
        sdram = emulator.memory.by_region()["sdram"]
        cycles[name] = sdram["stall"] / sdram["read_bytes"]
        if name == snippet:
            assert sdram["reads"] * sum(parts) == sdram["read_bytes"] * len(parts) > 1000
    assert cycles[snippet] / cycles["ldr"] == pytest.approx(len(parts), rel=0.1)


def test_core_coupled_memory_runs_no_code() -> None:
    """STM32F469: the CCM is on the data bus only (RM0386, bus matrix); code there ends in a fault, not in cycles."""
    for address, kind in ((0x2000_1000, "returned"), (0x1000_1000, "fault")):
        emulator = Emulator(load_machine("stm32f469i-disco"))
        emulator.write(address, b"\x70\x47")  # bx lr
        emulator.set_stack(STACK, 0)
        emulator.call(address)
        assert emulator.run().kind == kind
