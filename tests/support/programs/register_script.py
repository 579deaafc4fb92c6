"""A program that works off a list of register accesses from reset: its code, made once by the GNU assembler, and runs.

Its source: ``start: mov.w r8, #0x20000000; adr r7, table; next: ldmia r7!, {r0-r3}`` and a branch by r0: 1 ``str r2,
[r1]``, 2 ``ldr r4, [r1]; str r4, [r8], #4``, 3 ``poll: ldr r4, [r1]; and r4, r4, r3; cmp r4, r2; bne poll``,
4 ``strb r2, [r1]``, 5 ``ldrb r4, [r1]; str r4, [r8], #4``, 6 ``wait: subs r2, #1; bne wait``, else ``b .``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcusim.api.firmware.emulate import emulate
from mcusim.machine import Machine
from mcusim.results.emulation import EmulationResult

FLASH, RAM, TOP = 0x0800_0000, 0x2000_0000, 0x2000_4000
CODE = bytes.fromhex(
    "4ff0005811a70fcf01280ad002280ad003280cd0042810d0052810d0062812d0fee70a60efe70c6848f8044bebe70c6804ea03049442fad1e5e70a70e3e70c7848f8044bdfe7013afdd1dce7"
)
TABLE = 128  # words of the vector table: the core, and 112 interrupt lines

Step = tuple[int, int, int, int]


def store(address: int, word: int) -> Step:
    return 1, address, word, 0


def load(address: int) -> Step:
    return 2, address, 0, 0


def poll(address: int, wanted: int, mask: int) -> Step:
    return 3, address, wanted, mask


def store_byte(address: int, byte: int) -> Step:
    return 4, address, byte, 0


def load_byte(address: int) -> Step:
    return 5, address, 0, 0


def wait(rounds: int) -> Step:
    return 6, 0, rounds, 0


def invalidated_lines(size: int, ways: int = 4, register: int = 0xE000_EF60) -> list[Step]:
    """The whole data cache of ``size`` bytes by set and way, through DCISW or another ``register``."""
    return [store(register, way << 30 | at << 5) for way in range(ways) for at in reversed(range(size // ways // 32))]


def code_at(offset: int) -> int:
    """The address of an instruction of the program."""
    return FLASH + 4 * TABLE + offset


STORE, LOAD, POLL = (
    code_at(CODE.index(b"\x0a\x60")),
    code_at(CODE.index(b"\x0c\x68")),
    code_at(CODE.rindex(b"\x0c\x68")),
)


def run(
    folder: Path, machine: Machine, steps: list[Step], handlers: dict[int, int] | None = None, **options: Any
) -> tuple[EmulationResult, list[int]]:
    """The result, and the words that ``load`` and ``load_byte`` have found; ``handlers`` by exception number."""
    count = sum(step[0] in (2, 5) for step in steps)
    dumps = [f"{RAM}:{4 * count}"] if count else []
    result = emulate(image(folder, steps, handlers), machine, dumps=dumps, **options)
    found = result.dumps[0].data if count else b""
    return result, [int.from_bytes(found[at : at + 4], "little") for at in range(0, len(found), 4)]


def image(folder: Path, steps: list[Step], handlers: dict[int, int] | None = None) -> str:
    """The program as a file in ``folder``, with its address."""
    vectors = [TOP, code_at(0) | 1, *(code_at(CODE.index(b"\xfe\xe7")) | 1 for _ in range(TABLE - 2))]
    for number, address in (handlers or {}).items():
        vectors[number] = address
    words = [word & 0xFFFF_FFFF for step in steps for word in step]
    data = b"".join(word.to_bytes(4, "little") for word in vectors) + CODE
    data += b"".join(word.to_bytes(4, "little") for word in words) + bytes(16)
    path = folder / "script.bin"
    path.write_bytes(data)
    return f"{path}@{FLASH:#x}"
