"""A channel of the STM32H7's MDMA: requests by software, blocks and repeated blocks between memories.

A request moves a buffer, a block or all blocks, as CTCR.TRGM says. A buffer's bytes are read before they are written
(assumed). Tightly coupled memory is reached where CTBR selects the AHB port, all other memory where it does not; the
other way round is a transfer error.

Not modelled: requests by hardware (a channel with CTCR.SWRM clear waits for ever), what
:mod:`mcusim.soc.dma.mdma.mdma_registers` does not model, and waits for a memory that others use where addresses go down
or leave gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcusim.memory import state_layout as L
from mcusim.memory.state_builder import WritingSide, dma_ports
from mcusim.soc.dma.channel_base import DmaLane
from mcusim.soc.dma.copy import Copy, CopyOrder
from mcusim.soc.dma.dma_log import LoggedTransfer
from mcusim.soc.dma.mdma import mdma_registers as R
from mcusim.soc.dma.reach import reached
from mcusim.soc.dma.request_driven import ALWAYS, PacedEvent, PacedOrder, PacedTransfer, Side
from mcusim.soc.dma.wiring import Wiring

ISR, IFCR, ESR, CR, TCR, BNDTR, SAR, DAR, BRUR, LAR, TBR = range(0, 0x2C, 4)
MAR, MDR = 0x30, 0x34
NAMES = {
    ISR: "ISR", IFCR: "IFCR", ESR: "ESR", CR: "CR", TCR: "TCR", BNDTR: "BNDTR", SAR: "SAR", DAR: "DAR", BRUR: "BRUR",
    LAR: "LAR", TBR: "TBR", MAR: "MAR", MDR: "MDR",
}  # fmt: skip
WRITABLE = {
    CR: 0x70FF, TCR: 0xFFFF_FFFF, BNDTR: 0xFFFD_FFFF, SAR: 0xFFFF_FFFF, DAR: 0xFFFF_FFFF, BRUR: 0xFFFF_FFFF,
    LAR: 0xFFFF_FFF8, TBR: 0x3_00FF, MAR: 0xFFFF_FFFF, MDR: 0xFFFF_FFFF,
}  # fmt: skip
SIZE, BLOCKS_AT = 0x1_FFFF, 20  # in BNDTR
CHANNELS = 16


class MdmaChannel(DmaLane):
    """``together``: called when flags change; the channels have one interrupt line."""

    names = R.FLAG_NAMES

    def __init__(self, wiring: Wiring, together: Callable[[], None]) -> None:
        super().__init__(wiring)
        self._together = together
        self._words = dict.fromkeys(NAMES, 0)
        self._piece: Copy | PacedTransfer | None = None
        self._piece_size = self._done = 0  # bytes of the piece in flight; of the request, before it
        self._block = 0  # bytes of a whole block
        self._serving = self._stopped = False

    @property
    def under_way(self) -> bool:
        """Whether something is in flight."""
        return self._piece is not None

    @property
    def enabled(self) -> int:
        """The flags that may interrupt the core."""
        return R.enabled_events(self._words[CR])

    def _signal(self) -> None:
        self._together()

    def read(self, register: int) -> int:
        """The word that a load of the register finds; it is up to date after :meth:`update`."""
        words = self._words
        if register == ISR:
            return self.flags | R.REQUEST * self._serving
        if register == BNDTR:
            return words[BNDTR] & ~SIZE | max(0, (words[BNDTR] & SIZE) - self._progress()[0])
        return words.get(register, 0)

    def write(self, register: int, value: int) -> None:
        """A store to the register. While EN is set only CR changes: EN, the interrupt enables, a request."""
        if register == IFCR:
            self.clear(value & 0x1F)
            return
        words, on = self._words, self._words[CR] & R.ENABLE
        if register not in words:  # reserved
            return
        free = WRITABLE.get(register, 0)
        if on:
            free = 0x3F if register == CR else 0
        words[register] = words[register] & ~free | value & free
        if register == CR and on and not value & R.ENABLE:
            self._disable()
        elif register == CR and not on and value & R.ENABLE:
            self._block, words[ESR] = words[BNDTR] & SIZE, 0
        if register == CR and value & words[CR] & R.ENABLE and value & R.REQUEST and not self._serving:
            self._request()
        self._signal()

    def update(self) -> None:
        """Bring flags and registers to the present."""
        piece = self._piece
        if isinstance(piece, Copy) and piece.update():
            self._piece_ended(piece, piece.failed, piece.begin if piece.end is None else piece.end)
        self._signal()

    def reset(self) -> None:
        """As after a reset; what is in flight is written to its end first, and sets CTCIF then."""
        self.write(CR, 0)
        self._words = dict.fromkeys(NAMES, 0)
        self.clear(sum(self.names.values()))

    def _request(self) -> None:
        """What the program asks for by SWRQ."""
        words, setting = self._words, R.MdmaSetting.read(self._words[TCR])
        if not setting.software:
            return
        self._serving, self._stopped, self._done = True, False, 0
        record = self._record_of(setting)
        record.live = self._moved
        wrong = setting.wrong(words[SAR], words[DAR], words[BNDTR] & SIZE)
        if wrong:
            self._fail(wrong, self._host.cycles)
        else:
            self._begin(setting)

    def _record_of(self, setting: R.MdmaSetting) -> LoggedTransfer:
        words, wiring = self._words, self._wiring
        left, more = words[BNDTR] & SIZE, words[BNDTR] >> BLOCKS_AT if setting.trigger >= 2 else 0
        size = min(setting.buffer, left) if setting.trigger == 0 else left
        starts, source, target = [], words[SAR], words[DAR]
        for n in range(more + 1):
            starts.append((source, target))
            source, target = self._next(source, target, size if n == 0 else self._block, setting)
        sizes = [size, *([self._block] * more)]
        record = LoggedTransfer(
            number=0, controller=wiring.controller, stream=wiring.number, direction="memory to memory",
            source=words[SAR], target=words[DAR],
            reads=_extents([s for s, _ in starts], sizes, setting.source_size, setting.source_step),
            writes=_extents([t for _, t in starts], sizes, setting.target_size, setting.target_step),
            unit=setting.source_size, target_unit=setting.target_size, units=sum(sizes) // setting.source_size,
            priority=words[CR] >> 6 & 3, circular=False,
            registers={name: words[at] for at, name in NAMES.items() if at in WRITABLE}, pc=self._host.pc,
            begin=self._host.cycles, irq=wiring.irq,
        )  # fmt: skip
        self._open(record)
        return record

    def _begin(self, setting: R.MdmaSetting) -> None:
        """The next piece of the request: a buffer or what is left of a block."""
        left = self._words[BNDTR] & SIZE
        self._piece_size = min(setting.buffer, left) if setting.trigger == 0 else left
        wiring = replace(self._wiring, reach=self._reached)
        if setting.plain:
            self._piece = Copy(self._order(setting), wiring, self.update)
            self.update()
        else:
            self._piece = paced = PacedTransfer(self._paced_order(setting), ALWAYS, wiring, self._reported)
            paced.serve()

    def _reached(self, address: int, size: int, write: bool) -> int:
        tightly = bool(self._words[TBR] >> (17 if write else 16) & 1)
        machine = self._memory.machine
        return reached(machine, address, size, write, lambda region: (region.kind == "tcm") == tightly)

    def _order(self, setting: R.MdmaSetting) -> CopyOrder:
        steps = setting.source_size * setting.source_burst, setting.target_size * setting.target_burst
        step = max(steps)
        dma = replace(
            self._wiring.dma,
            beat=setting.source_size,
            burst=setting.source_burst,
            fifo=max(step, setting.buffer // step * step),
            threshold="full",
        )
        moves = bool(setting.target_step), bool(setting.source_step)
        return CopyOrder(
            dma=dma,
            side=WritingSide(setting.target_size, setting.target_burst, *moves),
            source=self._words[SAR],
            target=self._words[DAR],
            units=self._piece_size // setting.source_size,
            priority=CHANNELS * (self._words[CR] >> 6 & 3) + CHANNELS - 1 - self.number,
        )

    def _paced_order(self, setting: R.MdmaSetting) -> PacedOrder:
        ports = dma_ports(self._memory.machine, replace(self._wiring.dma, burst=1))
        cycles = -(-(ports.before_read + ports.before_write + 2 * ports.clock) // L.TICK)
        return PacedOrder(
            out=False,
            peripheral=self._words[SAR],
            memories=(self._words[DAR],),
            current=0,
            units=self._piece_size // setting.source_size,
            near=Side(setting.source_size, setting.source_step, 0),
            far=Side(setting.target_size, setting.target_step, cycles),
            threshold=setting.target_size if setting.packs else 0,
            packs=setting.packs,
        )

    def _reported(self, event: PacedEvent) -> None:
        piece = self._piece
        if isinstance(piece, PacedTransfer) and event in ("complete", "error"):
            self._piece_ended(piece, event == "error", self._host.cycles)
            self._signal()

    def _progress(self) -> tuple[int, int]:
        """Bytes of the piece in flight that are read, and written."""
        return self._piece.progress() if self._piece is not None else (0, 0)

    def _moved(self) -> tuple[int, int]:
        """Bytes of the request that are read, and written."""
        read, written = self._progress()
        return self._done + read, self._done + written

    def _piece_ended(self, piece: Copy | PacedTransfer, failed: bool, end: int) -> None:
        words, setting = self._words, R.MdmaSetting.read(self._words[TCR])
        read, written = piece.progress()
        self._piece = None
        self._done, self.bytes = self._done + written, self.bytes + written
        self.last = (piece.begin if isinstance(piece, Copy) else self.last[1], end)
        if failed:
            self._failed(piece, setting, written, end)
            return
        self._go_on(setting, read, written)
        if self._stopped:
            self._finish(end, R.CHANNEL, "stopped")
            return
        self.flags |= R.BUFFER
        if words[BNDTR] & SIZE:
            self._served(end)
        else:
            self._block_ended(setting, end)

    def _go_on(self, setting: R.MdmaSetting, read: int, written: int) -> None:
        """The registers after so many bytes."""
        words = self._words
        words[BNDTR] -= min(read, words[BNDTR] & SIZE)
        words[SAR] = words[SAR] + read // setting.source_size * setting.source_step & 0xFFFF_FFFF
        words[DAR] = words[DAR] + written // setting.target_size * setting.target_step & 0xFFFF_FFFF

    def _next(self, source: int, target: int, size: int, setting: R.MdmaSetting) -> tuple[int, int]:
        """Where the block after one of ``size`` bytes begins: CBRUR goes up or down from that one's end."""
        words = self._words
        source += size // setting.source_size * setting.source_step
        target += size // setting.target_size * setting.target_step
        by_source, by_target = words[BRUR] & 0xFFFF, words[BRUR] >> 16
        source += -by_source if words[BNDTR] >> 18 & 1 else by_source
        target += -by_target if words[BNDTR] >> 19 & 1 else by_target
        return source & 0xFFFF_FFFF, target & 0xFFFF_FFFF

    def _block_ended(self, setting: R.MdmaSetting, end: int) -> None:
        words = self._words
        self.flags |= R.BLOCK
        if not words[BNDTR] >> BLOCKS_AT:
            self._finish(end, R.BLOCKS | R.CHANNEL, "complete")
            return
        words[SAR], words[DAR] = self._next(words[SAR], words[DAR], 0, setting)
        words[BNDTR] = words[BNDTR] - (1 << BLOCKS_AT) & ~SIZE | self._block
        if setting.trigger < 2:
            self._served(end)
        else:
            self._begin(setting)

    def _served(self, end: int) -> None:
        """The request is served; the channel waits for the next one."""
        self._serving = False
        self.transfers += 1
        self._close(end, "complete", self._done)

    def _finish(self, end: int, flags: int, outcome: str) -> None:
        self.flags |= flags
        self._words[CR] &= ~R.ENABLE
        self._serving = False
        self.transfers += 1
        self._close(end, "stopped" if outcome == "stopped" else "complete", self._done)

    def _failed(self, piece: Copy | PacedTransfer, setting: R.MdmaSetting, written: int, end: int) -> None:
        """An access failed: the last seven bits of its address, and which side it was."""
        words = self._words
        at = words[SAR] + written // setting.source_size * setting.source_step
        writing = self._reached(at, setting.source_size, False) == setting.source_size
        if writing:
            at = words[DAR] + written // setting.target_size * setting.target_step
        self._go_on(setting, written, written)
        self._fail(at & 0x7F | R.WRITING * writing, end)

    def _fail(self, error: int, end: int) -> None:
        self.flags |= R.ERROR
        self._words[ESR] = error
        self._words[CR] &= ~R.ENABLE
        self._serving = False
        self.transfers += 1
        self._close(end, "error", self._done)

    def _disable(self) -> None:
        """EN was cleared by firmware: it reads 1 until what was read is written."""
        if self._piece is None:
            return
        self._stopped = True
        self._words[CR] |= R.ENABLE
        self._piece.stop()
        self.update()


def _extents(starts: list[int], sizes: list[int], unit: int, step: int) -> tuple[tuple[int, int], ...]:
    """First address and end of what blocks of ``sizes`` bytes in units from each of ``starts`` on touch."""
    extents = []
    for address, size in zip(starts, sizes, strict=True):
        last = address + max(0, size // unit - 1) * step
        extents.append((min(address, last), max(address, last) + unit))
    return tuple(extents)
