"""Whole networks on emulated boards, next to published latencies: tables in Markdown.

    python tests/benchmarks/network_costs.py [SET ...]

First the operators of ``cifar10-arm`` with the sets ``reference`` and ``cmsis`` on a Cortex-M7 and a Cortex-M4: the
instructions, cycles and bytes loaded for each MAC, and how many times fewer cycles ``cmsis`` takes. Then each latency
that ``published.csv`` has of ``cifar10-arm`` and the MLPerf Tiny models (in ``MCUSIM_MODELS``, else
``../shared/models``), then those of the named sets (``cmsis``), policy ``internal``; no figure here was fitted
to them.

Bytes loaded are those of all load instructions, the stack's too, whether a cache answers or not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.engine.run import Run
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.measurements.published.rows import rows
from mcusim.model import Graph, geometry, graph_macs, load_model
from mcusim.plan import plan
from mcusim.program import check_program
from mcusim.run_config.input_tensors import random_inputs
from tests.benchmarks.kernel_costs import loaded_bytes

REPOSITORY = Path(__file__).resolve().parents[2]
LAYERS, SETS = "cifar10-arm", ("reference", "cmsis")
F746, L4R5 = "nucleo-f746zg", "nucleo-l4r5zi"
MEASURED = (
    ("cifar10-arm", F746),
    ("ad01_int8", L4R5),
    ("kws_ref_model", L4R5),
    ("vww_96_int8", L4R5),
    ("pretrainedResnet_quant", L4R5),
)


@dataclass
class Cost:
    """Of one operator, or of a network with its interpreter."""

    label: str
    macs: int
    instructions: int
    cycles: int
    loaded: int

    def per_mac(self) -> str:
        if not self.macs:
            return f"– | {self.cycles:,} cycles | –"
        return " | ".join(f"{n / self.macs:.2f}" for n in (self.instructions, self.cycles, self.loaded))


def emulate(graph: Graph, board: str, kernels: str) -> tuple[Run, list[Cost]]:
    """The run under policy internal, and each operator's cost without the interpreter's cycles."""
    machine, chosen = load_machine(board), load_set(kernels)
    program = plan(graph, machine, "internal", chosen)
    check_program(program, machine)
    marks = [(0, 0)]
    observe = Options(observe=lambda *_: marks.append((core.emulator.instructions, loaded_bytes(core.emulator))))
    core = EmulatedCore(program, machine, graph, chosen, random_inputs(graph), observe)
    run = run_program(program, machine, core, kernels, "emulate")
    costs = []
    for op, ran, before, after in zip(graph.operators, run.operators, marks[:-1], marks[1:], strict=True):
        g, out = geometry(graph, op), graph.tensors[op.outputs[0]].shape
        label = f"{op.index} {op.type} {'x'.join(map(str, out[1:]))}"
        cycles = ran.cycles - ran.by_cause["runtime"]
        costs.append(Cost(label, g.macs, after[0] - before[0], cycles, after[1] - before[1]))
    return run, costs


def layers(board: str) -> None:
    """Print each operator with both sets."""
    graph = load_model(LAYERS)
    found = [emulate(graph, board, kernels) for kernels in SETS]
    totals = [
        Cost("all, interpreter included", sum(c.macs for c in costs), sum(c.instructions for c in costs), run.cycles,
             sum(c.loaded for c in costs)) for run, costs in found
    ]  # fmt: skip
    print(f"\n{LAYERS} on {board}, per MAC\n")
    print(f"| operator, output | MMAC |{''.join(f' {s}: instructions | cycles | B loaded |' for s in SETS)} speed-up |")
    print("|---" * 9 + "|")
    for plain, fast in zip(*([*costs, total] for (_, costs), total in zip(found, totals, strict=True)), strict=True):
        speedup = plain.cycles / fast.cycles
        print(f"| {plain.label} | {plain.macs / 1e6:.3f} | {plain.per_mac()} | {fast.per_mac()} | {speedup:.2f} |")


def published(model: str, board: str) -> Iterator[tuple[str, float]]:
    """Who measured it with what and what the row is used for, and milliseconds."""
    for row in rows():
        key = row["model"].partition(" (")[0], row["board"].lower(), row["placement"], row["quantity"]
        if key == (model, board, "internal", "latency"):
            engine = row["kernels"] if row["engine"] in row["kernels"] else f"{row['engine']}, {row['kernels']}"
            yield f"{row['source']}: {engine}; {row['use']}", float(row["value"])


def latencies(sets: Sequence[str]) -> None:
    """Print each published row, and next to it what the sets take: how much more or less, and cycles a MAC."""
    folder = Path(os.environ.get("MCUSIM_MODELS") or REPOSITORY.parent / "shared" / "models")
    print(f"\n| model, board | published | by, use of the row |{''.join(f' `{kernels}` |' for kernels in sets)}")
    print("|---" * (3 + len(sets)) + "|")
    for model, board in MEASURED:
        path = folder / f"{model}.tflite"
        if "_" in model and not path.is_file():
            print(f"{model}: not in {folder}", file=sys.stderr)
            continue
        graph = load_model(path if "_" in model else model)
        runs = [emulate(graph, board, kernels)[0] for kernels in sets]
        rate = runs[0].clock / graph_macs(graph) / 1e3  # cycles a MAC, for each millisecond
        for who, theirs in published(model, board):
            ours = [run.cycles / run.clock * 1e3 for run in runs]
            cells = [f"{ms:.1f} ms ({ms / theirs - 1:+.0%}), {ms * rate:.2f}" for ms in ours]
            print(f"| {model}, {board} | {theirs:g} ms, {theirs * rate:.2f} | {who} | {' | '.join(cells)} |")


def main(*sets: str) -> None:
    for board in (F746, L4R5):
        layers(board)
    latencies(sets or ("cmsis",))


if __name__ == "__main__":
    main(*sys.argv[1:])
