"""Whole networks on emulated boards, beside published latencies: two tables in Markdown.

    python tests/benchmarks/network_costs.py [MODELS]

First the operators of ``cifar10-arm`` with the sets ``reference`` and ``cmsis`` on a Cortex-M7 and a Cortex-M4: the
instructions, cycles and bytes loaded for each MAC, and how many times fewer cycles ``cmsis`` takes. Then latencies of
what ``published.csv`` has of the models, those in the folder MODELS too (default: ``MCUSIM_MODELS``, else
``../shared/models``), with ``cmsis`` and policy ``internal``; no figure here was fitted to them.

Bytes loaded are those of all load instructions, the stack's too, whether a cache answers or not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_costs import loaded_bytes

from mcusim.engine.emulated import EmulatedCore, Options
from mcusim.engine.execute import play
from mcusim.engine.run import Run
from mcusim.kernels.registry import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph, geometry, load_model
from mcusim.plan import check_program, plan
from mcusim.study.published import rows
from mcusim.study.tensors import random_inputs

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
    run = play(program, machine, core, kernels, "emulate")
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


def published(model: str, board: str) -> Iterator[tuple[str, float, str]]:
    """Who measured it with what, milliseconds, and what the row is used for."""
    for row in rows():
        key = row["model"].partition(" (")[0], row["board"].lower(), row["placement"], row["quantity"]
        if key == (model, board, "internal", "latency"):
            engine = row["kernels"] if row["engine"] in row["kernels"] else f"{row['engine']}, {row['kernels']}"
            yield f"{row['source']}: {engine}", float(row["value"]), row["use"]


def latencies(folder: Path) -> None:
    """Print ours beside each published row."""
    print("\nLatency with cmsis, policy internal\n")
    print("| model, board | ours | cycles a MAC | published | cycles a MAC | ours against it | by, use of the row |")
    print("|---" * 7 + "|")
    for model, board in MEASURED:
        path = folder / f"{model}.tflite"
        if "_" in model and not path.is_file():
            print(f"{model}: not in {folder}", file=sys.stderr)
            continue
        run, costs = emulate(load_model(path if "_" in model else model), board, "cmsis")
        macs, ours = sum(cost.macs for cost in costs), run.cycles / run.clock * 1e3
        for who, theirs, use in published(model, board):
            rates = [ms / 1e3 * run.clock / macs for ms in (ours, theirs)]
            print(
                f"| {model}, {board} | {ours:.1f} ms | {rates[0]:.2f} | {theirs:g} ms | {rates[1]:.2f} "
                f"| {ours / theirs - 1:+.0%} | {who}; {use} |"
            )


def main(folder: str | None = None) -> None:
    for board in (F746, L4R5):
        layers(board)
    latencies(Path(folder or os.environ.get("MCUSIM_MODELS") or REPOSITORY.parent / "shared" / "models"))


if __name__ == "__main__":
    main(*sys.argv[1:])
