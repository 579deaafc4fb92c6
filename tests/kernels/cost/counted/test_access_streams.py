"""Streams that take fewer steps where weights are cached: they leave the memory as the plain ones do, to the word."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from mcusim.kernels.cost.counted import access_streams as streams
from mcusim.machine import load_machine
from mcusim.memory.state_layout import MemoryState
from mcusim.memory.system import MemorySystem
from tests.support.cases import few

F746 = "stm32f746g-disco"
BEHIND = np.full(16, -5)  # nobody writes there
DTCM, SRAM, SDRAM = 0x2000_0000, 0x2001_0000, 0x6000_0000


def call(kind: str, seed: int) -> streams.CountedCall:
    """Parameters of a random call whose weights the data cache may hold; what else lies there is random too."""
    rng = np.random.default_rng(seed)
    p = streams.CountedCall(np.concatenate((streams.empty_call().array, BEHIND)))
    p.zero(streams.CountedCall.hints, streams.CountedCall.operand_hints)
    kernel, height, width = (1 if kind == "pointwise" else int(rng.choice([3, 5]))), *map(int, rng.integers(2, 6, 2))
    depth = int(rng.integers(1, 90))
    channels = int(rng.integers(1, 40)) if kind == "pointwise" else depth
    p.in_h, p.in_w, p.in_c, p.out_w, p.out_c = height, width, depth, width, channels
    p.kernel_h = p.kernel_w = kernel
    p.stride_h = p.stride_w = p.dilation_h = p.dilation_w = 1
    p.pad_top = p.pad_left = kernel // 2
    p.first_row, p.rows, p.first_input_row, p.input_size = 0, height, 0, height * width * depth
    p.input = DTCM if rng.random() < 0.7 else SRAM + 0x20000
    p.filter = rng.choice([SRAM, SRAM + 4 * int(rng.integers(64)), SDRAM + 1, DTCM + 0x8000])
    p.output, p.scratch = SDRAM + 0x10000, rng.choice([SRAM + 0x10000, DTCM + 0x4000])
    p.bias, p.multiplier, p.shift = SRAM + 0x8000, DTCM + 0x9000, SRAM + 0x9004
    parts = ("block", "rest", "sum", "copy", "zero", "output")
    streams.set_gaps(p, dict(zip(parts, map(int, rng.integers(0, 3000, 6)), strict=True)))
    return p


def plain(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Nothing is known to be cached or tightly coupled from now on."""
    for name in ("cached_range", "coupled_range"):
        monkeypatch.setattr(module, name, lambda *_: -1)
    for name in ("parameter", "parameters", "taps_of_column", "taps_of_pixel"):
        monkeypatch.setattr(module, name, getattr(module, name).py_func)


@few(12)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["pointwise", "depthwise", "depthwise_direct"])
@pytest.mark.parametrize("cache", ["replacement=lru", "replacement=random", "replacement=round-robin", "line=4 B"])
def test_fewer_steps_leave_the_same_memory(kind: str, seed: int, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key, value = cache.split("=")
    machine = load_machine(F746, {f"cache.data.{key}": value})
    fewer, more = MemorySystem(machine).state, MemorySystem(machine).state
    p = call(kind, seed)
    p.memory = fewer
    for _ in range(2):
        getattr(streams, kind)(p)
    plain(monkeypatch, streams)
    p.memory = more
    for _ in range(2):
        getattr(streams, kind).py_func(p)
    for state in (fewer, more):
        state.zero(MemoryState.recent_lines, MemoryState.recent_lines)  # only where lines are looked for first
    assert (fewer.array == more.array).all()
    assert fewer.misses and (fewer.hits or key == "line")
    assert (p.array[-len(BEHIND) :] == BEHIND).all()
