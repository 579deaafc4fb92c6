"""TFLM's offline memory plan in a file: what TFLM makes of it, what LiteRT does, and what is refused."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite

from mcusim.errors import ModelError, UsageError
from mcusim.model import Graph, load_model
from mcusim.model.operators import opaque
from mcusim.model.reordered import with_order
from mcusim.model.tflite.offline_plan import OFFLINE_PLAN, with_offline_plan, without_offline_plan
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan.allocators import optimal
from mcusim.plan.allocators.greedy import Arena, ArenaBlock
from mcusim.plan.allocators.offline import offline_offsets
from mcusim.plan.liveness.lifetimes import lifetimes
from mcusim.run_config.input_tensors import random_inputs
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.small_graphs import activation, in_place_graph, one_operator
from tests.support.graphs.tflite_damage import CORRUPTIONS
from tests.support.graphs.tflm import TFLM
from tests.support.kernels.emulated_networks import litert_file
from tests.support.paths import shared_model

MODELS = ("ad01_int8", "hello_world_int8", "kws_ref_model", "person_detect", "pretrainedResnet_quant", "vww_96_int8")
ALL = (*MODELS, "swiftnet_vwwc19_uint8")


def planned(graph: Graph, in_place: bool = False) -> tuple[Arena, list[int]]:
    """The optimal allocator's arena, and its offsets by tensor."""
    lives = lifetimes(graph, None, in_place)
    arena = optimal([ArenaBlock(life.bytes, life.first, life.last) for life in lives]).arena
    offsets = [-1] * len(graph.tensors)
    for life, offset in zip(lives, arena.offsets, strict=True):
        for tensor in (life.tensor, *life.shared):
            offsets[tensor] = offset
    return arena, offsets


def stored_plan(data: bytes) -> list[int] | None:
    """The numbers of the plan as TFLM finds them: by name, through the buffer's index."""
    model = tflite.Model.GetRootAs(data, 0)
    entries = [model.Metadata(i) for i in range(model.MetadataLength())]
    found = [model.Buffers(e.Buffer()) for e in entries if e.Name() == OFFLINE_PLAN.encode()]
    assert len(found) <= 1
    return found[0].DataAsNumpy().view("<i4").tolist() if found else None


def loaded(data: bytes, path: Path) -> Graph:
    path.write_bytes(data)
    return load_model(path)


def assert_same(a: Graph, b: Graph) -> None:
    assert (a.tensors, a.operators, a.inputs, a.outputs) == (b.tensors, b.operators, b.inputs, b.outputs)
    for one, other in zip(a.tensors, b.tensors, strict=True):
        assert (one.data is None) == (other.data is None)
        assert one.data is None or other.data is None or one.data.tobytes() == other.data.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_tflm_obeys_the_plan(name: str) -> None:
    """The arena's head is the plan's, and the outputs are those of TFLM's own plan."""
    path = shared_model(f"{name}.tflite")
    data, graph = path.read_bytes(), load_model(path)
    arena, offsets = planned(graph)
    own, ours = TFLM(data), TFLM(with_offline_plan(data, path, offsets))
    assert (own.head, ours.head) == (73_728 if name == "vww_96_int8" else arena.bytes, arena.bytes)
    inputs = random_inputs(graph)
    assert [a.tobytes() for a in own.run(*inputs)] == [b.tobytes() for b in ours.run(*inputs)]


def test_tflm_takes_the_offsets_as_they_are() -> None:
    """Each tensor somewhere else, far apart, and one left to TFLM, which puts it into the first gap."""
    path = shared_model("kws_ref_model.tflite")
    data, graph = path.read_bytes(), load_model(path)
    lives = lifetimes(graph)
    offsets = [-1] * len(graph.tensors)
    for i, life in enumerate(lives[:-1]):
        offsets[life.tensor] = 1024 + 100_000 // 16 * 16 * i
    ours = TFLM(with_offline_plan(data, path, offsets))
    last = lives[-2]
    assert ours.head == offsets[last.tensor] + (last.bytes + 15) // 16 * 16
    inputs = random_inputs(graph)
    assert [a.tobytes() for a in ours.run(*inputs)] == [b.tobytes() for b in TFLM(data).run(*inputs)]


@pytest.mark.parametrize(
    ("offsets", "head"), [((0, 4096, 4096, 4096), 8192), ((0, 4096, 0, 0), 8192), ((-1, -1, -1, -1), 8192 + 4096)]
)
def test_tensors_may_lie_in_one_place(offsets: Sequence[int], head: int) -> None:
    """ADD over either input, RESHAPE over its own: two tensors' room where TFLM's planner needs three's."""
    graph = in_place_graph()
    data = write_tflite(graph)
    inputs = random_inputs(graph)
    own, ours = TFLM(data), TFLM(with_offline_plan(data, "small", offsets))
    assert (own.head, ours.head) == (12_288, head)
    assert own.run(*inputs)[0].tobytes() == ours.run(*inputs)[0].tobytes()


@pytest.mark.parametrize("known", [True, False])
def test_an_accelerator_may_write_over_its_input(known: bool) -> None:
    """Its compiler knows in what order its commands read and write; of TFLite's own operators nobody does."""
    kind = "SOFTMAX" if known else opaque("CUSTOM(ethos-u)")
    graph = one_operator(kind, [activation((1, 64))], [activation((1, 64))])
    graph = replace(graph, offline_plan=(16, 0))
    if known:
        with pytest.raises(ModelError, match=r"at offset 16 and .* at 0, both in use at operator 0 SOFTMAX"):
            offline_offsets(graph)
    else:
        assert offline_offsets(graph) == {0: 16, 1: 0}


def test_a_residual_network_adds_in_place() -> None:
    path = shared_model("pretrainedResnet_quant.tflite")
    data, graph = path.read_bytes(), load_model(path)
    arena, offsets = planned(graph, in_place=True)
    adds = [op for op in graph.operators if op.type == "ADD"]
    assert adds and all(offsets[op.outputs[0]] in [offsets[t] for t in op.inputs] for op in adds)
    own, ours = TFLM(data), TFLM(with_offline_plan(data, path, offsets))
    assert own.head == ours.head == arena.bytes == 49_152  # at a convolution parallel to the shortcut
    inputs = random_inputs(graph)
    assert own.run(*inputs)[0].tobytes() == ours.run(*inputs)[0].tobytes()


@pytest.mark.parametrize("name", ALL)
def test_litert_and_the_reader_see_the_same_network(name: str, tmp_path: Path) -> None:
    path = shared_model(f"{name}.tflite")
    data, graph = litert_file(name) if name != "hello_world_int8" else path.read_bytes(), load_model(path)
    new = with_offline_plan(data, path, planned(graph)[1])
    assert_same(loaded(data, tmp_path / "old.tflite"), loaded(new, tmp_path / "new.tflite"))
    inputs = random_inputs(graph)
    results = (LiteRT(one).run(*inputs) for one in (data, new))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("name", ALL)
def test_the_old_bytes_follow_unchanged(name: str) -> None:
    path = shared_model(f"{name}.tflite")
    data = path.read_bytes()
    offsets = planned(load_model(path))[1]
    new = with_offline_plan(data, path, offsets)
    front = len(new) - len(data)
    assert new[front:] == data and front % 16 == 0 and new[4:8] == b"TFL3"
    assert front < 4096 + 4 * len(offsets)
    assert stored_plan(new) == [1, 1, len(offsets), *offsets]
    old, model = (tflite.Model.GetRootAs(one, 0) for one in (data, new))
    assert model.BuffersLength() == old.BuffersLength() + 1 and model.Version() == old.Version()
    assert model.Description() == old.Description() and model.SignatureDefsLength() == old.SignatureDefsLength()
    for i in range(old.BuffersLength()):
        a, b = old.Buffers(i), model.Buffers(i)
        assert b._tab.Pos == a._tab.Pos + front
    kept = [old.Metadata(i).Name() for i in range(old.MetadataLength())]
    assert [model.Metadata(i).Name() for i in range(model.MetadataLength())] == [*kept, OFFLINE_PLAN.encode()]


def test_a_plan_is_replaced_and_removed(tmp_path: Path) -> None:
    path = shared_model("vww_96_int8.tflite")
    data, graph = path.read_bytes(), load_model(path)
    count = len(graph.tensors)
    first = with_offline_plan(data, path, [0] * count)
    second = with_offline_plan(first, path, [-1] * count)
    assert stored_plan(second) == [1, 1, count, *[-1] * count] and TFLM(second).head == 73_728
    bare = without_offline_plan(second, path)
    assert stored_plan(bare) is None and without_offline_plan(data, path) is data
    assert_same(graph, loaded(bare, tmp_path / "bare.tflite"))
    order = range(len(graph.operators))
    with pytest.raises(ModelError, match="its metadata has an offline memory plan"):
        with_order(second, path, order)
    assert with_order(bare, path, order) == bare


def test_a_file_without_metadata() -> None:
    data = write_tflite(in_place_graph())
    bare = without_offline_plan(with_offline_plan(data, "small", (0, 4096, 0, 0)), "small")
    assert tflite.Model.GetRootAs(bare, 0).MetadataLength() == 0 and TFLM(bare).head == 12_288


@pytest.mark.parametrize(
    ("offsets", "error", "message"),
    [
        ((0, 8, 0, 0), UsageError, "offset 8 of tensor 1: must be a multiple of 16 below 2^31, or -1"),
        ((0, 0, -16, 0), UsageError, "offset -16 of tensor 2"),
        ((0, 0, 0, 2**31), UsageError, "offset 2147483648 of tensor 3"),
        ((0, 0, 0), ModelError, "small: cannot read the offline memory plan's tensors: it has 4 tensors, the plan 3"),
    ],
)
def test_offsets_that_are_none(offsets: Sequence[int], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("^", r"\^")):
        with_offline_plan(write_tflite(in_place_graph()), "small", offsets)


class Odd:
    """A model of one tensor; ``root``, ``buffer`` and ``operator`` add fields to its tables."""

    def __init__(self, root: int = 8, buffer: bool = False, operator: bool = False) -> None:
        b: Any = flatbuffers.Builder(1024)
        tflite.BufferStart(b)
        if buffer:
            b.PrependUint64Slot(1, 4096, 0)
        buffers = self.vector(b, tflite.BufferEnd(b))
        tflite.TensorStart(b)
        tensors = self.vector(b, tflite.TensorEnd(b))
        tflite.OperatorStart(b)
        if operator:
            tflite.OperatorAddLargeCustomOptionsOffset(b, 4096)
        operators = self.vector(b, tflite.OperatorEnd(b))
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, tensors)
        tflite.SubGraphAddOperators(b, operators)
        subgraphs = self.vector(b, tflite.SubGraphEnd(b))
        b.StartObject(root)
        tflite.ModelAddVersion(b, 3)
        tflite.ModelAddSubgraphs(b, subgraphs)
        tflite.ModelAddBuffers(b, buffers)
        if root > 8:
            b.PrependUOffsetTRelativeSlot(root - 1, buffers, 0)
        b.Finish(b.EndObject(), file_identifier=b"TFL3")
        self.data = bytes(b.Output())

    @staticmethod
    def vector(b: Any, table: int) -> int:
        b.StartVector(4, 1, 4)
        b.PrependUOffsetTRelative(table)
        return int(b.EndVector())


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (Odd(root=10), "field 9 of its root table is not known"),
        (Odd(buffer=True), "odd: bytes of buffer 0 are after the flatbuffer .* convert it with all of them inside"),
        (Odd(operator=True), "odd: bytes of operator 0's options are after the flatbuffer"),
    ],
)
def test_what_cannot_be_moved_is_refused(odd: Odd, message: str) -> None:
    assert stored_plan(with_offline_plan(Odd().data, "odd", [0])) == [1, 1, 1, 0]
    with pytest.raises(ModelError, match=message):
        with_offline_plan(odd.data, "odd", [0])


def patched(data: bytes, offsets: Sequence[int]) -> str:
    """ "" when the file can be written, else the error's text."""
    try:
        without_offline_plan(with_offline_plan(data, "damaged", offsets), "damaged")
        return ""
    except ModelError as error:
        return str(error)


@pytest.mark.parametrize("name", ["kws_ref_model", "swiftnet_vwwc19_uint8"])
def test_damaged_files_give_an_error_or_a_file(name: str) -> None:
    path = shared_model(f"{name}.tflite")
    data, offsets = path.read_bytes(), planned(load_model(path))[1]
    data = with_offline_plan(data, path, offsets)
    rng, messages = random.Random(7), []
    for seed in range(120):
        broken = bytearray(data)
        CORRUPTIONS[seed % len(CORRUPTIONS)](broken, rng)
        messages.append(patched(bytes(broken), offsets))
    assert len([m for m in messages if m]) > 30
    assert all(not m or (m.startswith("damaged: ") and len(m) < 500) for m in messages)


@pytest.mark.parametrize("cut", [0, 3, 8, 20, 100, 400])
def test_truncated_files(cut: int) -> None:
    data = with_offline_plan(write_tflite(in_place_graph()), "small", (0, 4096, 0, 0))
    assert patched(data[:cut], (0, 4096, 0, 0)).startswith("damaged: ")


def test_a_vector_longer_than_the_file_is_refused() -> None:
    data = bytearray(Odd().data)
    model = tflite.Model.GetRootAs(data, 0)
    place = model._tab.Vector(model._tab.Offset(12)) - 4
    for count in (2**32 - 1, len(data) // 4, 0):
        struct.pack_into("<I", data, place, count)
        assert "cannot read the buffers" in patched(bytes(data), [0])
    assert np.frombuffer(data, np.uint8).size == len(Odd().data)
