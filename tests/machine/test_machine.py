"""Machines: the shipped boards, what-ifs, and the text of every rule's error."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from mcusim.errors import MachineError
from mcusim.machine import Machine, load_machine, machine_names, replace, replace_all
from mcusim.machine.catalog import config_directory
from mcusim.machine.description import Duration, Flash, Qspi, Sdram, Sram

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
BOARDS = (
    "nucleo-f746zg", "nucleo-f767zi", "nucleo-g474re", "nucleo-h743zi", "nucleo-l4r5zi", "stm32f407g-disc1", F469, F746
)  # fmt: skip


@pytest.fixture(scope="module")
def f746() -> Machine:
    return load_machine(F746)


def sdram(machine: Machine) -> Sdram:
    device = machine.memory["sdram"].device
    assert isinstance(device, Sdram)
    return device


def refusal(machine: Machine, key: str, value: object) -> str:
    with pytest.raises(MachineError) as caught:
        machine.replace(key, value)
    return str(caught.value)


# The shipped boards


def test_eight_boards_ship() -> None:
    assert machine_names() == BOARDS


@pytest.mark.parametrize("name", BOARDS)
def test_every_figure_has_basis_source_and_place(name: str) -> None:
    machine = load_machine(name)
    assert machine.name == name
    assert len(machine.figures) > 50
    for figure in machine.figures.values():
        assert figure.basis in ("datasheet", "measured", "calibrated", "assumed"), figure
        assert figure.source not in ("", "no source given"), figure
        assert figure.file == f"{name}.toml"
        assert figure.line > 0 or "default:" in figure.source, figure
        if "not verified" in figure.source or "starting value" in figure.source:
            assert figure.basis == "assumed", figure


@pytest.mark.parametrize("name", BOARDS)
def test_every_line_number_is_that_of_the_key(name: str) -> None:
    lines = (config_directory() / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    for figure in load_machine(name).figures.values():
        if figure.line:
            assert figure.key.rpartition(".")[2] in lines[figure.line - 1]


def ranges(name: str) -> dict[str, tuple[int, int]]:
    return {region.name: (region.base, region.size >> 10) for region in load_machine(name).memory.values()}


def test_memory_maps() -> None:
    assert ranges(F469) == {
        "flash": (0x0800_0000, 2048), "ccm": (0x1000_0000, 64), "sram1": (0x2000_0000, 160),
        "sram2": (0x2002_8000, 32), "sram3": (0x2003_0000, 128), "qspi": (0x9000_0000, 16384),
        "sdram": (0xC000_0000, 16384),
    }  # fmt: skip
    assert ranges(F746) == {
        "itcm": (0, 16), "flash": (0x0800_0000, 1024), "dtcm": (0x2000_0000, 64), "sram1": (0x2001_0000, 240),
        "sram2": (0x2004_C000, 16), "sdram": (0x6000_0000, 8192), "qspi": (0x9000_0000, 16384),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "total"),
    [(F469, 320), (F746, 320), ("nucleo-f746zg", 320), ("nucleo-f767zi", 512), ("nucleo-l4r5zi", 640)],
)
def test_ram_from_0x2000_0000_is_contiguous(name: str, total: int) -> None:
    regions = [r for r in load_machine(name).memory.values() if r.writable and 0x2000_0000 <= r.base < 0x2400_0000]
    address = 0x2000_0000
    for region in regions:
        assert region.base == address
        address = region.end
    assert address - 0x2000_0000 == total << 10


def test_the_discovery_boards_run_as_tinyops_ran_them() -> None:
    m4, m7 = load_machine(F469), load_machine(F746)
    assert (m4.core.isa, m4.core.clock, m4.bus.clock) == ("cortex-m4", 180_000_000, 180_000_000)
    assert (m7.core.isa, m7.core.clock, m7.bus.clock) == ("cortex-m7", 216_000_000, 216_000_000)
    assert m4.data_cache is None and m4.instruction_cache is None
    assert m7.data_cache is not None and (m7.data_cache.size, m7.data_cache.ways) == (4096, 4)
    assert m7.instruction_cache is not None and m7.instruction_cache.ways == 2
    for machine, width, clock, latency in ((m4, 32, 90_000_000, 3), (m7, 16, 108_000_000, 2)):
        device = sdram(machine)
        timing = [int(getattr(device.timing, key).value) for key in ("CL", "tRCD", "tRP", "tRC", "tRAS", "tWR")]
        assert (device.width, device.clock, timing) == (width, clock, [latency, 2, 2, 6, 4, 2])
        assert device.timing.refresh == Duration(Fraction(156, 10**7), "s")
        assert (machine.dma["dma2"].beat, machine.dma["dma2"].burst, machine.dma["dma2"].streams) == (1, 1, 2)
    assert (m4.memory["sdram"].attribute, m7.memory["sdram"].attribute) == ("device", "write-back")
    assert (m4.memory["ccm"].dma, m7.memory["itcm"].dma, m7.memory["dtcm"].dma) == (False, False, True)


def test_flash_and_qspi() -> None:
    flash = {name: load_machine(name).memory["flash"].device for name in BOARDS}
    assert all(isinstance(device, Flash) for device in flash.values())
    waits = {name: device.wait_states for name, device in flash.items() if isinstance(device, Flash)}
    assert waits == dict(zip(BOARDS, (7, 7, 4, 4, 5, 5, 5, 5), strict=True))
    accelerators = {name: d.accelerator for name, d in flash.items() if isinstance(d, Flash) and d.accelerator}
    on_the_alias = {name for name, accelerator in accelerators.items() if accelerator.serves == "aliases"}
    assert accelerators.keys() - on_the_alias == {F469, "stm32f407g-disc1", "nucleo-l4r5zi", "nucleo-g474re"}
    assert on_the_alias == {F746, "nucleo-f746zg", "nucleo-f767zi"}
    assert all(accelerators[name].unified for name in on_the_alias)
    qspi = load_machine(F469).memory["qspi"].device
    assert isinstance(qspi, Qspi)
    lanes = (qspi.instruction_lines, qspi.address_lines, qspi.data_lines)
    assert (lanes, qspi.dummy, qspi.cs_high) == ((1, 1, 4), 10, 2)


def test_attributes_follow_the_default_memory_map() -> None:
    machine = load_machine("nucleo-h743zi")
    attributes = {region.name: region.attribute for region in machine.memory.values()}
    assert attributes["flash"] == "write-through"
    assert attributes["dtcm"] == attributes["itcm"] == "uncached"
    assert attributes["axisram"] == attributes["sram4"] == "write-back"
    assert load_machine(F746).memory["qspi"].attribute == "write-through"


# What-ifs


def test_what_has_no_clock_of_its_own_follows_the_core(f746: Machine) -> None:
    slower = f746.replace("core.clock", "200 MHz")
    sram = slower.memory["sram1"].device
    assert isinstance(sram, Sram)
    assert (slower.core.clock, slower.bus.clock, sram.clock) == (200_000_000,) * 3
    assert f746.core.clock == 216_000_000


@pytest.mark.parametrize(
    ("key", "typed", "text"),
    [
        ("memory.sdram.timing.tRCD", "30 ns", "30 ns"),
        ("memory.flash.wait_states", "7", "7"),
        ("memory.dtcm.dma", "false", "false"),
        ("memory.sdram.base", "0xD000_0000", "0xD000_0000"),
        ("memory.flash.aliases", "[0x0100_0000, 0x0300_0000]", "[0x0100_0000, 0x0300_0000]"),
        ("cache.data.size", "0 B", "0 B"),
        ("bus.clock", "108 MHz", "108 MHz"),
        ("power.energy_per_byte.sdram", "1 nJ", "1 nJ"),
    ],
)
def test_a_key_set_as_typed_says_so_in_its_figure(f746: Machine, key: str, typed: str, text: str) -> None:
    changed = f746.replace(key, typed)
    figure = changed.figures[key]
    assert (figure.text, figure.basis, figure.source) == (text, "assumed", "set by the user")
    assert changed != f746
    assert changed == replace(f746, key, typed) == load_machine(F746, {key: typed})


def test_replace_takes_values_and_overrides_add_up(f746: Machine) -> None:
    assert f746.replace("memory.flash.wait_states", 7) == f746.replace("memory.flash.wait_states", "7")
    both = load_machine(F746, {"memory.sdram.timing.tRC": "8 sdclk", "memory.sdram.timing.tRAS": "5 sdclk"})
    timing = sdram(both).timing
    assert [int(length.value) for length in (timing.tRC, timing.tRAS)] == [8, 5]
    chained = f746.replace("memory.sdram.timing.tRC", "8 sdclk").replace("memory.sdram.timing.tRAS", "5 sdclk")
    assert chained == both


def test_keys_that_depend_on_each_other_change_together() -> None:
    machine = load_machine("nucleo-h743zi")
    assert "must not be faster than core.clock (480,000,000 Hz); set both" in refusal(machine, "bus.clock", "481 MHz")
    slow = replace_all(machine, {"core.clock": "200 MHz", "bus.clock": "50 MHz"})
    assert (slow.core.clock, slow.bus.clock) == (200_000_000, 50_000_000)


def test_a_default_is_as_well_founded_as_what_it_follows(f746: Machine) -> None:
    assert f746.figures["bus.clock"].basis == "measured"
    followed = f746.replace("core.clock", "200 MHz").figures["memory.sram1.clock"]
    assert (followed.text, followed.basis) == ("200 MHz", "assumed")
    assert followed.source == "set by the user (default: the bus clock)"


def test_machines_compare_by_content_and_pickle(f746: Machine) -> None:
    assert f746 == load_machine(F746)
    again = pickle.loads(pickle.dumps(f746))
    assert again == f746
    assert again.replace("core.clock", "100 MHz").core.clock == 100_000_000
    assert "_raw" not in repr(f746)


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("core.clok", 'has no such key, did you mean "core.clock"'),
        ("memory.sdram.timing.trcd", 'did you mean "memory.sdram.timing.tRCD"'),
        ("memory.sdram.timing", "is a table of stm32f746g-disco; its keys are memory.sdram.timing.CL,"),
        ("core.clock.value", "has no such key"),
        ("memory.qspi.fifo", "is no longer a key"),
        ("", "has no such key"),
    ],
)
def test_an_override_must_name_an_existing_key(f746: Machine, key: str, rule: str) -> None:
    assert rule in refusal(f746, key, "1")


def test_a_transfer_of_a_few_units_is_refused(f746: Machine) -> None:
    assert "16" in refusal(f746, "dma.dma2.max_units", "15")
    assert f746.replace("dma.dma2.max_units", "16").dma["dma2"].max_units == 16


def test_a_key_of_an_older_version_says_what_to_do(f746: Machine) -> None:
    assert refusal(f746, "bus.arbitration", "round-robin") == (
        'stm32f746g-disco: bus.arbitration = "round-robin": is no longer a key: nothing read it (core and DMA take '
        "turns at a memory); delete it"
    )


# Rules


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("core.isa", "cortex-m3", "must be one of cortex-m4, cortex-m7"),
        ("core.clock", "0 Hz", "a clock must be 0.1 MHz to 2000 MHz"),
        ("core.clock", "216 GHz", "a clock must be 0.1 MHz to 2000 MHz"),
        ("core.clock", "216", '"216" has no unit'),
        ("core.clock", 216, "216 has no unit"),
        ("core.clock", 10**400, "an integer of 1329 bits has no unit"),
        ("core.clock", float("inf"), "inf has no unit"),
        ("bus.clock", "217 MHz", "must not be faster than core.clock (216,000,000 Hz)"),
        ("cache.data.size", "5 KiB", "must be ways x line x a power of two (of sets), here 4 ways x 32 B"),
        ("cache.data.size", "4 KB", "KB, which may mean 1000 or 1024 bytes; write KiB"),
        ("cache.data.ways", "0", "must be 1 to 64"),
        ("cache.data.line", "24 B", "must be a power of two"),
        ("cache.data.policy", "write", "must be one of write-back, write-through"),
        ("memory.sram1.size", "0 B", "a size must be positive and fit 32 bits of address"),
        ("memory.sram1.size", "8 GiB", "a size must be positive and fit 32 bits of address"),
        ("memory.sram1.size", "100 B", "must be a multiple of 32 B"),
        ("memory.sram1.base", "0x2001_0004", "must be a multiple of 32 B"),
        ("memory.sram1.base", "0x1_0000_0000", "must be an address of 32 bits"),
        ("memory.sram1.base", "here", "must be an address such as 0x2000_0000"),
        ("memory.sram1.base", -4, "must be an address of 32 bits"),
        ("memory.sdram.base", "0xFFFF_0000", "8,388,608 B from 0xFFFF_0000 run past the 32-bit address space"),
        ("memory.flash.aliases", "0xFFFF_FF00", "1,048,576 B from 0xFFFF_FF00 run past the 32-bit address space"),
        ("memory.flash.aliases", 5, "must be a list of addresses"),
        ("memory.sram1.width", "12 bit", "must be one of 8 bit, 16 bit, 32 bit, 64 bit, 128 bit"),
        ("memory.sram1.dma", "yes", "must be true or false"),
        ("memory.dtcm.attribute", "write-back", "tightly coupled memory is never cached"),
        ("memory.flash.wait_states", "16", "must be 0 to 15"),
        ("memory.flash.wait_states", "-1", "must be a whole number"),
        ("memory.flash.wait_states", "5.0", "must be a whole number"),
        ("memory.flash.wait_states", 5.0, "must be a whole number"),
        ("memory.flash.wait_states", True, "must be a whole number"),
        ("memory.flash.wait_states", float("nan"), "must be a whole number"),
        ("memory.sdram.size", "16 MiB", "more than width x banks x rows x columns can hold (8,388,608 B)"),
        ("memory.sdram.banks", "3", "must be a power of two"),
        ("memory.sdram.timing.tRC", "5 sdclk", "must be at least tRAS + tRP (4 + 2 sdclk)"),
        ("memory.sdram.timing.tRC", "55 ns", "must be at least tRAS + tRP (4 + 2 sdclk)"),
        ("memory.sdram.timing.tRCD", "40 ns", "must be at least tRCD (4.32 sdclk)"),
        ("memory.sdram.timing.refresh", "50 ns", "must be longer than tRC (6 sdclk)"),
        ("memory.sdram.timing.CL", "0 sdclk", "must be more than zero"),
        ("memory.sdram.timing.tWR", "2 hclk", "wrong unit hclk"),
        ("memory.sdram.timing.tWR", "2 s", "must be at most 1 ms or 10,000 clocks"),
        ("memory.sdram.timing.tWR", "-2 ns", "must not be negative"),
        ("memory.qspi.data_lines", "3", "must be one of 1, 2, 4, 8"),
        ("dma.dma2.beat", "3 B", "must be one of 1 B, 2 B, 4 B"),
        ("dma.dma2.burst", "2", "must be one of 1, 4, 8, 16"),
        ("dma.dma2.streams", "0", "must be 1 to 64"),
        ("power.supply", "0 V", "a supply must be more than 0 V and at most 60 V"),
        ("power.supply", "-1 V", "must not be negative"),
        ("power.run", "1000 A", "a current must be at most 100 A"),
        ("power.energy_per_byte.sdram", "0.7 nW", "wrong unit nW"),
        ("name", "", "must be a text of 1 to 200 characters"),
        ("name", "a\x1b[2J", "must be a text of 1 to 200 characters"),
    ],
)
def test_rules(f746: Machine, key: str, value: object, rule: str) -> None:
    text = refusal(f746, key, value)
    assert text.startswith("stm32f746g-disco.toml")
    assert key.rpartition(".")[0] in text
    assert rule in text
    assert text.isprintable()


def test_overlap_names_both_regions_and_ranges(f746: Machine) -> None:
    text = refusal(f746, "memory.sram1.base", "0x2000_F000")
    assert "memory.sram1.base = 0x2000_F000: regions must not overlap" in text
    assert "sram1 0x2000_F000..0x2004_AFFF and dtcm 0x2000_0000..0x2000_FFFF" in text
    text = refusal(f746, "memory.flash.aliases", "[0x0]")
    assert "flash 0x0000_0000..0x000F_FFFF and itcm 0x0000_0000..0x0000_3FFF" in text
    assert "flash 0x0801_0000..0x0810_FFFF and flash" in refusal(f746, "memory.flash.aliases", "0x0801_0000")


def test_neighbours_that_touch_do_not_overlap(f746: Machine) -> None:
    assert f746.replace("memory.sram2.base", "0x2005_0000").memory["sram2"].base == 0x2005_0000
    assert "overlap" in refusal(f746, "memory.sram2.base", "0x2004_BFE0")


def test_a_key_that_nothing_uses_is_no_key() -> None:
    with pytest.raises(MachineError, match=r"bus\.arbitration.*is no longer a key"):
        load_machine("stm32f746g-disco", {"bus.arbitration": "x"})


def test_changes_since_the_file_are_kept() -> None:
    machine = load_machine("stm32f746g-disco", {"core.clock": "200 MHz"})
    assert load_machine("stm32f746g-disco").changes == {}
    assert machine.replace("dma.dma2.burst", 1).changes == {"core.clock": "200 MHz", "dma.dma2.burst": "1"}
