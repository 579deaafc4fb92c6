"""One buffer of each kind or two: the programs are sound, compute the same, and differ as two buffers must."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from mcusim import compare, simulate
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.model import Graph
from mcusim.program import check_program, read_program
from mcusim.results.result import sram_bytes
from mcusim.verification.proof import prove
from tests.support.cases import few, only_with_all_cases
from tests.support.programs.plan_proof import assert_coherent, assert_race_free
from tests.support.programs.plans import DISCOS, KIB, board, calls, model, planned, transfers

F469, F746 = DISCOS
NETWORKS = ("ds-cnn", "mobilenet-v2-w0.35-r096", "mbv3-w0.40-r096", "proxyless-w0.25-r160")


@few(2)
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("name", NETWORKS)
def test_single_buffered_programs_are_sound(name: str, machine: str) -> None:
    program = planned(name, machine, "tinyops", buffering="single")
    check_program(program, board(machine))
    assert_race_free(program)
    if machine == F746:
        assert_coherent(program, 32, {"sdram", "sram1", "sram2"})
    assert prove(program, board(machine)) == []


def test_there_is_one_buffer_of_each_kind_and_the_header_says_so() -> None:
    single, double = (planned("ds-cnn", F746, "tinyops", buffering=kind) for kind in ("single", "double"))
    names = [{b.name for b in p.header.buffers if b.kind == "overlay"} for p in (single, double)]
    assert names[1] - names[0] == {"tile1", "second1"} and not names[0] - names[1]
    assert single.header.options["buffering"] == "single" and "buffering" not in double.header.options


def test_nothing_is_transferred_ahead_of_the_core() -> None:
    """Every tile waits for the call that read the one before it, every filter for the operator before."""
    program = planned("proxyless-w0.25-r160", F469, "tinyops", buffering="single")
    call = {c.id: (c.operator, c.tile) for c in calls(program)}
    last: dict[int, int] = defaultdict(int)
    for task in call.values():
        last[task[0]] = max(last[task[0]], task[1])
    seen = 0
    for t in transfers(program):
        waits = [call[a] for a in t.after if a in call]
        if t.kind == "input" and t.tile > 0 and t.part == 0:
            assert (t.operator, t.tile - 1) in waits
            seen += 1
    assert seen > 50
    tiles = [t.destination.address for t in transfers(program) if t.kind == "input" and t.part == 0]
    assert all(a == b for a, b in pairwise(tiles))


@few(1)
@pytest.mark.parametrize("machine", DISCOS)
def test_with_the_same_tiles_two_buffers_save_no_more_than_the_shorter_of_both_works(machine: str) -> None:
    """The DMA's work hides behind the core's or the other way round; the rest remains."""
    single, double = (
        simulate("proxyless-w0.25-r160", machine, "tinyops", buffering=kind, buffer_sizes="largest").run
        for kind in ("single", "double")
    )
    assert single is not None and double is not None
    assert [o.tiles for o in single.operators] == [o.tiles for o in double.operators]
    streams = [lane for lane in double.busy if lane != "core"]
    saved = single.cycles - double.cycles
    assert 0 < saved < sum(double.busy[lane] for lane in streams)
    assert double.by_cause["dma_wait"] < 0.6 * single.by_cause["dma_wait"]


@only_with_all_cases
def test_the_second_buffers_cost_memory() -> None:
    """What two buffers need more is what a small SRAM does not have: there single fits and double does not."""
    rows = [
        simulate("proxyless-w0.25-r160", F469, "tinyops", buffering=kind, buffer_sizes="largest")
        for kind in ("single", "double")
    ]
    peaks = [sram_bytes(row) for row in rows]
    assert peaks[0] is not None and peaks[1] is not None and peaks[0] < 0.7 * peaks[1]
    tight = {
        kind: simulate(
            "proxyless-w0.25-r160", F469, "tinyops", buffering=kind, sram_budget="64 KiB", buffer_sizes="largest"
        )
        for kind in ("single", "double")
    }
    assert tight["single"].fits and tight["double"].does_not_fit is not None


def test_outputs_are_the_same_bytes() -> None:
    outputs = [
        simulate("ds-cnn", F746, "tinyops", fidelity="emulate", buffering=kind).outputs[0].values
        for kind in ("single", "double")
    ]
    assert (outputs[0] == outputs[1]).all()


@only_with_all_cases
def test_verify_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["verify", "ds-cnn", "--buffering", "single", "--fuzz", "2", "--json", "-"])
    data = json.loads(capsys.readouterr().out)
    assert (status, data["findings"]) == (0, [])
    assert [data["equivalence"][name]["equal"] for name in ("untiled", "litert")] == [True, True]


def test_the_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for kind, text in (("single", True), ("double", False)):
        assert main(["run", "figure-1", "-p", "tinyops", "--buffering", kind]) == 0
        assert ("fidelity replay, single buffering" in capsys.readouterr().out) is text


def test_there_is_no_measurement_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "single buffering"
    path = str(tmp_path / "single.jsonl")
    for kind in ("single", "double"):
        found = simulate("figure-1", F469, "tinyops", buffering=kind).interval
        assert found is not None and (text in found.not_measured) is (kind == "single")
    assert main(["plan", "figure-1", "-p", "tinyops", "-m", F469, "--buffering", "single", "-o", path]) == 0
    assert main(["replay", path]) == 0 and text in " ".join(capsys.readouterr().out.split())


def test_a_plan_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "single.jsonl"
    assert main(["plan", "ds-cnn", "-p", "tinyops", "--buffering", "single", "-o", str(path)]) == 0
    assert read_program(path).header.options["buffering"] == "single"


def test_without_overlays_there_is_nothing_to_buffer() -> None:
    rows = compare("figure-1", F469, "tinyops", overlay=["bias"], buffering="single").rows
    rows += compare("figure-1", F469, "tinyops", overlay=["bias"], buffering="double").rows
    cycles = {row.run.cycles for row in rows if row.run}
    assert len(rows) == 2 and len(cycles) == 1


def test_a_single_buffered_run_is_not_compared_with_the_published_one() -> None:
    options = {"sram_budget": "256 KiB", "machine": F469, "policy": "tinyops"}
    measured = [
        simulate("proxyless-w0.25-r160-pad", **options, buffering=kind).measured  # type: ignore[arg-type]
        for kind in ("single", "double")
    ]
    assert measured[0] is None and measured[1] is not None


@pytest.mark.parametrize(
    ("policy", "kind", "reason"),
    [
        ("tinyops", "triple", 'unknown buffering "triple"; there are double, single'),
        ("tinyops", 2, 'unknown buffering "2"; there are'),
        ("internal", "single", "--buffering has no effect under policy internal; it is for tinyops"),
    ],
)
def test_wrong_use(policy: str, kind: object, reason: str) -> None:
    graph: Graph = model("figure-1")
    with pytest.raises(UsageError, match=reason):
        simulate(graph, F469, policy, buffering=kind)  # type: ignore[arg-type]


def test_a_budget_in_between_gives_double_smaller_tiles() -> None:
    kinds = [
        planned("proxyless-w0.25-r160", F469, "tinyops", sram_budget=96 * KIB, buffering=k)
        for k in ("single", "double")
    ]
    factors = [p.header.options["factor"] for p in kinds]
    assert factors[0] < factors[1]
