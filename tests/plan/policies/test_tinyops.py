"""The ``tinyops`` policy: what is copied when, and that no plan has a race or a stale byte."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from runpy import run_path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcusim.errors import DoesNotFit
from mcusim.kernels import load_profile
from mcusim.model import Graph, Operator, Tensor
from mcusim.plan import plan, plan_options
from mcusim.plan.policies.tinyops import BUFFERS, OVERLAYS
from mcusim.program import check_program
from mcusim.program.program import Compute, Maintain, Program
from tests.support.cases import sample_size, sampled
from tests.support.paths import REPOSITORY
from tests.support.programs.plan_proof import assert_coherent, assert_race_free, homes
from tests.support.programs.plans import DISCOS, FILES, KIB, SWIFTNET, ZOO, board, calls, model, planned, transfers

Sketch = run_path(str(REPOSITORY / "scripts" / "traces" / "make.py"))["Sketch"]


def by_kind(program: Program) -> dict[str, tuple[int, int, int, int]]:
    """Requests, bytes, smallest, largest for each kind of transfer."""
    sizes: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for t in transfers(program):
        sizes[t.kind][t.request] += t.source.bytes
    return {k: (len(v), sum(v.values()), min(v.values()), max(v.values())) for k, v in sizes.items()}


def test_the_published_plan() -> None:
    program = planned("proxyless-w0.30-r144", "stm32f469i-disco", "tinyops", sram_budget=256 * KIB)
    assert (program.header.options["factor"], program.header.options["tile_buffer"]) == (3, 50_112)
    parts = {c.operator: c.tiles for c in calls(program)}
    partitioned = {op.index for op in program.header.operators if op.type != "RESHAPE"}
    assert Counter(parts[i] for i in partitioned) == {3: 1, 2: 69, 1: 6}
    assert [parts[op.index] for op in program.header.operators if op.type == "RESHAPE"] == [1]
    assert by_kind(program) == {
        "input": (147, 1_008_756, 384, 50_112),
        "filter": (61, 328_740, 96, 36_864),
        "bias": (62, 25_760, 32, 4_000),
        "multiplier": (62, 25_760, 32, 4_000),
        "shift": (62, 25_760, 32, 4_000),
        "input1": (26, 45_324, 600, 7_776),
    }
    assert len(transfers(program)) == 420
    assert sum(t.source.bytes for t in transfers(program)) == 1_460_100
    in_place = [o.span for c in calls(program) for o in c.operands if o.role == "filter" and o.span.region == "sdram"]
    assert [s.bytes for s in in_place] == [384_000]
    sizes = {b.name: b.span.bytes for b in program.header.buffers if b.kind == "overlay"}
    assert (sizes["tile0"], sizes["tile1"], sizes["bias"], sizes["shift"]) == (50_112, 50_112, 4_000, 4_000)


def test_the_published_plan_with_a_larger_budget() -> None:
    program = planned("proxyless-w0.30-r144", "stm32f469i-disco", "tinyops", sram_budget=320 * KIB)
    assert (program.header.options["factor"], program.header.options["tile_buffer"]) == (2, 70_848)
    assert len(transfers(program)) == 420  # one tile of 70,848 B is split at 65,535
    assert sum(t.source.bytes for t in transfers(program)) == 1_454_916
    split = [t for t in transfers(program) if t.parts > 1]
    assert [(t.part, t.source.bytes) for t in split] == [(0, 65_535), (1, 5_313)]
    assert split[1].source.address == split[0].source.end and split[1].destination.address == split[0].destination.end
    assert split[0].request == split[1].request and split[0].lane == split[1].lane


@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("name", sampled([*ZOO, *FILES, SWIFTNET], 5))
def test_every_model_plans_without_races(name: str, machine: str) -> None:
    program = planned(name, machine, "tinyops")
    check_program(program, board(machine))
    assert_race_free(program)
    done = defaultdict(int)
    for call in calls(program):
        assert call.rows.out_row == done[call.operator]
        done[call.operator] += call.rows.out_rows
        assert call.tile < call.tiles
    whole = {c.operator: c.geometry.out_h for c in calls(program)}
    assert dict(done) == whole and len(whole) == len(program.header.operators)


def test_an_edge_less_is_a_race() -> None:
    """The proof above can fail: dropping the edges of any one call that waits for a transfer is noticed."""
    program = planned("ds-cnn", "stm32f469i-disco", "tinyops")
    assert assert_race_free(program) > 100
    victim = next(t for t in program.tasks if isinstance(t, Compute) and t.operator == 3 and t.after)
    broken = tuple(replace(t, after=()) if t is victim else t for t in program.tasks)
    with pytest.raises(AssertionError, match="race"):
        assert_race_free(replace(program, tasks=broken))


@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("name", ["ds-cnn", "mobilenet-v2-w0.35-r096", "pretrainedResnet_quant", SWIFTNET])
def test_every_operand_is_what_the_operator_needs(name: str, machine: str) -> None:
    """Follow each operand back to SDRAM: it must be the operator's tensor, from the tile's first row on."""
    assert_operands(model(name), planned(name, machine, "tinyops"))


def assert_operands(graph: Graph, program: Program) -> None:
    place = {b.name: b.span for b in program.header.buffers}
    seen = 0
    for call, role, home, size in homes(program):
        op = graph.operators[call.operator]
        if role in ("multiplier", "shift"):
            assert home == place[f"{role}{op.index}"].address and size == place[f"{role}{op.index}"].bytes
        elif role in ("filter", "bias"):
            tensor = place[f"tensor{op.inputs[1 if role == 'filter' else 2]}"]
            assert (home, size) == (tensor.address, tensor.bytes)
        elif role in ("input0", "input1"):
            data = [t for t in op.inputs if t >= 0 and not graph.tensors[t].constant]
            tensor = place[f"tensor{data[int(role[-1])]}"]
            row = tensor.bytes // call.geometry.in_h
            assert (home, size) == (tensor.address + call.rows.in_row * row, call.rows.in_rows * row)
        seen += 1
    assert seen >= len(graph.operators)


def test_coherence_on_the_machine_with_a_data_cache() -> None:
    for name in ("ds-cnn", "mobilenet-v2-w0.35-r096", "proxyless-w0.25-r192"):
        program = planned(name, "stm32f746g-disco", "tinyops")
        assert assert_coherent(program, 32, {"sdram", "sram1", "sram2"}) > 10
    stripped = tuple(t for t in program.tasks if not (isinstance(t, Maintain) and t.action == "clean"))
    kept = {t.id for t in stripped}
    stripped = tuple(replace(t, after=tuple(a for a in t.after if a in kept)) for t in stripped)
    with pytest.raises(AssertionError, match="stale memory"):
        assert_coherent(replace(program, tasks=stripped), 32, {"sdram", "sram1", "sram2"})
    dtcm = [m.span.region for m in program.tasks if isinstance(m, Maintain)]
    assert "dtcm" not in dtcm


def test_no_maintenance_without_a_data_cache() -> None:
    assert not [t for t in planned("ds-cnn", "stm32f469i-disco", "tinyops").tasks if isinstance(t, Maintain)]


def test_buffers_are_padded_to_lines_and_by_one() -> None:
    buffers = planned("proxyless-w0.25-r192", "stm32f746g-disco", "tinyops").header.buffers
    spans = sorted((b.span for b in buffers if b.kind in ("overlay", "scratch")), key=lambda s: s.address)
    assert all(s.address % 32 == 0 for s in spans)
    assert all(b.address - a.end >= 32 for a, b in pairwise(spans))


def test_tiles_ping_pong_and_filters_alternate() -> None:
    program = planned("proxyless-w0.25-r160", "stm32f469i-disco", "tinyops", sram_budget=256 * KIB)
    tiles = [t.destination.address for t in transfers(program) if t.kind == "input" and t.part == 0]
    assert len(set(tiles)) == 2 and all(a != b for a, b in pairwise(tiles))
    seconds = [t.destination.address for t in transfers(program) if t.kind in ("filter", "input1") and t.part == 0]
    assert len(set(seconds)) == 2
    lanes = {t.kind: (t.lane, t.priority) for t in transfers(program)}
    assert lanes["input"] == lanes["input1"] == ("dma2.s0", 1)
    assert {lanes[k] for k in ("filter", "bias", "multiplier", "shift")} == {("dma2.s1", 0)}


def test_transfers_run_ahead_of_the_core() -> None:
    """Tile t+1 waits for the call of tile t-1, not of tile t; the filter of the next operator not for this one."""
    program = planned("proxyless-w0.25-r160", "stm32f469i-disco", "tinyops", sram_budget=256 * KIB)
    call = {c.id: (c.operator, c.tile) for c in calls(program)}
    for t in transfers(program):
        waits = [call[a] for a in t.after if a in call]
        if t.kind == "input" and t.tile > 0:
            assert all(w < (t.operator, t.tile - 1) for w in waits)
        if t.kind == "filter" and program.header.operators[t.operator - 1].type != "ADD":
            assert all(w[0] < t.operator - 1 for w in waits)


def test_the_first_tile_waits_for_its_producers_last_call() -> None:
    graph = model("ds-cnn")
    program = planned("ds-cnn", "stm32f469i-disco", "tinyops")
    last = {c.operator: c.id for c in calls(program)}
    producer = {t: op.index for op in graph.operators for t in op.outputs}
    first = [t for t in transfers(program) if t.kind == "input" and t.tile == 0 and t.operator > 0]
    assert len(first) > 5
    for t in first:
        assert last[producer[graph.operators[t.operator].inputs[0]]] in t.after


@pytest.mark.parametrize("left_out", OVERLAYS)
def test_what_is_not_overlaid_is_read_in_place(left_out: str) -> None:
    kinds = {"input": {"input", "input1"}, "filter": {"filter"}, "bias": {"bias"}, "quant": {"multiplier", "shift"}}
    overlay = frozenset(OVERLAYS) - {left_out}
    program = planned("proxyless-w0.25-r160", "stm32f469i-disco", "tinyops", overlay=overlay)
    assert {t.kind for t in transfers(program)} == set().union(*(kinds[o] for o in overlay))
    roles = {"input": "input0", "quant": "shift"}.get(left_out, left_out)
    assert {o.span.region for c in calls(program) for o in c.operands if o.role == roles} == {"sdram"}
    if left_out == "input":
        assert all(c.tiles == 1 for c in calls(program))
    assert_race_free(program)


def test_nothing_overlaid_is_external_with_scratch_in_sram() -> None:
    program = planned("ds-cnn", "stm32f469i-disco", "tinyops", overlay=frozenset())
    assert not transfers(program) and program.header.memory.overlay == 0
    regions = {o.role: o.span.region for c in calls(program) for o in c.operands}
    assert regions.pop("scratch") == "sram1" and set(regions.values()) == {"sdram"}


def test_a_budget_too_small_for_any_factor() -> None:
    with pytest.raises(DoesNotFit) as caught:
        planned("ds-cnn", "stm32f469i-disco", "tinyops", sram_budget=4 * KIB)
    assert caught.value.available == 4 * KIB < caught.value.needed


def test_a_broadcast_second_input_stays_in_place() -> None:
    tensors = (
        Tensor(0, "x", (1, 8, 4, 2), "int8"),
        Tensor(1, "s", (1, 1, 1, 2), "int8"),
        Tensor(2, "y", (1, 8, 4, 2), "int8"),
    )
    graph = Graph("scale", tensors, (Operator(0, "MUL", (0, 1), (2,)),), (0, 1), (2,), "0" * 64)
    machine, kernels = board("stm32f469i-disco"), load_profile("cmsis-2021-gcc9")
    program = plan(graph, machine, "tinyops", kernels)
    assert {t.kind for t in transfers(program)} == {"input"}
    assert {o.span.bytes for c in calls(program) for o in c.operands if o.role == "input1"} == {2}
    assert [c.tiles for c in calls(program)] == [2, 2]
    swapped = replace(graph, operators=(Operator(0, "MUL", (1, 0), (2,)),))
    assert not transfers(plan(swapped, machine, "tinyops", kernels))


def assert_copied_once(program: Program) -> None:
    """No constant is copied twice, no row for the same tile twice; own rows of all tiles together are the input."""
    constants = [(t.kind, t.operator, t.part) for t in transfers(program) if t.kind not in ("input", "input1")]
    tiles = [(t.kind, t.operator, t.tile, t.part) for t in transfers(program) if t.kind in ("input", "input1")]
    assert len(set(constants)) == len(constants) and len(set(tiles)) == len(tiles)
    rows: dict[tuple[int, str, int], int] = defaultdict(int)
    for t in transfers(program):
        if t.kind in ("input", "input1"):
            rows[t.operator, t.kind, t.tile] += t.source.bytes
    shapes = {(c.operator, c.tile): (c.rows.in_rows, c.geometry) for c in calls(program)}
    for (operator, _, tile), copied in rows.items():
        in_rows, g = shapes[operator, tile]
        assert copied == in_rows * g.in_w * g.in_c * g.item


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """A chain of convolutions, depthwise convolutions and residual ADDs of any shape."""
    size = st.integers(1, 24)
    sketch = Sketch("any", (1, draw(size), draw(size), draw(st.integers(1, 8))))
    last = sketch.conv(draw(st.integers(1, 8)), draw(st.integers(1, 5)))
    for _ in range(draw(st.integers(0, 6))):
        kind, stride = draw(st.sampled_from(["conv", "depthwise", "add"])), draw(st.integers(1, 3))
        if kind == "conv":
            last = sketch.conv(draw(st.integers(1, 40)), draw(st.sampled_from([1, 3, 7])), stride)
        elif kind == "depthwise":
            last = sketch.depthwise(draw(st.sampled_from([3, 5, 7])), stride)
        else:
            last = sketch.add(last, sketch.conv(sketch.tensors[last].shape[3], 3))
    return sketch.graph()


@given(
    networks(),
    st.sampled_from(DISCOS),
    st.integers(1, 40),
    st.sets(st.sampled_from(OVERLAYS)),
    st.sampled_from([*((kind, "2022") for kind in sorted(BUFFERS)), ("double", "2023")]),
)
@settings(max_examples=sample_size(150, 25))
def test_any_network_any_budget_any_overlay(
    graph: Graph, machine: str, kib: int, overlay: set[str], kind: tuple[str, str]
) -> None:
    options = plan_options(sram_budget=kib * KIB, overlay=frozenset(overlay), buffering=kind[0], variant=kind[1])
    try:
        program = plan(graph, board(machine), "tinyops", load_profile("cmsis-2021-gcc9"), options)
    except DoesNotFit as verdict:
        assert verdict.needed > verdict.available == kib * KIB
        return
    check_program(program, board(machine))
    assert_race_free(program)
    assert_operands(graph, program)
    if machine == "stm32f746g-disco":
        assert_coherent(program, 32, {"sdram", "sram1", "sram2"})
    assert sum(program.header.peak_bytes.get(r, 0) for r in ("dtcm", "sram1", "sram2", "sram3")) <= kib * KIB
    assert_copied_once(program)
