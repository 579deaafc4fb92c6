"""A stream of DMA1 or DMA2: its registers, its flags, and what it has under way.

Not modelled: that a stream does not start while one of its flags is set, the time from a store to the first request,
and the cycles between the clearing of EN by firmware and its reading 0 other than those of the FIFO's last writes.
"""

from __future__ import annotations

from dataclasses import replace

from mcusim.memory import state_layout as L
from mcusim.memory.state_builder import WritingSide, dma_ports
from mcusim.soc.dma.channel_base import StreamLane
from mcusim.soc.dma.copy import Copy, CopyOrder
from mcusim.soc.dma.dma_log import LoggedTransfer, Outcome
from mcusim.soc.dma.host import RequestLine
from mcusim.soc.dma.request_driven import ALWAYS, PacedEvent, PacedOrder, PacedTransfer, Side
from mcusim.soc.dma.streams import stream_registers as R
from mcusim.soc.dma.wiring import Wiring

CR, NDTR, PAR, M0AR, M1AR, FCR = range(0, 24, 4)
NAMES = {CR: "CR", NDTR: "NDTR", PAR: "PAR", M0AR: "M0AR", M1AR: "M1AR", FCR: "FCR"}
WRITABLE = {CR: 0x1FFF_FFFF, NDTR: 0xFFFF, PAR: 0xFFFF_FFFF, M0AR: 0xFFFF_FFFF, M1AR: 0xFFFF_FFFF, FCR: 0x87}
FCR_RESET = 0x21
MOST = 0xFFFF  # units, which NDTR has when the peripheral is the flow controller


class Stream(StreamLane):
    """``wiring`` says which one it is, and what of the machine it is joined to."""

    names = R.FLAG_NAMES

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring)
        self._words = {**dict.fromkeys(WRITABLE, 0), FCR: FCR_RESET}
        self._units = 0  # what NDTR was set to last, or reads while nothing moves

    @property
    def enabled(self) -> int:
        """The flags that may interrupt the core."""
        return R.enabled_events(self._words[CR], self._words[FCR])

    def read(self, register: int) -> int:
        """The word that a load of the register finds; it is up to date after :meth:`update`."""
        under_way = self._copy or self._paced
        if register == NDTR:
            return self._units if under_way is None else under_way.units_left
        return self._words[register]

    def write(self, register: int, value: int) -> None:
        """A store to the register. While EN is set only CR's EN and interrupt enables, and FEIE, change."""
        old = self._words[register]
        if self._exchange(register, value):
            return
        if old_enabled := self._words[CR] & R.ENABLE:
            free = {CR: R.FREE_WHILE_ENABLED, FCR: 0x80}.get(register, 0)
        else:
            free = WRITABLE[register]
        self._words[register] = word = old & ~free | value & free
        if register == NDTR and not old_enabled:
            self._units = word
        if register == CR and word & R.ENABLE and not old_enabled:
            self._start()
        elif register == CR and old_enabled and not word & R.ENABLE:
            self._disable()
        self._signal()

    def reset(self) -> None:
        """As after a reset; what is in flight is written to its end first, and sets TCIF then."""
        self.write(CR, 0)
        self._words = {**dict.fromkeys(WRITABLE, 0), FCR: FCR_RESET}
        self._units = 0
        self.clear(sum(self.names.values()))

    def _start(self) -> None:
        setting = R.StreamControl.read(self._words[CR], self._words[FCR])
        self._stopped = False
        if self.flags:
            self._host.warn(self._flags_set())
        copies = setting.direction == R.MEMORY_TO_MEMORY
        if copies:
            self._words[FCR] |= 4  # DMDIS is set by hardware
        if setting.peripheral_ends:
            self._words[NDTR] = MOST
        if not setting.possible:
            self._refuse(setting, R.FIFO_ERROR)
        elif copies and not self._wiring.copies:
            self._refuse(setting, R.ERROR)
        elif not self._words[NDTR]:
            return
        elif not copies:
            self._begin_paced(setting, self._wiring.line(setting.channel))
        elif self._any_register(self._words[PAR], self._words[M0AR]):
            self._begin_paced(setting, ALWAYS)
        else:
            self._half_due = True
            self._copy = copy = Copy(self._order(setting), self._wiring, self.update)
            self._record_of(setting).live = copy.progress
            self.update()

    def _flags_set(self) -> str:
        names = ", ".join(name for name, flag in self.names.items() if self.flags & flag)
        return (
            f"{self._wiring.controller} stream {self.number} was enabled at {self._host.pc:#010x} while {names} were"
            " set: a board may not start it (ST RM0090 10.3.17); clear all of its flags first"
        )

    def _record_of(self, setting: R.StreamControl) -> LoggedTransfer:
        """The record of what begins now, entered into the log."""
        words, size = self._words, setting.peripheral_size
        wiring, units = self._wiring, words[NDTR]
        peripheral, memory = words[PAR] & -size, words[M0AR] & -setting.memory_size
        register = ((peripheral, peripheral + size * (units if setting.peripheral_moves else 1)),)
        extent = size * units if setting.memory_moves else setting.memory_size
        starts = (memory, words[M1AR] & -setting.memory_size) if setting.double_buffer else (memory,)
        places = tuple((start, start + extent) for start in starts)
        out = setting.direction == R.MEMORY_TO_PERIPHERAL
        record = LoggedTransfer(
            number=0, controller=wiring.controller, stream=wiring.number, direction=R.DIRECTIONS[setting.direction],
            source=memory if out else peripheral, target=peripheral if out else memory,
            reads=places if out else register, writes=register if out else places,
            unit=size, target_unit=size if out else setting.memory_size, units=units,
            priority=setting.priority, circular=setting.circular,
            registers={name: words[at] for at, name in NAMES.items()}, pc=self._host.pc, begin=self._host.cycles,
            irq=wiring.irq,
        )  # fmt: skip
        self._open(record)
        return record

    def _order(self, setting: R.StreamControl) -> CopyOrder:
        size, burst = setting.peripheral_size, setting.peripheral_burst
        return CopyOrder(
            dma=replace(self._wiring.dma, beat=size, burst=burst, threshold=setting.threshold_name),
            side=WritingSide(setting.memory_size, setting.memory_burst, setting.memory_moves, setting.peripheral_moves),
            source=self._words[PAR] & -size,
            target=self._words[M0AR] & -setting.memory_size,
            units=self._words[NDTR],
            priority=R.STREAMS * setting.priority + R.STREAMS - 1 - self.number,
        )

    def _begin_paced(self, setting: R.StreamControl, line: RequestLine | None) -> None:
        """Move a unit for each request; a channel without a peripheral here never has one."""
        if line is None:
            self._host.warn(self._wiring.unheard(setting.channel, self._host.pc))
            return
        ports = dma_ports(self._memory.machine, replace(self._wiring.dma, burst=1))
        near, far = setting.peripheral_size, setting.memory_size
        read, write = ports.before_read + ports.clock, ports.before_write + ports.clock
        order = PacedOrder(
            out=setting.direction == R.MEMORY_TO_PERIPHERAL,
            peripheral=self._words[PAR] & -near,
            memories=(self._words[M0AR], self._words[M1AR]) if setting.double_buffer else (self._words[M0AR],),
            current=self._words[CR] >> 19 & 1 if setting.double_buffer else 0,
            units=self._words[NDTR],
            near=Side(near, near * setting.peripheral_moves, -(-read // L.TICK)),
            far=Side(far, far * setting.memory_moves, -(-(read + write) // L.TICK) + -read // L.TICK),
            circular=setting.circular,
            threshold=0 if setting.direct else setting.threshold,
            alone=setting.direct and not setting.memory_moves and setting.direction == R.PERIPHERAL_TO_MEMORY,
        )
        self._paced = paced = PacedTransfer(order, line, self._wiring, self._reported)
        self._record_of(setting).live = paced.progress
        paced.serve()

    def _exchange(self, register: int, value: int) -> bool:
        """In double-buffer mode the memory address that is not in use may be changed while the stream runs; a store to
        the other one is a transfer error, which disables the stream (ST RM0090 10.3.18)."""
        paced = self._paced
        if paced is None or len(paced.memories) < 2 or register not in (M0AR, M1AR):
            return False
        if register == (M0AR, M1AR)[paced.target]:
            paced.fail()
        else:
            self._words[register] = paced.memories[1 - paced.target] = value
        return True

    def _reported(self, event: PacedEvent) -> None:
        """The transfer with a peripheral has come to its half, its end (or that of a round), or to an error."""
        paced = self._paced
        self.flags |= {"half": R.HALF, "complete": R.COMPLETE, "error": R.ERROR, "overrun": R.DIRECT_ERROR}[event]
        if event == "half":
            self._half()
        elif paced is not None and event != "overrun":
            self._round_ended(paced, event)
        self._signal()

    def _round_ended(self, paced: PacedTransfer, event: PacedEvent) -> None:
        self.transfers += event == "complete"
        self.bytes += paced.moved - paced.counted
        paced.counted = paced.moved
        if len(paced.memories) > 1:
            self._words[CR] = self._words[CR] & ~R.CURRENT_TARGET | paced.target * R.CURRENT_TARGET
        if not paced.ended:
            self._round()
            return
        self._words[CR] &= ~R.ENABLE
        self._rest(paced.units_left)
        self._paced = None
        outcome: Outcome = "error" if event == "error" else "stopped" if self._stopped else "complete"
        self._close(self._host.cycles, outcome, paced.moved)

    def _refuse(self, setting: R.StreamControl, flag: int) -> None:
        """The stream disables itself before anything moved."""
        self._record_of(setting)
        self.flags |= flag
        self._words[CR] &= ~R.ENABLE
        self._close(self._host.cycles, "error", 0)

    def _disable(self) -> None:
        """EN was cleared by firmware: it reads 1 until what is in the FIFO is written."""
        self._stopped = True
        if self._copy is not None:
            self._words[CR] |= R.ENABLE
            self._copy.stop()
            self.update()
        elif self._paced is not None:
            self._paced.stop()

    def _copied(self, copy: Copy) -> None:
        self.flags |= R.ERROR if copy.failed else R.COMPLETE
        self._words[CR] &= ~R.ENABLE
        self._rest(copy.units_left)
        self.transfers, self.bytes = self.transfers + 1, self.bytes + copy.moved
        stopped = self._stopped and copy.units_left
        self._close(self.last[1], "error" if copy.failed else "stopped" if stopped else "complete", copy.moved)

    def _rest(self, units: int) -> None:
        """NDTR as a transfer leaves it; after one that came to its end EN begins with the same number again."""
        self._units = units
        self._words[NDTR] = units or self._words[NDTR]
