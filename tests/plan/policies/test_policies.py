"""The policies: where things go and what does not fit. What is particular to ``tinyops`` has its own file."""

from __future__ import annotations

import pytest

from mcusim.errors import DoesNotFit, UsageError
from mcusim.kernels import load_profile
from mcusim.model import Graph, Tensor
from mcusim.plan import exported_arena_bytes, plan, policy_names
from mcusim.program import program_lines
from mcusim.program.program import Compute
from mcusim.runtime.planning_costs import costs_of
from tests.support.cases import few
from tests.support.programs.plan_proof import overlap
from tests.support.programs.plans import FILES, KIB, ZOO, board, calls, model, planned

TABLE_2 = {  # RAM in KB of 1000 B; error of the arena as planned and as exported with explicit PADs, in percent
    "proxyless-w0.25-r160": (218, -15.8, -0.2),
    "proxyless-w0.25-r192": (286, -16.2, 0.3),
    "proxyless-w0.40-r080": (171, -21.7, -4.6),
    "mbv3-w0.40-r096": (217, -28.2, 0.3),
    "mnasnet-w1.00-r080": (330, -17.3, 0.7),
    "mnasnet-w1.00-r096": (397, -19.9, 1.1),
    "proxyless-w0.85-r064": (303, -19.4, -17.0),
    "mnasnet-w1.00-r128": (568, -23.8, 1.5),
}


def test_internal_uses_contiguous_regions_as_one_pool() -> None:
    on_f469 = planned("proxyless-w0.25-r160", "stm32f469i-disco", "internal")
    on_f746 = planned("proxyless-w0.25-r160", "stm32f746g-disco", "internal")
    assert set(on_f469.header.peak_bytes) == {"sram1", "sram2", "flash"}  # CCM is not contiguous and not used
    assert set(on_f746.header.peak_bytes) == {"dtcm", "sram1", "flash"}
    for program in (on_f469, on_f746):
        memory, peak = program.header.memory, dict(program.header.peak_bytes)
        assert peak.pop("flash") == memory.weights
        assert sum(peak.values()) == memory.arena
        arena = [b for b in program.header.buffers if b.kind != "weights"]
        assert min(b.span.address for b in arena) == 0x2000_0000
        assert max(b.span.end for b in arena) <= 0x2000_0000 + memory.arena
    assert on_f746.header.peak_bytes["dtcm"] == 64 * KIB


def test_h743_uses_the_axi_sram() -> None:
    program = planned("ds-cnn", "nucleo-h743zi", "internal")
    spans = [b.span for b in program.header.buffers if b.kind == "activation"]
    assert {s.address >> 20 for s in spans} == {0x240}


def test_memory_parts() -> None:
    header = planned("kws_ref_model", "stm32f746g-disco", "internal").header
    graph, channels = model("kws_ref_model"), 9 * 64
    assert header.memory.activations == 16_000
    assert header.memory.runtime == 8 * channels + 160 * len(graph.operators)
    assert header.memory.overlay == 0
    assert 16_000 <= header.memory.arena - header.memory.runtime <= 16_000 + header.memory.scratch
    assert header.memory.scratch == max(b.span.bytes for b in header.buffers if b.kind == "scratch")


def test_external_and_the_weights_option() -> None:
    in_sdram = planned("ds-cnn", "stm32f746g-disco", "external")
    assert set(in_sdram.header.peak_bytes) == {"sdram"}
    in_qspi = planned("ds-cnn", "stm32f746g-disco", "external", weights="qspi")
    assert set(in_qspi.header.peak_bytes) == {"sdram", "qspi"}
    filters = [o.span.region for c in calls(in_qspi) for o in c.operands if o.role == "filter"]
    assert set(filters) == {"qspi"}
    in_sram = planned("ds-cnn", "stm32f746g-disco", "internal", weights="sram1")
    assert "flash" not in in_sram.header.peak_bytes


@pytest.mark.parametrize("policy", ["internal", "external"])
@pytest.mark.parametrize("name", [*ZOO[:4], *FILES])
def test_buffers_alive_together_do_not_overlap(name: str, policy: str) -> None:
    buffers = planned(name, "stm32f746g-disco", policy).header.buffers
    for i, a in enumerate(buffers):
        for b in buffers[:i]:
            assert not overlap(a.span, b.span) or a.last < b.first or b.last < a.first, (a, b)


@pytest.mark.parametrize("policy", ["internal", "external"])
def test_every_call_reads_its_operators_tensors(policy: str) -> None:
    graph = model("pretrainedResnet_quant")
    program = planned("pretrainedResnet_quant", "stm32f746g-disco", policy)
    place = {b.name: b.span for b in program.header.buffers}
    for call, op in zip(program.tasks, graph.operators, strict=True):
        assert isinstance(call, Compute) and call.operator == op.index and call.tiles == 1
        tensors = [t for t in op.inputs if t >= 0] + list(op.outputs)
        data = [o.span for o in call.operands if o.role not in ("scratch", "multiplier", "shift")]
        assert data == [place[f"tensor{t}"] for t in tensors]
        assert [o.role for o in call.operands if o.access == "w"] == ["output"]


def test_what_does_not_fit_is_a_verdict() -> None:
    with pytest.raises(DoesNotFit) as caught:
        planned("mnasnet-w1.00-r128", "stm32f746g-disco", "internal")
    error = caught.value
    assert (error.region, error.available) == ("dtcm+sram1+sram2", 320 * KIB)
    assert error.needed > error.available
    need = planned("ds-cnn", "stm32f746g-disco", "internal").header.memory.arena
    assert planned("ds-cnn", "stm32f746g-disco", "internal", sram_budget=need).header.memory.arena == need
    with pytest.raises(DoesNotFit) as caught:
        planned("ds-cnn", "stm32f746g-disco", "internal", sram_budget=need - 1)
    assert (caught.value.needed, caught.value.available) == (need, need - 1)
    with pytest.raises(DoesNotFit, match="the block of weights does not fit flash"):
        planned("mnasnet-w1.00-r080", "stm32f746g-disco", "internal")


@pytest.mark.parametrize(
    ("machine", "policy", "options", "reason"),
    [
        ("nucleo-f746zg", "external", {}, "needs SDRAM"),
        ("nucleo-f746zg", "tinyops", {}, "needs SDRAM"),
        ("stm32f746g-disco", "internal", {"weights": "moon"}, "no region 'moon'; it has .*flash"),
        ("stm32f746g-disco", "internal", {"sram_budget": 400 * KIB}, "more than dtcm"),
        ("stm32f746g-disco", "internal", {"sram_budget": 0}, "not a size"),
        (
            "stm32f746g-disco",
            "tinyops",
            {"overlay": frozenset({"inputs"})},
            'overlay "inputs"; there are input',
        ),
        ("stm32f746g-disco", "fastest", {}, "no policy 'fastest'; there are: internal: "),
    ],
)
def test_wrong_use(machine: str, policy: str, options: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        planned("ds-cnn", machine, policy, **options)


def test_a_graph_without_operators() -> None:
    graph = Graph("empty", (Tensor(0, "t", (4,), "int8"),), (), (0,), (0,), "0" * 64)
    with pytest.raises(UsageError, match="no operators"):
        plan(graph, board("stm32f746g-disco"), "internal", load_profile("cmsis-2021-gcc9"))


@few(3)
@pytest.mark.parametrize("name", TABLE_2)
def test_arena_against_table_2(name: str) -> None:
    kilobytes, as_planned, as_exported = TABLE_2[name]
    arena = planned(name, "stm32f469i-disco", "external").header.memory.arena
    exported = exported_arena_bytes(model(name), costs_of(load_profile("cmsis-2021-gcc9")))
    assert round(arena / kilobytes / 10 - 100, 1) == as_planned
    assert round(exported / kilobytes / 10 - 100, 1) == as_exported
    assert abs(as_exported) <= 25


@pytest.mark.parametrize("policy", policy_names())
def test_plans_are_always_the_same(policy: str) -> None:
    name = "proxyless-w0.25-r160" if policy == "internal" else "mnasnet-w1.00-r128"
    graph, kernels, machine = model(name), load_profile("cmsis-2021-gcc9"), board("stm32f746g-disco")
    first = plan(graph, machine, policy, kernels)
    assert list(program_lines(first)) == list(program_lines(plan(graph, machine, policy, kernels)))
