"""The Cortex-M7 half of ``cmsis-2021-gcc9``: what the 2021 binary executes, at the pace our kernels have on the M7.

The kernels of :data:`OWN` are left as they are in the file: their levels were fitted to the binary's own code, put
together from the listing in its repository (not part of this one) and run on the emulated Cortex-M7. For the others:

The binary's instructions were counted (on the TinyOps firmware: per operator type on the Cortex-M4, in all on the M7);
as a whole it cannot be run here. The pace, cycles an instruction, is that of kernel set ``cmsis-nano``, which has the
same technique, on the emulated Cortex-M7: over all operators of a variant in the network that was counted. A Cortex-M4
cost of the profile is cycles by the core's instruction table; divided by the table's cycles an instruction it is
instructions. (Dividing by what our kernels take on the emulated M4 instead would mix two bases: that core has costs,
of alignment above all, that the table does not know.) Variants that were not counted, whose M4 costs are assumed by the
same table, are taken to have the mean of those that were.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path

from micro_cases import cases
from micro_runs import RUNS, Bench

from mcusim.kernels.cost.counted.variants import variant
from mcusim.kernels.cost.profile import LEVELS
from mcusim.model import build, geometry, parse_name

SET, NETWORK = "cmsis-nano", "proxyless-w0.30-r144"
SOURCE = (
    "the Cortex-M4 cost as instructions (counted; table cycles an instruction of the counted network), times the cycles"
    f" an instruction of kernel set {SET} on the emulated Cortex-M7 ({NETWORK}, small shapes for what it has not;"
    " scripts/profiles/fit_profiles)"
)
# millions of cycles by the Cortex-M4's instruction table, and of instructions, as counted on the TinyOps firmware
COUNTED = {
    "pointwise": (8.40 * 3.313 + 3.02 * 10.275, 22.2 + 25.8),
    "conv": (7.10 * 1.680, 9.12),
    "depthwise": (15.09 * 2.673 + 16.12 * 2.416, 30.06 + 26.62),
    "depthwise_3x3": (12.06 * 1.085, 11.54),
    "add": (4.68, 3.71),
}
OWN = ("pointwise", "conv", "depthwise", "depthwise_3x3", "add")
MORE_ON_M7 = 130.0 / 129.1  # instructions of the whole network, the M7's build over the M4's


def pace(core: str) -> dict[str, float]:
    """Cycles an instruction of each variant, in memory that never waits."""
    bench, graph = Bench(core, SET), build(parse_name(NETWORK))
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    small: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    runs = [(op, graph, found) for op in graph.operators]
    runs += [(case.operators[0], case, small) for case in cases("cmsis")]
    for op, model, into in runs:
        g = geometry(model, op)
        if g.types == "int8" and (into is found or variant(g) not in found):
            before = bench.emulator.instructions
            into[variant(g)][0] += bench.run(model, op).cycles
            into[variant(g)][1] += (bench.emulator.instructions - before) / RUNS
    return {kind: cycles / issued for kind, (cycles, issued) in (small | found).items()}


def anchored(path: Path) -> str:
    """The text of the profile with its Cortex-M7 half written again."""
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text)
    seven, (cycles, issued) = pace("cortex-m7"), map(sum, zip(*COUNTED.values(), strict=True))
    by_table = {kind: COUNTED[kind][0] / COUNTED[kind][1] if kind in COUNTED else cycles / issued for kind in LEVELS}
    runtime = text[text.index("[cortex-m7.runtime]") : text.index("[cortex-m7.pointwise]")]
    found = text[: text.index("[cortex-m7]")] + f'[cortex-m7]\nbasis = "emulated"\nsource = "{SOURCE}"\n\n{runtime}'
    tables = []
    for kind, levels in LEVELS.items():
        if kind not in data["cortex-m4"]:
            continue  # a variant that this profile has no costs of
        if kind in OWN:
            start = text.index(f"[cortex-m7.{kind}]")
            tables.append(text[start : text.index("\n[", start) + 1])
            continue
        ratio = MORE_ON_M7 * seven[kind] / by_table[kind]
        lines = [f"[cortex-m7.{kind}] # x {ratio:.3f}"]
        lines += [f"{level} = {data['cortex-m4'][kind][level] * ratio:.3f}" for level in levels]
        tables.append("\n".join(lines) + "\n")
    return found + "\n".join(tables)
