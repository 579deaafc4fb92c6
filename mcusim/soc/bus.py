"""Register blocks as the emulated core sees them: every load and store outside memory comes here.

Unicorn calls back for each access, after the native hook has advanced the clock to it. ``lenient``: a block of the
part's family that has no description here is plain storage, and is noted; ``strict``: an access to it is a fault.

Not modelled: the time an access takes on its bus; what single registers do is in the file of the block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal
from weakref import proxy

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks.block_tables import Tables
from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system.event_queue import EventQueue, QueuedEvent
from mcusim.cpu.system.interrupts import Interrupts
from mcusim.cpu.unicorn_core import UnicornCore, whole_pages
from mcusim.errors import UsageError
from mcusim.machine.cores import core_named
from mcusim.machine.description import Machine
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import MemorySystem
from mcusim.soc import bit_band
from mcusim.soc.bit_band import BitBand
from mcusim.soc.endless_polls import Polls
from mcusim.soc.families.family import blocks_in, family_of, memory_map
from mcusim.soc.machine_blocks import blocks_of, divider, flash_of, held_in_reset
from mcusim.soc.peripheral_findings import Ending, PeripheralFinding, Plain, of_notes, silent_lines, storage
from mcusim.soc.peripherals.flash.interface import FlashInterface
from mcusim.soc.peripherals.fmc import Fmc
from mcusim.soc.peripherals.rcc import Rcc
from mcusim.soc.peripherals.serial.usart import Usart
from mcusim.soc.program_flash import ProgramFlash
from mcusim.soc.register_block import NEVER, RegisterBlock
from mcusim.soc.register_config.rcc_decode import core_clock_now
from mcusim.soc.register_config.register_writes import BLOCKS as SET_UP_BLOCKS
from mcusim.soc.register_config.register_writes import Registers, RegisterWrite, RegisterWrites
from mcusim.soc.sdram_watch import SdramWatch

MOST_FINDINGS = 20
POLLING = 64  # loads that find nothing new: the program waits
Strictness = Literal["strict", "lenient"]


class Peripherals:
    """``bounds`` has first address and end of every range that answers, for the native hooks; ``count`` of them."""

    reset_asked: Ending | None = None  # by a watchdog, or with the option bytes
    on_load: Callable[[int, int], object] | None = None  # the program has loaded this value from a register
    on_store: Callable[[RegisterBlock], object] | None = None  # the program has stored to a register of it

    def __init__(
        self,
        machine: Machine,
        core: UnicornCore,
        state: CoreState,
        memory: MemorySystem,
        events: EventQueue,
        interrupts: Interrupts,
        output: Callable[[bytes], object],
        strictness: Strictness = "strict",
    ) -> None:
        self.clock, self.output = machine.core.clock, output
        self._events, self._interrupts = events, interrupts
        self._machine, self._family = machine, family_of(machine)
        self._serial = next((region for region in machine.memory.values() if region.kind == "qspi"), None)
        self._strict = strictness == "strict"
        self.sdram = SdramWatch(machine, "swapped_banks" in memory_map(self._family or ""))
        self._found: list[PeripheralFinding] = []
        self._core, self._state, self._memory = proxy(core), state, memory.state
        self.flash = ProgramFlash(machine, core, state, memory, flash_of(self._family or ""))
        self.blocks = sorted(blocks_of(machine, self), key=lambda block: block.base)
        self._controllers = [block for block in self.blocks if isinstance(block, FlashInterface)]
        self.flash.accept_stores(bool(self._controllers) and not self._strict)
        self._plain = self._undescribed(machine) if strictness == "lenient" else []
        self._all = sorted([*self.blocks, *self._plain], key=lambda block: block.base)
        self._bases = [block.base for block in self._all]
        self._tables = Tables(0)  # until there are those of the core
        self.writes = RegisterWrites()
        self.from_reset = False  # the program begins with the clock of a reset
        self.polled: list[tuple[int, int]] | None = None  # loads of a round: address and value, where these are wanted
        self.polls = Polls(self._everything, self._quiet)
        self.ending: Ending | None = None
        ranges = [(block.base, block.base + block.size) for block in self._all]
        for low, end in whole_pages(ranges):
            core.map_registers(low, end - low, self._loaded_at(low), self._stored_at(low))
        if core_named(machine.core.isa).bit_band:
            ranges += self._map_bit_bands()
        self.count = len(ranges)
        self.bounds: Any = np.array(sorted(ranges) or [(0, 0)], np.int64).reshape(-1)

    def _undescribed(self, machine: Machine) -> list[Plain]:
        taken = [(block.base, block.base + block.size) for block in self.blocks]
        taken += [(base, base + r.size) for r in machine.memory.values() for base in (r.base, *r.aliases)]
        return [
            Plain(name, base, end - base, self, lambda: self.pc)
            for base, end, name in blocks_in(family_of(machine) or "")
            if base < 0xE000_0000 and not any(low < end and base < high for low, high in taken)
        ]

    def replace(self, block: RegisterBlock) -> None:
        """Let ``block`` answer for the addresses of the one at its base."""
        for blocks in (self.blocks, self._all):
            blocks[:] = [block if register_block.base == block.base else register_block for register_block in blocks]

    def _map_bit_bands(self) -> list[tuple[int, int]]:
        for window, target in bit_band.WINDOWS.items():
            band = BitBand(target, self)
            self._core.map_registers(
                window, bit_band.SIZE, lambda offset, _, b=band: b.read(offset), lambda o, _, v, b=band: b.write(o, v)
            )
        return [(window, window + bit_band.SIZE) for window in bit_band.WINDOWS]

    # what blocks use of the core

    @property
    def cycles(self) -> int:
        return self._memory.now // TICK

    @property
    def core_clock(self) -> int:
        """In hertz: as RCC is set, that of the oscillator after a reset; the machine's where neither is known."""
        if self._family is None or not (self.from_reset or self.writes.of("RCC_CFGR")):
            return self.clock
        return core_clock_now(Registers(self.blocks, self.writes), self._machine, self._family)

    def dividers(self, bus: str) -> tuple[int, int]:
        rcc = next((block for block in self.blocks if block.name == "RCC"), None)
        return (1, 1) if rcc is None or self._family is None else divider(self._family, rcc, bus)

    def sdram_commanded(self, missing: dict[int, str]) -> None:
        self._note(self.sdram.commanded(missing))

    def remapped(self, at_zero: int, swapped: bool) -> None:
        self.sdram.swap(swapped)
        if at_zero and "flash_at_zero" in memory_map(self._family or ""):
            self.warn(f"SYSCFG_MEMRMP asks for memory {at_zero} at address 0, where the flash stays here")

    def reset_blocks(self, register: str, bits: int) -> None:
        names = set(held_in_reset(self._family or "", register, bits))
        for block in self.blocks:
            if block.name in names:
                block.reset()

    @property
    def flash_size(self) -> int:
        return self._serial.size if self._serial else 0

    def read_flash(self, offset: int, size: int) -> bytes:
        return self._core.peek(self._serial.base + offset, size) or b"" if self._serial else b""

    def write_flash(self, offset: int, data: bytes) -> None:
        if self._serial:
            self._core.poke(self._serial.base + offset, data)

    def stall(self, cycle: int, record: int | None) -> None:
        ticks = cycle * TICK - self._memory.now
        if ticks > 0:
            index = max(0, self._state.cursor - 1) if record is None else record
            self._memory.now += ticks
            self._tables.accesses.records[index].penalty += ticks

    def bus_error(self, address: int) -> None:
        self._fault(C.WRONG_KEY, address, 4, 1)

    def report(self, rule: str, text: str, fix: str, pc: int, address: int | None = None) -> None:
        """A finding, once for each rule and instruction."""
        known = next((i for i, finding in enumerate(self._found) if (finding.rule, finding.pc) == (rule, pc)), None)
        if known is not None:
            self._found[known] = replace(self._found[known], count=self._found[known].count + 1)
        elif len(self._found) < MOST_FINDINGS:
            self._found.append(PeripheralFinding(rule, text, fix, pc, address))

    def flash_locked_at(self, address: int) -> bool:
        """Whether ``address`` is in a flash that has a controller, which nobody has unlocked yet (in a strict run)."""
        return bool(self._controllers) and self.flash.has(address) and not self.flash.accepts_stores

    def flash_changed(self) -> list[tuple[int, int]]:
        """First address and end of the flash that was written since the last call, at each of its addresses."""
        for controller in self._controllers:
            controller.look()
        changed, self.flash.changed = self.flash.changed, []
        return [(base + low, base + high) for low, high in changed for base in self.flash.bases]

    def resets(self, cause: str, text: str) -> None:
        registers = self._core.registers()
        self.reset_asked = Ending(cause, text, registers["pc"] & ~1, None, registers)
        self._state.stop = C.FLUSH

    def stop(self, kind: str, text: str) -> None:
        registers = self._core.registers()
        self._end(Ending(kind, text, registers["pc"] & ~1, None, registers))

    def _end(self, ending: Ending) -> None:
        if self.ending is None:
            self.ending = ending
            self._state.stop = C.FLUSH

    def feed(self, name: str, data: bytes) -> None:
        """Let the USART ``name`` receive ``data``. Raises UsageError where the machine has none of that name."""
        usarts = {block.name: block for block in self.blocks if isinstance(block, Usart)}
        if name.upper() not in usarts:
            known = ", ".join(usarts) or "none"
            raise UsageError(f"--uart {name[:40]}: {self._machine.name} has no USART of that name; it has {known}")
        usarts[name.upper()].feed(data)

    # findings

    def begin(self, loaded: Iterable[tuple[int, int]]) -> None:
        """A run from reset begins; ``loaded``: address and size of what the image has put into memory."""
        if any(isinstance(block, Fmc) for block in self.blocks):
            self.sdram.begin(loaded)

    def look(self) -> None:
        """Take over the access to a watched range that the hooks have noted."""
        c = self._state
        if c.watch_pc:
            address, size, write = int(c.watch_address), int(c.watch_size), bool(c.watch_write)
            self._note(self.sdram.used(address, size, write, int(c.watch_pc)))
            c.watch_pc = 0

    def _note(self, findings: list[PeripheralFinding]) -> None:
        """Findings of a rule that ends a strict run."""
        self._found += findings
        if findings and self._strict:
            first, registers = findings[0], self._core.registers()
            self._end(Ending("SDRAM not ready", first.text, first.pc or 0, first.address, registers))

    def warn(self, text: str) -> None:
        """The program did something that a board does not answer as the program may expect."""
        known = {finding.text for finding in self._found}
        if text not in known and len(known) < MOST_FINDINGS:
            self._found.append(PeripheralFinding("no-answer", text, "", self.pc))

    def findings(self) -> tuple[PeripheralFinding, ...]:
        """What the program did that a board does not answer, or not as it is answered here."""
        requested = {line for block in self._all for line in block.lines}
        silent = (irq for irq in self._interrupts.waited_for() if irq not in requested)
        noted = of_notes(self._state)
        return (*self._found, *storage(self._plain), *noted, *silent_lines(self._family or "", silent))

    def at(self, cycle: int, callback: Callable[[], None]) -> QueuedEvent:
        return self._events.at(cycle, callback)

    @property
    def pc(self) -> int:
        """Of the access under way, as the block's records have it."""
        return self._tables.accesses.records[max(0, self._state.cursor - 1)].pc

    def raise_line(self, irq: int) -> None:
        self._interrupts.raise_line(irq)

    def lower_line(self, irq: int) -> None:
        self._interrupts.lower_line(irq)

    # accesses

    def _loaded_at(self, base: int) -> Callable[[int, int], int]:
        return lambda offset, size: self._watched(base + offset, size)

    def _stored_at(self, base: int) -> Callable[[int, int, int], None]:
        return lambda offset, size, value: self.store(base + offset, size, value)

    def _watched(self, address: int, size: int) -> int:
        """A load of the program itself, one of a poll perhaps."""
        if self._state.fault != C.NO_FAULT:
            return 0
        value = self.load(address, size)
        if self.on_load is not None:
            self.on_load(address, value)
        if self.ending is None and self.polls.loaded(address, value):
            text = (
                f"the program reads {self.label(address)} ({address:#010x}) again and again, finds {value:#x}, and"
                " nothing can change that any more: no bit of a peripheral has a change to come"
            )
            self._end(Ending("endless poll", text, self.pc, address, self._core.registers()))
        if self.polled is not None:
            self.polled.append((address, value))
        elif self.polls.idle >= POLLING:
            self._waits()
        return value

    def _waits(self) -> None:
        """The core stops before the next block, to see whether a loop repeats (:mod:`mcusim.emulator.fast_forward`)."""
        state = self._state
        if state.stop == C.RUNNING and self._memory.now >= state.wait_from:
            state.stop = C.WAITING

    def load(self, address: int, size: int) -> int:
        """What a load finds; memory where no block is (a bit-band window shows that too), else a fault is noted."""
        block = self.block_at(address)
        if block is not None:
            return block.read(address - block.base, size)
        data = self._core.peek(address, size)
        if data is None:
            self._missing(address, size, 0)
        return int.from_bytes(data or b"", "little")

    def store(self, address: int, size: int, value: int) -> None:
        """The effects of a store."""
        if self._state.fault != C.NO_FAULT:
            return
        self.polls.stored()
        block = self.block_at(address)
        if block is not None:
            if isinstance(block, Rcc | Fmc):
                self._note(self.sdram.sets_up())
            self._write(block, address - block.base, size, value)
            if self.on_store is not None:
                self.on_store(block)
        elif not self._core.poke(address, value.to_bytes(size, "little")):
            self._missing(address, size, 1)

    def _write(self, block: RegisterBlock, offset: int, size: int, value: int) -> None:
        before = block.word(offset & ~3)
        block.write(offset, size, value)
        if block.name in SET_UP_BLOCKS:
            write = RegisterWrite(before, block.word(offset & ~3), self.pc, self.cycles)
            self.writes.note(block.label(offset), write)

    def block_at(self, address: int) -> RegisterBlock | None:
        """The block that has ``address``."""
        index = bisect_right(self._bases, address) - 1
        block = self._all[index] if index >= 0 else None
        return block if block is not None and address < block.base + block.size else None

    def changes_at(self, address: int) -> int:
        """From which cycle on a load of ``address`` may find something else, if no event comes; 0: at any time."""
        for window, target in bit_band.WINDOWS.items():
            if window <= address < window + bit_band.SIZE:
                address = target + (address - window >> 7 << 2)
        block = self.block_at(address)
        return NEVER if block is None else block.changes_at(address - block.base & ~3)

    def answers(self, address: int) -> bool:
        """Whether a block has ``address``."""
        return self.block_at(address) is not None

    def label(self, address: int) -> str:
        """The register at ``address``, by name where it has one."""
        for window, target in bit_band.WINDOWS.items():
            if window <= address < window + bit_band.SIZE:
                bit = address - window >> 2
                return f"bit {bit & 31} of {self.label(target + (bit >> 5 << 2))}"
        block = self.block_at(address)
        return block.label(address - block.base) if block else f"{address:#010x}"

    def _missing(self, address: int, size: int, write: int) -> None:
        self._fault(C.NO_PERIPHERAL, address, size, write)

    def _fault(self, code: int, address: int, size: int, write: int) -> None:
        state = self._state
        state.fault, state.fault_address, state.fault_size, state.fault_write = code, address, size, write
        state.fault_pc, state.stop = self.pc, C.FAULTED
        for i, value in enumerate(self._core.registers().values()):
            state.registers[i] = value
        for i, value in enumerate(self._core.floats):
            state.floats[i] = value
        state.journal_used, state.fault_in_block = 0, 1

    # polls

    def watch_polls(self, tables: Tables) -> None:
        """``tables`` count the core's accesses."""
        self._tables = tables

    def _everything(self) -> tuple[Any, ...]:
        records, state = self._tables.access_records, self._state
        stores = int(records["count"][records["write"] == 1].sum())
        registers = (value for name, value in self._core.registers().items() if name != "pc")
        return stores, state.unforeseen, state.system_reads, *registers

    def _quiet(self) -> bool:
        """Whether nothing can change what is polled: its own blocks, an interrupt, a DMA that writes memory."""
        if self._interrupts.may_come:
            return False
        polled = {self.block_at(address) for address in self.polls.read}
        anything = None in polled  # a window of bits
        return not any(block.waiting for block in self.blocks if anything or block in polled or block.masters)
