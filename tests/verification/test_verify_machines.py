"""What a machine's data cache has to do with it: SDRAM as Device memory against SDRAM that is written back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from mcusim.kernels.kernel_set import load_set
from mcusim.machine import Machine, load_machine
from mcusim.plan import plan
from mcusim.program.program import Maintain, Program
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.proof import prove
from mcusim.verification.verification import Verification
from mcusim.verification.verified_emulation import Emulation
from mcusim.verification.verifier import Verifier
from tests.support.cases import only_with_all_cases, sampled
from tests.support.programs.plans import DISCOS, board, model
from tests.support.programs.program_faults import faults, with_tasks

F469, F746 = DISCOS
DEVICE = {"memory.sdram.base": "0xC0000000"}  # the default map makes it Device
OF_CACHES = {"missing-clean", "missing-invalidate", "dirty-target", "shared-line"}
KINDS = ("device", "write-back")


@cache
def machine(kind: str) -> Machine:
    return load_machine(F746, DEVICE if kind == "device" else {})


def planned(kind: str, name: str = "ds-cnn") -> Program:
    return plan(model(name), machine(kind), "tinyops", load_set("cmsis"))


def verified(program: Program, target: Machine, name: str = "ds-cnn") -> Verification:
    graph, kernels = model(name), load_set("cmsis")
    emulation = Emulation(program, target, graph, kernels, random_inputs(graph), sanitize="report")
    return Verifier(program, target, lambda: emulation).verify()


def maintained(program: Program) -> list[Maintain]:
    return [task for task in program.tasks if isinstance(task, Maintain)]


def without_maintenance(program: Program) -> Program:
    """What waited for it waits for what it waited for, and for the core's task before it."""
    edges, before = {}, None
    for task in program.tasks:
        edges[task.id] = {*task.after, before} - {None} if task.lane == "core" else set(task.after)
        before = task.id if task.lane == "core" else before
    gone = {task.id for task in maintained(program)}

    def behind(number: int) -> set[int]:
        return {number} if number not in gone else set().union(*map(behind, edges[number]))

    kept = [t for t in program.tasks if t.id not in gone]
    waits = {t.id: replace(t, after=tuple(sorted(set().union(*map(behind, t.after))))) for t in kept}
    return with_tasks(program, {**waits, **dict.fromkeys(gone)})


@only_with_all_cases
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sampled(["ds-cnn", "vww_96_int8"], 1))
def test_planned_programs_are_clean(name: str, kind: str) -> None:
    result = verified(planned(kind, name), machine(kind), name)
    assert result.wrong == []
    assert [a is not None and a.equal for a in (result.untiled, result.litert)] == [True, True]


def test_memory_that_is_not_cached_is_not_maintained() -> None:
    """With the tiles in tightly coupled memory none is; of a larger network those that do not fit there are."""
    assert maintained(planned("device")) == []
    assert {task.span.region for task in maintained(planned("write-back"))} == {"sdram"}
    assert "sdram" not in {task.span.region for task in maintained(planned("device", "vww_96_int8"))}
    assert "sdram" in {task.span.region for task in maintained(planned("write-back", "vww_96_int8"))}


@only_with_all_cases
def test_missing_maintenance_is_found_where_there_is_a_cache() -> None:
    """By the proof and by the sanitizer, and the outputs are wrong. Elsewhere the same program needs none."""
    result = verified(without_maintenance(planned("write-back")), machine("write-back"))
    for found_by in ("proof", "sanitizer"):
        assert {f.finding.rule for f in result.findings if f.found_by == found_by} == {"missing-clean"}
    assert result.untiled is not None and result.untiled.difference is not None
    assert verified(without_maintenance(planned("device")), machine("device")).wrong == []


@only_with_all_cases
def test_a_machine_without_a_cache_has_no_findings_of_caches() -> None:
    """Whatever is wrong with a program, neither the proof nor the sanitizer speaks of a cache."""
    program = plan(model("ds-cnn"), board(F469), "tinyops", load_set("cmsis"))
    assert maintained(program) == []
    rules: dict[str, set[str]] = {"proof": set(), "sanitizer": set()}
    for fault in faults(program, 9, "no cache"):
        if not (proven := prove(fault.program, board(F469))):
            continue
        rules["proof"] |= {finding.rule for finding in proven}
        for found in verified(fault.program, board(F469)).findings:
            rules.setdefault(found.found_by, set()).add(found.finding.rule)
    assert "unordered" in rules["proof"] and "unordered" in rules["sanitizer"]
    assert not OF_CACHES & set().union(*rules.values())
