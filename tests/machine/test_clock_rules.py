"""What a changed clock moves: wait states, bus and memory clocks, the regulator; two-sided at every limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.errors import MachineError
from mcusim.machine import Machine, load_machine, machine_names, regulator_scale, replace_all
from mcusim.machine.clock_rules import fastest, wait_states
from mcusim.machine.description import Flash, Qspi, Sdram
from mcusim.memory.state_builder import clocks
from mcusim.memory.state_layout import TICK
from mcusim.units import hertz

F407 = "stm32f407g-disc1"
F469, F746, F767 = "stm32f469i-disco", "stm32f746g-disco", "nucleo-f767zi"
H743, L4R5, NUCLEO_F746 = "nucleo-h743zi", "nucleo-l4r5zi", "nucleo-f746zg"
G474 = "nucleo-g474re"
PLAIN = "[core]\n{core}\n[memory.flash]\ndevice = 'flash'\nbase = 0x0800_0000\nsize = '1 MiB'\nline = '16 B'\n{flash}\n"
PLAIN += "read_latency = '0 cycles'\n[power]\nsupply = '3.3 V'\nrun = '1 mA'\n"
SPECIFIED = {F407: 168, F469: 180, F746: 216, NUCLEO_F746: 216, F767: 216, H743: 480, L4R5: 120, G474: 170}
MHZ = 10**6


def at(board: str, clock: int, **others: str) -> Machine:
    return load_machine(board, {"core.clock": f"{clock} Hz", **others})


def flash(machine: Machine) -> int:
    device = machine.memory["flash"].device
    assert isinstance(device, Flash)
    return device.wait_states


def memory_clock(machine: Machine, region: str) -> int:
    device = machine.memory[region].device
    assert isinstance(device, Sdram | Qspi)
    return device.clock


def moved(machine: Machine) -> dict[str, tuple[str, str]]:
    """But for currents."""
    return {one.key: (one.before, one.after) for one in machine.moved if not one.key.startswith("power.")}


STEPS = [
    *[(NUCLEO_F746, 30 * (n + 1), n) for n in range(7)],
    *[(F767, 30 * (n + 1), n) for n in range(7)],
    *[(F469, 30 * (n + 1), n) for n in range(5)],
    *[(L4R5, 20 * (n + 1), n) for n in range(1, 5)],
]


@pytest.mark.parametrize(("board", "limit", "states"), STEPS)
def test_wait_states_on_both_sides_of_each_limit(board: str, limit: int, states: int) -> None:
    assert flash(at(board, limit * MHZ)) == states
    assert flash(at(board, limit * MHZ + 1)) == states + 1


@pytest.mark.parametrize(
    ("core", "bus", "states"),
    [
        (90 * MHZ, 90 * MHZ, 1),  # vos3: 1 up to 90 MHz of the bus
        (90 * MHZ + 1, 90 * MHZ + 1, 2),
        (100 * MHZ, 100 * MHZ, 2),  # the fastest bus of vos3; beyond, half the core's clock
        (100 * MHZ + 2, 50 * MHZ + 1, 1),
        (200 * MHZ, 100 * MHZ, 2),
        (200 * MHZ + 2, 100 * MHZ + 1, 1),  # vos2: 1 up to 110 MHz
        (220 * MHZ, 110 * MHZ, 1),
        (220 * MHZ + 2, 110 * MHZ + 1, 2),
        (300 * MHZ + 2, 150 * MHZ + 1, 2),  # vos1: 2 up to 210 MHz
        (420 * MHZ, 210 * MHZ, 2),  # vos0
        (420 * MHZ + 2, 210 * MHZ + 1, 3),
        (450 * MHZ, 225 * MHZ, 3),
        (450 * MHZ + 2, 225 * MHZ + 1, 4),
        (480 * MHZ, 240 * MHZ, 4),
    ],
)
def test_a_table_of_each_voltage_scale_and_half_the_core_clock_on_the_bus(core: int, bus: int, states: int) -> None:
    machine = at(H743, core)
    assert (machine.bus.clock, flash(machine)) == (bus, states)


@pytest.mark.parametrize(("clock", "states"), [(8, 0), (16, 1), (26, 2)])
def test_a_range_with_a_lower_voltage_has_its_own_wait_states(clock: int, states: int) -> None:
    assert flash(at(L4R5, clock * MHZ)) == states
    assert flash(at(L4R5, clock * MHZ + 1)) == (states + 1 if clock < 26 else 1)  # from there range 1: 1 up to 40 MHz


SCALES = {
    F407: {"scale2": 144, "scale1": 168},
    F469: {"scale3": 120, "scale2": 144, "scale1": 168, "scale1-over-drive": 180},
    F746: {"scale3": 144, "scale2": 168, "scale1": 180, "scale1-over-drive": 216},
    H743: {"vos3": 200, "vos2": 300, "vos1": 400, "vos0": 480},
    L4R5: {"range2": 26, "range1": 80, "range1-boost": 120},
}


def test_a_setting_that_a_user_names_stays_and_has_its_table() -> None:
    named = load_machine(L4R5, {"core.clock": "26 MHz", "core.regulator": "range1"})
    assert (regulator_scale(named, 26 * MHZ), flash(named)) == ("range1", 1)  # range 2 has 2
    assert "regulator" not in moved(named)
    assert flash(load_machine(L4R5, {"core.clock": "80 MHz", "core.regulator": "range1"})) == 3
    with pytest.raises(
        MachineError, match=r"80.000001 MHz exceeds regulator.range1.max_clock = 80 MHz, which core.reg"
    ):
        at(L4R5, 80 * MHZ + 1, **{"core.regulator": "range1"})
    with pytest.raises(MachineError, match=r"is no setting of .regulator.: settings are range2, range1, range1-boost"):
        load_machine(L4R5, {"core.regulator": "vos0"})


@pytest.mark.parametrize("board", SCALES)
def test_the_regulator_on_both_sides_of_each_limit(board: str) -> None:
    machine, names = load_machine(board), list(SCALES[board])
    for name, following in zip(names, [*names[1:], names[-1]], strict=True):
        limit = SCALES[board][name] * MHZ
        assert regulator_scale(machine, limit) == name
        assert regulator_scale(machine, limit + 1) == following  # beyond the part it stays the highest
    assert load_machine(board).moved == () and regulator_scale(machine, machine.core.clock) == names[-1]


@pytest.mark.parametrize("board", machine_names())
def test_shipped_boards_keep_their_figures_at_their_clock(board: str) -> None:
    machine = load_machine(board)
    assert (machine.core.max_clock or 0) == SPECIFIED[board] * MHZ == machine.core.clock
    again = at(board, machine.core.clock)
    assert again.moved == () and (again.bus, again.memory) == (machine.bus, machine.memory)
    assert machine.figures["core.max_clock"].basis == "datasheet"


@pytest.mark.parametrize("board", machine_names())
def test_back_to_its_clock_a_machine_is_what_it_was(board: str) -> None:
    machine = load_machine(board)
    slow = machine.replace("core.clock", "20 MHz")
    assert moved(slow)["bus.clock"][1] == "20 MHz" and flash(slow) < flash(machine)
    back = slow.replace("core.clock", hertz(machine.core.clock))
    assert back.moved == () and (back.bus, back.memory) == (machine.bus, machine.memory)


def test_a_firmware_with_fewer_wait_states_than_its_part_asks() -> None:
    """TinyOps: 5 at 216 MHz, where the table asks 7: the most for any slower clock, as the table has it below."""
    assert [flash(at(F746, clock)) for clock in (216 * MHZ, 210 * MHZ, 180 * MHZ + 1, 180 * MHZ)] == [5, 5, 5, 5]
    assert flash(at(F746, 150 * MHZ)) == 4
    assert [flash(at(F746, 216 * MHZ, **{"core.max_clock": "250 MHz"})), flash(load_machine(F746))] == [5, 5]
    beyond = {"core.max_clock": "250 MHz", "regulator.scale1-over-drive.max_clock": "250 MHz"}
    with pytest.raises(
        MachineError, match=r"240 MHz, the bus clock, exceeds the last of .* \(216 MHz\); --force-clock"
    ):
        at(F746, 240 * MHZ, **beyond)
    faster = at(F746, 240 * MHZ, **{"core.force_clock": "true"})
    assert flash(faster) == 7 and "its own step of 30 MHz" in faster.figures["memory.flash.wait_states"].source


def test_beyond_its_last_row_a_table_goes_on_by_its_own_step() -> None:
    table = (30, 60, 70)
    assert [wait_states(table, clock) for clock in (1, 30, 31, 60, 61, 70, 71, 90, 91, 120, 121)] == [
        0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 4,
    ]  # fmt: skip
    assert wait_states((10, 100, 200, 210), 21_000) == 2099 and wait_states((70, 140, 210, 225, 240), 241) == 4


def test_the_fastest_clock_within_a_limit() -> None:
    assert [fastest(clock, (2, 3), 100) for clock in (200, 201, 300, 301)] == [2, 3, 3, 3]
    assert fastest(10**9, (2, 3), None) == 2


def test_sdram_takes_half_the_bus_or_a_third() -> None:
    assert [memory_clock(at(F746, clock), "sdram") for clock in (54 * MHZ, 200 * MHZ)] == [27 * MHZ, 100 * MHZ]
    guaranteed = {"memory.sdram.max_clock": "100 MHz"}
    assert memory_clock(at(F746, 200 * MHZ, **guaranteed), "sdram") == 100 * MHZ
    assert memory_clock(at(F746, 200 * MHZ + 2, **guaranteed), "sdram") == 66_666_667  # whole Hz, rounded down
    third = load_machine(F746, guaranteed)
    assert moved(third) == {"memory.sdram.clock": ("108 MHz", "72 MHz")}


def test_qspi_takes_the_smallest_prescaler_within_its_limit() -> None:
    made = {216: 108, 200: 100, 109: 54.5, 108: 108, 54: 54}
    assert {clock: memory_clock(at(F746, clock * MHZ), "qspi") / MHZ for clock in made} == made


@pytest.mark.parametrize(("written", "slow_sdclk"), [("2 sdclk", 2), ("18 ns", 1)])
def test_sdram_timing_in_clocks_stays_and_a_time_stays_a_time(written: str, slow_sdclk: int) -> None:
    """tRCD at SDCLK 108 MHz (9.26 ns a clock) and 54 MHz (18.5 ns), where a clock of SDCLK is two of the core."""
    trcd = {"memory.sdram.timing.tRCD": written}
    for machine, sdclk in ((load_machine(F746, trcd), 2), (at(F746, 108 * MHZ, **trcd), slow_sdclk)):
        device = machine.memory["sdram"].device
        assert isinstance(device, Sdram)
        assert clocks(machine, device.timing.tRCD, device.clock) == sdclk * 2 * TICK


def test_what_a_user_sets_stays() -> None:
    pinned = {"memory.sdram.clock": "100 MHz", "memory.flash.wait_states": "6", "memory.qspi.clock": "20 MHz"}
    machine = at(F746, 108 * MHZ, **pinned)
    assert list(moved(machine)) == ["regulator", "bus.clock"]
    assert (memory_clock(machine, "sdram"), flash(machine), memory_clock(machine, "qspi")) == (100 * MHZ, 6, 20 * MHZ)
    one_by_one = load_machine(F746)
    for key, value in {**pinned, "core.clock": "108 MHz"}.items():
        one_by_one = one_by_one.replace(key, value)
    assert (one_by_one.memory, moved(one_by_one)) == (machine.memory, moved(machine))
    bus = at(H743, 400 * MHZ, **{"bus.clock": "100 MHz"})
    assert bus.bus.clock == 100 * MHZ and flash(bus) == 1  # vos1: 1 up to 140 MHz of the bus as it is set


def test_a_bus_clock_moves_what_hangs_on_the_bus() -> None:
    machine = load_machine(F746, {"bus.clock": "108 MHz"})
    assert moved(machine) == {"memory.flash.wait_states": ("5", "3"), "memory.sdram.clock": ("108 MHz", "54 MHz")}


def test_every_move_says_by_what_and_what_that_rests_on() -> None:
    machine = at(F746, 108 * MHZ)
    said = {one.key: f"{one.rule} ({one.basis}: {one.source})" for one in machine.moved}
    assert said["memory.sdram.clock"].startswith("bus.clock / 2 (datasheet: ST RM0385, FMC_SDCR")
    assert said["memory.flash.wait_states"].startswith("up to 120 MHz (datasheet: ST RM0385")
    assert said["regulator"].startswith("the lowest setting, up to 144 MHz (datasheet: ChibiOS")
    figure = machine.figures["memory.flash.wait_states"]
    assert (figure.text, figure.basis) == ("3", "datasheet") and figure.source.endswith(": up to 120 MHz")


def test_currents_that_follow_are_listed_with_the_rest() -> None:
    found = {one.key: one for one in at(F746, 108 * MHZ).moved}
    run = found["power.run"]
    assert (run.before, run.rule) == ("96 mA at 216 MHz", "by power.scale.scale3") and float(run.after.split()[0]) < 60
    assert found["power.sdram_active"].rule == "by power.sdram_per_mhz"
    held = {"power.run": "50 mA", "memory.sdram.clock": "108 MHz"}
    assert not {"power.run", "power.sdram_active"} & {one.key for one in at(F746, 108 * MHZ, **held).moved}
    alone = load_machine(F746, {"memory.sdram.clock": "54 MHz"})
    assert [one.key for one in alone.moved] == ["power.sdram_active"]


def test_beyond_the_part_is_refused_by_naming_the_limit() -> None:
    with pytest.raises(MachineError) as refused:
        at(F746, 300 * MHZ)
    text = "300 MHz exceeds core.max_clock = 216 MHz (ST RM0385, highest clock, with over-drive); "
    assert str(refused.value).endswith(f"{text}--force-clock runs it as a what-if beyond the part")
    for board, limit in SPECIFIED.items():
        assert at(board, limit * MHZ).core.clock == limit * MHZ
        with pytest.raises(MachineError, match=f"exceeds core.max_clock = {limit} MHz"):
            at(board, limit * MHZ + 1)
    with pytest.raises(MachineError, match=r"exceeds regulator.scale1-over-drive.max_clock = 216 MHz, the highest"):
        at(F746, 217 * MHZ, **{"core.max_clock": "250 MHz"})
    assert load_machine(H743, {"bus.clock": "240 MHz"}).bus.clock == 240 * MHZ
    with pytest.raises(MachineError, match=r"480 MHz exceeds regulator.vos0.max_bus_clock = 240 MHz \(ST RM0433"):
        load_machine(H743, {"bus.clock": "480 MHz"})
    assert load_machine(H743, {"bus.clock": "480 MHz", "core.force_clock": "true"}).bus.clock == 480 * MHZ


def test_forced_beyond_the_part() -> None:
    forced = at(F746, 300 * MHZ, **{"core.force_clock": "true"})
    assert (flash(forced), memory_clock(forced, "sdram"), memory_clock(forced, "qspi")) == (9, 100 * MHZ, 100 * MHZ)
    further = at(F746, 400 * MHZ, **{"core.force_clock": "true"})
    rule = next(one.rule for one in further.moved if one.key == "memory.sdram.clock")
    assert rule == "bus.clock / 3, its largest divider, beyond memory.sdram.max_clock = 108 MHz"


def test_a_limit_that_no_divider_reaches_is_refused() -> None:
    with pytest.raises(MachineError, match="= 216 MHz by 3, its largest divider, is still above"):
        load_machine(F746, {"memory.sdram.max_clock": "71 MHz"})
    assert memory_clock(load_machine(F746, {"memory.sdram.max_clock": "72 MHz"}), "sdram") == 72 * MHZ


def test_a_file_of_plain_figures_moves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "plain.toml"
    path.write_text(PLAIN.format(core="isa = 'cortex-m4'\nclock = '100 MHz'", flash="wait_states = 3"))
    machine = load_machine(path, {"core.clock": "500 MHz"})
    assert flash(machine) == 3 and moved(machine) == {"bus.clock": ("100 MHz", "500 MHz")}
    assert machine.stayed[0] == "memory.flash.wait_states 3" and machine.stayed[1].startswith("power.run ")
    set_too = load_machine(path, {"core.clock": "500 MHz", "memory.flash.wait_states": "7"})
    assert [text.split()[0] for text in set_too.stayed] == ["power.run"]
    assert load_machine(path, {"core.clock": "100 MHz"}).stayed == at(F746, 108 * MHZ).stayed == ()
    assert regulator_scale(machine, 1) is None and "core.max_clock" not in machine.figures
    path.write_text("extends = 'stm32f746g-disco'\nmemory.sdram.clock = '100 MHz'\nmemory.flash.wait_states = 7\n")
    extended = load_machine(path)
    assert moved(extended) == {} and (memory_clock(extended, "sdram"), flash(extended)) == (100 * MHZ, 7)
    assert load_machine(path, {"core.clock": "200 MHz"}).stayed == ("memory.sdram.clock 100 MHz",)
    slower = load_machine(path, {"core.clock": "200 MHz"})  # 100 MHz is no divider's; 7 are more than 6 of the table
    assert (memory_clock(slower, "sdram"), flash(slower)) == (100 * MHZ, 6)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("bus.dividers", "[2, 1]", "dividers must rise"),
        ("bus.dividers", "none", 'must be a list such as [2, 3], or a range such as "1 to 256"'),
        ("bus.dividers", "1 to 300", "must be a list such as"),
        ("regulator.vos1.wait_state_clocks", "[70 MHz, 60 MHz]", "clocks must rise"),
        ("regulator.vos1.max_clock", "480 MHz", "must not be that of"),
    ],
)
def test_damaged_trees_are_refused(key: str, value: str, rule: str) -> None:
    with pytest.raises(MachineError) as refused:
        replace_all(load_machine(H743), {key: value})
    assert rule in str(refused.value)


def test_in_a_file_that_extends_another_a_clock_moves_as_for_a_user(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text("extends = 'stm32f746g-disco'\ncore.clock = '108 MHz'\n")
    slow = load_machine(tmp_path / "slow.toml")
    assert (flash(slow), memory_clock(slow, "sdram")) == (3, 54 * MHZ)
    assert moved(slow) == moved(at(F746, 108 * MHZ)) and slow.changes == {}
    text = "extends = 'slow.toml'\nmemory.flash.wait_states = 7\ncache.data.size = '16 KiB'\n"
    (tmp_path / "pinned.toml").write_text(text)
    pinned = load_machine(tmp_path / "pinned.toml")
    assert (flash(pinned), memory_clock(pinned, "sdram"), pinned.moved) == (7, 54 * MHZ, ())
    slower = pinned.replace("core.clock", "54 MHz")  # to what the file has, not to what it extends
    assert (flash(slower), memory_clock(slower, "sdram")) == (1, 27 * MHZ)
    assert slower.replace("core.clock", "108 MHz").memory == pinned.memory
    (tmp_path / "fast.toml").write_text("extends = 'stm32f746g-disco'\ncore.clock = '300 MHz'\n")
    with pytest.raises(MachineError, match="exceeds core"):
        load_machine(tmp_path / "fast.toml")
    (tmp_path / "fast.toml").write_text(
        "extends = 'stm32f746g-disco'\ncore = { clock = '300 MHz', force_clock = true }\n"
    )
    assert flash(load_machine(tmp_path / "fast.toml")) == 9
