"""Unicorn's Cortex-M with this package's native hooks on it: memory, registers, starting.

Memory is host memory that Python shares: a region and its aliases are the same bytes. Unicorn's M-class mode always
makes a Cortex-M33; its Thumb mode makes the core that is asked for, a Cortex-M7 with double precision. Which of its
instructions the machine's core lacks is for :mod:`mcusim.cpu.decode.unsupported` to say. Not modelled: code in the
areas that the default map makes execute-never (0xA000_0000 and above) where an MPU region would allow it.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from unicorn import (
    UC_ARCH_ARM,
    UC_HOOK_BLOCK,
    UC_HOOK_CODE,
    UC_HOOK_INTR,
    UC_HOOK_MEM_READ,
    UC_HOOK_MEM_UNMAPPED,
    UC_HOOK_MEM_WRITE,
    UC_MODE_THUMB,
    UC_PROT_ALL,
    Uc,
    UcError,
)
from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from mcusim.cpu.hook_state import HookState
from mcusim.cpu.hooks import entry_points as hooks
from mcusim.cpu.unicorn_selftest import monitor_place, skip_flag_offset
from mcusim.errors import MachineError
from mcusim.machine.cores import core_named
from mcusim.machine.description import Machine
from mcusim.machine.document import show_address
from mcusim.native.structs import Struct, Words, address_of, offset_of

__all__ = ["NO_ERROR", "UcError", "UnicornCore", "whole_pages"]

NO_ERROR = 0
PAGE = 4096
_NEVER = 0xFFFF_FFFE
_FLOATS = [*(arm.UC_ARM_REG_S0 + i for i in range(32)), arm.UC_ARM_REG_FPSCR]
_FAULT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_REGISTERS = {f"r{i}": arm.UC_ARM_REG_R0 + i for i in range(13)} | {
    "sp": arm.UC_ARM_REG_SP,
    "lr": arm.UC_ARM_REG_LR,
    "pc": arm.UC_ARM_REG_PC,
    "xpsr": arm.UC_ARM_REG_XPSR,
}


def _check_pages(machine: Machine) -> None:
    """Raise MachineError where a region shares a page with another or with the core's own registers."""
    taken = [("the private peripheral bus", 0xE000_0000, 0xE010_0000)]
    for region in machine.memory.values():
        for base in (region.base, *region.aliases):
            end = -(-(base + region.size) // PAGE) * PAGE
            shared = next((name for name, low, high in taken if base < high and low < end), None)
            if base % PAGE or shared:
                why = f"shares a page with {shared}" if shared else "does not begin a page"
                raise MachineError(
                    f"{machine.name}: memory.{region.name} at {show_address(base)} {why}: the emulated core has its"
                    f" memory in pages of {PAGE // 1024} KiB; move the region to one of its own"
                )
            taken.append((f"memory.{region.name}", base, end))


def whole_pages(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """First address and end of the pages that ``ranges`` touch, those next to each other joined."""
    result: list[tuple[int, int]] = []
    for low, end in sorted((low // PAGE * PAGE, -(-end // PAGE) * PAGE) for low, end in ranges):
        if result and low <= result[-1][1]:
            result[-1] = result[-1][0], max(result[-1][1], end)
        else:
            result.append((low, end))
    return result


ERASED = 0xFF  # each byte of flash without a program


def _hook_state() -> HookState:
    return HookState(np.zeros(HookState.WORDS, np.int64))


class UnicornCore:
    """One core. Until :meth:`attach` it runs bare: no cycles, for comparison and benchmarks."""

    def __init__(self, machine: Machine) -> None:
        self.uc = Uc(UC_ARCH_ARM, UC_MODE_THUMB)
        self.uc.ctl_set_cpu_model(getattr(arm, core_named(machine.core.isa).emulator))
        self._windows: list[tuple[int, int, Any]] = []
        self._watched: dict[int, tuple[int, HookState]] = {}  # by address: hook, and what Unicorn points at
        self._kept: dict[int, HookState] = {}  # that of instructions that are forgotten
        self._dummy = np.zeros(1, np.uint8)
        self.hook = _hook_state()
        self.hook.engine = self.uc._uch.value
        offset = skip_flag_offset()
        self.hook.skip_flag = self._dummy.ctypes.data if offset is None else self.uc._uch.value + offset
        self._shared: dict[str, Struct | Words] = {}
        _check_pages(machine)
        for region in machine.memory.values():
            data = self.map(region.base, region.size)
            if region.kind == "flash":
                data[:] = ERASED
            for alias in region.aliases:
                self.map(alias, region.size, data)
        # where a called function returns to: a page that the machine has not, in the Code area, which is executable
        self.return_address = next(at for at in range(0x1FFF_F000, 0, -PAGE) if self.peek(at, 1) is None)
        self.map(self.return_address, PAGE)[:2] = (0xFE, 0xE7)  # b .

    def map(self, address: int, size: int, data: Any = None) -> Any:
        """Map ``size`` bytes (whole pages) at ``address``; returns them as a uint8 array that Python may write."""
        if data is None:
            room = -(-size // PAGE) * PAGE
            data = np.frombuffer(mmap.mmap(-1, room), np.uint8)
        self.uc.mem_map_ptr(address, data.size, UC_PROT_ALL, ctypes.c_void_p(data.ctypes.data))
        self._windows.append((address, address + size, data))
        return data

    def map_registers(
        self, address: int, size: int, load: Callable[[int, int], int], store: Callable[[int, int, int], None]
    ) -> None:
        """Let ``load(offset, bytes)`` and ``store(offset, bytes, value)`` answer for ``size`` bytes at ``address``."""
        self.uc.mmio_map(
            address,
            size,
            lambda uc, offset, count, data: load(offset, count),
            None,
            lambda uc, offset, count, value, data: store(offset, count, value),
            None,
        )

    @property
    def monitor(self) -> int:
        """Where the host has the address that the local exclusive monitor marks; 0: not known."""
        place = monitor_place()
        if place is None:
            return 0
        return int(ctypes.c_uint64.from_address(self.uc._uch.value + place[0]).value) + place[1]

    @property
    def windows(self) -> dict[int, Any]:
        """The bytes of every mapping, by its first address."""
        return {low: data for low, _, data in self._windows}

    def views(self, address: int, size: int) -> list[Any] | None:
        """The ``size`` bytes at ``address`` as writable views, one a mapping, or None where some are in none."""
        views: list[Any] = []
        while size > 0:
            window = next((w for w in self._windows if w[0] <= address < w[1]), None)
            if window is None:
                return None
            low, high, data = window
            part = min(size, high - address)
            views.append(data[address - low : address - low + part])
            address, size = address + part, size - part
        return views

    def peek(self, address: int, size: int) -> bytes | None:
        """The ``size`` bytes at ``address``, or None where some are not mapped."""
        views = self.views(address, size)
        return None if views is None else b"".join(view.tobytes() for view in views)

    def poke(self, address: int, data: bytes) -> bool:
        """Write ``data`` at ``address``; False, and nothing written, where some of it is not mapped."""
        views = self.views(address, len(data))
        at = 0
        for view in views or []:
            view[:] = np.frombuffer(data, np.uint8, view.size, at)
            at += view.size
        return views is not None

    def share(self, **structs: Struct | Words) -> None:
        """Give the hooks the addresses of what :class:`~mcusim.cpu.hook_state.HookState` names (again, when one has
        moved)."""
        self._shared |= structs
        for name, struct in structs.items():
            setattr(self.hook, name, struct)
        for watched in (*(hook for _, hook in self._watched.values()), *self._kept.values()):
            self._point(watched)

    def _point(self, hook: HookState) -> None:
        """Let a watched instruction's state point where the core's does."""
        own = offset_of(HookState.divide)
        hook.array[:own] = self.hook.array[:own]

    def attach(self) -> None:
        """Put the hooks on; before the first start, because translated code ignores new ones."""
        self._hook(UC_HOOK_BLOCK, hooks.on_block, self.hook, 1, 0)
        self._hook(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, hooks.on_access, self.hook, 1, 0)
        self._hook(UC_HOOK_MEM_UNMAPPED, hooks.on_unmapped, self.hook, 1, 0)
        self._hook(UC_HOOK_INTR, hooks.on_interrupt, self.hook, 1, 0)

    def watch_divide(self, address: int, end: int, code: bytes, record: int) -> None:
        """Count the operand-dependent cycles of the SDIV or UDIV ``code`` at ``address``, in a block up to ``end``."""
        names = [f"r{n}" if n < 13 else "lr" for n in (code[0] & 15, code[2] & 15)]
        signed = code[0] & 0xF0 == 0x90  # SDIV 0xFB9n, UDIV 0xFBBn
        self._watch(address, end, hooks.on_divide, (_REGISTERS[names[0]], _REGISTERS[names[1]], int(signed), record))

    def refuse(self, address: int, end: int) -> None:
        """Stop before the instruction at ``address``, in a block up to ``end``: the core has no such one."""
        self._watch(address, end, hooks.on_undefined, (0, 0, 0, 0))

    def watch_floats(self, address: int, end: int) -> None:
        """Ask for the FPU at the instruction at ``address``, in a block up to ``end`` that was begun without it."""
        self._watch(address, end, hooks.on_floats, (0, 0, 0, 0))

    def watch_event(self, address: int, end: int) -> None:
        """The instruction at ``address``, in a block up to ``end``, is a SEV."""
        self._watch(address, end, hooks.on_event, (0, 0, 0, 0))

    def align_stack(self, address: int, end: int) -> None:
        """Clear the two lowest bits of SP before the instruction at ``address``, in a block up to ``end``."""
        self._watch(address, end, hooks.on_stack_moved, (0, 0, 0, 0))

    def _watch(self, address: int, end: int, function: Any, values: tuple[int, int, int, int]) -> None:
        if address in self._watched:
            return
        hook = self._kept.pop(address, None) or _hook_state()
        self._point(hook)
        for i, value in enumerate(values):
            hook.divide[i] = value
        self._watched[address] = self._hook(UC_HOOK_CODE, function, hook, address, address), hook
        self.uc.ctl_remove_cache(address & ~1, end)  # the block was translated before it was watched

    def call_at(self, address: int, function: Callable[[], object]) -> None:
        """Call ``function`` before each instruction at ``address``, code that was not run yet."""
        self.uc.hook_add(UC_HOOK_CODE, lambda *_: function(), begin=address, end=address)

    def call_again_at(self, address: int, function: Callable[[], object]) -> None:
        """:meth:`call_at` for code that may have been run; not from a hook."""
        self.call_at(address, function)
        self.uc.ctl_remove_cache(address, address + 2)

    def forget_watched(self, low: int, high: int) -> None:
        """Stop watching the instructions at these addresses."""
        for address in [at for at in self._watched if low <= at < high]:
            handle, self._kept[address] = self._watched.pop(address)  # translated code may still name it
            uclib.uc_hook_del(self.uc._uch, ctypes.c_size_t(handle))

    def forget_translations(self) -> None:
        """Memory was written from outside: what Unicorn has translated may be another program."""
        self.uc.ctl_flush_tb()

    def forget_code(self, low: int, high: int) -> None:
        """:meth:`forget_translations` of these addresses."""
        self.uc.ctl_remove_cache(low, high)

    def _hook(self, kind: int, function: Any, hook: Struct, begin: int, end: int) -> int:
        handle = ctypes.c_size_t()
        error = uclib.uc_hook_add(
            self.uc._uch,
            ctypes.byref(handle),
            ctypes.c_int(kind),
            ctypes.cast(function.address, ctypes.c_void_p),
            ctypes.c_void_p(address_of(hook)),
            ctypes.c_uint64(begin),
            ctypes.c_uint64(end),
        )
        if error:
            raise UcError(error)
        return handle.value

    def level(self, primask: bool = True) -> int:
        """The priority of what runs, masks included (without ``primask`` that one as if clear); 256 for no mask."""
        masked = 0 if primask else self.uc.reg_read(arm.UC_ARM_REG_PRIMASK)  # 0 for unprivileged code
        if masked:
            self.uc.reg_write(arm.UC_ARM_REG_PRIMASK, 0)
        level = self._call(hooks.level, 0, 0)
        if masked:
            self.uc.reg_write(arm.UC_ARM_REG_PRIMASK, masked)
        return level

    def taken_as(self, index: int) -> int:
        """As which exception a fault is taken now; 0: the core locks up."""
        return self._call(hooks.level, index, 0)

    def take_fault(self, back: int, index: int) -> bool:
        """Enter an exception while the core stands; False when a fault or an event comes between."""
        return bool(self._call(hooks.take_fault, back, index))

    def _call(self, function: Any, first: int, second: int) -> int:
        return int(_FAULT(function.address)(self.uc._uch.value, first, second, address_of(self.hook)))

    def run(self, pc: int) -> int:
        """Run from ``pc`` until a hook stops the core or it faults; returns Unicorn's error number, 0 for none."""
        try:
            self.uc.emu_start(pc | 1, _NEVER)
        except UcError as error:
            return int(error.errno)
        return NO_ERROR

    def __getitem__(self, register: str) -> int:
        return int(self.uc.reg_read(_REGISTERS[register]))

    def __setitem__(self, register: str, value: int) -> None:
        self.uc.reg_write(_REGISTERS[register], value)
        if register == "xpsr":
            self.uc.reg_write(arm.UC_ARM_REG_APSR_G, value)  # its GE bits

    def registers(self) -> dict[str, int]:
        """r0 to r12, sp, lr, pc and xpsr."""
        return {name: self[name] for name in _REGISTERS}

    @property
    def floats(self) -> list[int]:
        """s0 to s31 and FPSCR."""
        return [int(self.uc.reg_read(register)) for register in _FLOATS]

    @floats.setter
    def floats(self, values: Iterable[int]) -> None:
        for register, value in zip(_FLOATS, values, strict=True):
            self.uc.reg_write(register, int(value))
