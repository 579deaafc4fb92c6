"""A machine as typed, frozen data: what the loader builds from a TOML file and everything above reads.

Clocks are in Hz, sizes and addresses in bytes, currents in A, energies in J, voltages in V.
Durations keep the unit they were written in (:class:`Duration`): a wait state is a number of core cycles, an SDRAM
parameter a number of its own clocks or a time; they become whole core cycles once, where the engine is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Literal

from mcusim.display import Displayed
from mcusim.units import Duration, hertz

__all__ = [
    "Accelerator",
    "Attribute",
    "Basis",
    "Bus",
    "Cache",
    "CachePolicy",
    "ClockMove",
    "ClockedCurrent",
    "Core",
    "Device",
    "DeviceKind",
    "Dma",
    "Duration",
    "Figure",
    "Flash",
    "Machine",
    "Mirror",
    "Peripheral",
    "Power",
    "PowerScale",
    "Qspi",
    "Region",
    "RegulatorSetting",
    "Sdram",
    "SdramTiming",
    "Sram",
    "Tcm",
]

Basis = Literal["datasheet", "measured", "calibrated", "assumed"]
CachePolicy = Literal["write-back", "write-through"]
Attribute = Literal["write-back", "write-through", "uncached", "device"]
Precision = Literal["single", "double"]
DeviceKind = Literal["tcm", "sram", "flash", "sdram", "qspi"]


@dataclass(frozen=True, slots=True)
class Core:
    """``isa`` is the name of a core in :mod:`mcusim.machine.cores`; clocks in Hz.

    ``max_clock``: of the part; ``force_clock``: a what-if beyond it; ``regulator``: None: the lowest for the clock;
    ``revision``: ``r1p0``, None: that of the core's table; ``external_clock``: of the board's crystal, None: not known.
    """

    isa: str
    clock: int
    max_clock: int | None = None
    force_clock: bool = False
    regulator: str | None = None
    fpu: Precision = "single"
    revision: str | None = None
    external_clock: int | None = None


@dataclass(frozen=True, slots=True)
class RegulatorSetting:
    """A setting of the voltage regulator (ST: scale, range), the clocks in Hz that it allows, and the
    ``wait_state_clocks`` of a :class:`Flash` where they depend on the setting."""

    name: str
    max_clock: int  # of the core
    max_bus_clock: int | None = None
    wait_state_clocks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cache:
    """A level-1 cache; ``size`` 0 means switched off."""

    size: int
    ways: int
    line: int
    policy: CachePolicy
    replacement: str  # one of ``schema.REPLACEMENTS``, the path of a file, or the name of an installed policy
    maintenance: Duration  # core time to clean or invalidate one line by address, write-back excluded


@dataclass(frozen=True, slots=True)
class Bus:
    """The matrix between core, DMA and memories; ``clock`` in Hz (``hclk``), of the core's by one of ``dividers``."""

    clock: int
    dividers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tcm:
    """Tightly coupled memory: no wait states, never cached."""


@dataclass(frozen=True, slots=True)
class Sram:
    """On-chip SRAM on the bus. Latencies are stalls beyond the core's ideal load or store."""

    width: int  # bits per beat
    clock: int  # Hz
    read_latency: Duration  # single read, or the first beat of a line fill
    write_latency: Duration
    fetch_latency: Duration  # of code past the caches, each read of the core's bus width
    dma_latency: Duration  # of a DMA's read, beyond its data cycle on the bus
    read_arbitration: Duration  # in the bus matrix, of the first of a core's reads back to back, past the caches


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Flash read cache (ST's ART): ``instruction_lines`` and ``data_lines`` of one flash line each, LRU.

    A line of flash has ``ways`` places (0: any of them), those whose number is the same modulo the number of sets.
    With ``serves`` ``aliases`` the region's aliases are a port with the accelerator, without caches or
    ``read_latency``; the region at its base has none (STM32F7: ITCM and AXI). ``unified``: data reads use these lines.
    """

    instruction_lines: int
    data_lines: int
    ways: int  # 0: fully associative
    serves: Literal["region", "aliases"]
    unified: bool
    prefetch: bool
    keeps_prefetched: bool  # copies a prefetched line that the core came to into the instruction lines
    cancels_prefetch: bool  # a miss or a data read ends a prefetch under way; else it waits for it
    line_change: Duration  # replay of a counted profile: what a line of code takes beyond the profile's cycles


@dataclass(frozen=True, slots=True)
class Flash:
    """Embedded flash; a read that misses everything costs ``wait_states`` + ``read_latency``."""

    wait_states: int
    line: int  # bytes read at once
    read_latency: Duration  # bus path beyond the wait states
    fetch_latency: Duration  # the same of code past the caches, where there is no accelerator
    accelerator: Accelerator | None
    wait_state_clocks: tuple[int, ...] = ()  # Hz, the fastest bus clock for 0, 1, 2 ... wait states


@dataclass(frozen=True, slots=True)
class SdramTiming:
    """JEDEC names. ``CL`` in SDRAM clocks; ``refresh`` is tREFI, the mean time between row refreshes."""

    CL: Duration
    tRCD: Duration
    tRP: Duration
    tRC: Duration
    tRAS: Duration
    tWR: Duration
    refresh: Duration


@dataclass(frozen=True, slots=True)
class Sdram:
    width: int  # bits
    clock: int  # Hz (SDCLK)
    banks: int
    rows: int
    columns: int
    mapping: Literal["bank-row-column", "row-bank-column"]  # address bits from the top
    timing: SdramTiming
    read_overhead: Duration  # controller and bus, per read access of the core, beyond the commands themselves
    write_overhead: Duration
    dma_latency: Duration  # controller, per read access of a DMA, beyond the commands themselves
    read_burst: bool  # RBURST: reads on during the CAS latency, into
    read_fifo: int  # lines of a column each
    read_pipe: Duration  # RPIPE
    write_fifo: int  # posted writes (words) the controller takes before it stalls the bus
    dividers: tuple[int, ...] = ()  # of the bus clock
    max_clock: int | None = None  # Hz, of what the dividers give


@dataclass(frozen=True, slots=True)
class Qspi:
    clock: int  # Hz
    instruction_lines: int
    address_lines: int
    data_lines: int
    address_bits: int
    dummy: int  # clocks
    cs_high: int  # clocks
    read_overhead: Duration
    dividers: tuple[int, ...] = ()  # of the bus clock
    max_clock: int | None = None  # Hz, of what the dividers give


Device = Tcm | Sram | Flash | Sdram | Qspi


@dataclass(frozen=True, slots=True)
class Region:
    """One address range: ``name`` is the key under ``[memory]``."""

    name: str
    kind: DeviceKind
    base: int
    size: int
    aliases: tuple[int, ...]
    attribute: Attribute  # how the core's data cache treats it; device: uncached, a Cortex-M7 must access it aligned
    dma: bool  # can the DMA reach it
    writable: bool
    device: Device
    executable: bool = True  # can the core fetch code from it

    @property
    def cached(self) -> bool:
        """Whether a data cache may contain its lines."""
        return self.attribute in ("write-back", "write-through")

    @property
    def alias_port(self) -> bool:
        """Are the aliases a port of their own, with the accelerator that the region at its base lacks."""
        accelerator = self.device.accelerator if isinstance(self.device, Flash) else None
        return accelerator is not None and accelerator.serves == "aliases"

    @property
    def end(self) -> int:
        """First address after the region."""
        return self.base + self.size


@dataclass(frozen=True, slots=True)
class Dma:
    """One controller: of its two ports one reads into the stream's FIFO, one writes from it (ST AN4031). A beat moves
    ``beat`` bytes; ``burst`` beats share one arbitration."""

    name: str
    streams: int
    beat: int
    burst: int
    max_units: int  # beats one transfer may have (NDTR)
    fifo: int  # bytes; 0: each beat is written before the next one is read
    threshold: Literal["direct", "1/4", "1/2", "3/4", "full"]  # of the FIFO, when what is in it is written
    port_cost: Duration  # arbitration in the controller and address, of either port
    matrix_cost: Duration  # arbitration in the bus matrix, of a read and of a burst of writes
    request_setup: Duration  # core time to program one transfer
    completion_interrupt: Duration  # core time for the handler of one finished transfer

    @property
    def threshold_bytes(self) -> int:
        """Bytes in the FIFO at which they are written; 0 in direct mode: every beat is at once."""
        quarters = {"direct": 0, "1/4": 1, "1/2": 2, "3/4": 3, "full": 4}[self.threshold]
        return self.fifo * quarters // 4


@dataclass(frozen=True, slots=True)
class ClockedCurrent:
    """A current in A that holds at the clock ``at`` (Hz); None: at every clock."""

    value: float
    at: int | None = None

    def __str__(self) -> str:
        clock = "" if self.at is None else f" at {hertz(self.at)}"
        return f"{1e3 * self.value:.12g} mA{clock}"


@dataclass(frozen=True, slots=True)
class PowerScale:
    """What the microcontroller draws at one setting of its regulator (``name``): a static part (A) and one for each MHz
    (A/MHz) of the core's clock, while the core runs and while it sleeps."""

    name: str
    run_static: float
    run_per_mhz: float
    sleep_static: float
    sleep_per_mhz: float

    def run(self, clock: float) -> float:
        """A while the core runs."""
        return self.run_static + self.run_per_mhz * clock / 1e6

    def sleep(self, clock: float) -> float:
        """A while the core sleeps."""
        return self.sleep_static + self.sleep_per_mhz * clock / 1e6


@dataclass(frozen=True, slots=True)
class SleepMode:
    """A mode (``name``: ``stop`` or ``standby``) in which the microcontroller draws ``current`` A at its own supply,
    ``least`` to ``most`` where that is assumed. Seconds until code runs again (``wakeup``), and until oscillator and
    PLL have the clock that the machine has (``restart``)."""

    name: str
    current: float
    least: float
    most: float
    wakeup: float
    restart: float


@dataclass(frozen=True, slots=True)
class Power:
    """Currents at ``supply`` and the machine's clocks: what the board draws in each state, and energy per byte moved.

    :mod:`mcusim.machine.currents` gives them for other clocks.
    """

    supply: float  # V
    run: float  # A, core running, external memories idle or off
    sdram_active: float  # A added while SDRAM is initialised and refreshed (a program uses it)
    qspi_active: float  # A added while QSPI is memory-mapped (a program uses it)
    dma_active: float  # A added while a DMA stream transfers
    energy_per_byte: Mapping[str, float]  # region name -> J per byte moved
    stalled: float | None = None  # A in place of ``run`` while the core waits for data; None: as ``run``
    sleep: float | None = None  # A in place of ``run`` while the core sleeps (WFI), its clocks on; None: as ``run``
    qspi_idle: float = 0.0  # A of ``qspi_active`` that a QSPI draws while nothing reads it
    peripherals: float = 0.0  # A that the microcontroller's peripherals may draw besides ``run``, all of them on
    scale: PowerScale | None = None  # that of the regulator at the core's clock
    board: float = 0.0  # A of ``run``, ``stalled`` and ``sleep`` that is not the microcontroller's
    mcu_supply: float | None = None  # V of the microcontroller alone; None: ``supply``
    self_refresh: float | None = None  # A of an SDRAM that refreshes itself; None: as ``sdram_active``
    modes: Mapping[str, SleepMode] = field(default_factory=dict)  # by name, but for WFI
    followed: frozenset[str] = frozenset()  # the currents whose figures hold at another clock than the machine has


@dataclass(frozen=True, slots=True)
class Mirror:
    """A register's status bits that follow its control bits: those of ``mask``, ``shift`` bits higher up (or lower)."""

    mask: int
    shift: int


@dataclass(frozen=True, slots=True)
class Peripheral:
    """A block of registers without any behaviour but what start-up code waits for; offsets and ``size`` in bytes.

    ``reads`` always read so. Other registers read what was written last, at first 0; bits of ``mirrors`` follow. One
    with a behaviour of its own has that in a file, or an installed package: ``kind``, with the interrupt ``irq`` or -1.
    """

    name: str
    base: int
    size: int
    reads: Mapping[int, int]
    mirrors: Mapping[int, Mirror]
    kind: str = ""
    irq: int = -1


@dataclass(frozen=True, slots=True)
class Figure:
    """Where one number of a machine comes from; ``key`` is the dotted path."""

    key: str
    text: str  # as written
    basis: Basis
    source: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ClockMove:
    """What followed a changed clock: ``key``, a machine key or ``regulator``, was ``before`` and is ``after``.

    ``rule`` says by what, ``basis`` and ``source`` what that rests on.
    """

    key: str
    before: str
    after: str
    rule: str
    basis: Basis
    source: str

    def to_json(self) -> dict[str, str]:
        """Its fields as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Machine(Displayed):
    name: str
    title: str
    core: Core
    bus: Bus
    instruction_cache: Cache | None
    data_cache: Cache | None
    memory: Mapping[str, Region]  # ordered by base address
    dma: Mapping[str, Dma]
    power: Power
    figures: Mapping[str, Figure] = field(repr=False)
    path: str = ""
    part: str = ""  # "STM32F746NG": which family's register blocks it has; empty: by its name or title
    peripherals: Mapping[str, Peripheral] = field(default_factory=dict)
    regulator: tuple[RegulatorSetting, ...] = ()  # by the clock that they allow
    changes: Mapping[str, str] = field(default_factory=dict)  # dotted key -> value, what the user set after loading
    moved: tuple[ClockMove, ...] = ()  # what followed the clocks that the user set (:mod:`mcusim.machine.clock_rules`)
    stayed: tuple[str, ...] = ()  # keys with their values that have no rule to follow those clocks by
    _file: Any = field(default=None, repr=False, compare=False)  # the machine as its file has it; None: this one
    _raw: Any = field(default=None, repr=False, compare=False)  # what the loader read, for replace()
    _replace: Any = field(default=None, repr=False, compare=False)  # the loader's own, which reads it again
    _readings: Any = field(default=None, repr=False, compare=False)  # of the tables of what it read

    def replace(self, key: str, value: object) -> Machine:
        """This machine with the dotted ``key`` changed, read and checked again like a file.

        ``value`` is what the file would have or its text as typed (``"30 ns"``, ``"5"``, ``"true"``). Keys that the
        file leaves to a default follow, and what hangs on a clock (``moved``). Raises MachineError.
        """
        changed: Machine = self._replace(self, key, value)
        return changed

    def caches_code(self, name: str) -> bool:
        """Whether code in that memory, fetched where its range begins, comes through the instruction cache."""
        return bool(self.instruction_cache and self.instruction_cache.size) and self.memory[name].cached

    def cycles(self, duration: Duration, device_hz: int | None = None) -> Fraction:
        """``duration`` in core cycles (fractional; rounding is the caller's)."""
        return duration.cycles(self.core.clock, device_hz)

    def _line(self) -> str:
        return f"{self.name[:80]}: {self.core.isa} at {self.core.clock / 1e6:g} MHz, {', '.join(self.memory)}"
