"""Finds Unicorn's flag that skips the state restore under load and store hooks, and proves that it works.

Unicorn 2.1 restores the state of the accessing instruction before it calls a load or store hook. That costs half the
speed, and inside an IT block it leaves the IT bits set, so that instructions of the next block vanish. The flag
``skip_sync_pc_on_exit`` of its private state switches the restore off; its offset is found by what it does: setting the
PC from outside sets it, starting the core clears it. If it is not found, or the proof fails, the hooks work without:
slower, and clearing the IT bits themselves (which blocks with conditional accesses need in any case). How large the
state is differs by version and platform; the allocator that gave the memory knows, and what lies behind belongs to
others: it is not looked at, so never written to.

The local exclusive monitor is found likewise (:func:`monitor_place`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from unicorn import UC_ARCH_ARM, UC_HOOK_BLOCK, UC_HOOK_MEM_READ, UC_MODE_THUMB, Uc, UcError
from unicorn.arm_const import (
    UC_ARM_REG_LR,
    UC_ARM_REG_PC,
    UC_ARM_REG_R0,
    UC_ARM_REG_R1,
    UC_ARM_REG_R2,
    UC_ARM_REG_R6,
    UC_ARM_REG_R7,
    UC_CPU_ARM_CORTEX_M7,
)

_CODE, _DATA = 0x0800_0000, 0x2000_0000
_ALLOCATORS = ("malloc_usable_size", "malloc_size")  # of glibc and musl; of macOS
# cmp r0,#0; itte eq; ldreq r1,[r2]; ldreq r3,[r2]; movne r4,#1; bx lr; nop | mov.w r6,#7; mov.w r7,#8; nop
_PROGRAM = bytes.fromhex("002806bf11681368012470 4700bf4ff007064ff0080700bf".replace(" ", ""))


def _core() -> Uc:
    uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB)
    uc.ctl_set_cpu_model(UC_CPU_ARM_CORTEX_M7)
    uc.mem_map(_CODE, 0x1000)
    uc.mem_map(_DATA, 0x1000)
    uc.mem_write(_CODE, _PROGRAM)
    uc.reg_write(UC_ARM_REG_R2, _DATA)
    uc.reg_write(UC_ARM_REG_LR, _CODE + 0x0F)
    return uc


def state_size(uc: Uc) -> int:
    """Bytes of the memory that has Unicorn's private state; 0 where the allocator cannot be asked."""
    host = ctypes.CDLL(None)
    ask = next((getattr(host, name) for name in _ALLOCATORS if hasattr(host, name)), None)
    if ask is None:
        return 0
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    return int(ask(uc._uch.value))


def _candidates() -> list[int]:
    """Bytes that are 0 after a run and 1 after the PC was set from outside."""
    uc = _core()
    size = state_size(uc)

    def snapshot() -> Any:
        return np.frombuffer(ctypes.string_at(uc._uch.value, size), np.uint8).copy()

    uc.emu_start(_CODE | 1, _CODE + 2)
    before = snapshot()
    uc.reg_write(UC_ARM_REG_PC, _CODE)
    during = snapshot()
    uc.emu_start(_CODE | 1, _CODE + 2)
    after = snapshot()
    return [int(i) for i in np.nonzero((before == 0) & (during == 1) & (after == 0))[0]]


def survives(offset: int | None) -> bool:
    """Whether code after an IT block with hooked loads runs right, the flag at ``offset`` set before every block."""
    uc = _core()
    uc.hook_add(UC_HOOK_MEM_READ, lambda *_: None)
    if offset is not None:
        flag = ctypes.c_uint8.from_address(uc._uch.value + offset)

        def on_block(*_: object) -> None:
            flag.value = 1

        uc.hook_add(UC_HOOK_BLOCK, on_block)
    uc.reg_write(UC_ARM_REG_R0, 0)
    try:
        uc.emu_start(_CODE | 1, _CODE + len(_PROGRAM) - 2)
    except UcError:
        return False
    return bool(uc.reg_read(UC_ARM_REG_R6) == 7 and uc.reg_read(UC_ARM_REG_R7) == 8)


@cache
def skip_flag_offset() -> int | None:
    """Byte offset of the flag in Unicorn's private state, or None: work without it.

    ``quit_request`` behaves likewise and comes before it: the flag is the last such byte.
    """
    candidates = _candidates()
    return candidates[-1] if candidates and survives(candidates[-1]) else None


# The local exclusive monitor. Exception entry and return clear it, and no function of Unicorn does: the word of its
# core that has the marked address is found by its value, and proved by a store exclusive that fails once it is -1.
# ldrex r0,[r1]; nop; nop; strex r2,r3,[r1]; nop
_EXCLUSIVE = bytes.fromhex("51e8000f00bf00bf41e8003200bf")
_LOADED, _STORED = _CODE + 6, _CODE + 12
_MARKS = (_DATA + 0x124, _DATA + 0xABC, _DATA + 0x458, _DATA + 0x7E0)
_CLEARED = (1 << 64) - 1  # of a core that marks nothing
_TRIES = 3
_LARGEST = 1 << 17  # bytes of a core's state that are looked at


def _writable() -> list[tuple[int, int]]:
    """The areas of this process's memory that may be written to, those next to each other as one, as a block may lie in
    both; none where the system does not tell."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    areas = [line.split()[:2] for line in lines]
    bounds = [where.split("-") for where, how in areas if how.startswith("rw")]
    writable: list[tuple[int, int]] = []
    for low, high in ((int(low, 16), int(high, 16)) for low, high in bounds):
        begin = writable.pop()[0] if writable and writable[-1][1] == low else low
        writable.append((begin, high))
    return writable


def _marked(address: int) -> Uc:
    """A core that has loaded exclusively from ``address``."""
    uc = _core()
    uc.mem_write(_CODE, _EXCLUSIVE)
    uc.reg_write(UC_ARM_REG_R1, address)
    uc.emu_start(_CODE | 1, _LOADED)
    return uc


def _words_with(uc: Uc, value: int, among: Iterable[tuple[int, int]] | None = None) -> set[tuple[int, int]]:
    """Where ``value`` is: offset of a pointer in Unicorn's state, and of the word behind it; ``among`` those places."""
    state, areas = ctypes.string_at(uc._uch.value, state_size(uc) & ~7), _writable()
    pointers, pairs = np.frombuffer(state, np.uint64).tolist(), set[tuple[int, int]]()
    for i in range(len(pointers)) if among is None else sorted({pointer // 8 for pointer, _ in among}):
        end = next((high for low, high in areas if low <= pointers[i] < high), 0)
        if end and pointers[i] % 16 == 0:
            words = np.frombuffer(ctypes.string_at(pointers[i], min(end - pointers[i], _LARGEST) & ~7), np.uint64)
            pairs |= {(8 * i, 8 * int(n)) for n in np.flatnonzero(words == value)}
    return pairs if among is None else pairs & set(among)


def _clears(place: tuple[int, int]) -> bool:
    """Whether a store exclusive fails after -1 was written there, and else does not; nothing is written where the
    marked address is not."""
    failed = []
    for clear in (False, True):
        uc = _marked(_MARKS[0])
        if not _words_with(uc, _MARKS[0], [place]):
            return False
        if clear:
            word = ctypes.c_uint64.from_address(uc._uch.value + place[0]).value + place[1]
            ctypes.c_uint64.from_address(word).value = _CLEARED
        uc.emu_start(_LOADED - 2 | 1, _STORED)
        failed.append(uc.reg_read(UC_ARM_REG_R2))
    return failed == [0, 1]


@cache
def monitor_place() -> tuple[int, int] | None:
    """Offset of a pointer in Unicorn's private state and of the marked address behind it; None: exceptions leave it.

    Pointers to other blocks may have that address at some distance too, by chance: all cores that are looked at exist
    together, so that their blocks lie otherwise, and a place that only some of them have is none. Tried again with
    others next to them where that finds none.
    """
    cores: list[tuple[Uc, int]] = []
    for _ in range(_TRIES):
        cores += [(_marked(address), address) for address in _MARKS] + [(_core(), _CLEARED)]
        places = None
        for uc, value in cores[-len(_MARKS) - 1 :]:
            places = _words_with(uc, value, places)
        for place in sorted(places or ()):
            if _clears(place):
                return place
    return None
