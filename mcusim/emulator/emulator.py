"""The emulated core: a Cortex-M that runs a program on a machine's memory system and counts its cycles.

    emulator = Emulator(load_machine("stm32f746g-disco"))
    emulator.load(load_image("app.elf"))
    print(emulator.run().kind, emulator.cycles)

Registers, memory and output are exact; cycles are the pipeline model's and the memory system's. Programs with a vector
table take exceptions, between two basic blocks (:mod:`mcusim.cpu.hooks.exceptions`), and handle their faults
(:mod:`mcusim.emulator.stops.taken_faults`). Not modelled: more than one core, and what the pipeline, memory and
register models list.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import proxy

from unicorn.unicorn_const import UC_ERR_EXCEPTION

from mcusim.cpu import state_layout as C
from mcusim.cpu.code_cache import branches_to_itself
from mcusim.cpu.system import ppb as system_registers
from mcusim.cpu.system.exception_layout import LOG_SIZE
from mcusim.cpu.unicorn_core import NO_ERROR
from mcusim.emulator.console.rtt import EVERY as RTT_SLICE
from mcusim.emulator.console.rtt import Rtt, uses_rtt
from mcusim.emulator.core_state import FOREVER, GuestCore
from mcusim.emulator.fast_forward.skipping import CoreWaits
from mcusim.emulator.stops.livelock import Round, explain_round
from mcusim.emulator.stops.reset import restart
from mcusim.emulator.stops.sleep import end_block, sleep, wait_for_event
from mcusim.emulator.stops.stop import Fault, Stop
from mcusim.emulator.stops.stop_reason import (
    explain_ending,
    explain_error,
    explain_fault,
    rollback_block,
    stopped_at_hint,
)
from mcusim.emulator.stops.taken_faults import in_handler, take
from mcusim.errors import UsageError
from mcusim.image.image import Image
from mcusim.machine.description import Machine
from mcusim.memory import state_layout as L
from mcusim.memory.range_lookup import addresses_at
from mcusim.soc.bus import Strictness

Progress = Callable[[int], object] | None
SLICE = 4_000_000  # instructions between two looks at the keyboard: about a tenth of a second
NOT_STOPPED, THUMB = -1, 1 << 24  # no address; XPSR.T


class Emulator(GuestCore):
    """One core on one machine.

    ``output`` gets what the program prints (semihosting, USART, ITM, RTT), as bytes. ``caches`` False leaves the caches
    off until the program enables them, as after a reset; True is how the machine file has them.
    """

    def __init__(
        self,
        machine: Machine,
        output: Callable[[bytes], object] | None = None,
        caches: bool = True,
        peripherals: Strictness = "strict",
    ) -> None:
        super().__init__(machine, output, caches, peripherals)
        self.waits = CoreWaits()
        self._round = Round()
        self._rtt: Rtt | None = None

    def load(self, image: Image, as_started: bool = False) -> None:
        """Put an image into memory. ``as_started``: data and .bss as start-up code would leave them, FPU on.

        Raises ImageError when a segment lies outside the machine's memory.
        """
        super().load(image, as_started)
        self._rtt = Rtt(proxy(self), image, self._output) if uses_rtt(image) else None

    def run(self, max_instructions: int | None = None, progress: Callable[[int], object] | None = None) -> Stop:
        """Run to the program's end, a fault, or ``max_instructions`` more. ``progress`` gets the count now and then."""
        return self._run(FOREVER, max_instructions, progress)

    def run_until(self, cycle: int, max_instructions: int | None = None, progress: Progress = None) -> Stop:
        """Run up to the first block that would begin at or after ``cycle``; a run may be cut anywhere so."""
        return self._run(cycle * L.TICK, max_instructions, progress)

    def _run(self, horizon: int, limit: int | None, progress: Callable[[int], object] | None) -> Stop:
        state = self.state
        last = FOREVER if limit is None else self.instructions + limit
        state.run_horizon, state.horizon = horizon, 0
        stop = self._over or (self._asleep() if self.asleep else None)
        while stop is None:
            step = SLICE if self._rtt is None else RTT_SLICE
            state.instruction_limit = min(last, self.instructions + (1 if self._round.watching else step))
            error = self._go()
            while state.stop == C.WAITING and error == NO_ERROR and state.stop_address != NOT_STOPPED:
                self.waits.arrived(self)
                error = self._go()
            self.waits.disturbed(self)
            stop = self._after(error, last)
            self._show()
            if progress is not None:
                progress(self.instructions)
        if stop.kind in ("loop", "idle"):
            stop = in_handler(self, stop)
        if stop.kind not in ("horizon", "limit"):
            self._over = stop
            self.trace_ports.end()
        return stop

    def _go(self) -> int:
        """Run until something stops the core; Unicorn's error."""
        self.state.stop, self.state.stop_address = C.RUNNING, NOT_STOPPED
        return self.core.run(self.core["pc"])

    def _after(self, error: int, last: int) -> Stop | None:
        """What the stop means; None: continue."""
        state = self.state
        reason = state.stop
        if self.reached is not None:
            rollback_block(self, self.core["pc"])
            return self.reached
        if state.fault != C.NO_FAULT:
            return self._faulted()
        if error != NO_ERROR:
            return self._exception(error)
        if reason == C.UNKNOWN:
            return self._learn(state.stop_address, state.stop_size)
        if reason == C.EXCEPTION:
            return self._exception(UC_ERR_EXCEPTION)
        if reason == C.EVENTS:
            self.events.run()
            return self._flush()
        if reason == C.AT_LIMIT:
            return self._at_limit(last)
        if reason == C.FLUSH and state.stop_address != NOT_STOPPED:
            return self._flush()
        if reason == C.AT_HORIZON:
            return Stop("horizon")
        if reason == C.RETURNED:
            return Stop("returned")
        end_block(self)
        return self._flush() or self._asleep()

    def _at_limit(self, last: int) -> Stop | None:
        """So many instructions have run; a branch to itself that nothing interrupts goes no further."""
        if self.peripherals.ending is not None:
            return self._flush()
        if self.instructions >= last:
            return Stop("limit")
        entered = self.state.last_block
        looping = entered >= 0 and not self._interruptible and branches_to_itself(self.tables.known[entered])
        if looping or not self._round.closed(self, self._interruptible):
            if not self._round.watching:
                self.waits.sample(self)
            return Stop("loop") if looping else None
        fault = explain_round(self) if self.faults.open(self.interrupts.state) is None else None
        return Stop("loop") if fault is None else Stop("fault", fault=fault)

    @property
    def _interruptible(self) -> bool:
        """Whether an exception may come between two blocks, with the masks as they are."""
        level = self.core.level()
        return self.interrupts.may_come and (level > 0 or self.interrupts.preempts(level))

    def _exception(self, error: int) -> Stop | None:
        """A semihosting call is answered, a hint does nothing; any other exception ends the run."""
        pc = self.core["pc"]
        hint = stopped_at_hint(self, pc)
        if hint:
            return self._flush() or (wait_for_event(self) if hint == "wfe" else None)
        if self.core.peek(pc, 2) != b"\xab\xbe":
            return take(self, explain_error(self, error)) or self._flush()
        if self.confined:
            return self._stray("semihosting", "a call to the host")
        try:
            answer = self.host.call(self.core["r0"], self.core["r1"])
        except UsageError as refused:  # what it points at is in no memory
            return Stop("fault", fault=explain_error(self, error, str(refused)))
        if self.host.status is not None:
            rollback_block(self, pc + 2)
            return Stop("exit", self.host.status)
        if answer is None:
            return Stop("fault", fault=explain_error(self, error))
        self.core["r0"] = answer
        self.core["pc"] = pc + 2 | 1
        return self._flush()

    def _faulted(self) -> Stop | None:
        """A hook has noted a fault."""
        state = self.state
        if state.fault == C.NO_FPU and state.open_block < 0 and self.code.watch_floats(state.fault_address):
            state.fault = C.NO_FAULT  # the block runs up to the instruction
            return None
        return take(self, explain_fault(self)) or self._flush()

    def _flush(self) -> Stop | None:
        """Act on what the program did to registers and code, before its next block."""
        state = self.state
        self.interrupts.collect(LOG_SIZE // 2)
        if state.reset_requested:
            return restart(self)
        if self.peripherals.reset_asked is not None:
            asked, self.peripherals.reset_asked = self.peripherals.reset_asked, None
            return restart(self, asked)
        if self.confined and (state.peripheral_written or state.mpu_changed):
            what = "a store to a peripheral" if state.peripheral_written else "a change of the MPU"
            return self._stray("write outside its buffers", what)
        state.peripheral_written = 0
        self.peripherals.look()
        for low, high in self.peripherals.flash_changed():
            self.code.written(low, high)
            self.core.forget_code(low, high)
        if self.peripherals.ending is not None:
            return Stop("fault", fault=explain_ending(self, self.peripherals.ending))
        if state.written_high:
            self.code.written(state.written_low, state.written_high)
            state.written_low, state.written_high = FOREVER, 0
        if state.trap_divide != self.code.traps_divide:
            self.code.traps_divide = bool(state.trap_divide)
            self.code.forget()
        if state.mpu_changed or self.peripherals.sdram.changed:
            mpu = system_registers.mpu_registers(self._ppb, state, self.interrupts.state)
            self.install_ranges(mpu)
            for number, mistake in mpu.mistakes():
                self.peripherals.report(*mistake, state.mpu_pc[number])
            if state.mpu_changed:
                self.code.forget()
            state.mpu_changed = 0
        return None

    def _asleep(self) -> Stop | None:
        """Sleep; what has ended it may be a reset."""
        return sleep(self) or self._flush()

    def _stray(self, kind: str, what: str) -> Stop:
        """End a confined function that left its memory."""
        text = f"{what}, which a function called so may not make"
        return Stop("fault", fault=Fault(kind, text, self.core["pc"] & ~1, None, self.registers()))

    def _show(self) -> None:
        """What the program has printed by other ways than calls of the host."""
        self.trace_ports.show()
        if self._rtt is not None:
            self._rtt.look()

    def _learn(self, address: int, size: int) -> Stop | None:
        """Decode and time a block that is executed for the first time."""
        addresses = addresses_at(self.memory.state, address)
        if addresses is not None and not addresses.flags & L.EXECUTE:
            return self._refuse(C.NOT_EXECUTABLE, address)
        if self.code.full:
            return self._refuse(C.ENDLESS_CODE, address)
        xpsr = self.core["xpsr"]
        if not xpsr & THUMB:
            return self._refuse(C.ARM_STATE, address)
        it_state = (xpsr >> 8 & 0xFC) | (xpsr >> 25 & 3)
        block = self.code.learn(address, self.read(address, size), it_state)
        return Stop("loop") if branches_to_itself(block) and not self._interruptible else None

    def _refuse(self, fault: int, address: int) -> Stop | None:
        """Fault before the block at ``address`` runs."""
        state = self.state
        state.fault, state.fault_address, state.fault_pc, state.fault_in_block = fault, address, address, 0
        return take(self, explain_fault(self))
