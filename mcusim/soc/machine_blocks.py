"""The blocks of a machine: those of its part family, and those that its file lists, which take their place.

``families/<family>/blocks.toml`` has where the blocks of a family are, ``families/layouts.toml`` the registers that
several share, ``families/outside.toml`` those of blocks that talk to what is outside the part. A layout's ``kind``
names the class that gives it behaviour. Not modelled: differences between the members of a family; a block that only
some have is there in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from mcusim.machine.description import Machine, Peripheral
from mcusim.soc.families.family import described, family_of, shared
from mcusim.soc.outside_block import block_of
from mcusim.soc.peripherals.adc import Adc
from mcusim.soc.peripherals.crc import Crc
from mcusim.soc.peripherals.dma2d import Dma2d
from mcusim.soc.peripherals.exti import Exti
from mcusim.soc.peripherals.flash.page_flash import PageFlash
from mcusim.soc.peripherals.flash.sector_flash import SectorFlash, SectorFlashF7
from mcusim.soc.peripherals.flash.word_flash import WordFlash
from mcusim.soc.peripherals.fmc import Fmc
from mcusim.soc.peripherals.gpio import Gpio
from mcusim.soc.peripherals.hsem import Hsem
from mcusim.soc.peripherals.ltdc import Ltdc
from mcusim.soc.peripherals.rcc import Rcc
from mcusim.soc.peripherals.regulator import Regulator
from mcusim.soc.peripherals.rng import Rng
from mcusim.soc.peripherals.rtc import Rtc
from mcusim.soc.peripherals.serial.i2c import I2c
from mcusim.soc.peripherals.serial.quadspi import Quadspi
from mcusim.soc.peripherals.serial.sized_spi import SizedSpi
from mcusim.soc.peripherals.serial.spi import Spi
from mcusim.soc.peripherals.serial.usart import Usart
from mcusim.soc.peripherals.syscfg import Syscfg
from mcusim.soc.peripherals.timer import Timer
from mcusim.soc.peripherals.watchdogs.iwdg import Iwdg
from mcusim.soc.peripherals.watchdogs.wwdg import Wwdg
from mcusim.soc.register_block import BlockHost, DelayedStatus, Register, RegisterBlock, RegisterLayout
from mcusim.soc.register_layout import ABOUT, registers
from mcusim.units import parse_size

KINDS: dict[str, type[RegisterBlock]] = {
    "usart": Usart,
    "crc": Crc,
    "rng": Rng,
    "gpio": Gpio,
    "timer": Timer,
    "fmc": Fmc,
    "exti": Exti,
    "dma2d": Dma2d,
    "i2c": I2c,
    "spi": Spi,
    "sized_spi": SizedSpi,
    "regulator": Regulator,
    "hsem": Hsem,
    "rcc": Rcc,
    "iwdg": Iwdg,
    "wwdg": Wwdg,
    "ltdc": Ltdc,
    "rtc": Rtc,
    "quadspi": Quadspi,
    "adc": Adc,
    "syscfg": Syscfg,
    "sectors_f4": SectorFlash,
    "sectors_f7": SectorFlashF7,
    "pages": PageFlash,
    "words": WordFlash,
}
_WORD = 0xFFFF_FFFF


def layouts_of(family: str) -> dict[str, dict[str, Any]]:
    """The tables of registers by name: those that all families share and those of this one."""
    layouts: dict[str, dict[str, Any]] = shared("layouts") | shared("outside")["layouts"]
    layouts.update(described(family).get("layouts", {}))
    return layouts


def places_of(family: str) -> dict[str, dict[str, Any]]:
    """Each block of a family: ``base``; where it has them ``size``, ``layout``, ``irq``, and
    ``resets``: registers that have another value after a reset than the layout says."""
    about = described(family)
    ports = about["ports"]
    entries: dict[str, dict[str, Any]] = {
        ports["prefix"] + name: {
            "base": ports["base"] + n * ports["step"],
            "layout": ports["layout"],
            "resets": ports.get("resets", {}).get(name, {}),
        }
        for n, name in enumerate(ports["names"])
    }
    entries.update(about["blocks"] | about.get("outside", {}))
    return entries


def dma_of(family: str) -> dict[str, dict[str, Any]]:
    """The DMA controllers of a family by name, as its file has them."""
    result: dict[str, dict[str, Any]] = described(family).get("dma", {})
    return result


def requests_of(family: str) -> dict[str, Any]:
    """Where each request of a peripheral goes: [controller, stream, channel] each, or its number at each DMAMUX."""
    return {name: where for name, where in described(family).get("requests", {}).items() if name not in ABOUT}


def flash_of(family: str) -> dict[str, Any]:
    """How long the flash of a family takes to be programmed and erased; empty where its file does not say."""
    result: dict[str, Any] = described(family).get("flash", {})
    return result


def blocks_of(machine: Machine, host: BlockHost) -> list[RegisterBlock]:
    """Every block that the emulated core finds on ``machine``."""
    listed = [_listed(block, host) for block in machine.peripherals.values()]
    family = family_of(machine)
    known = list(_of_family(family, _flash_kib(machine), host)) if family else []
    taken = [(block.base, block.base + block.size) for block in listed]
    return listed + [b for b in known if not any(b.base < end and low < b.base + b.size for low, end in taken)]


def divider(family: str, rcc: RegisterBlock, bus: str) -> tuple[int, int]:
    """Of the core's clock, on ``apb1`` or ``apb2`` as RCC is set: the bus's divider, and its timers'."""
    clocks = described(family)["clocks"]
    apb, ahb = 1, 1
    if (field := rcc[clocks[bus]["register"]] >> clocks[bus]["bit"] & 7) >= 4:
        apb = 2 << field - 4
    if "ahb" in clocks and (field := rcc[clocks["ahb"]["register"]] >> clocks["ahb"]["bit"] & 15) >= 8:
        ahb = (2, 4, 8, 16, 64, 128, 256, 512)[field - 8]
    return ahb * apb, ahb * max(1, apb // 2)


def held_in_reset(family: str, register: str, bits: int) -> Iterator[str]:
    """The blocks whose bits of a reset register of RCC are among ``bits``."""
    for name, bit in described(family).get("resets", {}).get(register, {}).items():
        if bits >> bit & 1:
            yield name


def _flash_kib(machine: Machine) -> int:
    return sum(region.size for region in machine.memory.values() if region.kind == "flash") >> 10


def clock_bit(family: str, block: str) -> tuple[str, int] | None:
    """The register of RCC and the bit that give ``block`` its clock, None where they are not known.

    They have the places of its reset: ``AHB1ENR`` for ``AHB1RSTR`` (ST RM0090 7.3, RM0385 5.3, RM0432 6.4, RM0433 8.7).
    """
    for register, bits in described(family).get("resets", {}).items():
        if block in bits:
            return register.replace("RSTR", "ENR"), bits[block]
    return None


def _of_family(family: str, flash_kib: int, host: BlockHost) -> Iterator[RegisterBlock]:
    for name, entry in places_of(family).items():
        kind, size, layout = _layout_of(family, name, flash_kib, host.clock)
        block = kind(name, entry["base"], size, layout, host, entry.get("irq", -1))
        block.wiring = {key: entry[key] for key in kind.wiring_keys if key in entry}
        yield block


@cache
def _layout_of(family: str, name: str, flash_kib: int, clock: int) -> tuple[type[RegisterBlock], int, RegisterLayout]:
    """Class, bytes and registers of a block of a family, for so much flash and a core of ``clock`` hertz."""
    entry = places_of(family)[name]
    layout = layouts_of(family)[entry["layout"]] if "layout" in entry else {}
    size = parse_size(entry["size"]) if "size" in entry else 1 << 10
    by_offset = dict(_registers_of(family, entry["layout"], clock)) if layout else {}
    resets = entry.get("resets", {}) | {"FLASHSIZE": flash_kib << entry.get("flash_size_bit", 0)}
    for offset, register in by_offset.items():
        if register.name in resets:
            by_offset[offset] = replace(register, reset=resets[register.name])
    return KINDS.get(layout.get("kind", ""), RegisterBlock), size, RegisterLayout(by_offset)


@cache
def _registers_of(family: str, layout: str, clock: int) -> Mapping[int, Register]:
    return registers(layouts_of(family)[layout], clock)


def _listed(block: Peripheral, host: BlockHost) -> RegisterBlock:
    """A block of a machine file: ``reads`` are fixed, ``mirrors`` follow at once; or of its own ``kind``."""
    if block.kind:
        return block_of(block, host)
    by_offset = {offset: Register(f"+{offset:#04x}", reset=word, writable=0) for offset, word in block.reads.items()}
    for offset, mirror in block.mirrors.items():
        follow = DelayedStatus(offset, mirror.mask, mirror.shift, 0)
        status = follow.moved(_WORD)
        by_offset[offset] = Register(f"+{offset:#04x}", writable=_WORD & ~status, follows=(follow,))
    return RegisterBlock(block.name, block.base, block.size, by_offset, host)
