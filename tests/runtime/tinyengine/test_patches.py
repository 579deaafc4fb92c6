"""The first operators on patches: what is cut, what is refused, and that every output stays the same."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from mcusim import compare, plan_memory, plan_program, simulate, verify
from mcusim.commands.app import main
from mcusim.errors import ProgramError, UsageError
from mcusim.model import load_model
from mcusim.model.geometry import geometry, graph_macs
from mcusim.model.graph import Graph
from mcusim.plan.array_choice import best_patches, planned_array
from mcusim.plan.patch_figures import patch_figures
from mcusim.program import program_graph, read_program
from mcusim.runtime.patch_stage import legal_splits, operators_of_blocks, patch_stage
from mcusim.runtime.patches import Patches
from mcusim.runtime.runtime import find_runtime
from mcusim.text import size
from tests.support.cases import sample_size
from tests.support.kernels.random_networks import random_network
from tests.support.paths import shared_model

BOARDS = ("stm32f746g-disco", "stm32f469i-disco")
RUNTIME = find_runtime("tinyengine")
MOBILENET = "mobilenet-v2-w1.00-r224"
SMALL = "mnasnet-w0.10-r032-pad"


def drawn(graph: Graph, seed: int) -> Patches | None:
    """Patches that ``graph`` can be cut into; None where there are none."""
    draw, stages = random.Random(seed), legal_splits(RUNTIME.executed(graph))
    splits = [split for split, stage in stages.items() if max(stage.size) > 1]
    if not splits:
        return None
    split = draw.choice(splits)
    rows, columns = (draw.randint(1, min(4, size)) for size in stages[split].size)
    return Patches(rows, 2 if rows * columns == 1 else columns, split) if max(stages[split].size) > 1 else None


@pytest.mark.parametrize("seed", range(sample_size(60, 2)))
def test_outputs_of_a_random_network_are_those_of_the_whole_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_network(3 * seed)  # those with floats on their way are not cut
    patches = drawn(graph, seed)
    if patches is None or patches.columns > legal_splits(RUNTIME.executed(graph))[patches.split].size[1]:
        pytest.skip("no patches")
    monkeypatch.setattr("mcusim.plan.array_choice._refuse", lambda *given: None)  # those that need more, too
    board = BOARDS[seed % 2]
    cut = {"patches": patches.grid, "patch_split": patches.split}
    runs = [
        simulate(graph, board, runtime="tinyengine", fidelity="emulate", **options)  # type: ignore[arg-type]
        for options in ({}, cut)
    ]
    if not all(run.fits for run in runs):
        pytest.skip("too large")
    for one, other in zip(*(run.outputs for run in runs), strict=True):
        assert np.array_equal(one.values, other.values), str(patches)


@pytest.mark.parametrize("board", BOARDS[: sample_size(2, 1)])
def test_vww_needs_less_than_half_and_computes_the_same(board: str) -> None:
    model, cut_as = shared_model("mcunet_vww1.tflite"), {"patches": "3x3", "patch_split": 6}
    whole, cut = (
        simulate(model, board, runtime="tinyengine", fidelity="emulate", **options)  # type: ignore[arg-type]
        for options in ({}, cut_as)
    )
    replayed = simulate(model, board, runtime="tinyengine", **cut_as)  # type: ignore[arg-type]
    assert whole.run is not None and cut.run is not None and replayed.run is not None
    found = cut.planning["patches"]
    assert (found["grid"], found["split"], found["arena"]) == ("3x3", 6, 41_184) and whole.planning["patches"] is None
    assert found["arena_without"] == whole.run.header.memory.arena
    assert found["halo_macs"] == sum(op.macs for op in cut.run.header.operators) - (whole.macs or 0) > 0
    assert 2 * found["arena"] < whole.run.header.memory.arena == 93_992
    assert replayed.run.cycles == pytest.approx(cut.run.cycles, rel=0.05)
    for one, other in zip(whole.outputs, cut.outputs, strict=True):
        assert np.array_equal(one.values, other.values)


def test_verify_compares_with_litert() -> None:
    found = verify(SMALL, machine=BOARDS[0], policy="internal", runtime="tinyengine", patches="auto")
    assert not found.wrong, str(found)
    assert found.litert is not None and not found.litert.note


def test_only_true_borders_are_padded_and_every_patch_reads_its_halo() -> None:
    graph = RUNTIME.executed(load_model("mcunet-vww1"))
    assert RUNTIME.cut is not None
    found = RUNTIME.cut(graph, Patches(2, 2, 3))
    first = [op for op in found.operators if op.inputs[1:2] == graph.operators[0].inputs[1:2]]
    pads = [op.options["pads"] for op in first]
    assert len(pads) == 4 and all(p[1] == 0 for p in pads[:2]) and all(p[0] == 0 for p in pads[2:])
    parts = [found.tensors[op.inputs[0]].shape[1] for op in first]
    assert parts[0] + parts[2] > graph.tensors[graph.inputs[0]].shape[1]
    assert found.tensors[: len(graph.tensors)] == graph.tensors
    assert RUNTIME.cut(found, Patches(2, 2, 3)) is found
    for op in first:
        g = geometry(found, op)
        assert g.out_h == (g.in_h + g.pad_top + g.pad_bottom - g.kernel_h) // g.stride_h + 1


@pytest.mark.parametrize(("name", "arena", "total"), [("vww1", 59_568, 62_352), ("in3", 294_272, 301_186)])
def test_arrays_of_the_public_planner(name: str, arena: int, total: int) -> None:
    found = plan_memory(shared_model(f"mcunet_{name}.tflite"), runtime="tinyengine", patches="2x2", patch_split=5)
    assert found.patches is not None and found.array is not None
    assert (found.patches.rule.arena, found.patches.rule.total) == (arena, total)
    assert found.array == replace(found.patches.executed, columns=found.array.columns)


def test_the_papers_analytic_figures_of_mobilenet_v2() -> None:
    """MCUNetV2 (arXiv 2110.15352): 1372 to 172 kB, patches of 75 x 75, +42 % in the patch stage, +10 % overall."""
    graph = RUNTIME.executed(load_model(MOBILENET))
    assert [operators_of_blocks(graph, blocks) for blocks in (1, 2, 5)] == [1, 3, 13]
    with pytest.raises(UsageError, match='"99 blocks": there are 2'):
        operators_of_blocks(graph, 99)
    found = patch_figures(graph, RUNTIME, Patches(4, 4, 13))
    assert found.patch == (75, 75)
    assert (found.analytic_before, found.analytic) == (1372 * 1024, 171.5 * 1024)
    assert 100 * found.analytic_halo_macs / found.stage_macs == pytest.approx(42, abs=1)
    assert 100 * found.halo_macs / found.macs == pytest.approx(10, abs=1)


def test_auto_needs_less_than_no_patches_or_is_none() -> None:
    graph = RUNTIME.executed(load_model("mcunet-vww1"))
    best = best_patches(graph, RUNTIME)
    assert best == Patches(3, 3, 6) and RUNTIME.cut is not None
    less, some = (planned_array(RUNTIME.cut(graph, one), RUNTIME).total for one in (best, Patches(2, 2, 5)))
    assert less < some < planned_array(graph, RUNTIME).total
    assert best_patches(RUNTIME.executed(load_model("ds-cnn")), RUNTIME) is None


def test_what_cannot_be_cut_is_refused() -> None:
    graph = RUNTIME.executed(load_model("mobilenet-v2-w0.35-r096"))
    assert 8 not in legal_splits(graph) and 10 in legal_splits(graph)
    small = RUNTIME.executed(load_model("ds-cnn"))
    tensors = tuple(replace(t, dtype="float32") if t.index == small.inputs[0] else t for t in small.tensors)
    floats, last = replace(small, tensors=tensors), len(small.operators) - 1
    for network, split, says in (
        (graph, 8, "inside a branch"), (small, last, "cannot run on patches"), (small, last + 1, "1 to"),
        (floats, 1, "float32"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=says):
            patch_stage(network, split)
    with pytest.raises(UsageError, match="fewer than there are patches"):
        patch_stage(small, 1).patches(Patches(16, 16, 1))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--patches", "2x2", "--patch-split", "4"],
            "--patches 2x2 --patch-split 4 needs 157,992 B in the static array",
        ),
        (["--patches", "2x2"], "--patches 2x2 needs --patch-split"),
        (["--patch-split", "2"], "--patch-split has no effect without --patches"),
        (["--patches", "1x1", "--patch-split", "2"], "2 patches at least"),
        (["--patches", "17x2", "--patch-split", "2"], "16 at most along an axis"),
        (["--patches", "\u0968x2", "--patch-split", "2"], "must be ROWSxCOLUMNS as 2x2"),
        (["--patches", "2x2", "--patch-split", "999"], "--patch-split 999: of"),
        (["--patches", "2x2", "--patch-split", "zero"], "patch_split = 'zero'"),
        (["--patches", "auto", "--runtime", "tflm"], "--patches has no effect with --runtime tflm"),
    ],
)
def test_what_cannot_be_used_is_one_line(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    runtime = [] if "tflm" in arguments else ["--runtime", "tinyengine"]
    assert main(["run", "mcunet-vww1", "--policy", "internal", *runtime, *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


def test_memory_of_an_interpreter_has_no_patches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "ds-cnn", "--patches", "auto"]) == 2
    assert capsys.readouterr().err == "error: --patches has no effect with --runtime tflm; it is for compiled code\n"


def test_of_several_runs_those_have_patches_that_can(capsys: pytest.CaptureFixture[str]) -> None:
    """Not an interpreter, and not tiles that are copied on chip, which need less there than patches."""
    both = compare(SMALL, BOARDS[0], ["internal", "tinyops"], runtime="tflm,tinyengine", patches="auto",
                   buffer_sizes="largest").rows  # fmt: skip
    assert [row.fits for row in both] == [True] * 4, [row.unusable for row in both]
    assert [bool(row.planning["patches"]) for row in both] == [False, True, False, False]


def test_operators_are_in_place_where_that_needs_less() -> None:
    """Depthwise convolutions over their inputs, whose blocks live longer then: 357,960 B instead of 353,536 B."""
    path = shared_model("swiftnet_vwwc19_uint8.tflite")
    chosen, kept = (plan_memory(path, runtime="tinyengine", in_place=value).array for value in (None, True))
    assert chosen is not None and kept is not None
    assert (chosen.total, kept.total) == (353_536, 357_960)
    program = plan_program(path, "nucleo-h743zi", runtime="tinyengine")
    assert "in_place" not in program.header.options


def test_patches_of_a_program_that_cannot_be_are_its_error(tmp_path: pytest.TempPathFactory) -> None:
    program = plan_program("mcunet-vww1", runtime="tinyengine", patches="2x2", patch_split=5)
    path = tmp_path / "program.jsonl"  # type: ignore[operator]
    program.save(path)
    header, rest = path.read_text(encoding="utf-8").split("\n", 1)
    for patches, split in (("auto", 5), ("2x2", None), ("2x2", "5"), (7, 5), (["2x2"], 5), ("nonsense", 5)):
        options = {**json.loads(header)["options"], "patches": patches, "patch_split": split}
        path.write_text(json.dumps({**json.loads(header), "options": options}) + "\n" + rest, encoding="utf-8")
        with pytest.raises(ProgramError, match="patch"):
            read_program(path)
    other = replace(program, header=replace(program.header, options={**program.header.options, "patch_split": 999}))
    with pytest.raises(ProgramError, match="--patch-split 999"):
        program_graph(other, load_model("mcunet-vww1"))


def test_a_network_that_does_not_fit_is_offered_patches(capsys: pytest.CaptureFixture[str]) -> None:
    small = [
        "--set",
        "memory.dtcm.size=16 KiB",
        "--set",
        "memory.sram1.size=48 KiB",
        "--set",
        "memory.sram2.size=1 KiB",
    ]
    assert main(["run", "mcunet-vww1", "--policy", "internal", "--runtime", "tinyengine", *small]) == 1
    assert "--patches auto" in capsys.readouterr().out


def test_auto_computes_no_more_than_it_may(capsys: pytest.CaptureFixture[str]) -> None:
    """And what is said of it, also in blocks as the paper counts."""
    run = ["run", "mcunet-vww0", "--runtime", "tinyengine"]
    assert main([*run, "--patches", "auto", "--patch-macs", "+10%", "--json", "-"]) == 0
    limited = json.loads(capsys.readouterr().out)
    found = limited["patches"]
    assert found["halo_macs"] <= 0.1 * (limited["macs"] - found["halo_macs"])
    free = best_patches(RUNTIME.executed(graph := load_model("mcunet-vww0")), RUNTIME)
    assert free is not None and RUNTIME.cut is not None
    cut = RUNTIME.cut(RUNTIME.executed(graph), free)
    assert graph_macs(cut) - graph_macs(graph) > found["halo_macs"]
    assert planned_array(cut, RUNTIME).total < found["arena"] < found["arena_without"]
    assert main([*run, "--patches", "3x3", "--patch-split", "3 blocks"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "3x3 patches of 6 operators (+" in text and f"without patches {size(found['arena_without'])} of RAM" in text
    for words, says in (
        (["--patches", "2x2", "--patch-split", "5", "--patch-macs", "20"], "limits what --patches auto looks for"),
        (["--patches", "auto", "--patch-macs", "much"], "patch_macs = 'much': must be per cent, as +20%"),
        (["--patches", "2x2", "--patch-split", "99 blocks"], '--patch-split "99 blocks": there are'),
        (
            ["--patches", "2x2", "--patch-split", "17 blocks"],
            '"17 blocks" (51 operators): of 51 operators',
        ),
    ):
        assert main([*run, *words]) == 2
        error = capsys.readouterr().err
        assert says in error and error.count("\n") == 1
