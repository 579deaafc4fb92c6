"""Compiled instruction sequences on the emulated core: cycles per instruction as the published tables give them.

Each value is derived from the tables of facts: M4 from Arm's instruction table (DDI0439) with the corrections that
jnk0le/random measured, M7 from jnk0le/random, quinapalus and LLVM's model. A pair is of two instructions, so that a
half means dual issue. The sequences are in ``test_programs/src/pipeline.S``; loop overhead is measured and taken off,
but the branch that closes the loop shares a cycle here and there: one part in the instructions of the body.
"""

from __future__ import annotations

from functools import cache

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import Image, load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import load_machine
from tests.support.cases import few

M4 = {
    "add_pair": 1.0,
    "add_chain": 1.0,
    "add_shifted_chain": 1.0,
    "smlad_chain": 1.0,
    "mul_chain": 1.0,
    "smull_pair": 1.0,
    "udiv": 2.0,  # 0 / 0: ends at once
    "ldr": 1.0,  # each pipelined behind the one before
    "ldr_beside_add": (2 + 1) / 2,
    "ldr_use": (2 + 1) / 2,
    "ldr_chain": 2.0,
    "ldr_nop": 1.0,  # the load hides the NOP
    "ldr_str": 3 / 2,  # a store takes the stall of the load before it
    "address": (1 + 1 + 2) / 2,  # the address generated just before
    "address_later": (1 + 1 + 1 + 2) / 4,
    "ldr_unaligned": 1 + 2,  # byte, halfword, byte
    "ldr_unaligned_halfword": 1 + 1,
    "ldrd": 1 + 2,
    "ldm4": 1 + 4,
    "ldm7": 1 + 7,
    "push_pop": 1 + 4,
    "str": 1.0,
    "strb_same": 1.0,
    "str_index": 2.0,
    "strd": 1 + 2,
    "stm7": 1 + 7,
    "add_at_halfword": (1 + 16 * 4 / 3) / 17,  # every third one waits; a NOP comes first
    "branch": 2.0,  # its target is asked for while it is decoded
    "branch_over": 2.0,
    "branch_to_wide": (2 + 1) / 2,
    "branch_to_wide_at_halfword": (2 + 1 + 1 + 1) / 3,
    "branch_not_taken": 1.0,
    "cbz_taken": 3.0,
    "cbz_not_taken": 1.0,
    "call": 2.0,  # BX LR too
    "call_register": (3 + 2) / 2,
    "it_passed": 1.0,
    "vadd": 1.0,
    "vfma_chain": 3 + 1,
    "vfma_three": 3.0,
    "vdiv": 14.0,
    "vsqrt": 14.0,
    "vldr": 2.0,
    "vldr_double": 3.0,
    "vldm4": 1 + 4,
    "vmov_pair_to_core": 2.0,
}
M7 = {
    "nop": 0.5,
    "add_pair": 0.5,
    "add_chain": 1.0,
    "add_dependent_pair": 0.5,  # early to late ALU in one cycle
    "add_shifted_pair": 1.0,
    "add_shifted_chain": 2.0,  # the shifted operand is read a cycle early
    "add_mixed_pair": 0.5,
    "eor_constant_pair": 1.0,
    "eor_pattern_pair": 0.5,
    "movw_movt": 0.5,
    "uxtb_pair": 1.0,  # slot 0 only
    "uxtb_add": 0.5,
    "qadd_chain": 2.0,
    "mul_pair": 1.0,
    "mul_chain": 2.0,
    "mul_beside_add": 0.5,
    "mul_beside_str": 1.0,
    "smlad_chain": 1.0,  # the accumulator is forwarded
    "mla_operand_chain": 2.0,
    "smlad_beside_add": 0.5,
    "udiv": 7.0,
    "ldr_banks": 0.5,
    "ldr_same_bank": 1.0,
    "ldr_use": 0.5,
    "ldr_use_shifted": 1.0,
    "ldr_mul": 1.0,  # a multiplicand waits a cycle
    "ldr_accumulate": 0.5,
    "ldrb_use": 1.0,
    "ldr_chain": 3.0,  # data to address
    "ldrb_chain": 4.0,
    "ldrd": 1.0,
    "ldm4": 2.0,
    "ldm7": 4.0,
    "stm4": 2.0,
    "stm4_at_word": 3.0,
    "push_pop": (2 + 3) / 2,
    "str": 1.0,
    "str_beside_add": 0.5,
    "ldr_str": 0.5,
    "strb_same": 4.0,
    "strb_banks": 2.0,
    "strb_stride": 2.4,
    "str_unaligned": 4.0,
    "branch_over": 1.0,
    "branch_not_taken_add": 0.5,
    "it_passed": 0.5,
    "vadd": 1.0,
    "vadd_chain": 3.0,
    "vfma_chain": 3.0,  # through the accumulator
    "vfma_three": 1.0,
    "vdiv": 16.0,
    "vsqrt": 14.0,
    "vldr_double": 1.0,
    "vldm4": 2.0,
}
CASES = [(isa, name) for isa, table in (("cortex-m4", M4), ("cortex-m7", M7)) for name in table]


@cache
def board(isa: str) -> tuple[Emulator, Image]:
    """Code and data without wait states: the M7's caches and DTCM, a flash without any for the M4."""
    if isa == "cortex-m7":
        machine = load_machine("stm32f746g-disco")
    else:
        machine = load_machine("stm32f469i-disco", {"memory.flash.wait_states": "0"})
    emulator = Emulator(machine)
    image = load_image(program_path("pipeline", isa))
    emulator.load(image, as_started=True)
    return emulator, image


def cycles(isa: str, name: str, iterations: int, first: int = 0, second: int = 0) -> int:
    emulator, image = board(isa)
    emulator.set_stack(0x2001_0000, 0)
    before = emulator.cycles
    emulator.call(image.symbol(f"p_{name}").address, (iterations, first, second))
    assert emulator.run().kind == "returned"
    return emulator.cycles - before


def body(isa: str, name: str, first: int = 0, second: int = 0) -> float:
    """Cycles of one turn of the loop, caches and predictor warm, less those of the empty loop."""

    def turn(what: str) -> float:
        cycles(isa, what, 50, first, second)
        return (cycles(isa, what, 400, first, second) - cycles(isa, what, 200, first, second)) / 200

    return turn(name) - turn("empty")


@cache
def instructions(isa: str) -> dict[str, int]:
    """Instructions in the body of each sequence: p_table of the program."""
    emulator, image = board(isa)

    def word(address: int) -> int:
        return int.from_bytes(emulator.read(address, 4), "little")

    at, found = image.symbol("p_table").address, {}
    while word(at):
        name = emulator.read(word(at), 40).split(b"\0")[0].decode()
        found[name.removeprefix("p_")] = word(at + 8)
        at += 12
    return found


@few(64)
@pytest.mark.parametrize(("isa", "name"), CASES)
def test_cycles_per_instruction(isa: str, name: str) -> None:
    expected = {"cortex-m4": M4, "cortex-m7": M7}[isa][name]
    count = instructions(isa)[name]
    shared = 3 if isa == "cortex-m7" else 1  # cycles of a turn that the loop's end may share or cost more
    if name in ("vdiv", "vsqrt") and isa == "cortex-m4":
        shared = 14  # the last one overlaps the loop's end
    assert body(isa, name) / count == pytest.approx(expected, abs=max(shared / count, 0.005) + 0.005)


@pytest.mark.parametrize(("dividend", "divisor", "expected"), [(0xFFFF_FFFF, 1, 12), (1, 0xFFFF_FFFF, 3), (0, 7, 2)])
def test_divide_ends_early_on_the_cortex_m4(dividend: int, divisor: int, expected: int) -> None:
    per_divide = body("cortex-m4", "udiv", dividend, divisor) / instructions("cortex-m4")["udiv"]
    assert per_divide == pytest.approx(expected, abs=0.1)


def test_divide_is_not_operand_dependent_on_the_cortex_m7() -> None:
    assert body("cortex-m7", "udiv", 0xFFFF_FFFF, 1) == body("cortex-m7", "udiv", 1, 0xFFFF_FFFF)
