"""Simulations whose traces are read back: both fidelities, every policy, boards with and without a data cache."""

from __future__ import annotations

from functools import cache

import pytest

from mcusim import simulate
from mcusim.engine.run import Run
from mcusim.results import Result

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
POLICIES = ("internal", "external", "tinyops")
ROWS = [
    *(("ds-cnn", machine, policy, "replay") for machine in (F746, F469) for policy in POLICIES),
    *(("figure-1", F469, policy, "emulate") for policy in POLICIES),
    ("cifar10-arm", F746, "tinyops", "emulate"),
    ("mbv3-w0.40-r096", F469, "tinyops", "replay"),
    ("cifar10-arm", "nucleo-h743zi", "internal", "replay"),
]
rows = pytest.mark.parametrize("row", ROWS, ids="-".join)


@cache
def traced(row: tuple[str, str, str, str]) -> tuple[Result, Run]:
    model, machine, policy, fidelity = row
    result = simulate(model, machine, policy, fidelity=fidelity)
    assert result.run is not None
    return result, result.run
