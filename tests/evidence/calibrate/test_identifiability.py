"""Which keys measurements determine when nobody names keys, and how many runs it takes to know."""

from __future__ import annotations

from dataclasses import replace

from mcusim.evidence.calibrate.experiments import Rig
from mcusim.evidence.calibrate.identifiability import chosen_keys
from mcusim.evidence.calibrate.measurements import Experiment
from mcusim.evidence.calibrate.parameters import candidates
from mcusim.machine import load_machine
from tests.support.boards.perturbed_board import loops, measure, networks

F469 = "stm32f469i-disco"
READ, WRITE = "memory.sdram.read_overhead", "memory.sdram.write_overhead"
RUN, SDRAM = "power.run", "power.sdram_active"
READ_LOOP, WRITE_LOOP = loops(0xC000_0000)


def rig(ran: list[Experiment], *keys: str, quantities: tuple[str, ...] = ("latency_ms", "supply_current_ma")) -> Rig:
    machine = load_machine(F469)
    return Rig(machine, measure(F469, {}, ran, quantities), tuple(p for p in candidates(machine) if p.key in keys))


def chosen(found: Rig) -> tuple[set[str], set[str]]:
    """The keys that are fitted, and those that are left."""
    keys, left = chosen_keys(tuple(found.parameters), found)
    return {p.key for p in keys}, {one.key for one in left}


def test_the_rows_have_one_number_more_than_keys_are_chosen() -> None:
    """Each loop shows a key of its own; a fit of both would have nothing left to be wrong in."""
    other = replace(READ_LOOP, function="read_u16")
    assert chosen(rig([READ_LOOP, WRITE_LOOP], READ, WRITE)) == ({WRITE}, {READ})
    assert chosen(rig([READ_LOOP, WRITE_LOOP, other], READ, WRITE)) == ({READ, WRITE}, set())


def test_a_run_is_two_numbers_however_many_are_given() -> None:
    """Its time and its current: cycles and energy follow from these."""
    all_ = ("latency_ms", "cycles", "supply_current_ma", "energy_mj")
    fitted, left = chosen(rig(networks(["external"]), READ, RUN, SDRAM, quantities=all_))
    assert (len(fitted), len(left)) == (1, 2)


def test_a_key_that_a_row_sets_is_not_fitted() -> None:
    ran = [replace(READ_LOOP, set=((READ, "9 cycles"),)), replace(READ_LOOP, function="read_u16"), WRITE_LOOP]
    assert chosen(rig(ran, READ, WRITE)) == ({WRITE}, set())


def test_a_current_takes_no_run_of_its_own() -> None:
    """Figures of power are computed from what a run did; only what changes its time has it played again."""
    steps: list[object] = []
    found = rig(networks(["external"]), READ, RUN, SDRAM)
    found.step = steps.append
    results = [found.simulate({READ: 3.75, RUN: run, SDRAM: sdram}) for run, sdram in ((41, 5), (55, 5), (55, 9))]
    assert found.played == len(steps) == 1
    (first, _), (second, _), (third, _) = results
    assert first == second == third
    assert results[0][1] < results[1][1] < results[2][1]
    assert found.simulate({READ: 9, RUN: 41, SDRAM: 5})[0] > first
    assert found.played == len(steps) == 2
