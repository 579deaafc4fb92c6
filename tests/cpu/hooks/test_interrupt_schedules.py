"""Interrupts at random moments leave the program's state as it would have been, and cost the same however it is cut.

``scripts/evidence/firmware/random_schedules`` runs 10,000 such programs.
"""

from __future__ import annotations

import pytest

from tests.support.cases import few
from tests.support.code.random_thumb import MACHINES
from tests.support.programs.schedules import Bench, case_of

PROGRAMS = 12


@few(1)
@pytest.mark.parametrize("isa", list(MACHINES))
def test_interrupts_leave_what_two_threads_leave(isa: str) -> None:
    bench = Bench(isa)
    for number in range(PROGRAMS):
        bench.check(case_of(1, number, 14))
    assert max(bench.depths) > 4  # nested so deep
    assert all(bench.taken.values())
