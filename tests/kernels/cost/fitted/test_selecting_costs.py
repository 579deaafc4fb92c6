"""Fitted costs of operators that select, reorder, compare and normalise elements, and of TRANSPOSE_CONV."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import mcusim
from mcusim.kernels.cost.fitted.kinds import KINDS
from mcusim.kernels.cost.profile import load_profile
from mcusim.machine.cores import CORES
from mcusim.model import geometry
from tests.support.paths import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts" / "profiles"))
import selecting_cases as S
from micro_cases import Maker
from micro_runs import Bench

from tests.support.cases import only_with_all_cases

NEW = 1000  # seeds from here on were not fitted to


@only_with_all_cases
@pytest.mark.parametrize("core", CORES)
def test_costs_hold_for_shapes_that_they_were_not_fitted_to(core: str) -> None:
    """All within a factor of 1.5, which is what a replay may differ by, half of them within 10 %."""
    bench, costs = Bench(core, "reference"), load_profile("reference-gcc12").core(core)
    ratios: list[float] = []
    for kind, shapes, _, types in S.CASES:
        for dtype in types:
            for seed in range(NEW, NEW + 2):
                graph = shapes(Maker(kind, dtype, seed))
                one = bench.run(graph, graph.operators[0], seed)
                cost = np.array([costs.fitted[one.kind].levels[name][:2] for name in KINDS[one.kind].levels])
                counts = one.counts[: len(cost)]
                ratios.append(float(counts @ (cost[:, 0] + cost[:, 1]) / (one.cycles + one.fetch)))
                most = 2 if KINDS[one.kind].nest == "compared" else 1.5  # how often a larger one is found is data
                assert 1 / most < ratios[-1] < most, (kind, dtype, seed, ratios[-1])
    assert np.median(np.abs(np.log(ratios))) < 0.1


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
@pytest.mark.parametrize(
    ("kind", "shapes", "dtype"), [("TRANSPOSE_CONV", S.transpose_conv, "uint8"), ("SPLIT_V", S.split_v, "int8")]
)
def test_every_policy_plans_and_replays_as_it_emulates(policy: str, kind: str, shapes: Any, dtype: str) -> None:
    graph = shapes(Maker(kind, dtype, NEW))
    cycles = []
    for fidelity, kernels in (("replay", "reference-gcc12"), ("emulate", "reference")):
        found = mcusim.simulate(graph, "stm32f469i-disco", policy, kernels=kernels, fidelity=fidelity)
        assert found.run is not None
        cycles.append(found.run.cycles)
    assert 1 / 1.5 < cycles[0] / cycles[1] < 1.5


def test_a_large_map_has_no_more_rows_than_a_geometry_may_have() -> None:
    """ARG_MAX of 513 x 513 classes, as deeplabv3 ends, was refused when its program was checked."""
    m = Maker("ARG_MAX", "uint8", 0)
    graph = m.graph([m.add((1, 513, 513, 21)), m.add((1,), 1.0, "int32", [3])], {"output_type": 4}, dtype="int64")
    g = geometry(graph, graph.operators[0])
    assert max(g.in_h, g.in_w, g.out_h, g.out_w) <= 1 << 16 and g.out_c == 513 * 513
