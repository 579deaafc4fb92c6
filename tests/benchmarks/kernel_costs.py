"""Instructions, cycles and bytes loaded per MAC of a kernel set's functions, memory without wait states.

    python tests/benchmarks/kernel_costs.py [cmsis] [proxyless-w0.30-r144]

The arguments are a set (name or path of its folder) and a network. Each operator runs alone on random int8 data, once
to warm up and once counted. Code in flash with no wait states; all data in one memory that answers at once (Cortex-M7:
DTCM). Bytes loaded are those of all load instructions, the stack's too.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np

from mcusim.emulator.emulator import Emulator
from mcusim.kernels.calls import call_bytes as P
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import Machine, load_machine
from mcusim.model import Graph, Operator, build, geometry, parse_name

BASE, ROOM, STACK = 0x2000_0000, 4 << 20, 0x1000
IDEAL = {
    "cortex-m4": ("stm32f469i-disco", {"memory.sram1.size": "4 MiB"}, ("sram2", "sram3")),
    "cortex-m7": ("stm32f746g-disco", {"memory.dtcm.size": "4 MiB"}, ("sram1", "sram2")),
}
COUNTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "AVERAGE_POOL_2D")


def machine_of(core: str) -> Machine:
    name, changes, moved = IDEAL[core]
    away = {f"memory.{region}.base": hex(0x3000_0000 + (i << 24)) for i, region in enumerate(moved)}
    return load_machine(name, {"memory.flash.wait_states": 0} | changes | away)


def loaded_bytes(emulator: Emulator) -> int:
    """Bytes that load instructions have asked for so far."""
    records = emulator.tables.access_records
    loads = records[records["write"] == 0]
    return int((loads["count"] * loads["size"]).sum())


class Bench:
    """A core with one set's code, and memory that is handed out from its start."""

    def __init__(self, core: str, folder: str) -> None:
        self.emulator, self.kernels = Emulator(machine_of(core)), load_set(folder)
        self.image = self.kernels.image(core)
        self.emulator.load(self.image)
        self.at = BASE

    def put(self, data: Any) -> int:
        address, self.at = self.at, self.at + (len(data) + 7 & ~7)
        self.emulator.write(address, bytes(data))
        return address

    def call(self, symbol: str, call: int) -> tuple[int, int, int]:
        """Instructions, cycles and bytes loaded of the second of two calls."""
        emulator = self.emulator
        for _ in range(2):
            emulator.set_stack(BASE + ROOM, BASE + ROOM - STACK)
            before = emulator.instructions, emulator.cycles, loaded_bytes(emulator)
            emulator.call(self.image.symbol(symbol).address & ~1, [call])
            assert emulator.run().kind == "returned" and emulator.registers()["r0"] == 0
        loaded = loaded_bytes(emulator) - before[2]
        return emulator.instructions - before[0], emulator.cycles - before[1], loaded

    def run(self, graph: Graph, op: Operator) -> tuple[int, int, int]:
        self.at, rng, tensors = BASE, np.random.default_rng(op.index), graph.tensors
        inputs = [self.put(rng.integers(0, 256, tensors[i].bytes, np.uint8).tobytes()) for i in P.data_inputs(op)]
        constants = [self.put(tensors[i].data.tobytes()) for i in op.inputs[1:] if tensors[i].data is not None]
        arrays = [self.put(data) for data in P.channel_arrays(graph, op) or ()]
        g = geometry(graph, op)
        kernel = self.kernels.kernel(op.type)
        scratch = self.put(bytes(kernel.scratch_bytes(g)))
        output = self.put(bytes(tensors[op.outputs[0]].bytes))
        call = self.put(bytes(512))
        filters, bias = [*constants, 0, 0][:2]
        multiplier, shift = [*arrays, 0, 0][:2]
        places = P.Places(call, inputs, [output], filters, bias, multiplier, shift, scratch)
        self.emulator.write(call, P.call_bytes(graph, op, places))
        return self.call(kernel.symbol, call)

    def memset_cycles(self, size: int) -> float:
        """Cycles per byte of a memset of this size."""
        self.at = BASE
        at, emulator = self.put(bytes(size)), self.emulator
        for _ in range(2):
            emulator.set_stack(BASE + ROOM, BASE + ROOM - STACK)
            before = emulator.cycles
            emulator.call(self.image.symbol("memset").address & ~1, [at, 0, size])
            emulator.run()
        return (emulator.cycles - before) / size


def group(graph: Graph, op: Operator) -> str:
    g = geometry(graph, op)
    size = f"{g.kernel_h}x{g.kernel_w}"
    if op.type == "DEPTHWISE_CONV_2D":
        return f"depthwise {size}"
    if op.type != "CONV_2D":
        return op.type
    if size != "1x1":
        return f"conv {size}, {g.in_c} channels" if g.in_c < 4 else f"conv {size}"
    return f"pointwise, input channels {'< 16' if g.in_c < 16 else '>= 16'}"


def main(folder: str = "cmsis", network: str = "proxyless-w0.30-r144") -> None:
    graph = build(parse_name(network))
    for core in IDEAL:
        bench, sums = Bench(core, folder), defaultdict(lambda: np.zeros(4))
        for op in graph.operators:
            if op.type in COUNTED:
                sums[group(graph, op)] += (geometry(graph, op).macs, *bench.run(graph, op))
        print(f"{network} with {folder} on a {core}")
        for name, (macs, instructions, cycles, loaded) in sums.items():
            counts = f"{instructions / 1e6:7.2f} M instructions {cycles / 1e6:7.2f} M cycles"
            per = (
                f"{instructions / macs:6.2f} {cycles / macs:6.2f} {loaded / macs:6.2f} B loaded per MAC" if macs else ""
            )
            print(f"  {name:31} {macs / 1e6:7.3f} MMAC {counts} {per}")
        total = sum(sums.values(), np.zeros(4)) / 1e6
        print(f"  all: {total[0]:.2f} MMAC, {total[1]:.1f} M instructions, {total[2]:.1f} M cycles")
        print(f"  memset of 96 B: {bench.memset_cycles(96):.2f} cycles a byte")


if __name__ == "__main__":
    main(*sys.argv[1:])
