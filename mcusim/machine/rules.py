"""Rules between keys, checked on the finished machine: overlaps, cache geometry, SDRAM timing, names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise

from mcusim.machine.clock_rules import regulator_setting
from mcusim.machine.cores import core_named
from mcusim.machine.description import Cache, Duration, Flash, Machine, Region, Sdram
from mcusim.machine.document import show_address
from mcusim.machine.parts import families, family_of_part
from mcusim.machine.schema import REPLACEMENTS
from mcusim.units import hertz

Broken = Iterator[tuple[str, str]]
_ADDRESSES = 1 << 32
_PAGE, _MOST_PERIPHERALS = 4096, 256
_FORCE = "; --force-clock runs it as a what-if beyond the part"


def broken(machine: Machine) -> Broken:
    """The dotted key and the text of each rule that the machine breaks."""
    for rule in _RULES:
        yield from rule(machine)


def _range(base: int, size: int) -> str:
    return f"{show_address(base)}..{show_address(base + size - 1)}"


def _windows(region: Region) -> Iterator[tuple[int, str]]:
    yield region.base, f"memory.{region.name}.base"
    for alias in region.aliases:
        yield alias, f"memory.{region.name}.aliases"


def _regions_exist(machine: Machine) -> Broken:
    if not machine.memory:
        yield "memory", "a machine has at least one memory region"


def _ranges_fit(machine: Machine) -> Broken:
    grain = max([4, *(cache.line for cache in (machine.instruction_cache, machine.data_cache) if cache and cache.size)])
    for region in machine.memory.values():
        if region.size % grain:
            yield f"memory.{region.name}.size", f"must be a multiple of {grain} B (a word, or a cache line)"
        for start, key in _windows(region):
            if start % grain:
                yield key, f"must be a multiple of {grain} B (a word, or a cache line)"
            if start + region.size > _ADDRESSES:
                yield key, f"{region.size:,} B from {show_address(start)} run past the 32-bit address space"


def _no_overlap(machine: Machine) -> Broken:
    windows = sorted(
        (start, region.size, region.name, key) for region in machine.memory.values() for start, key in _windows(region)
    )
    for (low, size, name, _), (high, other_size, other, key) in pairwise(windows):
        if high < low + size:
            yield (
                key,
                f"regions must not overlap: {other} {_range(high, other_size)} and {name} {_range(low, size)}",
            )


def _tcm_uncached(machine: Machine) -> Broken:
    for region in machine.memory.values():
        if region.kind == "tcm" and region.attribute != "uncached":
            yield f"memory.{region.name}.attribute", "tightly coupled memory is never cached, must be uncached"


def _replacement_slot(machine: Machine) -> Broken:
    caches = [cache for cache in (machine.instruction_cache, machine.data_cache) if cache is not None and cache.size]
    names = {cache.replacement for cache in caches if cache.replacement not in REPLACEMENTS}
    if len(names) > 1:
        yield "cache.instruction.replacement", "is another one from outside than cache.data's; both may have the same"


def _cache_geometry(machine: Machine) -> Broken:
    caches: dict[str, Cache | None] = {"instruction": machine.instruction_cache, "data": machine.data_cache}
    for name, cache in caches.items():
        if cache is None or cache.size == 0:
            continue
        sets, rest = divmod(cache.size, cache.ways * cache.line)
        if rest or sets & (sets - 1):
            product = f"{cache.ways} ways x {cache.line} B x a power of two"
            yield f"cache.{name}.size", f"must be ways x line x a power of two (of sets), here {product}"


def _core_clock(machine: Machine) -> Broken:
    core, limit = machine.core, machine.core.max_clock
    if limit is not None and core.clock > limit and not core.force_clock:
        source = machine.figures["core.max_clock"].source
        yield "core.clock", f"{hertz(core.clock)} exceeds core.max_clock = {hertz(limit)} ({source}){_FORCE}"
    elif (
        (setting := regulator_setting(machine, core.clock)) and core.clock > setting.max_clock and not core.force_clock
    ):
        text = f"{hertz(core.clock)} exceeds regulator.{setting.name}.max_clock = {hertz(setting.max_clock)}"
        yield (
            "core.clock",
            f"{text}, {'which core.regulator names' if core.regulator else 'the highest setting'}{_FORCE}",
        )
    if core.regulator is not None and core.regulator not in (names := [setting.name for setting in machine.regulator]):
        known = f"settings are {', '.join(names)}" if names else "the machine has none"
        yield "core.regulator", f"is no setting of [regulator]: {known}"
    for low, high in pairwise(machine.regulator):
        if low.max_clock == high.max_clock:
            yield f"regulator.{high.name}.max_clock", f"must not be that of {low.name} ({hertz(low.max_clock)})"


def _precision(machine: Machine) -> Broken:
    if machine.core.fpu == "double" and not core_named(machine.core.isa).double_precision:
        yield "core.fpu", f'must be "single": no {machine.core.isa} computes in double precision'


def _bus_clock(machine: Machine) -> Broken:
    if machine.bus.clock > machine.core.clock:
        yield "bus.clock", f"must not be faster than core.clock ({machine.core.clock:,} Hz); set both"
    setting = regulator_setting(machine, machine.core.clock)
    limit = None if setting is None else setting.max_bus_clock
    if setting is not None and limit is not None and machine.bus.clock > limit and not machine.core.force_clock:
        key = f"regulator.{setting.name}.max_bus_clock"
        text = f"{hertz(machine.bus.clock)} exceeds {key} = {hertz(limit)} ({machine.figures[key].source})"
        yield "bus.clock", f"{text}{_FORCE}"


def _flash_line(machine: Machine) -> Broken:
    for region in machine.memory.values():
        if isinstance(region.device, Flash) and region.size % region.device.line:
            yield f"memory.{region.name}.size", f"must be a multiple of the flash line ({region.device.line} B)"


def _accelerator(machine: Machine) -> Broken:
    for region in machine.memory.values():
        accelerator = region.device.accelerator if isinstance(region.device, Flash) else None
        if accelerator is None:
            continue
        table, ways = f"memory.{region.name}.accelerator", accelerator.ways
        if region.alias_port and not region.aliases:
            yield f"{table}.serves", f"memory.{region.name} has no aliases to serve"
        if accelerator.unified and accelerator.data_lines:
            yield f"{table}.data_lines", "must be 0: unified lines hold code and data"
        for key in ("instruction_lines", "data_lines") if ways else ():
            lines = getattr(accelerator, key)
            if lines % ways or (lines // ways) & (lines // ways - 1):
                yield f"{table}.{key}", f"must be 0 or a power of two times ways ({ways})"


def _sdram_capacity(machine: Machine) -> Broken:
    for region, device in _sdrams(machine):
        capacity = device.width // 8 * device.banks * device.rows * device.columns
        if region.size > capacity:
            yield (
                f"memory.{region.name}.size",
                f"more than width x banks x rows x columns can hold ({capacity:,} B)",
            )


def _sdram_timing(machine: Machine) -> Broken:
    for region, device in _sdrams(machine):
        timing, table = device.timing, f"memory.{region.name}.timing"

        def clocks(length: Duration, hertz: int = device.clock) -> Fraction:
            return length.cycles(machine.core.clock, hertz) * hertz / machine.core.clock

        row, active, precharge = clocks(timing.tRC), clocks(timing.tRAS), clocks(timing.tRP)
        if row < active + precharge:
            yield f"{table}.tRC", f"must be at least tRAS + tRP ({_sdclk(active)} + {_sdclk(precharge)} sdclk)"
        if active < clocks(timing.tRCD):
            yield f"{table}.tRAS", f"must be at least tRCD ({_sdclk(clocks(timing.tRCD))} sdclk)"
        if clocks(timing.refresh) <= row:
            yield f"{table}.refresh", f"must be longer than tRC ({_sdclk(row)} sdclk)"


def _sdrams(machine: Machine) -> Iterator[tuple[Region, Sdram]]:
    for region in machine.memory.values():
        if isinstance(region.device, Sdram):
            yield region, region.device


def _sdclk(clocks: Fraction) -> str:
    return f"{float(clocks):.6g}"


def _bursts_fit(machine: Machine) -> Broken:
    """As ST RM0090 10.3.12: a burst is whole in the FIFO, and so is each that the threshold lets go."""
    for dma in machine.dma.values():
        burst, key = dma.beat * dma.burst, f"dma.{dma.name}.burst"
        if dma.burst == 1 or dma.fifo == 0:
            continue
        if burst > dma.fifo:
            yield key, f"{dma.burst} beats of {dma.beat} B do not fit into the stream's FIFO of {dma.fifo} B"
        elif dma.threshold_bytes % burst:
            yield (
                key,
                (
                    f"a burst of {burst} B is no whole part of the FIFO's threshold, {dma.threshold} of {dma.fifo} B;"
                    f" set dma.{dma.name}.threshold"
                ),
            )


def _energy_names(machine: Machine) -> Broken:
    for name in machine.power.energy_per_byte:
        if name not in machine.memory:
            yield f"power.energy_per_byte.{name}", f"names no region; regions are {', '.join(machine.memory)}"


def _peripherals_fit(machine: Machine) -> Broken:
    """Blocks are kept by pages of 4 KiB, which memory cannot share."""
    taken = [
        (base, base + r.size, f"memory.{r.name}") for r in machine.memory.values() for base in (r.base, *r.aliases)
    ]
    taken.append((0xE000_0000, 0xE010_0000, "the private peripheral bus of the core"))
    if len(machine.peripherals) > _MOST_PERIPHERALS:
        yield "peripherals", f"has {len(machine.peripherals)} blocks, at most {_MOST_PERIPHERALS} are possible"
    for block in machine.peripherals.values():
        key, start, end = f"peripherals.{block.name}.base", block.base, block.base + block.size
        if start % 4 or block.size % 4 or end > _ADDRESSES:
            yield key, "a block begins and ends at multiples of 4, inside the 32-bit address space"
        pages = start // _PAGE * _PAGE, -(-end // _PAGE) * _PAGE
        shared = [name for low, high, name in taken if low < pages[1] and pages[0] < high]
        shared += [
            f"peripherals.{o.name}" for o in machine.peripherals.values() if o is not block and start <= o.base < end
        ]
        if shared:
            yield key, f"{_range(start, block.size)} must not share a page or an address with {shared[0]}"


def _registers_fit(machine: Machine) -> Broken:
    for block in machine.peripherals.values():
        table = f"peripherals.{block.name}"
        if block.kind and (block.reads or block.mirrors):
            yield table, "reads and mirrors are of a block without a kind; what it reads is in the kind's file"
        if block.irq >= 0 and not block.kind:
            yield f"{table}.irq", "only a block with a kind requests interrupts"
        for name, offsets in (("reads", block.reads), ("mirrors", block.mirrors)):
            for offset in offsets:
                if offset >= block.size:
                    yield f"{table}.{name}.0x{offset:02X}", f"is outside the block of {block.size:,} B"
        for offset, mirror in block.mirrors.items():
            key = f"{table}.mirrors.0x{offset:02X}"
            if offset in block.reads:
                yield key, "the register is in reads too, where its value is fixed: give one of them"
            moved = mirror.mask << mirror.shift if mirror.shift > 0 else mirror.mask >> -mirror.shift
            if moved >= _ADDRESSES or moved.bit_count() != mirror.mask.bit_count() or not mirror.shift:
                yield f"{key}.shift", f"must keep all bits of the mask {mirror.mask:#x} in 32 bits, and not be 0"


def _part_known(machine: Machine) -> Broken:
    if machine.part and family_of_part(machine.part) is None:
        known = ", ".join(f"STM32{family.upper()}" for family in families())
        text = f"register blocks are described for {known}, as in STM32F746NG; leave the key out and list the blocks"
        yield "part", f"{text} that a program needs as [peripherals.<name>]"


def _mode_currents(machine: Machine) -> Broken:
    for mode in machine.power.modes.values():
        key = f"power.mode.{mode.name}"
        if not mode.current:
            yield f"{key}.current", "must be more than 0 A"
        if mode.least > mode.most:
            yield f"{key}.least", f"must be at most {key}.most, {1e6 * mode.most:g} uA"


_RULES: tuple[Callable[[Machine], Broken], ...] = (
    _regions_exist,
    _ranges_fit,
    _no_overlap,
    _tcm_uncached,
    _cache_geometry,
    _replacement_slot,
    _precision,
    _core_clock,
    _bus_clock,
    _flash_line,
    _accelerator,
    _sdram_capacity,
    _sdram_timing,
    _bursts_fit,
    _energy_names,
    _mode_currents,
    _part_known,
    _peripherals_fit,
    _registers_fit,
)
