"""Faults put into correct programs at random: those that change an output under some timing are diagnosed.

Whether a fault does harm is decided by running the program under many orders and two behaviours of the cache
(``overlay_model``), which knows nothing of the proof.
"""

from __future__ import annotations

import pytest

from mcusim.program.program import Program, Span
from mcusim.verification.proof import prove
from tests.support.cases import only_with_all_cases, sampled
from tests.support.programs.overlay_model import results
from tests.support.programs.plans import DISCOS, board, calls, planned
from tests.support.programs.program_faults import faults

SLOW = ("ds-cnn", "figure-1", "cifar10-arm", "vww_96_int8", "pretrainedResnet_quant", "mobilenet-v1-w0.25-r096")


def outputs(program: Program) -> list[Span]:
    last = program.header.operators[-1].index
    return [o.span for c in calls(program) if c.operator == last for o in c.operands if o.role == "output"]


def undiagnosed(name: str, machine: str, count: int) -> tuple[int, list[str]]:
    """How many of ``count`` faults do harm, and those of them without the right diagnosis."""
    program, target = planned(name, machine, "tinyops"), board(machine)
    spans, harmful, missed = outputs(program), 0, []
    for number, fault in enumerate(faults(program, count, f"{name} {machine}")):
        good = results(spans, program, [fault.program], target)
        assert len(good) == 1, "a correct program computes one thing"
        if results(spans, fault.program, [program], target) == good:
            continue
        harmful += 1
        found = prove(fault.program, target)
        if not any(fault.right(finding) for finding in found):
            missed.append(f"{number}: {fault.name}: {[(f.rule, f.tasks) for f in found][:4]}")
    return harmful, missed


@pytest.mark.parametrize("machine", sampled(DISCOS, 1))
def test_harmful_faults_are_diagnosed(machine: str) -> None:
    harmful, missed = undiagnosed("ds-cnn", machine, 30)
    assert harmful >= 15
    assert not missed


@only_with_all_cases
def test_harmful_faults_in_six_networks_are_diagnosed() -> None:
    harmful, missed = 0, []
    for number, (name, machine) in enumerate((n, m) for n in SLOW for m in DISCOS):
        some, without = undiagnosed(name, machine, 42 - number % 3 // 2)  # 500 in all
        harmful += some
        missed += [f"{name} {machine} {text}" for text in without]
    assert harmful >= 250
    assert len(missed) <= harmful // 100, missed
