"""A channel without a FIFO: its registers, its flags, and what it has under way.

At the end of a transfer EN stays set and CNDTR reads 0; the channel does nothing more until EN is cleared and CNDTR
written. An error clears EN, which cannot be set again before TEIF is cleared (ST RM0432 11.4.5). Units of two sizes are
cut or filled with zeros, and not packed (RM0432 table 49).

Not modelled: waits for a memory that others use in a copy whose two sizes differ; a transfer that was stopped and goes
on where it was: it begins at its addresses again.
"""

from __future__ import annotations

from dataclasses import replace

from mcusim.memory import state_layout as L
from mcusim.memory.state_builder import WritingSide, dma_ports
from mcusim.soc.dma.channel_base import StreamLane
from mcusim.soc.dma.channels import channel_registers as R
from mcusim.soc.dma.copy import Copy, CopyOrder
from mcusim.soc.dma.dma_log import Direction, LoggedTransfer, Outcome
from mcusim.soc.dma.request_driven import ALWAYS, PacedEvent, PacedOrder, PacedTransfer, Side
from mcusim.soc.dma.wiring import Wiring

CCR, CNDTR, CPAR, CMAR, CM1AR = range(0, 20, 4)
NAMES = {CCR: "CCR", CNDTR: "CNDTR", CPAR: "CPAR", CMAR: "CMAR", CM1AR: "CM1AR"}
FREE = R.ENABLE | R.COMPLETE | R.HALF | R.ERROR  # of CCR while EN is set
CHANNELS = 8  # of a controller at most; of equal priorities the lower number goes first


class Channel(StreamLane):
    """``wiring`` says which one it is; ``two_buffers``: it has CM1AR, and double-buffer mode."""

    names = R.FLAG_NAMES

    def __init__(self, wiring: Wiring, two_buffers: bool) -> None:
        super().__init__(wiring)
        ccr = 0x1_FFFF if two_buffers else 0x7FFF
        self._writable = {CCR: ccr, CNDTR: 0xFFFF, CPAR: 0xFFFF_FFFF, CMAR: 0xFFFF_FFFF}
        if two_buffers:
            self._writable[CM1AR] = 0xFFFF_FFFF
        self._words = dict.fromkeys(NAMES, 0)

    @property
    def enabled(self) -> int:
        """The flags that may interrupt the core."""
        return R.enabled_events(self._words[CCR])

    def read(self, register: int) -> int:
        """The word that a load of the register finds; it is up to date after :meth:`update`."""
        under_way = self._copy or self._paced
        if register == CNDTR and under_way is not None:
            return under_way.units_left
        return self._words[register]

    def write(self, register: int, value: int) -> None:
        """A store to the register. While EN is set only CCR's EN and interrupt enables change."""
        old, ccr = self._words[register], self._words[CCR]
        free = self._writable.get(register, 0)
        if ccr & R.ENABLE:
            free = FREE if register == CCR else free if self._idle(register) else 0
        self._words[register] = word = old & ~free | value & free
        if self._paced is not None and self._idle(register):
            self._paced.memories[1 - self._paced.target] = word
        if register == CCR and word & ~old & R.ENABLE:
            self._start()
        elif register == CCR and old & ~word & R.ENABLE:
            self._disable()
        self._signal()

    def _idle(self, register: int) -> bool:
        """Whether it is the memory address that double-buffer mode does not use now."""
        paced = self._paced
        return paced is not None and len(paced.memories) > 1 and register == (CM1AR, CMAR)[paced.target]

    def _copied(self, copy: Copy) -> None:
        self._words[CNDTR] = copy.units_left
        self._ended(copy.failed, self.last[1], copy.moved, copy.moved)

    def reset(self) -> None:
        """As after a reset; what is in flight is written to its end first."""
        self.write(CCR, 0)
        self._words = dict.fromkeys(NAMES, 0)
        self.clear(sum(self.names.values()))

    def _start(self) -> None:
        if self.flags & R.ERROR:
            self._words[CCR] &= ~R.ENABLE
            return
        setting, self._stopped = R.ChannelSetting.read(self._words[CCR]), False
        if not self._words[CNDTR] or self.under_way:  # or what is being stopped has not come to its end
            return
        one_size = setting.peripheral_size == setting.memory_size
        if setting.copies and one_size and not self._any_register(*self._addresses):
            self._half_due = True
            self._copy = copy = Copy(self._order(setting), self._wiring, self.update)
            self._record_of(setting).live = copy.progress
            self.update()
            return
        line = ALWAYS if setting.copies else self._wiring.line(0)
        if line is None:
            self._host.warn(self._wiring.unheard(0, self._host.pc))
        else:
            self._paced = paced = PacedTransfer(self._paced_order(setting), line, self._wiring, self._reported)
            self._record_of(setting).live = paced.progress
            paced.serve()

    @property
    def _addresses(self) -> tuple[int, int]:
        return self._words[CPAR], self._words[CMAR]

    def _sides(self, setting: R.ChannelSetting) -> tuple[int, int]:
        peripheral, memory = self._addresses
        return peripheral & -setting.peripheral_size, memory & -setting.memory_size

    def _order(self, setting: R.ChannelSetting) -> CopyOrder:
        near, far = self._sides(setting)
        moves = setting.peripheral_moves, setting.memory_moves
        source_moves, target_moves = reversed(moves) if setting.out else moves
        size = setting.memory_size
        return CopyOrder(
            dma=replace(self._wiring.dma, beat=size, burst=1),
            side=WritingSide(size, 1, target_moves, source_moves),
            source=far if setting.out else near,
            target=near if setting.out else far,
            units=self._words[CNDTR],
            priority=CHANNELS * setting.priority + CHANNELS - 1 - self.number % CHANNELS,
        )

    def _paced_order(self, setting: R.ChannelSetting) -> PacedOrder:
        ports = dma_ports(self._memory.machine, replace(self._wiring.dma, burst=1))
        read, write = ports.before_read + ports.clock, ports.before_write + ports.clock
        near, far = setting.peripheral_size, setting.memory_size
        address, memory = self._sides(setting)
        return PacedOrder(
            out=setting.out,
            peripheral=address,
            memories=(memory, self._words[CM1AR] & -far) if setting.double_buffer else (memory,),
            current=self._words[CCR] >> 16 & 1 if setting.double_buffer else 0,
            units=self._words[CNDTR],
            near=Side(near, near * setting.peripheral_moves, 0),
            far=Side(far, far * setting.memory_moves, -(-(read + write) // L.TICK)),
            circular=setting.circular,
            packs=False,
        )

    def _record_of(self, setting: R.ChannelSetting) -> LoggedTransfer:
        """The record of what begins now, entered into the log."""
        words, wiring, units = self._words, self._wiring, self._words[CNDTR]
        near, far = self._sides(setting)
        size, far_size = setting.peripheral_size, setting.memory_size
        starts = (far, words[CM1AR] & -far_size) if setting.double_buffer else (far,)
        inside = tuple((start, start + far_size * (units if setting.memory_moves else 1)) for start in starts)
        outside = ((near, near + size * (units if setting.peripheral_moves else 1)),)
        out = setting.out
        kinds: tuple[Direction, Direction] = ("peripheral to memory", "memory to peripheral")
        record = LoggedTransfer(
            number=0, controller=wiring.controller, stream=wiring.number,
            direction="memory to memory" if setting.copies else kinds[out],
            source=far if out else near, target=near if out else far,
            reads=inside if out else outside, writes=outside if out else inside,
            unit=far_size if out else size, target_unit=size if out else far_size, units=units,
            priority=setting.priority, circular=setting.circular,
            registers={name: words[at] for at, name in NAMES.items() if at in self._writable},
            pc=self._host.pc, begin=self._host.cycles, irq=wiring.irq,
        )  # fmt: skip
        self._open(record)
        return record

    def _reported(self, event: PacedEvent) -> None:
        """What goes unit by unit has come to its half, its end (or that of a round), or to an error."""
        paced = self._paced
        if event == "half":
            self.flags |= R.HALF
            self._half()
        elif paced is not None:
            if len(paced.memories) > 1:
                self._words[CCR] = self._words[CCR] & ~R.CURRENT_TARGET | paced.target * R.CURRENT_TARGET
            if paced.ended:
                self._paced = None
                self._words[CNDTR] = paced.units_left
                self._ended(event == "error", self._host.cycles, paced.moved, paced.moved - paced.counted)
            else:
                self.flags |= R.COMPLETE
                self.transfers, self.bytes = self.transfers + 1, self.bytes + paced.moved - paced.counted
                paced.counted = paced.moved
                self._round()
        self._signal()

    def _disable(self) -> None:
        """EN was cleared by firmware: what is on the way is written, and no flag is set."""
        self._stopped = True
        if self._copy is not None:
            self._copy.stop()
            self.update()
        elif self._paced is not None:
            self._paced.stop()

    def _ended(self, failed: bool, end: int, moved: int, new: int) -> None:
        """``moved``: bytes of the whole transfer; ``new``: those that are not counted yet."""
        outcome: Outcome = "error" if failed else "stopped" if self._stopped else "complete"
        if failed:
            self.flags |= R.ERROR
            self._words[CCR] &= ~R.ENABLE
        elif not self._stopped:
            self.flags |= R.COMPLETE
        self.transfers, self.bytes = self.transfers + 1, self.bytes + new
        self._close(end, outcome, moved)
