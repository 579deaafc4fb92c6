"""A block of named registers: reset values, writable bits, and status bits that follow control bits after a time.

A block with behaviour is a class that derives from :class:`RegisterBlock` and overrides :meth:`~RegisterBlock.on_read`
and :meth:`~RegisterBlock.on_write`. Time is core cycles; nothing happens between two looks, so a register is brought up
to date when it is read.

Not modelled: the time an access takes on its bus, clocks that are off (a block answers before its clock is enabled),
and a core clock other than the machine file's while the program sets the clocks up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcusim.soc.program_flash import ProgramFlash

NEVER = 1 << 52  # a cycle that does not come
WORD = 0xFFFF_FFFF
APB2 = 0x4001_0000  # where it begins in all families here


class BlockHost(Protocol):
    """What a block may use of the core next to it."""

    @property
    def cycles(self) -> int:
        """Core cycles since the start."""

    @property
    def clock(self) -> int:
        """Of the core, in hertz."""

    @property
    def core_clock(self) -> int:
        """Of the core now, in hertz: as RCC is set, or ``clock``."""

    def dividers(self, bus: str) -> tuple[int, int]:
        """Of the core's clock, as RCC is set: that of the bus ``apb1`` or ``apb2``, and that of its timers."""

    def sdram_commanded(self, missing: dict[int, str]) -> None:
        """The SDRAM controller had a command; ``missing``: the first step that each bank (1, 2) still lacks, or ""."""

    def remapped(self, at_zero: int, swapped: bool) -> None:
        """SYSCFG_MEMRMP: the memory at address 0 by its number, and whether the FMC's banks are swapped."""

    def reset_blocks(self, register: str, bits: int) -> None:
        """These bits of a reset register of RCC have risen."""

    @property
    def pc(self) -> int:
        """Of the access under way."""

    @property
    def flash_size(self) -> int:
        """Bytes of the serial flash; 0: the machine has none."""

    def read_flash(self, offset: int, size: int) -> bytes:
        """What that flash has at ``offset``."""

    def write_flash(self, offset: int, data: bytes) -> None:
        """Replace what it has there."""

    @property
    def flash(self) -> ProgramFlash:
        """The part's own flash."""

    def stall(self, cycle: int, record: int | None) -> None:
        """The core waits until ``cycle`` with the access under way, or that of the record."""

    def bus_error(self, address: int) -> None:
        """The store under way, to that register, is a bus error: a wrong key."""

    def report(self, rule: str, text: str, fix: str, pc: int, address: int) -> None:
        """A finding: the instruction at ``pc`` did that."""

    def stop(self, kind: str, text: str) -> None:
        """The run is over: what the program asks for is not modelled."""

    def resets(self, cause: str, text: str) -> None:
        """The part is reset: by IWDG, WWDG or option bytes."""

    def warn(self, text: str) -> object:
        """The program did what a board does not answer as it may expect; the same ``text`` counts once."""

    def output(self, data: bytes) -> object:
        """Show what the program sends to its terminal."""

    def at(self, cycle: int, callback: Callable[[], None]) -> object:
        """Call ``callback`` at the first block that begins at or after ``cycle``."""

    def raise_line(self, irq: int) -> None:
        """The interrupt request ``irq`` (16 less than the exception's number) becomes active."""

    def lower_line(self, irq: int) -> None:
        """The interrupt request ``irq`` is no longer active."""


@dataclass(frozen=True, slots=True)
class DelayedStatus:
    """Bits ``mask`` of the register at ``source`` show ``shift`` bits higher up (or lower) ``after`` a time.

    That is in cycles of the machine's clock; where RCC is set to another one, as many of that as take as long.

    Those that are cleared show at once, but for a ``field``, whose bits change together. An ``event`` sets them when
    ones are stored, whatever the source holds then; where it ``clears``, it clears them, and at once.
    """

    source: int
    mask: int
    shift: int
    after: int
    field: bool = False
    event: bool = False
    clears: bool = False

    def moved(self, word: int) -> int:
        """The status bits that ``word`` in the source asks for."""
        return (word & self.mask) << self.shift if self.shift >= 0 else (word & self.mask) >> -self.shift


@dataclass(frozen=True, slots=True)
class Register:
    """One 32-bit register. A store changes the bits ``writable``; ones stored to bits ``w1c`` clear them.

    Bits ``self_clearing`` read 0 whatever was stored. Zeros stored to bits ``w0c`` clear them, ones leave them.
    A load clears bits ``read_clears``.
    """

    name: str
    reset: int = 0
    writable: int = WORD
    w1c: int = 0
    w0c: int = 0
    self_clearing: int = 0
    read_clears: int = 0
    follows: tuple[DelayedStatus, ...] = field(default=())


class RegisterLayout:
    """Registers by offset, which blocks of the same kind share; a mapping of them, and what is looked up in it."""

    def __init__(self, registers: Mapping[int, Register]) -> None:
        self.registers = dict(registers)
        self.offsets = {register.name: offset for offset, register in registers.items()}
        self.resets = {offset: register.reset for offset, register in registers.items()}
        self.sources: dict[int, list[tuple[int, DelayedStatus]]] = {}
        for offset, register in registers.items():
            for follow in register.follows:
                self.sources.setdefault(follow.source, []).append((offset, follow))


Registers = Mapping[int, Register] | RegisterLayout


class RegisterBlock:
    """``registers`` by offset; a word that none of them names is plain storage, at first 0."""

    wiring_keys: tuple[str, ...] = ()  # what its entry in blocks.toml may have besides, as in ``wiring``
    masters = False  # whether it reads and writes memory by itself
    by_events = False  # whether all that a class changes by itself it does at events of the host

    def __init__(self, name: str, base: int, size: int, registers: Registers, host: BlockHost, irq: int = -1):
        self.name, self.base, self.size, self.irq = name, base, size, irq
        self.host = host
        self.wiring: Mapping[str, int] = {}  # of the part: lines and channels
        self.bus = "apb1" if base < APB2 else "apb2"
        self._requesting: set[int] = set()  # its interrupt lines that are active
        self._resets = 0
        self.served_by: Callable[[], None] | None = None  # DMA controllers, called when a request may have begun
        layout = registers if isinstance(registers, RegisterLayout) else RegisterLayout(registers)
        self._registers, self._at, self._sources = layout.registers, layout.offsets, layout.sources
        self._resets_to, self._words = layout.resets, dict(layout.resets)
        self._due: dict[tuple[int, DelayedStatus], tuple[int, int]] = {}  # cycle, and the status bits from then on

    # for the bus

    def read(self, offset: int, size: int) -> int:
        """A load of ``size`` bytes at ``offset``."""
        at = offset & ~3
        self.settle()
        register = self._registers.get(at)
        word = self.word(at)
        if register is not None:
            word = self.on_read(register.name, word) & WORD
            if register.read_clears:
                self._words[at] &= ~register.read_clears
        return word >> 8 * (offset & 3) & (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        """A store of ``size`` bytes at ``offset``; other bytes of the register keep what they have."""
        at, shift = offset & ~3, 8 * (offset & 3)
        self.settle()
        lanes = ((1 << 8 * size) - 1) << shift & WORD
        stored, old = value << shift & lanes, self.word(at)
        register = self._registers.get(at)
        if register is None:
            self._words[at] = old & ~lanes | stored
            return
        allowed = register.writable & lanes
        cleared = stored & register.w1c | ~stored & lanes & register.w0c | register.self_clearing
        self._words[at] = (old & ~allowed | stored & allowed) & ~cleared
        self.on_write(register.name, stored, old)
        self._follow(at, stored)

    def word(self, offset: int) -> int:
        """What the register at ``offset`` holds, without the effects of a load."""
        return self._words.get(offset, 0)

    def label(self, offset: int) -> str:
        """``RCC_CR``, or ``RCC + 0x98`` where no register is named."""
        register = self._registers.get(offset & ~3)
        return f"{self.name}_{register.name}" if register else f"{self.name} + {offset:#04x}"

    def name_at(self, offset: int) -> str:
        """``CR``; '' where no register is named."""
        register = self._registers.get(offset & ~3)
        return register.name if register else ""

    @property
    def lines(self) -> tuple[int, ...]:
        """The interrupt lines that it may request; a class with more than one of its own overrides this."""
        return (self.irq,) if self.irq >= 0 else ()

    def line_enabled(self, irq: int) -> bool:
        """Whether the program lets any event of the block request the interrupt line; True where a class does not
        say."""
        return True

    def reset(self) -> None:
        """As after a reset of the part: registers, and what a class says of its instances."""
        for irq in tuple(self._requesting):
            self.request(False, irq)
        self._resets += 1
        self._words = dict(self._resets_to)
        self._due.clear()
        for name in [name for name in vars(self) if hasattr(type(self), name)]:
            delattr(self, name)

    def kept(self) -> object:
        """What it keeps over a reset of the part."""
        return None

    @property
    def waiting(self) -> bool:
        """Whether a bit is still to change by itself."""
        self.settle()
        return bool(self._due)

    def changes_at(self, offset: int) -> int:
        """From which cycle on a load of the register at ``offset`` may find something else, although nothing was stored
        and no event has come; 0: at any time, as far as this class knows of one whose ``waiting`` is another."""
        if not self.waiting:
            return NEVER
        known = self.by_events or type(self).waiting is RegisterBlock.waiting
        return min((due for due, _ in self._due.values()), default=NEVER) if known else 0

    @property
    def names(self) -> Collection[str]:
        """Those of its registers."""
        return self._at.keys()

    # for behaviours

    def __getitem__(self, register: str) -> int:
        return self._words[self._at[register]]

    def __setitem__(self, register: str, word: int) -> None:
        self._words[self._at[register]] = word & WORD

    def on_read(self, register: str, word: int) -> int:
        """What a load of the register finds; ``word`` is what it holds."""
        return word

    def on_write(self, register: str, value: int, old: int) -> None:
        """``value`` was stored to a register that held ``old``; other bytes of ``value`` are 0."""

    def dma_request(self, request: str) -> bool:
        """Whether it asks a DMA controller now, with ``request`` of its request lines: TX, RX, UP."""
        return False

    def flags_lost(self, register: str, flags: int) -> None:
        """The program has cleared ``flags`` by storing back what it had loaded before they were set."""
        if flags:
            address = self.base + self._at[register]
            text = (
                f"{self.name}_{register} is stored back as it was loaded but for the flags to clear: those that were"
                f" set in between ({flags:#x}) are cleared too, and nobody has seen them"
            )
            fix = "store ones to all flags but those to clear, without a load before"
            self.host.report("flag-read-modify-write", text, fix, self.host.pc, address)

    def has_sent(self, register: str, value: int) -> bool:
        """Whether ``value``, which the program has loaded, says that all that the block was given to send has left."""
        return False

    def dma_ack(self, request: str) -> None:
        """A DMA controller has moved a unit for ``request``."""

    def request(self, active: bool, irq: int | None = None) -> None:
        """The interrupt line ``irq``, else the block's own, is active, or not any more."""
        irq = self.irq if irq is None else irq
        if irq < 0 or active == (irq in self._requesting):
            return
        if active:
            self._requesting.add(irq)
            self.host.raise_line(irq)
        else:
            self._requesting.remove(irq)
            self.host.lower_line(irq)

    def at(self, cycle: int, callback: Callable[[], None]) -> None:
        """Call ``callback`` at the first block that begins at or after ``cycle``, unless a reset comes before."""
        resets = self._resets
        self.host.at(cycle, lambda: callback() if resets == self._resets else None)

    # time

    def _follow(self, source: int, stored: int) -> None:
        word = self.word(source)
        for offset, follow in self._sources.get(source, ()):
            if follow.event or follow.clears:
                self._happen(offset, follow, follow.moved(stored))
                continue
            wanted, key = follow.moved(word), (offset, follow)
            status = self._words[offset] & follow.moved(WORD)
            if wanted == status:
                self._due.pop(key, None)
            elif self._due.get(key, (0, None))[1] != wanted:
                if not follow.field:
                    self._words[offset] &= ~(status & ~wanted)
                after = -(-follow.after * self.host.core_clock // self.host.clock)
                self._due[key] = self.host.cycles + after, wanted
        self.settle()

    def _happen(self, offset: int, follow: DelayedStatus, bits: int) -> None:
        if follow.clears:
            self._words[offset] &= ~bits
        elif bits:
            self._due[offset, follow] = self.host.cycles + follow.after, bits

    def settle(self) -> None:
        """Let the bits change whose time has come."""
        if not self._due:
            return
        now = self.host.cycles
        for (offset, follow), (due, bits) in list(self._due.items()):
            if due <= now:
                self._words[offset] = self._words[offset] & ~follow.moved(WORD) | bits
                del self._due[offset, follow]
