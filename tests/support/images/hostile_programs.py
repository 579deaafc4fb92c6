"""Programs that abuse the core and its registers, by seed: plain bytes for ``FILE@ADDRESS``, code made of small pieces.

Each has a vector table, whose handlers are made of such pieces too, and runs with interrupts from reset.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from mcusim.machine import load_machine
from mcusim.soc.families.family import family_of
from mcusim.soc.machine_blocks import places_of

FLASH, VECTORS, HANDLERS = 0x0800_0000, 128, 6
RAM = {"stm32f469i-disco": 0x2000_0000, "stm32f746g-disco": 0x2001_0000, "nucleo-f767zi": 0x2002_0000,
       "nucleo-l4r5zi": 0x2000_0000, "nucleo-h743zi": 0x2400_0000, "stm32f407g-disc1": 0x2000_0000}  # fmt: skip
EDGES = (0, 1, 2, 3, 0xFF, 0x100, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFF0, 0xFFFF_FFFE, 0xFFFF_FFFF)
SPECIAL = (0, 1, 2, 3, 5, 8, 9, 16, 17, 18, 19, 20)  # xPSR, MSP, PSP, PRIMASK, BASEPRI, BASEPRI_MAX, FAULTMASK, CONTROL
SYSTEM = (
    *range(0xE000_E010, 0xE000_E020, 4), *range(0xE000_E100, 0xE000_E114, 4), *range(0xE000_E180, 0xE000_E190, 4),
    *range(0xE000_E200, 0xE000_E214, 4), *range(0xE000_E400, 0xE000_E460, 4), *range(0xE000_ED00, 0xE000_ED40, 4),
    *range(0xE000_ED84, 0xE000_EDC0, 4), 0xE000_EDFC, 0xE000_EF00, *range(0xE000_EF34, 0xE000_EF40, 4),
    *range(0xE000_EF50, 0xE000_EF78, 4), *range(0xE000_0000, 0xE000_0080, 4), 0xE000_0E00, 0xE000_0E80, 0xE000_1000,
)  # fmt: skip
BIT_BANDS = (0x4200_0000, 0x2200_0000)


def halfwords(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def load(register: int, value: int) -> bytes:
    """MOVW and MOVT."""
    made = b""
    for opcode, part in ((0xF240, value & 0xFFFF), (0xF2C0, value >> 16)):
        first = opcode | part >> 12 | (part >> 11 & 1) << 10
        made += halfwords(first, (part >> 8 & 7) << 12 | register << 8 | part & 0xFF)
    return made


class Rng(random.Random):
    """With words that are worth trying; ``ram`` is where the program may store, ``blocks`` begin at these addresses."""

    ram = 0x2000_0000
    blocks: Sequence[int] = ()
    dmas: Sequence[int] = ()

    def word(self) -> int:
        kind = self.random()
        if kind < 0.3:
            return self.choice(EDGES)
        if kind < 0.5:
            return 1 << self.randrange(32)
        if kind < 0.7:
            return self.ram + self.randrange(0x8000)
        return FLASH + self.randrange(0x1000) if kind < 0.75 else self.randrange(1 << 32)


def access(rng: Rng, address: int, value: int) -> bytes:
    opcode = rng.choice([0x6001] * 6 + [0x6801, 0x7001, 0x7801, 0x8001, 0x8801])
    return load(0, address & 0xFFFF_FFFF) + load(1, value) + halfwords(opcode)


def registers(rng: Rng) -> bytes:
    """Any register of any block, some of them bit by bit."""
    base = rng.choice(BIT_BANDS) if rng.random() < 0.02 else rng.choice(rng.blocks)
    return access(rng, base + 4 * rng.randrange(rng.choice([8, 16, 128])), rng.word())


def dma(rng: Rng) -> bytes:
    """A stream or channel with random counts, addresses and modes, then started."""
    base, made = rng.choice(rng.dmas), b""
    stream = base + rng.choice(
        [0x10 + 0x18 * rng.randrange(8), 8 + 0x14 * rng.randrange(8), 0x40 + 0x40 * rng.randrange(16)]
    )
    for offset in (4, 8, 12, 16, 20):
        made += access(
            rng, stream + offset, rng.choice([rng.word(), rng.randrange(64), rng.ram + rng.randrange(0x4000)])
        )
    made += access(rng, base + rng.choice([0, 4, 8, 12]), rng.word())
    return made + load(0, stream) + load(1, rng.randrange(1 << 28) | 1) + halfwords(0x6001)


def system(rng: Rng) -> bytes:
    """NVIC, SysTick, VTOR, MPU, CCR, fault registers, ITM; MSR of any special register."""
    if rng.random() < 0.25:
        return load(0, rng.word()) + halfwords(0xF380, 0x8800 | rng.choice(SPECIAL)) + halfwords(0xF3BF, 0x8F6F)
    address = rng.choice(SYSTEM)
    value = rng.choice([rng.word(), 0x05FA_0000 | rng.randrange(1 << 11)]) if address == 0xE000_ED0C else rng.word()
    return access(rng, address, value)


def returns(rng: Rng) -> bytes:
    """Branches to EXC_RETURN values, right and wrong, with whatever frame is there; SP and frame garbled first."""
    made = b""
    if rng.random() < 0.4:
        made += load(0, rng.choice([rng.word(), rng.ram + rng.randrange(0x2000)])) + halfwords(0x4685)
    if rng.random() < 0.5:
        made += load(0, rng.word()) + halfwords(0x9000 | rng.randrange(10))
    target = rng.choice(
        [0xFFFF_FFE0 | rng.randrange(32), 0xFFFF_FFF9, 0xFFFF_FFFD, 0xF000_0000 | rng.randrange(1 << 28)]
    )
    return made + load(0, target) + halfwords(rng.choice([0x4700, 0x4780]))


def nesting(rng: Rng) -> bytes:
    """Exceptions inside exceptions: SVC, BKPT, UDF, pended lines, a SysTick of a few cycles, all with any priority."""
    kind = rng.randrange(6)
    if kind == 0:
        return access(rng, 0xE000_E400 + 4 * rng.randrange(24), rng.randrange(1 << 32))
    if kind == 1:
        return load(0, 0xE000_E014) + load(1, rng.choice([1, 2, 9, 40])) + halfwords(0x6001, 0x2107, 0x3804, 0x6001)
    if kind == 2:
        return access(rng, 0xE000_EF00, rng.randrange(VECTORS - 16)) + access(rng, 0xE000_E100, 0xFFFF_FFFF)
    if kind == 3:
        return load(0, 0xE000_ED04) + load(1, rng.choice([1 << 28, 1 << 26, 1 << 31])) + halfwords(0x6001)
    return halfwords(rng.choice([0xDF00 | rng.randrange(256), 0xDE00, 0xBE00, 0xBEAB, 0xB5FF, 0xBD00, 0xEE30]), 0x0A00)


def random_code(rng: Rng) -> bytes:
    return rng.randbytes(2 * rng.randrange(1, 20))


def waits(rng: Rng) -> bytes:
    """WFI, WFE, SEV, masks; a semihosting call with random registers; a branch to itself is rare."""
    if rng.random() < 0.05:
        return load(0, rng.choice([*range(0x34), rng.word()])) + load(1, rng.word()) + halfwords(0xBEAB)
    return halfwords(rng.choice([0xBF30, 0xBF20, 0xBF40, 0xB662, 0xB662, 0xB672, 0xB661, 0xB671]))


Piece = Callable[[Rng], bytes]
ABUSES: tuple[Piece, ...] = (registers, dma, system, returns, nesting, random_code)


def _body(rng: Rng, abuse: Piece, most: int) -> bytes:
    made = b""
    for _ in range(rng.randrange(1, most)):
        others = (abuse,) * 8 + (waits, waits, rng.choice(ABUSES))
        made += rng.choice(others)(rng)
    return made


def program(rng: Rng, abuse: Piece) -> bytes:
    """Table, code at reset that begins with interrupts on, handlers; most code ends in a loop or returns."""
    pieces, at, places = [], 4 * VECTORS, []
    for number in range(1 + HANDLERS):
        body = _body(rng, abuse, 60 if number == 0 else 6)
        if number == 0 and rng.random() < 0.7:  # lines 0 to 95 on, all configurable faults
            lines = [load(0, 0xE000_E100 + 4 * n) + load(1, 0xFFFF_FFFF) + halfwords(0x6001) for n in range(3)]
            lines.append(load(0, 0xE000_ED88) + load(1, 0xF0_0000) + halfwords(0x6001))
            body = b"".join(lines) + load(0, 0xE000_ED24) + load(1, 7 << 16) + halfwords(0x6001) + body
        end = halfwords(0x4770) if number else rng.choice([halfwords(0xBF30, 0xE7FD), halfwords(0xE7FE), b""])
        code = body + end
        places.append(FLASH + at | 1)
        pieces.append(code + bytes(-len(code) % 4))
        at += len(pieces[-1])
    handlers = [rng.choice(places[1:]) if rng.random() < 0.97 else rng.word() for _ in range(VECTORS - 2)]
    return struct.pack(f"<{VECTORS}I", rng.ram + 0x4000, places[0], *handlers) + b"".join(pieces)


def hostile_program(folder: Path, abuse: Piece, seed: int) -> list[str]:
    """Write the program of that seed; returns what to give to ``mcusim emulate``: the file and options."""
    rng = Rng(f"{abuse.__name__} {seed}")
    machine = rng.choice(list(RAM))
    rng.ram = RAM[machine]
    places = places_of(str(family_of(load_machine(machine))))
    rng.blocks = [place["base"] for place in places.values()]
    rng.dmas = [place["base"] for name, place in places.items() if "DMA" in name]
    path = folder / "a.bin"
    path.write_bytes(program(rng, abuse))
    options = ["--machine", machine, "--peripherals", rng.choice(["strict", "lenient", "lenient", "lenient"])]
    return [f"{path}@{FLASH:#x}", *options, *rng.choice([[], [], ["--machine-from-firmware"], ["--itm", "all"]])]
