"""Memory attributes: the default map of ARMv7-M by address, and MPU regions over it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mcusim.cpu.system.memory_attributes import default_attributes, memory_ranges
from mcusim.cpu.system.mpu import Mpu, MpuRegion
from mcusim.errors import UsageError
from mcusim.machine import load_machine
from mcusim.machine.cores import core_named
from mcusim.memory import state_layout as L
from mcusim.memory.address_ranges import Range
from mcusim.memory.range_lookup import addresses_at
from mcusim.memory.system import MemorySystem

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
FULL = 3 << 24
WBWA, WRITE_THROUGH, UNCACHED, DEVICE = (1 << 19) | (3 << 16), 2 << 16, 1 << 19, 1 << 16


def rasr(size: int, attributes: int, *, access: int = FULL, off: int = 0, never: bool = False) -> int:
    return 1 | (size.bit_length() - 2) << 1 | off << 8 | attributes | access | never << 28


def seen(machine_name: str, address: int, mpu: Mpu | None, privileged: bool = True, **keys: str) -> Range:
    machine = load_machine(machine_name, {key.replace("__", "."): value for key, value in keys.items()})
    found = [one for one in memory_ranges(machine, mpu, privileged) if one.low <= address < one.high]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("address", "cache", "device", "executable"),
    [
        (0x0000_0000, 1, False, True),
        (0x1FFF_FFFF, 1, False, True),
        (0x2000_0000, 2, False, True),
        (0x3FFF_FFFF, 2, False, True),
        (0x4000_0000, 0, True, False),
        (0x6000_0000, 2, False, True),
        (0x7FFF_FFFF, 2, False, True),
        (0x8000_0000, 1, False, True),
        (0x9FFF_FFFF, 1, False, True),
        (0xA000_0000, 0, True, False),
        (0xDFFF_FFFF, 0, True, False),
        (0xE000_E000, 0, True, False),
    ],
)
def test_default_memory_map(address: int, cache: int, device: bool, executable: bool) -> None:
    found = default_attributes(address)
    assert (found.cache, found.device, found.executable) == (cache, device, executable)
    assert found.allocate == (cache == 2)


def test_without_mpu_the_address_decides_and_not_the_machine_file() -> None:
    moved = {"memory__sdram__base": "0xC0000000"}
    sdram = seen(F746, 0xC000_0000, None, **moved)
    assert (sdram.attribute, sdram.device, sdram.executable) == (0, True, False)
    assert seen(F746, 0x6000_0000, None, memory__sdram__attribute="uncached").attribute == 2
    assert seen(F746, 0x2000_0000, None).attribute == 0  # DTCM
    assert seen(F746, 0x0020_0000, None).attribute == 0  # flash through the ITCM port
    assert seen(F746, 0x0800_0000, None).attribute == 1
    assert seen(F746, 0x0800_0000, None).access == "ro"
    assert seen(F746, 0x9000_0000, None).attribute == 1


def test_every_byte_of_every_region_is_in_one_range() -> None:
    for name in (F469, F746, "nucleo-h743zi", "nucleo-l4r5zi"):
        machine = load_machine(name)
        mpu = Mpu(5, ((0x2000_0000, rasr(1 << 16, UNCACHED, off=0b1010_0101)),))
        for setting in (None, mpu):
            ranges = memory_ranges(machine, setting)
            assert all(below.high <= above.low for below, above in pairwise(ranges))
            size = sum(region.size * (1 + len(region.aliases)) for region in machine.memory.values())
            assert sum(one.high - one.low for one in ranges) == size


@pytest.mark.parametrize(
    ("bits", "cache", "allocate", "device"),
    [
        (0, 0, False, True),  # strongly ordered
        (1 << 16, 0, False, True),
        (2 << 16, 1, False, False),
        (3 << 16, 2, False, False),
        (1 << 19, 0, False, False),
        (1 << 19 | 3 << 16, 2, True, False),
        (2 << 19, 0, False, True),
        (4 << 19 | 0 << 16, 0, False, False),
        (4 << 19 | 1 << 16, 2, True, False),
        (6 << 19 | 2 << 16, 1, False, False),
        (7 << 19 | 3 << 16, 2, False, False),
    ],
)
def test_tex_c_b(bits: int, cache: int, allocate: bool, device: bool) -> None:
    found = MpuRegion(0x6000_0000, rasr(1 << 20, bits)).attributes()
    assert (found.cache, found.allocate, found.device) == (cache, allocate, device)
    shared = MpuRegion(0x6000_0000, rasr(1 << 20, bits | 1 << 18)).attributes()
    assert (shared.cache, shared.device) == (0, device)


def test_higher_region_wins_and_borders_are_exact() -> None:
    mpu = Mpu(5, ((0x6000_0000, rasr(8 << 20, UNCACHED)), (0x6010_0000, rasr(1 << 20, WBWA))))
    for address, attribute in ((0x600F_FFFF, 0), (0x6010_0000, 2), (0x601F_FFFF, 2), (0x6020_0000, 0)):
        assert seen(F746, address, mpu).attribute == attribute
    swapped = Mpu(5, mpu.regions[::-1])
    assert seen(F746, 0x6010_0000, swapped).attribute == 0


def test_subregions_are_eighths_and_small_regions_have_none() -> None:
    mpu = Mpu(5, ((0x6000_0000, rasr(1 << 20, UNCACHED, off=0b0000_0010)),))
    eighth = (1 << 20) // 8
    below, inside, above = (seen(F746, 0x6000_0000 + at, mpu) for at in (eighth - 1, eighth, 2 * eighth))
    assert (below.attribute, inside.attribute, above.attribute) == (0, 2, 0)
    small = Mpu(5, ((0x6000_0000, rasr(128, UNCACHED, off=0xFF)),))
    assert seen(F746, 0x6000_0000, small).attribute == 0


def test_base_is_aligned_to_the_size_and_tiny_regions_are_off() -> None:
    region = MpuRegion(0x6000_1234, rasr(0x1000, WBWA))
    assert (region.base, region.size, region.enabled) == (0x6000_1000, 0x1000, True)
    assert not MpuRegion(0x6000_0000, rasr(16, WBWA)).enabled
    assert not MpuRegion(0x6000_0000, rasr(4096, WBWA) & ~1).enabled
    assert MpuRegion(0, rasr(1 << 32, WBWA)).size == 1 << 32


def test_access_rights_and_what_lies_outside_all_regions() -> None:
    def access(ap: int, privileged: bool = True) -> str:
        mpu = Mpu(1, ((0x6000_0000, rasr(8 << 20, WBWA, access=ap << 24)),))
        return seen(F746, 0x6000_0000, mpu, privileged).access

    assert [access(ap) for ap in range(8)] == ["none", "rw", "rw", "rw", "none", "ro", "ro", "ro"]
    assert [access(ap, False) for ap in range(8)] == ["none", "none", "ro", "rw", "none", "none", "ro", "ro"]
    mpu = Mpu(1, ((0x6000_0000, rasr(8 << 20, WBWA)),))
    assert seen(F746, 0x2001_0000, mpu).access == "none"
    assert seen(F746, 0x2001_0000, Mpu(5, mpu.regions)).access == "rw"
    assert seen(F746, 0x2001_0000, Mpu(5, mpu.regions), privileged=False).access == "none"
    assert seen(F746, 0x2001_0000, Mpu(4, mpu.regions), privileged=False).access == "rw"  # off


def test_execute_never() -> None:
    mpu = Mpu(5, ((0x6000_0000, rasr(8 << 20, WBWA, never=True)), (0x2000_0000, rasr(1 << 16, DEVICE))))
    assert not seen(F746, 0x6000_0000, mpu).executable
    assert seen(F746, 0x2000_0000, mpu).executable  # XN alone says so, not the type of memory
    assert seen(F746, 0x2001_0000, mpu).executable


def test_tcm_is_never_cached_whatever_the_mpu_says() -> None:
    mpu = Mpu(5, ((0x0000_0000, rasr(1 << 32, WBWA)),))
    assert [seen(F746, at, mpu).attribute for at in (0, 0x2000_0000, 0x0020_0000, 0x2001_0000)] == [0, 0, 0, 2]


def test_unaligned_access_to_device_memory() -> None:
    assert core_named("cortex-m7").device_faults and not core_named("cortex-m4").device_faults


def test_installed_ranges_are_what_the_core_sees() -> None:
    machine = load_machine(F746)
    memory = MemorySystem(machine)
    s = memory.state
    base = 0x6000_0000
    assert addresses_at(s, base).attribute == 2
    mpu = Mpu(5, ((base + 0x1000, rasr(0x1000, UNCACHED, access=6 << 24, never=True)),))
    memory.install_ranges(memory_ranges(machine, mpu))
    for offset, attribute, flags in (
        (0xFFF, 2, L.READ | L.WRITE | L.EXECUTE | L.ALLOCATE),
        (0x1000, 0, L.READ),
        (0x1FFF, 0, L.READ),
        (0x2000, 2, L.READ | L.WRITE | L.EXECUTE | L.ALLOCATE),
    ):
        addresses = addresses_at(s, base + offset)
        assert (addresses.attribute, addresses.flags) == (attribute, flags)
    for outside in (0x0001_0000, 0x3000_0000, 0x6080_0000, 0xFFFF_FFFF):
        assert addresses_at(s, outside) is None
    memory.install_ranges(memory_ranges(machine, None))
    assert addresses_at(s, base + 0x1000).attribute == 2


def test_ranges_that_cannot_be_installed() -> None:
    memory = MemorySystem(load_machine(F746))
    with pytest.raises(UsageError, match="overlap at 0x60000100"):
        memory.install_ranges([Range(0x6000_0000, 0x6000_0200, "sdram"), Range(0x6000_0100, 0x6000_0300, "sdram")])
    with pytest.raises(UsageError, match="300 address ranges: at least one and at most 256"):
        memory.install_ranges([Range(32 * i, 32 * i + 32, "sdram") for i in range(300)])
    with pytest.raises(UsageError, match="0 address ranges"):
        memory.install_ranges([])


@pytest.mark.parametrize(
    ("control", "rbar", "rasr", "rules"),
    [
        (1, 0x3000_FAE0, 15 << 1 | 1, ["region-misaligned"]),  # 64 KiB
        (1, 0x3000_FAE0, 15 << 1, []),  # off
        (0, 0x3000_FAE0, 15 << 1 | 1, []),
        (1, 0x3001_0000 | 0x13, 15 << 1 | 1, []),  # VALID and REGION are no address
        (1, 0x3000_0000, 1 << 19 | 1 << 16 | 15 << 1 | 1, ["reserved-encoding"]),  # TEX 1, C 0, B 1
        (1, 0x3000_0000, 1 << 19 | 1 << 17 | 15 << 1 | 1, []),  # left to the implementation
        (1, 0x3000_0000, 4 << 24 | 3 << 19 | 15 << 1 | 1, ["reserved-encoding"]),
        (1, 0x3000_0000, 3 << 24 | 5 << 19 | 1 << 16 | 15 << 1 | 1, []),
    ],
)
def test_what_a_region_looks_like_and_is_not(control: int, rbar: int, rasr: int, rules: list[str]) -> None:
    found = list(Mpu(control, ((0, 0), (rbar, rasr))).mistakes())
    assert [(number, mistake[0]) for number, mistake in found] == [(1, rule) for rule in rules]
