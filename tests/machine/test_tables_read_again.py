"""A machine with changed keys shares the tables that they do not touch with the one it comes from: it is as one whose
tables are all read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from random import Random

import pytest

from mcusim.errors import MachineError
from mcusim.machine import Machine, load_machine, machine_names, replace_all
from mcusim.units import hertz
from tests.support.cases import few

OTHER = {"true": "false", "false": "true", "1": "2", "2": "4", "32 B": "64 B", "16 bit": "32 bit"}


def changed(rng: Random, machine: Machine) -> dict[str, str]:
    keys = [key for key, figure in machine.figures.items() if not key.startswith("power.") and figure.text in OTHER]
    changes = {key: OTHER[machine.figures[key].text] for key in rng.sample(keys, min(2, len(keys)))}
    if rng.random() < 0.7:
        changes["core.clock"] = hertz(machine.core.clock // rng.choice([2, 3]))
    return changes


def outcome(machine: Machine, changes: Mapping[str, object]) -> Machine | str:
    try:
        return replace_all(machine, changes)
    except MachineError as error:
        return str(error)


@few(8)
@pytest.mark.parametrize("name", machine_names())
def test_shared_tables_are_as_read_anew(name: str) -> None:
    rng, file = Random(name), load_machine(name)
    alone = replace(file, _readings=None)
    for _ in range(6):
        changes = changed(rng, file)
        shared, own = outcome(file, changes), outcome(alone, changes)
        assert shared == own
        if isinstance(shared, Machine) and isinstance(own, Machine):
            for field in fields(Machine):  # also what does not make machines different
                if field.name not in ("_readings", "_file", "_raw", "_replace"):
                    assert getattr(shared, field.name) == getattr(own, field.name)
            assert [*shared.figures] == [*own.figures]
            more = changed(rng, shared)
            assert outcome(shared, more) == outcome(own, more)


@pytest.mark.parametrize("key", ["memory.flash.wait_states", "memory.sdram.timing.CL", "dma.dma2.streams"])
def test_a_value_of_another_type_is_read_again(key: str) -> None:
    file = load_machine("stm32f746g-disco")
    alone, values = replace(file, _readings=None), [2, True, 2.0, "2", "2 sdclk", [2], 1, None, "1", 2]
    for value in values:
        assert outcome(file, {key: value}) == outcome(alone, {key: value})
