"""What takes about four times as long for four times the input; only ratios within one run are asserted."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim import simulate
from mcusim.machine.toml_file import key_lines
from mcusim.model import load_model
from mcusim.plan.allocators.greedy import ArenaBlock, plan_arena
from mcusim.plan.ordering.order_search import optimal_order
from mcusim.program import read_program
from mcusim.program.program import Buffer, Span
from mcusim.report.run.figures.time_series import time_figure
from tests.support.graphs.random_dags import wide_network
from tests.support.graphs.small_graphs import activation, one_operator
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.pages.synthetic_runs import MACHINE
from tests.support.paths import REPOSITORY

MOST = 10  # times as long for four times the input: linear is 4, the square would be 16
Work = Callable[[Path, int], Callable[[], object]]  # prepared for a size, in a folder


def quotes(folder: Path, size: int) -> Callable[[], object]:
    text = '"""' * size
    return lambda: key_lines(text)


def tables(folder: Path, size: int) -> Callable[[], object]:
    text = "[[a]]\n" * size
    return lambda: key_lines(text)


def tensors(folder: Path, size: int) -> Callable[[], object]:
    path = folder / f"{size}.tflite"
    path.write_bytes(write_tflite(one_operator("RELU", [activation((1, 8))], [activation((1, 8))]), aliases=size))
    return lambda: load_model(path)


def tasks(folder: Path, size: int) -> Callable[[], object]:
    header, *rest = (REPOSITORY / "traces" / "add-second-input.jsonl").read_text(encoding="utf-8").splitlines()
    task = json.loads(next(line for line in rest if '"compute"' in line))
    task.pop("after")
    path = folder / f"{size}.jsonl"
    path.write_text("\n".join([header, *(json.dumps(task | {"id": n}) for n in range(size))]), encoding="utf-8")
    return lambda: read_program(path)


def buffers(folder: Path, size: int) -> Callable[[], object]:
    result = simulate("proxyless-w0.25-r160", MACHINE, "external")
    assert result.run is not None
    header = result.run.header
    last = len(header.operators) - 1
    many = tuple(Buffer(f"b{i}", "activation", Span("sdram", 0xC000_0000 + 16 * i, 16), i % last, last)
                 for i in range(size))  # fmt: skip
    run = replace(result.run, header=replace(header, buffers=many))
    return lambda: time_figure(run, result.machine)


def blocks(folder: Path, size: int) -> Callable[[], object]:
    chance = random.Random(6)  # for which neither size ends at an early try
    given = [ArenaBlock(chance.randrange(1, 90_000), i, i + chance.choice((1, 1, 1, 2, 5, 30))) for i in range(size)]
    return lambda: plan_arena(given)


@pytest.mark.parametrize(
    ("work", "size"),
    [(quotes, 100_000), (tables, 50_000), (tensors, 4_000), (tasks, 5_000), (buffers, 5_000), (blocks, 150)],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_four_times_the_input(work: Work, size: int, tmp_path: Path, benchmark: Any) -> None:
    actions = [work(tmp_path, size), work(tmp_path, 4 * size)]
    taken: list[list[float]] = [[], []]
    for _ in range(4):  # turn about
        for action, times in zip(actions, taken, strict=True):
            started = time.process_time()
            action()
            times.append(time.process_time() - started)
    ratio = min(taken[1]) / min(taken[0])
    benchmark.extra_info["ratio"] = ratio
    benchmark.pedantic(actions[0], rounds=1)
    assert ratio < MOST


@pytest.mark.parametrize(("count", "width"), [(100, 10), (3000, 30), (5_000, 2_500)])
def test_the_time_is_kept_where_the_search_cannot_end(count: int, width: int) -> None:
    """As a part of what was asked for."""
    graph, asked = wide_network(count, width, 0), 1.0
    started = time.process_time()
    optimal_order(graph, asked)
    assert (time.process_time() - started) / asked < 4
