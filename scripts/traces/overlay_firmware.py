"""Write the schedule of the firmware ``overlay`` as a program file, with its network as a model, for both boards.

Addresses, layers and sizes are read from the firmware's ELF; the network's numbers are what its generator gives; the
order of requests, waits and cache maintenance is that of ``src/firmware/overlay/overlay.c``.

Usage: python scripts/traces/overlay_firmware.py FOLDER
then   mcusim replay FOLDER/overlay-BOARD.jsonl --fidelity emulate --model FOLDER/overlay.tflite --kernels cmsis
       --operator-overhead 0
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mcusim.image.image import Image, load_image
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.machine import Machine, load_machine
from mcusim.model import Graph, Operator, Tensor, load_model
from mcusim.model.geometry import Tile, geometry
from mcusim.model.graph import Quantization
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.program import Program, write_program
from mcusim.program.program import (
    Buffer,
    Compute,
    Header,
    Maintain,
    MemoryParts,
    Operand,
    OperatorInfo,
    Span,
    Task,
    Transfer,
)

BOARDS = ("stm32f469i-disco", "stm32f746g-disco")
HEIGHT, WIDTH, TILES, MOST_CHANNELS, MOST_FILTER, CHUNK = 16, 16, 4, 16, 576, 512
ROWS = HEIGHT // TILES
BIAS, MULTIPLIER, SHIFT, ALL = MOST_FILTER, MOST_FILTER + 64, MOST_FILTER + 128, MOST_FILTER + 192  # in parameters
PARTS = {"filter": 0, "bias": BIAS, "multiplier": MULTIPLIER, "shift": SHIFT}


@dataclass(frozen=True)
class Layer:
    """As in ``network.h``."""

    inputs: int
    outputs: int
    kernel: int
    input_offset: int
    output_offset: int

    def part(self, name: str) -> int:
        """Bytes of a part of its parameters."""
        return self.inputs * self.kernel**2 * self.outputs if name == "filter" else 4 * self.outputs


def layers_of(image: Image) -> list[Layer]:
    at = image.symbol("layers").address
    words = [image.word_at(at + 4 * n) or 0 for n in range(15)]
    signed = [word - (word >> 31 << 32) for word in words]
    return [Layer(*signed[n : n + 5]) for n in range(0, 15, 5)]


class Generator:
    """``lcg`` of ``io.c`` from state 1 on."""

    state = 1

    def word(self) -> int:
        self.state = (1664525 * self.state + 1013904223) & 0xFFFF_FFFF
        return self.state

    def bytes(self, *shape: int) -> np.ndarray:
        count = int(np.prod(shape))
        return np.array([self.word() >> 24 for _ in range(count)], np.uint8).view(np.int8).reshape(shape)

    def bias(self) -> int:
        word = self.word()
        return (word - (word >> 31 << 32)) >> 20


def network(layers: list[Layer]) -> tuple[Graph, np.ndarray]:
    """The graph, with scales that give the firmware's multipliers and shifts, and the input."""
    made = Generator()
    first = Quantization((1.0,), (-layers[0].input_offset,))
    tensors = [Tensor(0, "input", (1, HEIGHT, WIDTH, layers[0].inputs), "int8", first)]
    operators: list[Operator] = []
    for n, layer in enumerate(layers):
        at, k = len(tensors), layer.kernel
        data = made.bytes(layer.outputs, k, k, layer.inputs)
        bias = np.array([made.bias() for _ in range(layer.outputs)], np.int32)
        half = 2.0 ** -(8 if k == 1 else 10)
        scales = tuple(half * (1.5 if channel & 1 else 1.0) for channel in range(layer.outputs))
        per_channel = Quantization(scales, (0,) * layer.outputs)
        tensors.append(Tensor(at, f"filter{n}", data.shape, "int8", per_channel, data))
        tensors.append(Tensor(at + 1, f"bias{n}", bias.shape, "int32", per_channel, bias))
        # the zero point that the next operator subtracts
        zero = Quantization((1.0,), (layer.output_offset,))
        tensors.append(Tensor(at + 2, f"result{n}", (1, HEIGHT, WIDTH, layer.outputs), "int8", zero))
        options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "activation": "NONE"}
        options |= {"dilation_h": 1, "dilation_w": 1}
        operators.append(Operator(n, "CONV_2D", (at - 1 if n else 0, at, at + 1), (at + 2,), options))
    digest = hashlib.sha256(b"overlay").hexdigest()
    graph = Graph("overlay", tuple(tensors), tuple(operators), (0,), (len(tensors) - 1,), digest)
    return graph, made.bytes(1, HEIGHT, WIDTH, layers[0].inputs)


@dataclass
class Schedule:
    """The tasks in the order of the firmware's calls. ``last`` is the last task of the core; transfers follow it."""

    machine: Machine
    image: Image
    graph: Graph
    layers: list[Layer]
    tasks: list[Task] = field(default_factory=list)
    requests: int = 0
    last: tuple[int, ...] = ()
    came: dict[int, int] = field(default_factory=dict)  # half of the pair -> last transfer to it
    went: dict[int, int] = field(default_factory=dict)
    weights: int = 0  # last transfer of those asked for last

    def span(self, address: int, size: int) -> Span:
        found = (name for name, region in self.machine.memory.items() if region.base <= address < region.end)
        return Span(next(found), address, size)

    def place(self, symbol: str, offset: int, size: int) -> Span:
        return self.span(self.image.symbol(symbol).address + offset, size)

    def request(self, stream: int, n: int, tile: int, kind: str, source: Span, target: Span) -> int:
        parts = -(-source.bytes // CHUNK)
        for part in range(parts):
            at, size = part * CHUNK, min(CHUNK, source.bytes - part * CHUNK)
            self.tasks.append(
                Transfer(
                    len(self.tasks),
                    f"dma2.s{stream}",
                    n,
                    tile,
                    kind,  # type: ignore[arg-type]
                    self.span(source.address + at, size),
                    self.span(target.address + at, size),
                    self.requests,
                    part,
                    parts,
                    1 - stream,
                    self.last,
                )
            )
        self.requests += 1
        return len(self.tasks) - 1

    def core(self, task: Compute | Maintain) -> None:
        self.tasks.append(task)
        self.last = (task.id,)

    def maintain(self, n: int, tile: int, action: str, span: Span, *after: int) -> None:
        if self.machine.data_cache is not None:
            self.core(Maintain(len(self.tasks), n, tile, action, span, (*self.last, *after)))  # type: ignore[arg-type]

    def rows(self, n: int, tile: int) -> Tile:
        halo = self.layers[n].kernel // 2
        first, end = max(0, tile * ROWS - halo), min(HEIGHT, (tile + 1) * ROWS + halo)
        return Tile(tile * ROWS, ROWS, first, end - first)

    def tile_in(self, n: int, tile: int) -> Span:
        size = self.rows(n, tile).in_rows * WIDTH * self.layers[n].inputs
        return self.place("tile_in", (tile & 1) * (ROWS + 2) * WIDTH * MOST_CHANNELS, size)

    def tile_out(self, n: int, tile: int) -> Span:
        offset = (tile & 1) * ROWS * WIDTH * MOST_CHANNELS
        return self.place("tile_out", offset, ROWS * WIDTH * self.layers[n].outputs)

    def activation(self, n: int, first: int, rows: int, channels: int) -> Span:
        row = WIDTH * channels
        return self.place("activations", n * HEIGHT * WIDTH * MOST_CHANNELS + first * row, rows * row)

    def request_input(self, n: int, tile: int) -> None:
        rows, channels = self.rows(n, tile), self.layers[n].inputs
        source = self.activation(n, rows.in_row, rows.in_rows, channels)
        self.came[tile & 1] = self.request(0, n, tile, "input", source, self.tile_in(n, tile))

    def request_weights(self, n: int) -> None:
        for name, offset in PARTS.items():
            size = self.layers[n].part(name)
            source = self.place("weights", n * ALL + offset, size)
            self.weights = self.request(1, n, 0, name, source, self.overlaid(n, name))

    def overlaid(self, n: int, name: str) -> Span:
        return self.place("overlaid", (n & 1) * ALL + PARTS[name], self.layers[n].part(name))

    def compute(self, n: int, tile: int, *after: int) -> None:
        layer = self.layers[n]
        operands = [Operand("input0", self.tile_in(n, tile), "r")]
        operands += [Operand(name, self.overlaid(n, name), "r") for name in PARTS]  # type: ignore[arg-type]
        if layer.kernel > 1:
            operands.append(Operand("scratch", self.place("scratch", 0, 4 * layer.inputs * layer.kernel**2), "rw"))
        operands.append(Operand("output", self.tile_out(n, tile), "w"))
        shape = geometry(self.graph, self.graph.operators[n])
        edges = (*self.last, *after)
        self.core(Compute(len(self.tasks), n, tile, TILES, shape, self.rows(n, tile), tuple(operands), edges))

    def run_tile(self, n: int, tile: int) -> None:
        arrived = [self.came[tile & 1], *([self.weights_of[n]] if tile == 0 else [])]
        if self.machine.data_cache is not None:
            whole = self.place("tile_in", (tile & 1) * (ROWS + 2) * WIDTH * MOST_CHANNELS, 1536)
            self.maintain(n, tile, "invalidate", whole, *arrived)
        self.compute(n, tile, *arrived, *([self.went[tile & 1]] if tile & 1 in self.went else []))
        self.maintain(n, tile, "clean", self.tile_out(n, tile))
        first = self.activation(n + 1, tile * ROWS, ROWS, self.layers[n].outputs)
        self.went[tile & 1] = self.request(1, n, tile, "output", self.tile_out(n, tile), first)
        if tile + 2 < TILES:
            self.request_input(n, tile + 2)

    def run(self) -> None:
        self.weights_of: dict[int, int] = {}
        self.request_weights(0)
        for n in range(len(self.layers)):
            self.weights_of[n] = self.weights
            for tile in range(2):
                self.request_input(n, tile)
            self.maintain(n, 0, "invalidate", self.place("overlaid", (n & 1) * ALL, ALL), self.weights)
            if n + 1 < len(self.layers):
                self.last = (*self.last, self.weights)
                self.request_weights(n + 1)
            for tile in range(TILES):
                self.run_tile(n, tile)
            self.last = (*self.last, self.went[(TILES - 1) & 1])  # the next operator reads it

    def buffers(self) -> Iterator[Buffer]:
        end, last = self.image.symbol("_end").address, len(self.layers) - 1
        for n, layer in enumerate(self.layers):
            at = 3 * n + 1
            yield Buffer(f"node{n}", "runtime", self.span(end + 256 * n, 160), 0, last)
            for name, tensor in (("filter", f"tensor{at}"), ("bias", f"tensor{at + 1}")):
                yield Buffer(tensor, "weights", self.place("weights", n * ALL + PARTS[name], layer.part(name)), 0, last)
            for name in ("multiplier", "shift"):
                span = self.place("weights", n * ALL + PARTS[name], layer.part(name))
                yield Buffer(f"{name}{n}", "runtime", span, 0, last)
            yield Buffer(f"tensor{at + 2}", "activation", self.activation(n + 1, 0, HEIGHT, layer.outputs), n, last)
        yield Buffer("tensor0", "activation", self.activation(0, 0, HEIGHT, self.layers[0].inputs), 0, 0)
        for name, size in (("tile_in", 3072), ("tile_out", 2048), ("overlaid", 2 * ALL)):
            yield Buffer(name, "overlay", self.place(name, 0, size), 0, last)
        yield Buffer("scratch", "scratch", self.place("scratch", 0, 576), 0, last)


def schedule(board: str, model: Path) -> Program:
    """The firmware's schedule on ``board``; ``model`` is the network's file."""
    machine = load_machine(board)
    image = load_image(program_path("overlay", machine.core.isa, FIRMWARE))
    graph = load_model(model)
    made = Schedule(machine, image, graph, layers_of(image))
    made.run()
    macs = [HEIGHT * WIDTH * layer.outputs * layer.inputs * layer.kernel**2 for layer in made.layers]
    buffers = tuple(made.buffers())
    peak: dict[str, int] = {}
    for buffer in buffers:
        peak[buffer.span.region] = peak.get(buffer.span.region, 0) + buffer.span.bytes
    sizes = {
        kind: sum(b.span.bytes for b in buffers if b.kind == kind) for kind in ("activation", "overlay", "weights")
    }
    parts = MemoryParts(sizes["activation"], 576, sizes["overlay"], 480, sizes["activation"] + 1056, sizes["weights"])
    header = Header(
        board,
        graph.name,
        graph.sha256,
        "tinyops",
        "cmsis-gcc12",
        tuple(OperatorInfo(n, "CONV_2D", count) for n, count in enumerate(macs)),
        parts,
        peak,
        buffers,
        {"title": "The schedule of the firmware overlay"},
    )
    return Program(header, tuple(made.tasks))


def write_model(folder: Path) -> tuple[Path, np.ndarray]:
    """The network's file, and its input."""
    image = load_image(program_path("overlay", load_machine(BOARDS[0]).core.isa, FIRMWARE))
    graph, values = network(layers_of(image))
    path = folder / "overlay.tflite"
    path.write_bytes(write_tflite(graph))
    return path, values


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model, _ = write_model(folder)
    for board in BOARDS:
        write_program(schedule(board, model), folder / f"overlay-{board}.jsonl")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
