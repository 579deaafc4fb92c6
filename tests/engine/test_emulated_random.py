"""Random networks of several operators, emulated wherever a policy puts them: the bytes of LiteRT, however sliced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.engine.run import Run
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph
from mcusim.model.channel_tiles import channel_tileable
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan import PlanOptions, plan, plan_options
from mcusim.plan.options import CHANNEL_TILES
from mcusim.plan.policies.tinyops import OVERLAYS
from mcusim.program import check_program, program_graph
from mcusim.run_config.input_tensors import random_inputs
from tests.support.cases import few, sampled
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.random_net import SEEDS, Net

BOARDS = ("stm32f469i-disco", "stm32f746g-disco")


def emulated(graph: Graph, rng: Any, cut: int | None) -> tuple[Run, list[Any]]:
    """A run somewhere, and every operator's outputs, one after the other."""
    board, policy = str(rng.choice(BOARDS)), str(rng.choice(("internal", "external", "tinyops", "tinyops")))
    changes = {"dma.dma2.beat": f"{rng.choice((1, 2, 4))} B", "dma.dma2.burst": str(rng.choice((1, 4))),
               "dma.dma2.threshold": "full", "dma.dma2.fifo": f"{rng.choice((0, 16))} B",
               "dma.dma2.streams": str(rng.choice((1, 2))),
               "dma.dma2.max_units": str(rng.choice((16, 65535)))}  # fmt: skip
    budget, overlay = int(rng.choice((9_000, 20_000))), [name for name in OVERLAYS if rng.random() < 0.7]
    buffering = str(rng.choice(("double", "single")))
    variant = "2023" if buffering == "double" and rng.random() < 0.5 else "2022"
    chosen = plan_options(
        sram_budget=budget, overlay=overlay, buffering=buffering, variant=variant, **knobs(graph, rng)
    )
    options = chosen if policy == "tinyops" else PlanOptions()
    machine, kernels = load_machine(board, changes), load_set("cmsis")
    program = plan(graph, machine, policy, kernels, options)
    check_program(program, machine)
    tensors, graph = [t for op in graph.operators for t in op.outputs], program_graph(program, graph)
    assert program_graph(program, graph) is graph and bool(graph.channel_tiles) == any(
        n > 1 for _, n in options[CHANNEL_TILES]
    )
    seen: dict[int, list[Any]] = {}
    core = EmulatedCore(
        program, machine, graph, kernels, random_inputs(graph), Options(cut=cut, observe=seen.__setitem__)
    )
    run = run_program(program, machine, core, "cmsis", "emulate")
    found = {t: value for op in graph.operators for t, value in zip(op.outputs, seen[op.index], strict=True)}
    return run, [found[t] for t in tensors]


def knobs(graph: Graph, rng: Any) -> dict[str, Any]:
    """Random parts of channels and rows, operands that are read in place, and what stays on chip."""
    numbers = [op.index for op in graph.operators]
    able = [op for op in graph.operators if channel_tileable(graph, op) is None and rng.random() < 0.5]
    parts = {op.index: int(rng.integers(1, graph.tensors[op.outputs[0]].shape[-1] + 1)) for op in able}
    rows = {int(rng.choice(numbers)): int(rng.integers(1, 9)) for _ in range(int(rng.integers(0, 3)))}
    kept = [f"{rng.choice(numbers)}:{rng.choice(OVERLAYS)}" for _ in range(int(rng.integers(0, 3)))]
    on_chip = int(rng.choice((0, 0, 700, 2000, 5000))) or None
    return {"channel_tiles": parts, "row_tiles": rows, "uncopied": ",".join(kept) or None, "on_chip": on_chip}


@few(3)
@pytest.mark.parametrize(("seed", "dtype"), sampled([*SEEDS, *((seed, "int16") for seed in range(12))], 12))
def test_random_networks_give_the_bytes_of_litert_wherever_they_run(seed: int, dtype: str) -> None:
    graph = Net(seed, dtype).graph_of_all()
    runtime = LiteRT(write_tflite(graph), keep=True)
    runtime.run(*random_inputs(graph))
    expected = [runtime.tensor(t).tobytes() for op in graph.operators for t in op.outputs]
    (whole, values), (sliced, again) = (emulated(graph, np.random.default_rng(seed), cut) for cut in (None, 997))
    assert whole == sliced
    for outputs in (values, again):
        assert [one.tobytes() for one in outputs] == expected
    assert all(cycles >= 0 for op in whole.operators for cycles in op.by_cause.values())
    large = [one for one in values if one.size >= 64]
    assert not large or any(len(np.unique(one)) > 3 for one in large)  # not all saturated
