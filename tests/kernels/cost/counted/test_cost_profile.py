"""The cost profile and the access streams against counts of the real firmware, and its error texts.

The counts are those of the public TinyOps firmware (CMSIS-NN of 2021, GCC 9.3 -Ofast) on proxyless-w0.30-r144 under
emulation: 21.44 M MACs, cycles in an ideal memory by the Cortex-M4 TRM.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from mcusim.engine.core_model import ReplayCore
from mcusim.engine.execute import code_address
from mcusim.engine.system import System
from mcusim.errors import UsageError
from mcusim.kernels import load_profile
from mcusim.kernels.cost.counted.loop_counts import compute_cycles, counts, per_call
from mcusim.kernels.cost.counted.variants import scratch_bytes, variant
from mcusim.kernels.cost.profile import FOLDER
from mcusim.machine import load_machine
from mcusim.memory.state_layout import RegionState
from mcusim.model import geometry, load_model
from mcusim.model.geometry import Geometry, Tile, whole
from mcusim.plan import PlanOptions, plan
from mcusim.plan.overlay.tiling import partition, smallest_factor

NETWORK = "proxyless-w0.30-r144"
# cycles per MAC in an ideal memory (ADD: millions of cycles in all)
COUNTED = {
    "conv": 7.10,
    "pointwise < 16": 8.40,
    "pointwise >= 16": 3.02,
    "depthwise 3": 12.06,
    "depthwise 5": 15.09,
    "depthwise 7": 16.12,
}


def group(g: Geometry) -> str:
    kind = variant(g)
    if kind == "pointwise":
        return "pointwise < 16" if g.in_c < 16 else "pointwise >= 16"
    if kind.startswith("depthwise"):
        return f"depthwise {g.kernel_h}"
    return kind


def grouped() -> dict[str, list[Geometry]]:
    graph = load_model(NETWORK)
    groups: dict[str, list[Geometry]] = {}
    for op in graph.operators:
        g = geometry(graph, op)
        groups.setdefault(group(g), []).append(g)
    return groups


def counted_tiles(g: Geometry) -> tuple[Tile, ...]:
    """The kernel calls of the counted run: TinyOps tiles in buffers of 50,112 B (RESHAPE is not partitioned)."""
    row = g.in_w * g.in_c
    return (whole(g),) if g.type == "RESHAPE" else partition(g, smallest_factor(g, row, 50_112) or g.in_h)


@pytest.mark.parametrize("name", COUNTED)
def test_cycles_per_mac_by_operator_type(name: str) -> None:
    costs = load_profile().core("cortex-m4")
    operators = grouped()[name]
    cycles = sum(compute_cycles(g, tile, costs) for g in operators for tile in counted_tiles(g))
    assert cycles / sum(g.macs for g in operators) == pytest.approx(COUNTED[name], rel=0.02)


def test_cycles_of_all_adds() -> None:
    costs = load_profile().core("cortex-m4")
    assert sum(compute_cycles(g, whole(g), costs) for g in grouped()["add"]) == pytest.approx(4.68e6, rel=0.02)


def test_padding_cleared_by_memset() -> None:
    """2.76 MB zeroed per inference, all of it by the depthwise kernels with im2col and the first convolution."""
    zeroed = sum(counts(g, g.out_h).get("zero", 0) for operators in grouped().values() for g in operators)
    assert zeroed == pytest.approx(2.76e6, rel=0.01)


@pytest.mark.parametrize(("lines", "misses"), [(8, 1.84e6), (16, 1.61e6)])
def test_weight_reads_miss_the_flash_data_lines_as_counted(lines: int, misses: float) -> None:
    """Weights walk channels: the accelerator's 8 data lines thrash on the 5x5 and 7x7 depthwise kernels.

    With a single line the loads of two streams evict each other word by word, which turns of 32 bytes do not show.
    """
    system = played({"memory.flash.accelerator.data_lines": str(lines)})
    assert system.memory.counters()["flash_data_misses"] == pytest.approx(misses, rel=0.05)


def test_loads_and_stores_as_counted() -> None:
    """Counted: 6.2 M weight loads of 16.0 MB, 8.9 M arena loads, 5.6 M stores that are not the stack's."""
    memory = played({}).memory
    block = {
        region.name: RegionState(memory.state, memory.first_block + i * RegionState.WORDS)
        for i, region in enumerate(memory.regions)
    }
    fetches = memory.counters()["flash_fetch_misses"]
    sram = [block[name] for name in ("sram1", "sram2", "sram3")]
    assert block["flash"].reads - fetches == pytest.approx(6.2e6, rel=0.05)
    assert block["flash"].read_bytes - 16 * fetches == pytest.approx(16.0e6, rel=0.1)
    assert sum(b.reads for b in sram) == pytest.approx(8.9e6, rel=0.05)
    assert sum(b.writes for b in sram) == pytest.approx(5.6e6, rel=0.05)


def played(overrides: dict[str, str]) -> System:
    """The network under ``internal`` on the board, with the memory system's counters at hand."""
    machine = load_machine("stm32f469i-disco", overrides)
    profile = load_profile()
    program = plan(load_model(NETWORK), machine, "internal", profile, PlanOptions())
    system = System(program, machine, ReplayCore(profile, machine, code_address(machine)))
    system.play()
    return system


@pytest.mark.parametrize("name", [NETWORK, "ds-cnn", "cifar10-arm", "mobilenet-v2-w0.35-r064"])
@pytest.mark.parametrize("isa", ["cortex-m4", "cortex-m7"])
def test_tiles_sum_to_the_operator(name: str, isa: str) -> None:
    costs = load_profile().core(isa)
    graph = load_model(name)
    for op in graph.operators:
        g = geometry(graph, op)
        cuts = sorted({0, g.out_h // 3, g.out_h // 2, g.out_h})
        parts = [Tile(a, b - a, 0, g.in_h) for a, b in pairwise(cuts)]
        again = sum(n * costs.levels[variant(g)][level] for level, n in per_call(g).items()) // 1000
        cycles = sum(compute_cycles(g, part, costs) for part in parts)
        assert cycles == compute_cycles(g, whole(g), costs) + (len(parts) - 1) * again
        assert (again > 0) == (variant(g) == "pointwise"), "arm_nn_mat_mult_nt_t_s8 sums its weights in every call"


def test_scratch_follows_cmsis_nn() -> None:
    """CMSIS-NN: two q15 columns of the window for a convolution, one over all channels for a depthwise one."""
    conv = Geometry("CONV_2D", 1, 32, 32, 3, 32, 32, 32, kernel_h=5, kernel_w=5, pad_top=2, pad_bottom=2)
    depthwise = Geometry("DEPTHWISE_CONV_2D", 1, 10, 10, 24, 10, 10, 24, kernel_h=5, kernel_w=5, pad_top=2)
    pointwise = Geometry("CONV_2D", 1, 10, 10, 24, 10, 10, 48)
    pooled = Geometry("AVERAGE_POOL_2D", 1, 5, 5, 320, 1, 1, 320, kernel_h=5, kernel_w=5)
    assert scratch_bytes(conv) == 2 * 5 * 5 * 3 * 2
    assert scratch_bytes(depthwise) == 5 * 5 * 24 * 2
    assert scratch_bytes(pointwise) == 0
    assert scratch_bytes(pooled) == 320 * 4


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(UsageError, match="no kernel profile named 'cmsis-2021-gcc8'; did you mean 'cmsis-2021-gcc9'"):
        load_profile("cmsis-2021-gcc8")


@pytest.mark.parametrize(
    ("find", "replacement", "text"),
    [
        ("[cortex-m4.add]\nelement = 103.3", "", r"table \[cortex-m4.add\] is missing"),
        ("mac = 8.32", "mac = -1", "cortex-m4.depthwise_3x3.mac = -1: a number of at least 0"),
        ("mac = 8.32", 'mac = "fast"', "cortex-m4.depthwise_3x3.mac = 'fast'"),
        ("mac = 8.32", "mac = 8.32\nmca = 1", "unknown key cortex-m4.depthwise_3x3.mca"),
        ("[memory]", 'set = "arm"\n[memory]', 'set = "arm": known are cmsis, cmsis-2020, '),
        ("[memory]", "technique = 1\n[memory]", "technique = 1: known are cmsis, reference"),
        ("[memory]", "[memroy]", "unknown key 'memroy'"),
        ("[memory]", "[memory", "cannot be read"),
    ],
)
def test_a_broken_profile_says_where(tmp_path: Path, find: str, replacement: str, text: str) -> None:
    good = (FOLDER / "cmsis-2021-gcc9.toml").read_text()
    assert find in good
    path = tmp_path / "mine.toml"
    path.write_text(good.replace(find, replacement, 1))
    with pytest.raises(UsageError, match=text):
        load_profile(str(path))
