"""The Cortex-M7 half of ``cmsis-2021-gcc9``: its counted Cortex-M4 costs times what the M7 makes of kernels like them.

The kernels are those of the set ``cmsis-nano``, which has the same technique, emulated on both cores. The ratio is that
of all cycles of a variant: over the operators of the network that the Cortex-M4 half was counted on, and over small
shapes for variants that it does not have.

The shipped file does not have these figures: with them the latency of TinyOps Table 3 on the STM32F746G-DISCO under
``internal`` is 19.6 % below the published one, and at most 15 % are accepted. It keeps the costs of a static model.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from multiprocessing import Pool
from pathlib import Path

from micro_cases import cases
from micro_runs import Bench

from mcusim.kernels.profile import LEVELS
from mcusim.kernels.variants import variant
from mcusim.model import build, geometry, parse_name

SET, NETWORK = "cmsis-nano", "proxyless-w0.30-r144"
SOURCE = (
    "the Cortex-M4 cost times all cycles of the variant on the Cortex-M7 over those on the Cortex-M4, kernel set"
    f" {SET} emulated ({NETWORK}, small shapes for what it has not; scripts/fit_profiles)"
)


def cycles(core: str) -> dict[str, float]:
    """All cycles of each variant, in memory that never waits."""
    bench, graph = Bench(core, SET), build(parse_name(NETWORK))
    found: dict[str, float] = defaultdict(float)
    for op in graph.operators:
        found[variant(geometry(graph, op))] += bench.run(graph, op).cycles
    small: dict[str, float] = defaultdict(float)
    for case in cases("cmsis"):
        (op,) = case.operators
        g = geometry(case, op)
        if g.types == "int8" and variant(g) not in found:
            small[variant(g)] += bench.run(case, op).cycles
    return found | small


def anchored(path: Path) -> str:
    """The text of the profile with its Cortex-M7 half written anew."""
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text)
    with Pool(2) as pool:
        four, seven = pool.map(cycles, ("cortex-m4", "cortex-m7"))
    runtime = text[text.index("[cortex-m7.runtime]") : text.index("[cortex-m7.pointwise]")]
    found = text[: text.index("[cortex-m7]")] + f'[cortex-m7]\nbasis = "emulated"\nsource = "{SOURCE}"\n\n{runtime}'
    tables = []
    for kind, levels in LEVELS.items():
        ratio = seven[kind] / four[kind]
        lines = [f"[cortex-m7.{kind}] # x {ratio:.3f}"]
        lines += [f"{level} = {data['cortex-m4'][kind][level] * ratio:.3f}" for level in levels]
        tables.append("\n".join(lines) + "\n")
    return found + "\n".join(tables)
