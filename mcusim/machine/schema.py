"""What a machine file may say, as data: one table per section, keys named like the fields they fill."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mcusim.machine import description as d
from mcusim.machine.currents import PowerTable
from mcusim.machine.document import Branch, Leaf, Node
from mcusim.machine.field_types import (
    WORD,
    Default,
    Each,
    Field,
    RejectedError,
    Scope,
    Table,
    address,
    addresses,
    bits,
    choice,
    clock,
    clocks,
    core_name,
    count,
    current,
    current_at,
    current_per_clock,
    dividers,
    duration,
    energy,
    flag,
    plug_in,
    power_of_two,
    size,
    text,
    time_span,
    voltage,
)
from mcusim.units import hertz


def _filled(build: Callable[..., Any]) -> Callable[[str, dict[str, Any]], Any]:
    return lambda _name, values: build(**values)


def _attribute(scope: Scope) -> d.Attribute:
    """The default memory map of ARMv7-M; TCM has its own port in front of the caches."""
    if scope["device"] == "tcm":
        return "uncached"
    by_half_gibibyte: tuple[d.Attribute, ...] = (
        "write-through",  # 0x0000_0000 code
        "write-back",  # 0x2000_0000 SRAM
        "device",  # 0x4000_0000 peripherals
        "write-back",  # 0x6000_0000 external RAM
        "write-through",  # 0x8000_0000 external RAM
    )
    index = scope["base"] >> 29
    return by_half_gibibyte[index] if index < len(by_half_gibibyte) else "device"


def _offset_key(key: str) -> None:
    """Rejects a key that is no register offset; every offset has one spelling."""
    offset = int(key, 16) if _OFFSET.fullmatch(key) else -1
    if offset < 0 or key != f"0x{offset:02X}" or offset % 4:
        raise RejectedError("a register's offset is a multiple of 4 such as 0x00, 0x1C or 0x104")


_OFFSET = re.compile(r"0x[0-9A-F]{2,8}", re.ASCII)
_SINGLE = Default(lambda _: "single", "double precision is the exception; the part's data sheet says so")
_BUS_CLOCK = Default(lambda scope: scope["core"].clock, "the core's clock", "core.clock", text=hertz)
_SRAM_CLOCK = Default(lambda scope: scope["bus"].clock, "the bus clock", "bus.clock", text=hertz)
_NONE = Default(lambda _: None, "")
_FALSE = Default(lambda _: False, "")
_ATTRIBUTE = Default(_attribute, "default memory map, ARMv7-M Architecture Reference Manual B3.1", basis="datasheet")
_WRITABLE = Default(
    lambda scope: scope["device"] not in ("flash", "qspi"), "the core cannot store to flash and QSPI", "base"
)
_REACHED = Default(lambda _: True, "the DMA reaches it", "base")
_FETCHED = Default(lambda _: True, "the core's instruction bus reaches it", "base")
_NO_ALIAS = Default(lambda _: (), "no alias", "base", text=lambda _: "[]")
_MAINTENANCE = Default(
    lambda _: d.Duration(Fraction(8), "cycles"),
    "loop of CMSIS SCB_CleanDCache_by_Addr, a line a round; not measured",
    text=lambda _: "8 cycles",
)
_KEEPS = Default(lambda _: True, "not documented; ST RM0090 states that CoreMark runs as with 0 wait states")
_CANCELS = Default(lambda _: True, "not documented: code that is asked for goes ahead of a guess")
_PORT = Default(
    lambda _: d.Duration(Fraction(2), "clocks"),
    "ST AN4031 tables 4 and 5: arbitration in the controller and address, 1 AHB clock each",
    basis="datasheet",
    text=lambda _: "2 hclk",
)
_MATRIX = Default(
    lambda _: d.Duration(Fraction(1), "clocks"),
    "ST AN4031 tables 4 and 5: arbitration in the bus matrix, 1 AHB clock (none on the STM32F401, F410, F411, F412)",
    basis="datasheet",
    text=lambda _: "1 hclk",
)
_STREAM_FIFO = Default(lambda _: 16, "ST RM0090, DMA: 4 words a stream", basis="datasheet", text=lambda _: "16 B")
_THRESHOLD = Default(lambda _: "1/2", "ST RM0090, DMA_SxFCR: its value after reset", basis="datasheet", text=str)
_FETCH = Default(lambda scope: scope["read_latency"], "as data", "read_latency")
_DMA_SRAM = Default(lambda scope: scope["read_latency"], "as the core's", "read_latency")
_ARBITRATION = Default(
    lambda _: d.Duration(Fraction(0), "cycles"),
    "the core's ideal load counts it: the matrix keeps the core's bus at this memory",
    text=lambda _: "0 cycles",
)
_READ_BURST = Default(lambda _: False, "reads nothing ahead", text=lambda _: "false")
_READ_FIFO = Default(lambda _: 6, "ST RM0385 13.7.3: 6 lines", basis="datasheet", text=str)
_READ_PIPE = Default(
    lambda _: d.Duration(Fraction(0), "clocks"),
    "FMC_SDCR: none after reset",
    basis="datasheet",
    text=lambda _: "0 hclk",
)
_DMA_SDRAM = Default(lambda scope: scope["read_overhead"], "as the core's", "read_overhead")
_LINE_CHANGE = Default(
    lambda _: d.Duration(Fraction(0), "cycles"),
    "as vendors state it: no delay for a line that is held",
    text=lambda _: "0 cycles",
)
_WAYS = Default(lambda _: 0, "ST RM0090 names lines and their LRU, no sets: fully associative")
_SERVES = Default(lambda _: "region", "all addresses of the region go through it", "instruction_lines")
_UNIFIED = Default(lambda _: False, "data reads have lines of their own", "data_lines")
_STALLED = Default(lambda scope: scope["run"], "as while it runs", "run", text=str)
_SLEEP = Default(lambda scope: scope["stalled"], "as while it waits for data", "stalled", text=str)
_NO_BOARD = Default(lambda _: 0.0, "all of it is the microcontroller's", text=lambda _: "0 mA")
_PERIPHERALS = Default(lambda _: 0.0, "as in the run current", text=lambda _: "0 mA/MHz")
_FLAT = Default(lambda _: 0.0, "as at any clock", text=lambda _: "0 mA/MHz")


def _kinds(scope: Scope) -> set[str]:
    return {region.kind for region in scope["memory"].values()}


def _of(device: str, there: Callable[[Scope], bool]) -> Default:
    """What a device draws: nothing where the machine has none, else the file has to say."""

    def value(scope: Scope) -> d.ClockedCurrent:
        if there(scope):
            raise RejectedError(f"the machine has {device}")
        return d.ClockedCurrent(0.0)

    return Default(value, f"the machine has no {device.removeprefix('a ')}", text=lambda _: "0 mA")


_MAPPING = Default(
    lambda _: "bank-row-column",
    "ST RM0390, FMC row and bank boundaries: behind the last row of a bank comes the first of the next bank",
)

# each replacement policy is a file; what is in them is read by native code alone
_POLICIES = "mcusim.memory.cache.replacement"
_FOLDER = Path(__file__).parents[2].joinpath(*_POLICIES.split("."))
REPLACEMENTS = tuple(sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules([str(_FOLDER)])))

_BEAT = "is no longer a key: what a beat costs follows from port_cost, matrix_cost, fifo and threshold; delete it"

# keys of older versions, and what to do about one; * is any name
OBSOLETE = {
    "bus.arbitration": "is no longer a key: nothing read it (core and DMA take turns at a memory); delete it",
    "memory.*.accelerator.prefetch_hides": "is no longer a key: it follows from the code's pace; delete it",
    "memory.*.fifo": "is no longer a key: nothing read it; delete it",
    "dma.*.read_cost": _BEAT,
    "dma.*.write_cost": _BEAT,
}

CORE: dict[str, Field] = {
    "isa": core_name(),
    "clock": clock(),
    "fpu": choice("single", "double", default=_SINGLE),
    "revision": choice("r0p0", "r0p1", "r0p2", "r1p0", "r1p1", "r1p2", default=_NONE),
    "max_clock": clock(_NONE),
    "force_clock": flag(_FALSE),
    "regulator": text(_NONE),
    "external_clock": clock(_NONE),
}
REGULATOR: dict[str, Field] = {
    "max_clock": clock(),
    "max_bus_clock": clock(_NONE),
    "wait_state_clocks": clocks(),
}
BUS: dict[str, Field] = {
    "clock": clock(_BUS_CLOCK),
    "dividers": dividers(),
}
CACHE: dict[str, Field] = {
    "size": size(0, high=1 << 20),
    "ways": count(1, 64),
    "line": size(4, power=True, high=256),
    "policy": choice("write-back", "write-through"),
    "replacement": plug_in("replacement", REPLACEMENTS, Default(lambda _: "lru", "LRU; not documented")),
    "maintenance": duration(default=_MAINTENANCE),
}
REGION: dict[str, Field] = {
    "device": choice("tcm", "sram", "flash", "sdram", "qspi"),
    "base": address(),
    "size": size(),
    "aliases": addresses(_NO_ALIAS),
    "attribute": choice("write-back", "write-through", "uncached", "device", default=_ATTRIBUTE),
    "dma": flag(_REACHED),
    "writable": flag(_WRITABLE),
    "executable": flag(_FETCHED),
}
TIMING: dict[str, Field] = {
    "CL": duration("sdclk", positive=True),
    "tRCD": duration("sdclk"),
    "tRP": duration("sdclk"),
    "tRC": duration("sdclk"),
    "tRAS": duration("sdclk"),
    "tWR": duration("sdclk"),
    "refresh": duration("sdclk", positive=True),
}
ACCELERATOR: dict[str, Field] = {
    "instruction_lines": count(0, 4096),
    "data_lines": count(0, 4096),
    "ways": count(0, 4096, default=_WAYS),
    "serves": choice("region", "aliases", default=_SERVES),
    "unified": flag(_UNIFIED),
    "prefetch": flag(),
    "keeps_prefetched": flag(_KEEPS),
    "cancels_prefetch": flag(_CANCELS),
    "line_change": duration("hclk", default=_LINE_CHANGE),
}
DEVICES: dict[str, tuple[type[d.Device], dict[str, Field | Table | Each]]] = {
    "tcm": (d.Tcm, {}),
    "sram": (
        d.Sram,
        {
            "width": bits(8, 16, 32, 64, 128),
            "clock": clock(_SRAM_CLOCK),
            "read_latency": duration("hclk"),
            "write_latency": duration("hclk"),
            "fetch_latency": duration("hclk", default=_FETCH),
            "dma_latency": duration("hclk", default=_DMA_SRAM),
            "read_arbitration": duration("hclk", default=_ARBITRATION),
        },
    ),
    "flash": (
        d.Flash,
        {
            "wait_states": count(0, 15),
            "line": size(4, power=True, high=256),
            "read_latency": duration("hclk"),
            "fetch_latency": duration("hclk", default=_FETCH),
            "accelerator": Table(ACCELERATOR, _filled(d.Accelerator), absent="none"),
            "wait_state_clocks": clocks(),
        },
    ),
    "sdram": (
        d.Sdram,
        {
            "width": bits(8, 16, 32),
            "clock": clock(),
            "banks": power_of_two(16),
            "rows": power_of_two(1 << 16),
            "columns": power_of_two(1 << 14),
            "mapping": choice("bank-row-column", "row-bank-column", default=_MAPPING),
            "timing": Table(TIMING, _filled(d.SdramTiming)),
            "read_overhead": duration("sdclk"),
            "write_overhead": duration("sdclk"),
            "dma_latency": duration("sdclk", default=_DMA_SDRAM),
            "read_burst": flag(_READ_BURST),
            "read_fifo": count(0, 16, default=_READ_FIFO),
            "read_pipe": duration("hclk", default=_READ_PIPE),
            "write_fifo": count(0, 1024),
            "dividers": dividers(),
            "max_clock": clock(_NONE),
        },
    ),
    "qspi": (
        d.Qspi,
        {
            "clock": clock(),
            "instruction_lines": count(0, 8, among=(0, 1, 2, 4, 8)),
            "address_lines": count(1, 8, among=(1, 2, 4, 8)),
            "data_lines": count(1, 8, among=(1, 2, 4, 8)),
            "address_bits": count(8, 32, among=(8, 16, 24, 32)),
            "dummy": count(0, 63),
            "cs_high": count(0, 64),
            "read_overhead": duration("qclk"),
            "dividers": dividers(),
            "max_clock": clock(_NONE),
        },
    ),
}
DMA: dict[str, Field] = {
    "streams": count(1, 64),
    "beat": size(among=(1, 2, 4)),
    "burst": count(1, 16, among=(1, 4, 8, 16)),
    "max_units": count(16, (1 << 32) - 1),
    "fifo": size(0, high=1 << 12, default=_STREAM_FIFO),
    "threshold": choice("direct", "1/4", "1/2", "3/4", "full", default=_THRESHOLD),
    "port_cost": duration("hclk", default=_PORT),
    "matrix_cost": duration("hclk", default=_MATRIX),
    "request_setup": duration("hclk"),
    "completion_interrupt": duration("hclk"),
}
PERIPHERAL: dict[str, Field | Table | Each] = {
    "base": address(),
    "size": size(4, high=1 << 20),
    "kind": plug_in("peripheral", (), Default(lambda _: "", "")),
    "irq": count(0, 239, default=Default(lambda _: -1, "")),
    "reads": Each(lambda _: WORD, absent="defaults", key=_offset_key),
    "mirrors": Each(
        lambda _: Table({"mask": WORD, "shift": count(-31, 31)}, _filled(d.Mirror)),
        absent="defaults",
        key=_offset_key,
    ),
}
SCALE: dict[str, Field] = {
    "run_static": current(),
    "run_per_mhz": current_per_clock(),
    "sleep_static": current(),
    "sleep_per_mhz": current_per_clock(),
}
MODE: dict[str, Field] = {
    "current": current(),
    "least": current(Default(lambda scope: scope["current"], "")),
    "most": current(Default(lambda scope: scope["current"], "")),
    "wakeup": time_span(),
    "restart": time_span(),
}


def _mode_name(name: str) -> None:
    if name not in ("stop", "standby"):
        raise RejectedError("is no mode: there are stop and standby")


def _sleep_mode(name: str, values: dict[str, Any]) -> d.SleepMode:
    return d.SleepMode(name=name, **values)


POWER: dict[str, Field | Table | Each] = {
    "supply": voltage(),
    "run": current_at(),
    "sdram_active": current_at(_of("SDRAM", lambda scope: "sdram" in _kinds(scope))),
    "qspi_active": current_at(_of("QSPI flash", lambda scope: "qspi" in _kinds(scope))),
    "dma_active": current_at(_of("a DMA", lambda scope: bool(scope["dma"]))),
    "energy_per_byte": Each(lambda _: energy(), absent="defaults"),
    "stalled": current_at(_STALLED),
    "sleep": current_at(_SLEEP),
    "board": current(_NO_BOARD),
    "sdram_per_mhz": current_per_clock(_FLAT),
    "qspi_per_mhz": current_per_clock(_FLAT),
    "dma_per_mhz": current_per_clock(_FLAT),
    "peripherals_per_mhz": current_per_clock(_PERIPHERALS),
    "scale": Each(lambda _: Table(SCALE, lambda name, values: d.PowerScale(name=name, **values)), absent="defaults"),
    "mcu_supply": voltage(Default(lambda _: None, "")),
    "self_refresh": current(Default(lambda _: None, "")),
    "mode": Each(lambda _: Table(MODE, _sleep_mode), absent="defaults", key=_mode_name),
}


def _peripheral(name: str, values: dict[str, Any]) -> d.Peripheral:
    tables = {key: {int(offset, 16): value for offset, value in values[key].items()} for key in ("reads", "mirrors")}
    return d.Peripheral(name, values["base"], values["size"], **tables, kind=values["kind"], irq=values["irq"])


def _region(node: Node) -> Table:
    """The table of one region: the keys all regions share and those of its device."""
    named = node.items.get("device") if isinstance(node, Branch) else None
    kind = named.value if isinstance(named, Leaf) and isinstance(named.value, str) else ""
    if kind not in DEVICES:  # reading ``device`` will say so, before the keys that depend on it
        return Table({"device": REGION["device"]}, _filled(dict), partial=True)
    device, keys = DEVICES[kind]

    def build(name: str, values: dict[str, Any]) -> d.Region:
        shared = {key: values[key] for key in REGION if key != "device"}
        own = {key: values[key] for key in keys}
        return d.Region(name=name, kind=values["device"], device=device(**own), **shared)

    return Table({**REGION, **keys}, build)


MACHINE = Table(
    {
        "name": text(),
        "title": text(),
        "extends": text(Default(lambda _: "", "")),
        "part": text(Default(lambda _: "", "")),
        "core": Table(CORE, _filled(d.Core)),
        "regulator": Each(
            lambda _: Table(REGULATOR, lambda name, values: d.RegulatorSetting(name=name, **values)), absent="defaults"
        ),
        "bus": Table(BUS, _filled(d.Bus), absent="defaults"),
        "cache": Table(
            {
                "instruction": Table(CACHE, _filled(d.Cache), absent="none"),
                "data": Table(CACHE, _filled(d.Cache), absent="none"),
            },
            lambda _name, values: values,
            absent="defaults",
        ),
        "memory": Each(_region),
        "dma": Each(lambda _: Table(DMA, lambda name, values: d.Dma(name=name, **values)), absent="defaults"),
        "power": Table(POWER, _filled(PowerTable)),
        "peripherals": Each(lambda _: Table(PERIPHERAL, _peripheral), absent="defaults"),
    },
    lambda _name, values: values,
)
