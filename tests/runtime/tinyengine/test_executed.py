"""What compiled code leaves out of a graph."""

from __future__ import annotations

from dataclasses import replace

from mcusim.model import Quantization, load_model
from mcusim.model.geometry import geometry, graph_macs
from mcusim.runtime.runtime import find_runtime
from tests.support.paths import shared_model

executed = find_runtime("tinyengine").executed


def test_pads_become_the_windows_own_and_change_no_shape() -> None:
    graph = load_model("mcunet-in3")
    found = executed(graph)
    pads = [op for op in graph.operators if op.traits.pads]
    assert pads and not any(op.traits.pads for op in found.operators)
    assert graph_macs(found) == graph_macs(graph)
    explicit = [op for op in found.operators if op.options.get("padding") == "EXPLICIT"]
    assert len(explicit) == len(pads)
    for op in explicit:
        g = geometry(found, op)
        assert g.pad_top == g.pad_bottom == g.kernel_h // 2 and g.pad_left == g.pad_right == g.kernel_w // 2
        assert (g.in_h + g.pad_top + g.pad_bottom - g.kernel_h) // g.stride_h + 1 == g.out_h


def test_views_without_a_reader_that_sees_them_vanish() -> None:
    graph = load_model("ds-cnn")
    found = executed(graph)
    assert any(op.traits.view for op in graph.operators) and not any(op.traits.view for op in found.operators)
    assert [op.index for op in found.operators] == list(range(len(found.operators)))
    assert executed(found) is found


def test_a_view_of_another_scale_stays() -> None:
    """Its bytes are those of its input, but its reader takes them for other numbers."""
    graph = load_model("ds-cnn")
    view = next(op for op in graph.operators if op.type == "RESHAPE")
    tensors = list(graph.tensors)
    tensors[view.outputs[0]] = replace(tensors[view.outputs[0]], quantization=Quantization((0.5,), (3,)))
    scaled = replace(graph, tensors=tuple(tensors))
    assert executed(scaled) is scaled


def test_float_ends_are_the_callers() -> None:
    graph = load_model(shared_model("mcunet_vww1.tflite"))
    found = executed(graph)
    assert {graph.tensors[t].dtype for t in graph.inputs} == {"float32"}
    assert {found.tensors[t].dtype for t in (*found.inputs, *found.outputs)} == {"int8"}


def test_a_pad_that_others_read_too_stays() -> None:
    graph = load_model("mcunet-in3")
    pad = next(op for op in graph.operators if op.traits.pads)
    both = replace(graph, outputs=(*graph.outputs, pad.outputs[0]))
    assert sum(op.traits.pads for op in executed(both).operators) == 1
