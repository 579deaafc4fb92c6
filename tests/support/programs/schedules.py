"""Two random threads on the process stack under random interrupts, from a seed: what is left is what is left without.

PendSV switches between the threads; they call SVC, mask by PRIMASK, FAULTMASK, BASEPRI and BASEPRI_MAX, have IT blocks,
loops and floating-point code. NMI and eight lines of random priorities come at random cycles, often close together;
every handler uses floating-point registers and leaves all that a caller saves changed. A thread that has ended asks for
PendSV by ``svc #255``. Kernel and handlers are ``KERNEL``, made once by ``arm-none-eabi-as -mcpu=cortex-m4``.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from unicorn import arm_const as arm

from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic
from mcusim.cpu.system.ppb import BASE
from mcusim.emulator.emulator import Emulator
from tests.support.code import random_thumb as guest

LINES = 8
FLASH, VECTORS = guest.FLASH, guest.FLASH + 0x8000
CODE = (FLASH + 0x1000, FLASH + 0x3000)  # of the two threads
SHIFT = 0x1_8000  # from the data of the first to that of the second
DATA = 0x1_2000  # bytes of each
TOPS = (0x2003_1F00, 0x2003_3F00)
MAIN_STACK, COUNTS, TASKS, SVC_COUNT, DONE = 0x2003_4F00, 0x2003_5000, 0x2003_5800, 0x2003_5810, 0x2003_5820
IRQ, PENDSV, SVC, EPILOGUE = (VECTORS + 0x200 + offset for offset in (0, 0x40, 0x80, 0xC0))
SAVED = 192  # bytes that the epilogue pushes: r0 to r12, lr, APSR, FPSCR, s0 to s31
KERNEL = bytes.fromhex(
    "eff305800a4951f82020013241f8202000ee102a70ee007ab4ee670af1ee10fa0523013bfdd18c46112818bf0133704700500320"
    "aff30080aff30080aff30080eff309801ef0100f08bf20ed108a20e9f04f08490a6810604b680b604a601868b0e8f04f1ef0100f"
    "08bfb0ec108a80f30988704700580320aff30080aff30080eff30980816911f8021cff2907d002684a40026005490a6801320a60"
    "704704484ff080510160bff34f8f70471058032004ed00e00000000000000000000000002de9ff5feff30080f1ee101a03b42ded"
    "200a0b4c0b4e4ff0805768460a49884234bf0025042501206051ffdfbff34f8fbff36f8f206861680840f6d0a068004720580320"
    "04ed00e000200320"
)
MASKS = (
    ("72b6", "62b6"),  # cpsid i, cpsie i
    ("71b6", "61b6"),  # cpsid f, cpsie f
    ("4ff0600b8bf31188", "4ff0000b8bf31188"),  # msr basepri with 0x60, with 0
    ("4ff0400b8bf31288", "4ff0000b8bf31188"),  # msr basepri_max
)
EXCLUSIVE = b"\x56\xe8"  # LDREX of [r6]
PLAIN = tuple(item for item in guest.PLAIN if item is not guest.exclusive)  # whose outcome interrupts change


def _one(random: Random) -> bytes:
    kind = random.choice((*PLAIN, guest.if_then, guest.skip, guest.loop, guest.call))
    code = EXCLUSIVE
    while EXCLUSIVE in code:
        code = kind(guest.Fields(random.getrandbits(128)))
    return code


def _thread(random: Random, length: int) -> bytes:
    code = b""
    for _ in range(length):
        chance = random.random()
        if chance < 0.12:
            code += struct.pack("<H", 0xDF00 | random.getrandbits(8))
        elif chance < 0.3:
            begin, end = random.choice(MASKS)
            item = random.choice(PLAIN)(guest.Fields(random.getrandbits(128)))
            code += bytes.fromhex(begin) + item + bytes.fromhex(end)
        else:
            code += _one(random)
    return code + b"\x70\x47"


@dataclass(frozen=True)
class Case:
    """Code and registers of two threads, what comes at which cycle (a place), priorities, AIRCR's shift, CONTROL."""

    code: tuple[bytes, bytes]
    registers: tuple[dict[str, int], dict[str, int]]
    schedule: tuple[tuple[int, int], ...]
    levels: tuple[int, ...]
    svc_level: int
    shift: int
    control: int
    cut: int


def _registers(random: Random, shift: int) -> dict[str, int]:
    values = {f"r{i}": random.getrandbits(32) for i in range(6)}
    ram = guest.RAM + shift
    return values | {
        "r6": ram + random.choice((0x400, 0x6000)),
        "r7": ram + 0x1000 - random.randint(-3, 140),
        "r8": 0,
        "r9": values["r0"] & 31,
        "r10": ram + random.choice((0x5000, 0x1_0000)) - 4 * random.randint(0, 32),
    }


def case_of(seed: int, number: int, length: int = 20) -> Case:
    """Case ``number`` of a seed: the same on every machine."""
    random = Random(f"{seed}:{number}")
    code = _thread(random, random.randint(4, length)), _thread(random, random.randint(4, length))
    levels = tuple(random.sample(range(0, 240, 16), LINES))
    schedule: list[tuple[int, int]] = []
    for _ in range(random.randint(1, 12)):
        first = random.randint(1, 1500)
        if random.random() < 0.3:  # each comes while the one before is served, and before it
            urgent = sorted(range(LINES), key=lambda line: -levels[line])[random.randrange(3) :]
            step = random.randint(14, 34)
            schedule += [(first + i * step, X.FIRST_LINE + line) for i, line in enumerate(urgent)]
            continue
        places = [*(X.FIRST_LINE + i for i in range(LINES)), X.PENDSV, X.PENDSV, X.NMI]
        schedule += [(first + random.randint(0, 60), random.choice(places)) for _ in range(random.randint(1, 8))]
    return Case(
        code,
        (_registers(random, 0), _registers(random, SHIFT)),
        tuple(schedule),
        levels,
        random.choice(range(0, 240, 16)),
        random.choice((1, 4, 4, 5, 6, 7, 8)),
        random.choice((6, 7)),
        random.choice((1, 7, 40, 150)),
    )


class Bench:
    """A core that runs one case after another, each from the same state of core and memory system.

    ``depths``: how many handlers were active at an entry; ``taken``: entries that the schedules asked for, by place.
    """

    def __init__(self, isa: str, depths: Counter[int] | None = None, taken: Counter[int] | None = None) -> None:
        self.emulator = Emulator(guest.MACHINES[isa])
        emulator = self.emulator
        emulator.write(VECTORS, struct.pack("<128I", *[IRQ | 1] * 128))
        emulator.write(VECTORS + 4 * 11, struct.pack("<I", SVC | 1))
        emulator.write(VECTORS + 4 * 14, struct.pack("<I", PENDSV | 1))
        emulator.write(IRQ, KERNEL)
        emulator.write(BASE + 0xED08, struct.pack("<I", VECTORS))
        emulator.interrupts.with_vectors()
        emulator.state.fpu = 1
        structs = (emulator.state, emulator.memory.state, emulator.branches, emulator.call_edges)
        self._arrays = [struct.array for struct in (*structs, emulator.interrupts.state, emulator.ppb_words)]
        self._first = [array.copy() for array in self._arrays]
        self.depths: Counter[int] = Counter() if depths is None else depths
        self.taken: Counter[int] = Counter() if taken is None else taken

    def _restore(self, case: Case) -> None:
        emulator = self.emulator
        for array, first in zip(self._arrays, self._first, strict=True):
            array[:] = first
        emulator.events._heap.clear()
        for at, code, shift in zip(CODE, case.code, (0, SHIFT), strict=True):
            if emulator.read(at, len(code)) != code:
                emulator.write(at, code)
            emulator.write(guest.RAM + shift, guest.random_bytes(DATA))
        emulator.write(TOPS[0] - 0x400, bytes(0x400))
        emulator.write(TOPS[1] - 0x400, bytes(0x400))
        emulator.write(COUNTS, bytes(0x900))
        self._start(case)

    def _start(self, case: Case) -> None:
        """The first thread runs, the second is as PendSV leaves one."""
        emulator, uc = self.emulator, self.emulator.core.uc
        second = case.registers[1]
        frame = [second[f"r{i}"] for i in range(4)] + [0, EPILOGUE | 1, CODE[1], 1 << 24] + [0] * 18
        words = [second.get(f"r{i}", 0) for i in range(4, 12)] + [0xFFFF_FFED] + [0] * 16 + frame
        psp = TOPS[1] - 4 * len(words)
        emulator.write(psp, struct.pack(f"<{len(words)}I", *words))
        emulator.write(TASKS, struct.pack("<4I", TASKS + 8, TASKS + 12, 0, psp))
        emulator.write(DONE + 8, struct.pack("<I", emulator.core.return_address | 1))
        for value in (0x0100_0003, 0x0100_0000):  # as a handler, then as a thread, privileged
            uc.reg_write(arm.UC_ARM_REG_XPSR, value)
            uc.reg_write(arm.UC_ARM_REG_CONTROL, 0)
        for register in (arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_FAULTMASK, arm.UC_ARM_REG_BASEPRI):
            uc.reg_write(register, 0)
        emulator.core.floats = [0] * 33
        emulator.call(CODE[0])
        uc.reg_write(arm.UC_ARM_REG_MSP, MAIN_STACK)
        uc.reg_write(arm.UC_ARM_REG_PSP, TOPS[0])
        for name, value in case.registers[0].items():
            emulator.core[name] = value
        for name in ("r11", "r12"):
            emulator.core[name] = 0
        emulator.core["lr"] = EPILOGUE | 1
        uc.reg_write(arm.UC_ARM_REG_CONTROL, case.control)
        emulator.core["xpsr"] = 1 << 24

    def _disturb(self, case: Case) -> Counter[int]:
        """Enter the schedule; what is returned counts those that were not pending already, as they come."""
        emulator = self.emulator
        x = emulator.interrupts.state
        x.enabled[1] = (1 << LINES) - 1
        asked: Counter[int] = Counter()

        def pulse(place: int) -> None:
            asked[place] += not nvic.has(x.pending, place)
            nvic.pend(x, place, emulator.events.now)
            emulator.state.horizon = 0

        for cycle, place in case.schedule:
            emulator.at(cycle, lambda place=place: pulse(place))  # type: ignore[misc]
        return asked

    def run(self, case: Case, disturbed: bool, cut: int = 0) -> tuple[tuple[int, int], bytes]:
        """Cycles and instructions, and what the threads left. AssertionError where one was not served once."""
        self._restore(case)
        emulator = self.emulator
        x = emulator.interrupts.state
        x.group_shift, x.priority[X.SVCALL], x.priority[X.PENDSV] = case.shift, case.svc_level, 240
        for line, level in enumerate(case.levels):
            x.priority[X.FIRST_LINE + line] = level
        asked = self._disturb(case) if disturbed else Counter()
        stop = emulator.run_until(emulator.cycles + cut, 400_000) if cut else emulator.run(400_000)
        while cut and stop.kind == "horizon":
            stop = emulator.run_until(emulator.cycles + cut, 400_000)
        assert stop.kind == "returned", stop
        for place, times in asked.items():
            served = int.from_bytes(emulator.read(COUNTS + 4 * X.number_of(place), 4), "little")
            left = nvic.has(x.pending, place)
            assert place == X.PENDSV or served == int(x.entries[place]) == times - left, (place, served, times, left)
            self.taken[place] += int(x.entries[place])
        return (emulator.cycles, emulator.instructions), self._left()

    def _left(self) -> bytes:
        read: Any = self.emulator.read
        data = read(guest.RAM, DATA) + read(guest.RAM + SHIFT, DATA)
        stacks = read(TOPS[0] - SAVED, SAVED) + read(TOPS[1] - SAVED, SAVED)
        return bytes(data + stacks + read(SVC_COUNT, 4) + read(DONE, 8))

    def check(self, case: Case) -> None:
        """Run it alone, disturbed, and disturbed in pieces. AssertionError where they differ."""
        _, alone = self.run(case, False)
        spent, whole = self.run(case, True)
        assert whole == alone, "interrupts have changed what the threads leave"
        log = self.emulator.interrupts.log
        self.emulator.interrupts.collect()
        self.depths.update(log.depths)
        log.depths.clear()
        pieces, left = self.run(case, True, case.cut)
        assert left == alone, "interrupts have changed what the threads leave, in pieces"
        assert pieces == spent, f"cut every {case.cut} cycles: {pieces} instead of {spent}"
