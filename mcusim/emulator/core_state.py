"""The parts of an emulated core, what is loaded into it, and where it begins; the emulator runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import proxy

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.code_cache import Code
from mcusim.cpu.hooks.block_tables import Tables
from mcusim.cpu.pipeline import branch_predictor as branch
from mcusim.cpu.pipeline.branch_predictor import BranchState
from mcusim.cpu.state_layout import CallEdge, CallEdges, CoreState
from mcusim.cpu.system import ppb as system_registers
from mcusim.cpu.system.event_queue import EventQueue, QueuedEvent
from mcusim.cpu.system.interrupts import Interrupts
from mcusim.cpu.system.memory_attributes import memory_ranges, watched
from mcusim.cpu.system.mpu import Mpu
from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.emulator.backing_memory import behind_the_cache, room_for_lines
from mcusim.emulator.console.semihosting import Semihosting
from mcusim.emulator.console.trace_ports import TracePorts
from mcusim.emulator.startup import Start, stack_is_reserved, stack_limit
from mcusim.emulator.startup import start as start_of
from mcusim.emulator.stops.fault_log import FaultLog
from mcusim.emulator.stops.stop import PerformedReset, Stop
from mcusim.errors import UsageError
from mcusim.image.image import Image, check_placements
from mcusim.machine.cores import core_named
from mcusim.machine.description import Machine
from mcusim.memory.state_builder import ticks
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import MemorySystem
from mcusim.native.structs import Words
from mcusim.soc.bus import Peripherals, Strictness
from mcusim.soc.dma.attach import controllers
from mcusim.soc.families.family import part_traits

FOREVER = 1 << 60
GUARD = 32  # bytes at the lowest end of a stack that nothing may be written to
CONSOLE = 1 << 16
CALL_EDGES = 1 << 14


class GuestCore:
    """What :class:`mcusim.emulator.emulator.Emulator` runs; its constructor says what the parameters are."""

    for_event = False  # asleep in a WFE
    started: Start | None = None  # at its reset vector
    # how many system resets may be (0: the first one ends the run), what memories held at the last
    most_resets, contents_at_reset = 100, 0

    def __init__(
        self,
        machine: Machine,
        output: Callable[[bytes], object] | None = None,
        caches: bool = True,
        peripherals: Strictness = "strict",
    ) -> None:
        self.machine, self.part = machine, part_traits(machine)
        self.memory = MemorySystem(machine)
        self.core = UnicornCore(machine)
        self.memory.contents, self.behind = behind_the_cache(machine, self.core)
        self.code = Code(core_named(machine.core.isa), machine, self.core)
        self.image: Image | None = None
        self.state = CoreState(np.zeros(CoreState.WORDS, np.int64))
        self._console = np.zeros(CONSOLE, np.int64)
        self.trace_ports = TracePorts(self.state, self._console, output or (lambda _: None))
        self._output = self.trace_ports.write
        self.events = EventQueue(self.state, self.memory.state)
        self.interrupts = Interrupts(self.state, self.events, self.part.lines)
        self.asleep = False  # in a WFI
        self.sleeps: list[tuple[int, int]] | None = None  # from tick to tick, where somebody wants to know
        self.branches = BranchState(np.zeros(BranchState.WORDS, np.int64))
        self.call_edges = CallEdges(np.zeros(CallEdges.WORDS + CallEdge.WORDS * CALL_EDGES, np.int64))
        self.host = Semihosting(proxy(self), machine.core.clock, self._output)
        outside = self.events, self.interrupts, self._output
        self.peripherals = Peripherals(machine, self.core, self.state, self.memory, *outside, peripherals)
        self.dma = controllers(machine, self.memory, self.peripherals)
        self.peripherals.watch_polls(self.code.tables)
        self._ppb = self.core.map(system_registers.BASE, system_registers.SIZE)
        self.ppb_words = Words(np.frombuffer(self._ppb, np.int64))
        self.confined = False  # a called function may touch memory only: no peripherals, no MPU, no semihosting
        self._over: Stop | None = None  # how the program ended, until another one begins
        self.reached: Stop | None = None  # how it is to end at once (mcusim.emulator.stops.stop_points)
        self.faults = FaultLog()
        self._reset(caches)
        self._share()
        self.core.attach()

    def _reset(self, caches: bool) -> None:
        state, memory, machine = self.state, self.memory.state, self.machine
        traits = core_named(machine.core.isa)
        state.traits = (
            traits.splits_unaligned * C.SPLITS_UNALIGNED
            | traits.predicts_branches * C.PREDICTS
            | traits.store_buffer * C.STORE_BUFFER
            | traits.early_divide * C.EARLY_DIVIDE
        )
        state.branch_refill = traits.branch_refill or 0
        state.return_address, state.open_block, state.last_block = self.core.return_address, -1, -1
        state.stack_low = state.other_stack_low = state.written_low = FOREVER
        state.prefetch_state = C.AFTER_BRANCH
        state.peripheral_blocks = self.peripherals.count
        state.data_cache, state.code_cache = memory.data_cache, memory.code_cache
        self._aside = room_for_lines(machine, memory)
        state.device_faults = traits.device_faults
        if machine.data_cache is not None:
            state.maintenance_cost = ticks(machine, machine.data_cache.maintenance)
        self.interrupts.state.monitor = self.core.monitor
        branch.reset(self.branches)
        edges = self.call_edges.slots.table(CALL_EDGES)
        self.call_edges.mask, edges[:] = CALL_EDGES - 1, (-1, 0, 0, 0)
        system_registers.prepare(machine, self.part, self._ppb, state, caches)
        if not caches:
            memory.data_cache = memory.code_cache = 0
        self.reset_log: list[PerformedReset] = []  # those performed
        self.install_ranges(None)

    def install_ranges(self, mpu: Mpu | None) -> None:
        """Let the core see the machine's memory as ``mpu`` (None: off) allows, watched where an SDRAM is not ready."""
        self.memory.install_ranges(watched(memory_ranges(self.machine, mpu), self.peripherals.sdram.watched))
        self.peripherals.sdram.changed = False

    def _share(self) -> None:
        """Give the hooks the addresses of what they work on."""
        self.code.share()
        self.core.share(
            core=self.state,
            memory=self.memory.state,
            exceptions=self.interrupts.state,
            branches=self.branches,
            call_edges=self.call_edges,
            ppb=self.ppb_words,
            console=Words(self._console),
            peripherals=Words(self.peripherals.bounds),
        )

    # what a caller sees and sets

    @property
    def resets(self) -> int:
        """System resets that were performed."""
        return len(self.reset_log)

    @property
    def cycles(self) -> int:
        """Core cycles since the start."""
        return self.memory.state.now // TICK

    @property
    def instructions(self) -> int:
        """Instructions issued, those inside IT blocks whose condition failed included."""
        return self.state.instructions

    @property
    def unforeseen(self) -> int:
        """Accesses that came in another order than decoding foresaw; their time within the block is not exact."""
        return self.state.unforeseen

    def branch_counts(self) -> dict[str, int]:
        """Branches executed, taken, and on a Cortex-M7 mispredicted."""
        counts = self.branches
        return {"branches": counts.branches, "taken": counts.taken, "mispredicted": counts.mispredicted}

    @property
    def tables(self) -> Tables:
        """The native tables: what every block and access has cost."""
        return self.code.tables

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes as the core sees them. Raises UsageError when they are not all in mapped memory."""
        data = self.core.peek(address, size)
        if data is None:
            raise self._not_mapped(address, size)
        return data

    def write(self, address: int, data: bytes) -> None:
        """Put ``data`` into guest memory (flash too) and into cached lines. Raises UsageError as :meth:`read`."""
        if not self.core.poke(address, data):
            raise self._not_mapped(address, len(data))
        self.behind.write(address, data)
        self.peripherals.flash.written(address, data)
        if self.code.written(address, address + len(data)):
            self.core.forget_translations()

    def _not_mapped(self, address: int, size: int) -> UsageError:
        return UsageError(
            f"{size:,} B at {address:#010x} are not all in the memory of {self.machine.name};"
            " `mcusim machines` shows what it has"
        )

    def load(self, image: Image, as_started: bool = False) -> None:
        """Put an image into memory. ``as_started``: data and .bss as start-up code would leave them, FPU on.

        Raises ImageError when a segment lies outside the machine's memory.
        """
        for place in check_placements(image, self.machine, as_started):
            self.write(place.address, place.data)
        self.image = image
        self.code.functions = image.symbols.starts
        if as_started:
            self.state.fpu = 1

    def begin(self, start: Start | None = None) -> None:
        """Set PC and SP as ``start``, or the reset vector, or the entry point says. Raises ImageError for a bad one."""
        if self.image is None:
            raise UsageError("no image is loaded: call load() first")
        start = start or start_of(self.image, self.machine)
        self._begin_again()
        self.started = start if start.kind == "reset" else None
        self.core["pc"] = start.pc | 1
        self.peripherals.from_reset = start.kind == "reset"
        self.set_stack(start.sp, stack_limit(self.image, start.sp) or 0, stack_is_reserved(self.image, start.sp))
        if start.kind == "entry":
            self.state.fpu = 1
        self.core["lr"] = self.core.return_address | 1
        if start.vectors is not None:
            system_registers.set_vectors(self._ppb, start.vectors)
            self.interrupts.with_vectors()
        if start.kind == "reset":
            self.peripherals.begin(
                (placement.address, len(placement.data)) for placement in self.image.placements(False)
            )
            self.install_ranges(None)

    def set_stack(self, top: int, limit: int, reserved: bool = True) -> None:
        """Stack pointer, and the lowest address the stack may reach (0: unknown, unchecked).

        ``reserved``: its lowest bytes are a guard, a store of any kind to them is an overflow; False where a heap may
        be there, then only what is stored through the stack pointer is checked.
        """
        self.core["sp"] = top
        self.state.stack_limit, self.state.guard_end = limit, limit + GUARD if limit and reserved else 0
        self.state.stack_low = self.state.stack_top = top
        self.state.stack_known = 1

    def call(self, address: int, arguments: Sequence[int] = ()) -> None:
        """Prepare a call by the AAPCS: four words in registers, the rest on the stack; :meth:`run` then runs it.

        The stack must have been set. The function's result is in ``registers()["r0"]`` afterwards.
        """
        words = [value & 0xFFFF_FFFF for value in arguments]
        for i, value in enumerate(words[:4]):
            self.core[f"r{i}"] = value
        rest = b"".join(value.to_bytes(4, "little") for value in words[4:])
        if rest:
            sp = (self.core["sp"] - len(rest)) & ~7
            self.write(sp, rest)
            self.core["sp"] = sp
        self.core["lr"] = self.core.return_address | 1
        self.core["pc"] = address | 1
        self._begin_again()

    def _begin_again(self) -> None:
        state = self.state
        state.open_block = state.last_block = -1
        state.fault = state.reset_requested = state.call_depth = state.call_base = state.nested = 0
        self._over = self.reached = None
        self.asleep = False

    def at(self, cycle: int, callback: Callable[[], object]) -> QueuedEvent:
        """Call ``callback`` before the first block that begins at or after core cycle ``cycle``.

        It may pend interrupts, enter further events and read or write memory; a sleeping core's clock jumps to it. The
        event that is returned can be cancelled. Raises UsageError for a cycle below 0.
        """
        return self.events.at(cycle, callback)

    def registers(self) -> dict[str, int]:
        """r0 to r12, sp, lr, pc and xpsr."""
        return self.core.registers()
