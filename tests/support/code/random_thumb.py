"""Random Thumb-2 programs for the emulator's tests, and running one with and without the native hooks.

Instructions are put together from their fields (Arm DDI0403, chapter A7), so no assembler is needed. Registers: r0 to
r5 hold data, r6 and r10 an aligned address, r7 an unaligned one, r8 counts loops, r9 is an index, r11 and r12 scratch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import strategies as st
from unicorn import arm_const as arm

from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Stop
from mcusim.machine import Machine, load_machine
from mcusim.memory.ports import core_data

MACHINES = {"cortex-m4": load_machine("stm32f469i-disco"), "cortex-m7": load_machine("stm32f746g-disco")}
FLASH, RAM, STACK = 0x0800_0000, 0x2000_0000, 0x2000_8000
FLOATS = [f"s{i}" for i in range(32)]


def halfwords(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


class Fields:
    """Numbers below given limits, taken from one big integer."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __call__(self, limit: int) -> int:
        self._value, taken = divmod(self._value, limit)
        return taken

    def bits(self, mask: int) -> int:
        """A list of two registers or more of r0 to r5 (one is UNPREDICTABLE in the wide encodings)."""
        first, second = self(6), self(5)
        return self(mask + 1) | 1 << first | 1 << (second + (second >= first))


def alu(f: Fields) -> bytes:
    a, b, d = f(6), f(6), f(6)
    narrow = (
        0x1800 | a << 6 | b << 3 | d,  # ADDS
        0x1A00 | a << 6 | b << 3 | d,
        0x2000 | d << 8 | f(256),  # MOVS
        0x4000 | f(16) << 6 | a << 3 | d,  # AND to MVN, MUL too
        f(3) << 11 | f(32) << 6 | a << 3 | d,  # shifts
        0x4400 | a << 3 | d,  # ADD, flags kept
    )
    return halfwords(narrow[f(len(narrow))])


def wide_alu(f: Fields) -> bytes:
    a, b, c, d = f(6), f(6), f(6), f(6)
    choice = (
        (0xEB00 | f(2) << 4 | a, f(8) << 12 | d << 8 | f(4) << 6 | f(4) << 4 | b),  # ADD.W shifted
        (0xFB00 | a, c << 12 | d << 8 | b),  # MLA
        (0xFB20 | a, c << 12 | d << 8 | b),  # SMLAD
        (0xFB90 | a, 0xF0F0 | d << 8 | b),  # SDIV
        (0xFBB0 | a, 0xF0F0 | d << 8 | b),  # UDIV
        (0xFBA0 | a, c << 12 | (c + 1) % 6 << 8 | b),  # UMULL
        (0xF3C0 | a, f(6) << 12 | d << 8 | f(4) << 6 | f(8)),  # UBFX, within 32 bits
        (0xFA80 | a, 0xF040 | d << 8 | b),  # UADD8: GE bits
        (0xFAA0 | a, 0xF080 | d << 8 | b),  # SEL
        (0xEE30, f(14) << 12 | 0x0A20),  # VADD.F32 of s0 and s1
        (0xEE00 | f(8), a << 12 | 0x0A10),  # VMOV s, r
    )
    return halfwords(*choice[f(len(choice))])


def load_store(f: Fields) -> bytes:
    """One register, any alignment, all addressing modes that leave the base as it was."""
    t, size, signed, load = f(6), f(3), f(2), f(2)
    opcode = 0xF800 | size << 5 | load << 4 | (signed << 8 if load and size < 2 else 0)
    base = (6, 7, 10)[f(3)]
    choice = (
        (opcode | 0x80 | base, t << 12 | f(64)),
        (opcode | base, t << 12 | 0x0C00 | f(32)),  # negative offset
        (opcode | base, t << 12 | f(4) << 4 | 9),  # [base, r9, LSL]
    )
    return halfwords(*choice[f(3)])


def narrow_load_store(f: Fields) -> bytes:
    opcode = (0x6000, 0x6800, 0x7000, 0x7800, 0x8000, 0x8800)[f(6)]
    return halfwords(opcode | f(32) << 6 | (6 + f(2)) << 3 | f(6))


def literal(f: Fields) -> bytes:
    return halfwords(0x4800 | f(6) << 8 | f(16))


def several(f: Fields) -> bytes:
    """LDM, STM, LDRD, STRD, VLDM, VSTM, VLDR, VSTR at aligned addresses."""
    base, load, a = (6, 10)[f(2)], f(2) << 4, f(6)
    single, double = f(31), f(15)
    choice = (
        (0xE880 | load | base, f.bits(0x3F)),
        (0xE900 | load | base, f.bits(0x3F)),
        (0xE9C0 | load | base, a << 12 | (a + 1) % 6 << 8 | f(16)),
        (0xE940 | load | base, a << 12 | (a + 1) % 6 << 8 | f(8)),
        (0xEC80 | load | (single & 1) << 6 | base, single >> 1 << 12 | 0x0A00 | 1 + f(32 - single)),
        (0xEC80 | load | base, double << 12 | 0x0B00 | 2 * (1 + f(16 - double))),
        (0xED80 | load | (single & 1) << 6 | base, single >> 1 << 12 | 0x0A00 | f(16)),
        (0xED80 | load | base, double << 12 | 0x0B00 | f(16)),
    )
    return halfwords(*choice[f(len(choice))])


def indexed(f: Fields) -> bytes:
    """Post-indexed there, pre-indexed back; STM! there, LDMDB! back; PUSH and POP."""
    base, t, registers = (6, 10)[f(2)], f(6), f.bits(0x3F)
    choice = (
        (0xF840 | f(2) << 4 | base, t << 12 | 0x0B04, 0xF850 | base, t << 12 | 0x0D04),
        (0xE8A0 | base, registers, 0xE930 | base, registers),
        (0xB400 | registers, 0xBC00 | registers),
        (0xE8E0 | f(2) << 4 | base, t << 12 | (t + 1) % 6 << 8 | 2, 0xE970 | base, t << 12 | (t + 1) % 6 << 8 | 2),
        (0xECA0 | base, 0x1A03, 0xED30 | base, 0x1A03),  # VSTM!, VLDMDB! of s2 to s4
    )
    return halfwords(*choice[f(len(choice))])


def exclusive(f: Fields) -> bytes:
    return halfwords(0xE850 | 6, f(6) << 12 | 0x0F00, 0xE840 | 6, f(6) << 12 | 11 << 8)


def hint(f: Fields) -> bytes:
    return (halfwords(0xBF00), halfwords(0xF3AF, 0x8000), halfwords(0xF3BF, 0x8F5F), halfwords(0xF896, 0xF000))[f(4)]


CONDITIONAL = (alu, wide_alu, load_store, narrow_load_store, several, literal)
PLAIN = (*CONDITIONAL, indexed, exclusive, hint)


def if_then(f: Fields) -> bytes:
    length, condition = 1 + f(4), f(14)
    mask = (f(16) << (4 - length) & 0xF & -(1 << (4 - length))) & ~(1 << (4 - length)) | 1 << (4 - length)
    code = halfwords(0xBF00 | condition << 4 | mask)
    for _ in range(length):
        code += CONDITIONAL[f(len(CONDITIONAL))](f)
    return code


def skip(f: Fields) -> bytes:
    """A conditional branch, CBZ or wide branch over one instruction."""
    over = PLAIN[f(len(PLAIN))](f)
    n = len(over) // 2
    choice = (
        halfwords(0xD000 | f(14) << 8 | n - 1),
        halfwords(0xB100 | f(2) << 11 | (n - 1) << 3 | f(6)) if n >= 1 else b"",
        halfwords(0xF000 | f(14) << 6, 0x8000 | n),
        halfwords(0xE000 | n - 1),
    )
    return choice[f(4)] + over


def loop(f: Fields) -> bytes:
    body = b"".join((if_then, *PLAIN)[f(1 + len(PLAIN))](f) for _ in range(1 + f(4)))
    back = -(len(body) + 4 + 4) // 2
    return halfwords(0xF04F, 0x0800 | 1 + f(9)) + body + halfwords(0xF1B8, 0x0801, 0xD100 | back & 0xFF)


def call(f: Fields) -> bytes:
    """A jump over a function of one instruction, a call of it; LR is kept in r12."""
    body = PLAIN[f(6)](f) + halfwords(0x4770)
    n = len(body) // 2
    over = halfwords(0xE000 | n - 1)
    offset = -(n * 2 + 2 + 4)  # from behind MOV r12, LR and BL
    imm = offset >> 1
    link = halfwords(0xF000 | 0x400 | imm >> 11 & 0x3FF, 0xF800 | imm & 0x7FF)
    return over + body + halfwords(0x46F4) + link + halfwords(0x46E6)


ITEMS = (if_then, *PLAIN, skip, loop, call)


def render(choices: Iterable[tuple[int, int]]) -> bytes:
    """A program of the chosen items; it returns to its caller."""
    return b"".join(ITEMS[kind % len(ITEMS)](Fields(value)) for kind, value in choices) + halfwords(0x4770)


@dataclass(frozen=True)
class Program:
    """Code, its address, and the registers it starts with."""

    code: bytes
    address: int
    r6: int
    r7: int
    r10: int
    data: tuple[int, ...]

    def registers(self) -> dict[str, int]:
        values = {f"r{i}": value for i, value in enumerate(self.data)}
        return values | {"r6": self.r6, "r7": self.r7, "r8": 0, "r9": self.data[0] & 31, "r10": self.r10}


def programs(longest: int = 12) -> st.SearchStrategy[Program]:
    """Programs whose code may begin just before a page's end, and whose addresses lie at page and region borders."""
    items = st.lists(st.tuples(st.integers(0, len(ITEMS) - 1), st.integers(0, 2**96)), min_size=1, max_size=longest)
    words = st.one_of(st.integers(0, 0xFFFF_FFFF), st.sampled_from([0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF]))
    return st.builds(
        Program,
        items.map(render),
        st.builds(
            lambda base, before: base + 0x1000 - 2 * before, st.sampled_from([FLASH, RAM + 0x2000]), st.integers(0, 60)
        ),
        st.sampled_from([RAM + 0x400, RAM + 0x10000, RAM + 0x6000]),
        st.builds(lambda base, off: base - off, st.sampled_from([RAM + 0x1000, RAM + 0x10000]), st.integers(-3, 140)),
        st.builds(lambda base, off: base - 4 * off, st.sampled_from([RAM + 0x5000, RAM + 0x10000]), st.integers(0, 32)),
        st.tuples(*[words] * 6),
    )


def random_bytes(count: int) -> bytes:
    return bytes((i * 167 + (i >> 8) * 31 + 13) & 0xFF for i in range(count))


def prepare(program: Program, core: UnicornCore) -> None:
    core.uc.mem_write(RAM, random_bytes(0x12000))
    core.uc.mem_write(program.address, program.code)
    for name, value in program.registers().items():
        core[name] = value
    core.uc.reg_write(arm.UC_ARM_REG_XPSR, 0x0100_0000)
    core["sp"], core["lr"], core["pc"] = STACK, core.return_address | 1, program.address | 1


def hooked(program: Program, isa: str) -> Emulator:
    """An emulator ready to run ``program``."""
    emulator = Emulator(MACHINES[isa])
    emulator.set_stack(STACK, 0)
    emulator.state.fpu = 1
    prepare(program, emulator.core)
    emulator.behind.write(RAM, random_bytes(0x12000))
    return emulator


def run_hooked(program: Program, isa: str) -> tuple[Emulator, Stop]:
    emulator = hooked(program, isa)
    return emulator, emulator.run(max_instructions=100_000)


def bare(program: Program, machine: Machine) -> UnicornCore:
    """The same core without a hook, after running ``program``."""
    core = UnicornCore(machine)
    prepare(program, core)
    core.uc.emu_start(program.address | 1, core.return_address)
    return core


def guest_state(core: UnicornCore) -> dict[str, int]:
    """All registers, with the flags, the GE bits and the floating-point ones."""
    state = core.registers()
    for i, name in enumerate(FLOATS):
        state[name] = core.uc.reg_read(arm.UC_ARM_REG_S0 + i)
    state["fpscr"] = core.uc.reg_read(arm.UC_ARM_REG_FPSCR)
    return state


def cleaned_memory(emulator: Emulator) -> list[tuple[int, bytes]]:
    """The first 64 KiB of each memory behind a data cache whose lines have all been written back, by address."""
    core_data.maintain_all(emulator.memory.state, 1, 0)
    return [(region.base, data[: 1 << 16].tobytes()) for region, data in emulator.behind.regions]


def guest_memory(core: UnicornCore, machine: Machine) -> dict[str, bytes]:
    return {name: bytes(core.uc.mem_read(r.base, r.size)) for name, r in machine.memory.items() if r.size <= 1 << 20}
