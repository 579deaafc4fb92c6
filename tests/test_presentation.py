"""A table of whatever a public function returns, and a figure of a run."""

from __future__ import annotations

import json
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import mcusim
from mcusim import presentation
from mcusim.api.plan_memory import memory
from mcusim.errors import UsageError
from mcusim.kernels.test_programs import program_path
from mcusim.report.firmware.json import emulation_json
from tests.results.test_energy_and_results import make_result
from tests.support.made import figures


def test_each_kind_has_its_table() -> None:
    found = mcusim.simulate("ds-cnn", "stm32f746g-disco")
    assert "\n\nds-cnn on stm32f746g-disco\n" in mcusim.table(found)
    rows = mcusim.compare(["ds-cnn"], ["stm32f746g-disco"], ["internal"])
    assert mcusim.table(rows) == str(rows) and "ds-cnn" in str(rows)
    assert "216 MHz" in mcusim.table(mcusim.load_machine("stm32f746g-disco"))
    assert "CONV_2D" in mcusim.table(mcusim.load_model("ds-cnn"))
    assert "greedy" in mcusim.table(memory("figure-1", allocator="greedy"))


def test_classes_and_what_makes_their_texts_are_there() -> None:
    for kind, makers in presentation._MAKERS.items():
        assert isinstance(resolved(kind), type), kind
        assert all(callable(resolved(maker)) for maker in makers.values()), kind


def resolved(text: str) -> object:
    """What ``module:name`` is."""
    module, _, name = text.partition(":")
    return attrgetter(name)(import_module(module))


def test_a_run_has_a_figure() -> None:
    assert mcusim.figure(make_result()).layout.xaxis2.anchor == "y3"


def test_other_objects_have_none() -> None:
    with pytest.raises(UsageError, match="there is no table of a dict; there is one of Advice, Result, FidelityC"):
        mcusim.table({})
    with pytest.raises(UsageError, match="there is no figure of a Machine; there is one of Result"):
        mcusim.figure(mcusim.load_machine("stm32f746g-disco"))

    class Result:
        """One of the user's own."""

    with pytest.raises(UsageError, match="no table of a Result"):
        mcusim.table(Result())


def test_an_emulated_program_is_saved_as_the_command_writes_it(tmp_path: Path) -> None:
    run = mcusim.emulate(program_path("conv", "cortex-m7"), "stm32f746g-disco", call="lcg", arguments=[0x2000_0000])
    run.save_json(tmp_path / "run.json")
    assert figures(json.loads((tmp_path / "run.json").read_text())) == emulation_json(run)
    run.save_html(tmp_path / "run.html")
    with pytest.raises(UsageError, match="was not recorded: emulate"):
        run.save_perfetto(tmp_path / "trace.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.html", "run.json"]
