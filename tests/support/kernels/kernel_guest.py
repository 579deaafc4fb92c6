"""Runs the compiled kernels of a set on a bare core, and the same graph in LiteRT."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from mcusim.cpu.unicorn_core import UcError, UnicornCore
from mcusim.image.image import Image, load_image
from mcusim.kernels.calls import call_bytes as P
from mcusim.kernels.calls.filter_bytes import filter_bytes
from mcusim.kernels.calls.rescaling import parameters
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine import load_machine
from mcusim.model import Graph, Operator, Tile, geometry
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.graphs.tflm import TFLM

MACHINES = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
STACK, ROOM, GAP, FILL = 0x2000_8000, 4 << 20, 64, 0xA5
BEYOND = 64 << 10  # bytes behind the last operand that are looked at too


class Guest:
    """One core with a kernel set in its flash, or at ``address``; operands in its SDRAM, with filled gaps between."""

    def __init__(self, kernels: KernelSet, isa: str, address: int | None = None) -> None:
        machine = load_machine(MACHINES[isa])
        self.kernels, self.isa, self.core = kernels, isa, UnicornCore(machine)
        self.image: Image = load_image(kernels.elf(isa)) if address is None else kernels.image_at(isa, address)
        for placement in self.image.placements(False):
            assert self.core.poke(placement.address, placement.data)
        self.base = machine.memory["sdram"].base
        self.at = self.base + ROOM

    def reserve(self, size: int) -> int:
        """An address with ``size`` bytes, a multiple of 4, behind a gap."""
        found, self.at = self.at + GAP, self.at + GAP + -(-size // 4) * 4
        assert self.at - self.base < ROOM - GAP
        return found

    def put(self, data: bytes) -> int:
        address = self.reserve(len(data))
        assert self.core.poke(address, data)
        return address

    def call(self, symbol: str, argument: int) -> None:
        """Run one function to its return; its result must be 0."""
        core = self.core
        core["r0"], core["sp"], core["lr"] = argument, STACK, core.return_address | 1
        try:
            core.uc.emu_start(self.image.symbol(symbol).address | 1, core.return_address, 0, 200_000_000)
        except UcError as error:
            raise AssertionError(f"{symbol}: {error} at {self.image.line_at(core['pc'])}") from None
        assert core["pc"] & ~1 == core.return_address, f"{symbol} does not return"
        assert core["r0"] == 0, f"{symbol} returned {core['r0']}"
        assert core["sp"] == STACK, f"{symbol} leaves the stack at {core['sp']:#x}"

    def run(self, graph: Graph, data: list[Any], tile: Tile | None = None, op: Operator | None = None) -> list[Any]:
        """The outputs of the graph's operator on ``data``; nothing else but its scratch may be written."""
        op = op or graph.operators[0]
        self.core.poke(self.base, bytes([FILL]) * (self.at - self.base))  # what the run before has written
        self.at = self.base
        places, outputs, scratch = self._place(graph, op, data, tile)
        seen = min(self.at - self.base + BEYOND, ROOM)
        before = self.core.peek(self.base, seen)
        assert before is not None
        self._calls(graph, op, places, tile)
        after = self.core.peek(self.base, seen)
        assert after is not None
        changed = np.flatnonzero(np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)) + self.base
        copies = places.call + P.call_size(graph, op, self.kernels.kernel(op.type, P.types(graph, op)).layout)
        for low, high in [*outputs, scratch, *([(places.call, copies)] if op.traits.multiplies else [])]:
            changed = changed[(changed < low) | (changed >= high)]
        assert not changed.size, f"{op.type} writes at {changed[0]:#x}, outside of {outputs} and {scratch}"
        return [
            np.frombuffer(after[low - self.base : high - self.base], graph.tensors[i].dtype).reshape(-1)
            for (low, high), i in zip(outputs, op.outputs, strict=True)
        ]

    def _place(self, graph: Graph, op: Operator, data: list[Any], tile: Tile | None) -> Any:
        given = dict(zip(graph.inputs, data, strict=True))
        kernel = self.kernels.kernel(op.type, P.types(graph, op))
        inputs = [self.put((given[i] if i in given else graph.tensors[i].data).tobytes()) for i in P.data_inputs(op)]
        rows = 1.0 if tile is None else tile.out_rows / geometry(graph, op).out_h
        sizes = [round(graph.tensors[i].bytes * rows) for i in op.outputs]
        outputs = [(address, address + size) for address, size in ((self.reserve(n), n) for n in sizes)]
        room = kernel.scratch_bytes(geometry(graph, op))
        scratch = self.reserve(room) if room else 0
        more = {}
        own = parameters(graph, op, kernel)
        if own is not None:
            more["filter"] = self.put(filter_bytes(graph, op, kernel))
            more["multiplier"], more["shift"] = self.put(own.multiplier), self.put(own.shift)
            if own.bias is not None:
                more["bias"] = self.put(own.bias)
        call = self.reserve(P.call_size(graph, op, kernel.layout) * P.calls(op))
        places = P.Places(call, inputs, [low for low, _ in outputs], scratch=scratch, **more)
        for part in range(P.calls(op)):
            at = call + part * P.call_size(graph, op, kernel.layout)
            self.core.poke(at, P.call_bytes(graph, op, places, tile, part))
        return places, outputs, (scratch, scratch + room)

    def _calls(self, graph: Graph, op: Operator, places: P.Places, tile: Tile | None) -> None:
        kernel = self.kernels.kernel(op.type, P.types(graph, op))
        for part in range(P.calls(op)):
            self.call(kernel.symbol, places.call + part * P.call_size(graph, op, kernel.layout))


def run_reference(graph: Graph, data: list[Any]) -> list[Any]:
    """The outputs of TensorFlow's reference kernels: LiteRT's, but TensorFlow Lite Micro's for 16-bit activations with
    a bias of 32 bits, which LiteRT reads as one of 64, for SUM of int8, which LiteRT adds in 8 bits, and for ELU and
    ZEROS_LIKE of int8, which its reference kernels do not have; nor have they ELU of floats."""
    op = graph.operators[0]
    biases = [graph.tensors[i] for i in op.inputs[2:] if op.traits.parametric]
    found = graph.tensors[op.outputs[0]].dtype
    wide = found == "int16" and any(bias.dtype == "int32" for bias in biases)
    if not wide and op.type != "ELU" and (op.type, found) not in (("SUM", "int8"), ("ZEROS_LIKE", "int8")):
        return run_litert(graph, data)
    return [part.reshape(-1) for part in TFLM(write_tflite(graph)).run(*data, outputs=len(graph.outputs))]


@cache
def litert() -> Any:
    """The interpreter module of ai-edge-litert; the test is skipped when it is not installed."""
    return pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed (test extra)")


def run_litert(graph: Graph, data: list[Any], file: bytes | None = None) -> list[Any]:
    """The outputs that LiteRT's reference kernels give for the graph, or for the ``file`` that it was read from.

    Raises RuntimeError or ValueError where LiteRT refuses.
    """
    module = litert()
    interpreter = module.Interpreter(
        model_content=file or write_tflite(graph), experimental_op_resolver_type=module.OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    for detail, values in zip(interpreter.get_input_details(), data, strict=True):
        interpreter.set_tensor(detail["index"], values)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]).reshape(-1) for detail in interpreter.get_output_details()]
