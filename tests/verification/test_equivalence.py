"""Outputs compared byte for byte: with an untiled run's, with LiteRT's, and how the first difference is reported."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine, machine_names
from mcusim.plan import plan, plan_options
from mcusim.program.program import Compute
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.equivalence import first_difference, with_litert, with_untiled
from mcusim.verification.verified_emulation import Emulation, Outputs
from tests.support.cases import only_with_all_cases, sampled
from tests.support.graphs.small_graphs import activation, one_operator
from tests.support.kernels.emulated_networks import network
from tests.support.programs.plans import DISCOS, board

F469, F746 = DISCOS


def emulation(name: str = "ds-cnn", machine: str = F746, policy: str = "tinyops", **options: object) -> Emulation:
    graph, kernels = network(name)[0], load_set("cmsis")
    program = plan(graph, board(machine), policy, kernels, plan_options(**options))  # type: ignore[arg-type]
    return Emulation(program, board(machine), graph, kernels, random_inputs(graph))


@cache
def outputs(name: str = "ds-cnn", machine: str = F746, policy: str = "tinyops") -> Outputs:
    return emulation(name, machine, policy).run().outputs


def changed(found: Outputs, operator: int, place: int, by: int = 3) -> Outputs:
    values = found[operator][0].copy()
    values.reshape(-1)[place] ^= by
    return {**found, operator: [values]}


@pytest.mark.parametrize("machine", sampled(DISCOS, 1))
@pytest.mark.parametrize("name", sampled(["ds-cnn", "person_detect"], 1))
def test_tiled_untiled_and_litert_agree(name: str, machine: str) -> None:
    ours = emulation(name, machine)
    found = [with_untiled(ours, outputs(name, machine)), with_litert(ours, outputs(name, machine))]
    assert [(a.equal, a.difference, a.note) for a in found] == [(True, None, None)] * 2
    assert found[0].other == f"the untiled run (internal on {machine})"


def test_a_changed_byte_is_named_with_its_place() -> None:
    """In NHWC, by the tile that computes its row; the first operator in the order of execution."""
    ours, good = emulation(), outputs()
    calls = [t for t in ours.program.tasks if isinstance(t, Compute) and t.tiles > 1]
    task = calls[-1] if calls[-1].tile else calls[-2]
    _, h, w, c = ours.graph.tensors[ours.graph.operators[task.operator].outputs[0]].shape
    assert h == task.geometry.out_h
    row = task.rows.out_row + 1
    bad = changed(changed(good, task.operator, (row * w + 2) * c + 5), task.operator, (row * w + 3) * c + 1)
    bad = changed(bad, ours.graph.operators[-1].index, 0)
    for found in (with_untiled(ours, bad).difference, with_litert(ours, bad).difference):
        assert found is not None
        assert (found.operator, found.tile, found.row, found.column, found.channel) == (
            task.operator, task.tile, row, 2, 5,
        )  # fmt: skip
        assert (found.count, found.bytes, found.tiles) == (2, h * w * c, task.tiles)
        right = int(good[task.operator][0][0, row, 2, 5])
        assert (found.expected, found.value) == (right, float(np.int8(right ^ 3)))
        assert f"tile {task.tile + 1} of {task.tiles}: row {row}, column 2, channel 5" in found.text()
        assert "2 of" in found.text()
        assert found.to_json()["row"] == row


def test_outputs_that_are_missing_are_no_difference() -> None:
    """A run that a fault ended is compared as far as it came."""
    ours, good = emulation(), outputs()
    assert first_difference(ours.program, ours.graph, {0: good[0]}, good) is None
    assert first_difference(ours.program, ours.graph, {}, good) is None


def test_every_type_is_compared_by_its_bytes() -> None:
    """One float that differs in one byte; a NaN equals itself."""
    graph = one_operator("SOFTMAX", [activation((1, 4))], [replace(activation((1, 4)), dtype="float32")], beta=1.0)
    ours = emulation()
    good = np.array([[1.0, np.nan, 2.0, 3.0]], np.float32)
    assert first_difference(ours.program, graph, {0: [good]}, {0: [good.copy()]}) is None
    bad = good.copy()
    bad[0, 1] = np.inf
    found = first_difference(ours.program, graph, {0: [bad]}, {0: [good]})
    assert found is not None and found.channel == 1
    assert found.to_json()["value"] == "inf" and found.to_json()["expected"] == "nan"


def test_a_program_without_tiles_is_compared_with_another_one() -> None:
    ours = emulation(policy="internal")
    assert with_untiled(ours, outputs()).other == f"the untiled run (external on {F746})"


@only_with_all_cases
def test_where_it_has_no_room_the_untiled_run_is_on_another_machine() -> None:
    regions = ("ccm", "sram1", "sram2", "sram3", "sdram")
    small = load_machine(F469, {f"memory.{region}.size": "16 KiB" for region in regions})
    found = with_untiled(replace(emulation("vww_96_int8", F469), machine=small), outputs("vww_96_int8", F469))
    assert found.equal is True
    assert found.other in [f"the untiled run (internal on {m} as shipped)" for m in DISCOS] + [
        f"the untiled run (internal on {m})" for m in machine_names() if m != F469
    ]


def test_without_litert_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    found = with_litert(emulation(), outputs())
    assert found.equal is None
    assert "not installed" in str(found.note)
    assert found.to_json()["equal"] is None


def test_what_litert_refuses_is_a_note() -> None:
    """A reshape to a size that is not its input's."""
    ours = emulation()
    operators = tuple(replace(op, type="NO_SUCH") if op.index == 0 else op for op in ours.graph.operators)
    found = with_litert(replace(ours, graph=replace(ours.graph, operators=operators)), outputs())
    assert found.equal is None and "does not take the model" in str(found.note)
