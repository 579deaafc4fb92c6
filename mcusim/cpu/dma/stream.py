"""A stream of DMA1 or DMA2: its registers, its flags, and what it has under way.

Not modelled: that a stream does not start while one of its flags is set, the time from a store to the first request,
and the cycles between the clearing of EN by firmware and its reading 0 other than those of the FIFO's last writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcusim.cpu.dma import stream_registers as R
from mcusim.cpu.dma.copy import Copy, CopyOrder
from mcusim.cpu.dma.host import DmaHost, RequestLine
from mcusim.cpu.dma.paced import PacedOrder, PacedTransfer
from mcusim.machine.description import Dma
from mcusim.memory import state_layout as L
from mcusim.memory.state_builder import WritingSide, dma_ports
from mcusim.memory.system import MemorySystem

__all__ = ["Stream"]

CR, NDTR, PAR, M0AR, M1AR, FCR = range(0, 24, 4)
WRITABLE = {CR: 0x1FFF_FFFF, NDTR: 0xFFFF, PAR: 0xFFFF_FFFF, M0AR: 0xFFFF_FFFF, M1AR: 0xFFFF_FFFF, FCR: 0x87}
FCR_RESET = 0x21


class Stream:
    """``dma`` gives the controller's times, ``copies`` says whether it does so between memories; ``irq`` is the
    stream's; ``line`` finds the request line of a channel."""

    def __init__(
        self,
        dma: Dma,
        copies: bool,
        memory: MemorySystem,
        host: DmaHost,
        irq: int,
        line: Callable[[int], RequestLine | None],
    ) -> None:
        self._dma, self._copies, self._memory, self._host, self._irq = dma, copies, memory, host, irq
        self._request_line = line
        self._words = {**dict.fromkeys(WRITABLE, 0), FCR: FCR_RESET}
        self._units = 0  # what NDTR was set to last, or reads while nothing moves
        self._copy: Copy | None = None
        self._paced: PacedTransfer | None = None
        self._half_due = self._line = False
        self.flags = 0
        self.transfers, self.bytes = 0, 0  # ended, and moved by them
        self.last = (0, 0)  # cycles at which the last copy began and ended

    @property
    def under_way(self) -> bool:
        """Whether something is in flight, or waits for requests."""
        return self._copy is not None or self._paced is not None

    def read(self, register: int) -> int:
        """The word that a load of the register finds; it is up to date after :meth:`update`."""
        under_way = self._copy or self._paced
        if register == NDTR:
            return self._units if under_way is None else under_way.units_left
        return self._words[register]

    def request(self) -> None:
        """A peripheral may have a request for the stream."""
        if self._paced is not None:
            self._paced.serve()

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

    def clear(self, flags: int) -> None:
        """Flags that firmware clears."""
        self.flags &= ~flags
        self._signal()

    def update(self) -> None:
        """Bring flags and registers to the present."""
        copy = self._copy
        if copy is None:
            return
        ended = copy.update()
        if self._half_due and copy.half:
            self._half_due = False
            self.flags |= R.HALF
        if ended:
            self._end(copy)
        self._signal()

    def _start(self) -> None:
        setting = R.Setting.read(self._words[CR], self._words[FCR])
        copies = setting.direction == R.MEMORY_TO_MEMORY
        if copies:
            self._words[FCR] |= 4  # DMDIS is set by hardware
        if not setting.possible:
            self._refuse(R.FIFO_ERROR)
        elif copies and not self._copies:
            self._refuse(R.ERROR)
        elif not self._words[NDTR]:
            return
        elif not copies:
            self._begin_paced(setting)
        else:
            self._half_due = True
            self._copy = Copy(self._order(setting), self._memory, self._host, self.update)
            self.update()

    def _order(self, setting: R.Setting) -> CopyOrder:
        size, burst = setting.peripheral_size, setting.peripheral_burst
        return CopyOrder(
            dma=replace(self._dma, beat=size, burst=burst, threshold=setting.threshold_name),
            side=WritingSide(setting.memory_size, setting.memory_burst, setting.memory_moves, setting.peripheral_moves),
            source=self._words[PAR] & -size,
            target=self._words[M0AR] & -setting.memory_size,
            units=self._words[NDTR],
            priority=setting.priority,
        )

    def _begin_paced(self, setting: R.Setting) -> None:
        """Wait for requests; a channel without a peripheral here never has one."""
        line = self._request_line(setting.channel)
        if line is None:
            return
        ports = dma_ports(self._memory.machine, replace(self._dma, burst=1))
        memories = (self._words[M0AR], self._words[M1AR]) if setting.double_buffer else (self._words[M0AR],)
        order = PacedOrder(
            setting,
            self._words[PAR] & -setting.peripheral_size,
            memories,
            self._words[CR] >> 19 & 1 if setting.double_buffer else 0,
            self._words[NDTR],
            max(1, -(-(ports.before_read + ports.before_write + 2 * ports.clock) // L.TICK)),
        )
        self._paced = PacedTransfer(order, line, self._memory, self._host, self._reported)
        self._paced.serve()

    def _exchange(self, register: int, value: int) -> bool:
        """In double-buffer mode the memory address that is not in use may be changed while the stream runs."""
        paced = self._paced
        if paced is None or len(paced.memories) < 2 or register != (M1AR, M0AR)[paced.target]:
            return False
        self._words[register] = paced.memories[1 - paced.target] = value
        return True

    def _reported(self, flag: int) -> None:
        """The transfer with a peripheral has come to its half, its end (or that of a round), or to an error."""
        paced = self._paced
        self.flags |= flag
        if paced is not None and flag != R.HALF:
            self.transfers += flag == R.COMPLETE
            self.bytes += paced.moved
            paced.moved = 0
            if len(paced.memories) > 1:
                self._words[CR] = self._words[CR] & ~R.CURRENT_TARGET | paced.target * R.CURRENT_TARGET
            if paced.ended:
                self._words[CR] &= ~R.ENABLE
                self._rest(paced.units_left)
                self._paced = None
        self._signal()

    def _refuse(self, flag: int) -> None:
        """The stream disables itself before anything moved."""
        self.flags |= flag
        self._words[CR] &= ~R.ENABLE

    def _disable(self) -> None:
        """EN was cleared by firmware: it reads 1 until what is in the FIFO is written."""
        if self._copy is not None:
            self._words[CR] |= R.ENABLE
            self._copy.stop()
            self.update()
        elif self._paced is not None:
            self._paced.stop()

    def _end(self, copy: Copy) -> None:
        self.flags |= R.ERROR if copy.failed else R.COMPLETE
        self._words[CR] &= ~R.ENABLE
        self._rest(copy.units_left)
        self.transfers, self.bytes = self.transfers + 1, self.bytes + copy.moved
        self.last = copy.begin, copy.end or copy.begin
        self._copy, self._half_due = None, False

    def _rest(self, units: int) -> None:
        """NDTR as a transfer leaves it; after one that came to its end EN begins with the same number again."""
        self._units = units
        self._words[NDTR] = units or self._words[NDTR]

    def _signal(self) -> None:
        """The interrupt line follows the flags that are enabled."""
        active = bool(self.flags & R.enabled_events(self._words[CR], self._words[FCR]))
        if active != self._line:
            self._line = active
            change: Callable[[int], None] = self._host.raise_line if active else self._host.lower_line
            change(self._irq)
