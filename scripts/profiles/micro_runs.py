"""Small runs of single kernels on the emulated cores, every operand in a memory of its own that answers at once."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from call_words import CallWords, Words
from micro_cases import RANGE_ALONE, UNPACK_ALONE, WITHOUT

from mcusim.cpu.pipeline import branch_predictor as branch
from mcusim.emulator.emulator import Emulator
from mcusim.kernels.calls import call_bytes as P
from mcusim.kernels.calls.filter_bytes import filter_bytes
from mcusim.kernels.calls.rescaling import geometry_for, parameters
from mcusim.kernels.calls.structs import size_of
from mcusim.kernels.cost.fitted import kinds as fitted
from mcusim.kernels.cost.fitted.call import empty_call
from mcusim.kernels.cost.fitted.nest_call import LEVELS
from mcusim.kernels.kernel_set import Kernel, load_set
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.address_ranges import machine_ranges
from mcusim.memory.state_builder import empty_code_lines
from mcusim.memory.state_layout import CodeLines, RegionState
from mcusim.model import Graph, Operator, geometry
from mcusim.model.geometry import whole

BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
ROOM = 1 << 21
AREAS = ("input0", "input1", "filter", "bias", "output", "scratch", "call", "stack")
# where they are in a network: activations, scratch and parameters in one memory, weights in another
TOGETHER = {"input1": "input0", "output": "input0", "scratch": "input0", "arrays": "input0", "bias": "filter"}
APART = {"arrays": "bias"}
OWN_CODE, EACH = 0x4_0000, 0x2000  # from here on in the flash: functions alone
PLACES = 96  # up to the end of the flash
FIRST = 0x3000_0000


def machine_of(core: str) -> Any:
    """A board whose flash and core are as shipped, whose operands lie in memories without wait states, and whose QSPI
    no cache is for."""
    text = f'extends = "{BOARDS[core]}"\nmemory.qspi.attribute = "uncached"\n'
    for i, name in enumerate(AREAS):
        text += f'[memory.{name}]\nbasis = "assumed"\nsource = "a micro-run"\ndevice = "tcm"\n'
        text += f'base = {FIRST + i * ROOM:#x}\nsize = "{ROOM >> 10} KiB"\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "micro.toml"
        path.write_text(text)
        return load_machine(path)


def _read(op: Operator) -> list[int]:
    """The tensors that are in memory for a call, besides those of a convolution."""
    return [t for t in op.inputs if t >= 0] if op.traits.keeps_state else list(P.data_inputs(op))


def _own_code(n: int) -> int:
    """Where function ``n`` alone is in the flash: at multiples of EACH, and when those are used up between them."""
    return OWN_CODE + EACH * (n % PLACES) + EACH // 2 * (n // PLACES)


RUNS = 2  # calls of a kernel, the last of which is measured


class Measured(NamedTuple):
    kind: str
    counts: Any  # of every level
    cycles: float  # without the wait for code
    fetch: float  # cycles waited for code
    words: Words  # read of the call structure, of a function where the whole set has it
    accesses: dict[str, tuple[int, int, int, int]]  # by area: reads, writes, bytes of them
    played: dict[str, tuple[int, int]]
    code: int
    away: tuple[float, float, float] = (0.0, 0.0, 0.0)  # cycles without waits in the QSPI, its words, new commands


class Bench:
    """One core with one kernel set in its flash.

    ``apart``: every operand in a memory of its own. ``alone``: each function runs as it lies when a network needs no
    other, not where the whole set has it; ``code`` is the memory that it is in then.
    """

    def __init__(self, core: str, folder: str, apart: bool = False, alone: bool = False, code: str = "flash") -> None:
        self.areas, self.alone, self.code = APART if apart else TOGETHER, alone, code
        self.core, self.machine = core, machine_of(core)
        self.emulator, self.kernels = Emulator(self.machine), load_set(folder)
        self.image = self.kernels.image(core)
        self.emulator.load(self.image, as_started=True)
        self.emulator.memory.install_ranges(machine_ranges(self.machine))  # of which it knows what no cache is for
        low = FIRST + AREAS.index("call") * ROOM
        self._words = CallWords(self.emulator, low, low + ROOM)
        self.at: dict[str, int] = {}
        self._entries: dict[str, int] = {}
        self.executed: dict[str, set[tuple[int, int]]] = {}

    def put(self, area: str, data: bytes) -> int:
        area = self.areas.get(area, area)
        address = self.at.setdefault(area, FIRST + AREAS.index(area) * ROOM)
        self.at[area] = address + (len(data) + 15 & ~15)
        self.emulator.write(address, data)
        return address

    def entry(self, symbol: str) -> int:
        """Where the function begins that the bench runs."""
        if symbol not in self._entries:
            image = self.image
            if self.alone:
                at = self.machine.memory[self.code].base + _own_code(len(self._entries))
                image = self.kernels.image_at(self.core, at, {symbol})
                self.emulator.load(image, as_started=True)
            self._entries[symbol] = image.symbol(symbol).address & ~1
        return self._entries[symbol]

    def kernel(self, graph: Graph, op: Operator) -> Kernel:
        """What compiled code calls; the name of ``graph`` ends in the techniques that it leaves out."""
        able = self.kernels.kernel(op.type, P.types(graph, op)).without(graph.name.partition(WITHOUT)[2].split())
        if graph.name.endswith((RANGE_ALONE, UNPACK_ALONE)):
            return replace(able, symbol=fitted.RANGE if graph.name.endswith(RANGE_ALONE) else fitted.UNPACK)
        return able.called_for(geometry(graph, op))

    def kind(self, graph: Graph, op: Operator) -> tuple[str, dict[str, int]]:
        """The kind of its call, whose function is put into the flash, and bytes by role."""
        symbol = self.kernel(graph, op).symbol
        self.entry(symbol)
        sizes = {f"input{n}": graph.tensors[i].bytes for n, i in enumerate(_read(op))}
        sizes |= {"output": graph.tensors[op.outputs[0]].bytes}
        own = parameters(graph, op, self.kernel(graph, op))
        if own is not None and own.bias is not None:
            sizes["bias"] = len(own.bias)
        return fitted.kind_of(symbol, geometry_for(graph, op, self.kernel(graph, op)), sizes), sizes

    def run(self, graph: Graph, op: Operator, seed: int = 0) -> Measured:
        self.at = {}
        rng, tensors = np.random.default_rng([seed, op.index]), graph.tensors
        kernel = self.kernel(graph, op)
        g, own_types = geometry_for(graph, op, kernel), kernel.types
        inputs = []
        for n, i in enumerate(_read(op)):
            data = tensors[i].data
            if data is None and tensors[i].dtype == "float32" and own_types == "float32":
                data = rng.normal(0, 2, tensors[i].elements).astype("<f4")
            data = rng.integers(0, 256, tensors[i].bytes, np.uint8) if data is None else data
            inputs.append(self.put(f"input{min(n, 1)}", data.tobytes()))
        more: dict[str, int] = {}
        own = parameters(graph, op, kernel)
        if own is not None:
            more["filter"] = self.put("filter", filter_bytes(graph, op, kernel))
            if own.bias is not None:
                more["bias"] = self.put("bias", own.bias)
            if own.multiplier:
                more["multiplier"], more["shift"] = (self.put("arrays", part) for part in (own.multiplier, own.shift))
        room = kernel.scratch_bytes(g)
        more["scratch"] = self.put("scratch", bytes(room)) if room else 0
        outputs = [self.put("output", bytes(tensors[i].bytes)) for i in op.outputs]
        call = self.put("call", bytes(P.call_size(graph, op, kernel.layout)))
        left = iter(inputs)  # what is omitted has no address in the call
        given = [next(left) if t >= 0 else 0 for t in op.inputs] if op.traits.keeps_state else inputs
        places = P.Places(call, given, outputs, **more)
        self.emulator.write(call, P.call_bytes(graph, op, places))
        kind, sizes = self.kind(graph, op)
        measured = self._call(kind, kernel.symbol, places, g, sizes)
        if not op.traits.multiplies:
            return measured
        end = size_of(kernel.layout)  # transposed copies are operands
        return measured._replace(words={key: value for key, value in measured.words.items() if key[1] < end})

    def _call(self, kind: str, symbol: str, places: Any, g: Any, sizes: dict[str, int]) -> Measured:
        emulator = self.emulator
        top = FIRST + (AREAS.index("stack") + 1) * ROOM
        entry = self.entry(symbol)
        for _ in range(RUNS):
            self._forget()
            self._words.forget()
            emulator.set_stack(top, top - 0x4000)
            before, regions = emulator.memory.state.now, emulator.memory.by_region()
            runs = self._runs()
            emulator.call(entry, [places.call])
            stop = emulator.run()
            done = kind == fitted.RANGE or emulator.registers()["r0"] == 0  # that function returns nothing
            assert stop.kind == "returned" and done, (kind, stop)
        after = emulator.memory.by_region()
        change = {r: {k: v - regions[r][k] for k, v in row.items()} for r, row in after.items()}
        spent = self._runs()
        spent[: runs.size] -= runs
        touched = {(b.address, b.instructions[-1].end) for b in emulator.tables.known if spent[b.index]}
        self.executed.setdefault(kind, set()).update(touched)
        code = sum(int(spent[b.index]) * (b.instructions[-1].end - b.address) for b in emulator.tables.known)
        fetch = change[self.code]["fetch_stall"] / L.TICK
        cycles = (emulator.memory.state.now - before) / L.TICK - fetch
        accesses = {a: tuple(change[a][k] for k in ("reads", "writes", "read_bytes", "write_bytes")) for a in AREAS}
        counts, played = self._count(kind, places, g, sizes)
        words = {} if self.alone else self._words.found(places.call)
        away = (cycles + fetch - change["qspi"]["stall"] / L.TICK, *self._read_from_qspi(change["qspi"]))
        return Measured(kind, counts, cycles, fetch, words, accesses, played, code, away)

    def _read_from_qspi(self, change: dict[str, int]) -> tuple[float, float]:
        """Words that were read, and commands that began anew."""
        qspi = self._region("qspi")
        data = change["read_bytes"] * qspi.beat
        return change["reads"], (change["occupied"] - data) / (qspi.command + qspi.cs_high)

    def _region(self, name: str) -> RegionState:
        memory = self.emulator.memory
        return RegionState(memory.state, memory.blocks[name, False])

    def _forget(self) -> None:
        """Nothing predicted, an accelerator that holds nothing: between two calls of a kernel others run."""
        branch.reset(self.emulator.branches)
        memory, flash = self.emulator.memory.state, self._region("flash")
        if flash.code_lines <= 0:
            return
        empty_code_lines(CodeLines(memory, flash.code_line_store), flash.code_lines)
        flash.current_line = flash.prefetched_line = memory.last_block = -1
        memory.free_code_low = memory.free_code_high = 0

    def _runs(self) -> Any:
        return self.emulator.tables.block_records["runs"].copy()

    def _count(self, kind: str, places: Any, g: Any, sizes: dict[str, int]) -> Any:
        from mcusim.memory.system import MemorySystem

        inputs = [address for address in places.inputs if address]
        call = empty_call([(address, sizes[f"input{n}"]) for n, address in enumerate(inputs)])
        fitted.describe(call, g, whole(g), sizes)
        call.filter, call.output, call.bias = places.filter, places.outputs[0], places.bias
        call.multiplier, call.shift, call.scratch = places.multiplier, places.shift, places.scratch
        call.structure, call.plays = places.call, self.areas is APART
        call.splits_words, call.bytewise = self.core == "cortex-m4", self.kernels.name == "cmsis-nano"
        memory = MemorySystem(self.machine)
        call.memory = memory.state
        fitted.nest(kind)(call)
        played = {
            n: (r["reads"], r["writes"], r["read_bytes"], r["write_bytes"]) for n, r in memory.by_region().items()
        }
        return call.levels.table(LEVELS)["count"].copy(), played
