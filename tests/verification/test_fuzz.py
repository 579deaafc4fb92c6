"""Seeds of disturbances: a correct program gives the same outputs under all of them, a broken one is found out."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from multiprocessing import active_children

import pytest

from mcusim.errors import ProgramError, UsageError
from mcusim.kernels.kernel_set import load_set
from mcusim.plan import plan
from mcusim.program.program import Compute, Transfer
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.equivalence import first_difference
from mcusim.verification.fuzz import fuzz
from mcusim.verification.verification import SeedOutcome
from mcusim.verification.verified_emulation import Emulation, Outputs
from tests.support.cases import only_with_all_cases, sample_size, sampled
from tests.support.programs.plans import DISCOS, board, model
from tests.support.programs.program_faults import with_tasks

F746 = DISCOS[1]


@cache
def emulation(name: str, machine: str) -> Emulation:
    graph, kernels = model(name), load_set("cmsis")
    program = plan(graph, board(machine), "tinyops", kernels)
    return Emulation(program, board(machine), graph, kernels, random_inputs(graph), sanitize="report")


@cache
def undisturbed(name: str, machine: str) -> Outputs:
    return emulation(name, machine).run().outputs


@pytest.mark.parametrize("machine", sampled(DISCOS, 1))
def test_every_seed_gives_the_same_outputs(machine: str) -> None:
    seeds = range(1, 1 + sample_size(5, 2))
    outcomes = fuzz(emulation("ds-cnn", machine), seeds, undisturbed("ds-cnn", machine), processes=1)
    assert outcomes == [SeedOutcome(seed) for seed in seeds]


@only_with_all_cases
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize("name", ["vww_96_int8", "kws_ref_model"])
def test_the_same_outputs_of_larger_networks(name: str, machine: str) -> None:
    """A sample: scripts/evidence/fuzz_seeds runs 200 seeds, and counts how many a missing wait takes to be noticed."""
    outcomes = fuzz(emulation(name, machine), range(1, 9), undisturbed(name, machine))
    assert outcomes == [SeedOutcome(seed) for seed in range(1, 9)]  # the sanitizer saw nothing either


def broken() -> Emulation:
    """A kernel call that does not wait for its shifts: they come in time unless something holds them up."""
    good = emulation("ds-cnn", F746)
    tasks = {t.id: t for t in good.program.tasks}
    call = next(t for t in good.program.tasks if isinstance(t, Compute) and t.operator == 1)
    shifts = max(n for n in call.after if isinstance(t := tasks[n], Transfer) and t.kind == "shift")
    waits = replace(call, after=tuple(n for n in call.after if n != shifts))
    return replace(good, program=with_tasks(good.program, {call.id: waits}))


@only_with_all_cases
def test_a_broken_program_fails_under_some_seeds_which_replay_alone() -> None:
    program, good = broken(), undisturbed("ds-cnn", F746)
    assert first_difference(program.program, program.graph, program.run().outputs, good) is None
    outcomes = fuzz(program, range(1, 7), good, processes=1)
    failed = [o for o in outcomes if o.failed]
    assert 0 < len(failed) < len(outcomes)
    for outcome in failed:
        assert outcome.difference is not None and outcome.difference.operator == 1
        assert "operator 1 DEPTHWISE_CONV_2D, tile 1 of 2: row 0" in outcome.text()
    assert fuzz(program, [failed[-1].seed], good) == failed[-1:]


@only_with_all_cases
def test_the_number_of_processes_changes_nothing() -> None:
    program, good, seen = broken(), undisturbed("ds-cnn", F746), list[object]()
    several = fuzz(program, range(1, 7), good, processes=2, progress=seen.append)
    assert several == seen == fuzz(program, range(1, 7), good, processes=1)


def test_a_fault_under_a_seed_is_a_failure() -> None:
    """A kernel that is stopped for its length does not end the fuzzing."""
    short = replace(emulation("ds-cnn", F746), most_instructions=1000)
    outcomes = fuzz(short, [1, 2], {}, processes=1)
    assert [o.failed for o in outcomes] == [True, True]
    assert "1,000 instructions" in outcomes[0].text()


def test_an_error_of_a_process_is_raised_here() -> None:
    with pytest.raises(ProgramError, match="another model"):
        fuzz(replace(emulation("ds-cnn", F746), graph=model("figure-1")), [1, 2], {}, processes=2)


@only_with_all_cases
def test_a_process_that_dies_is_an_error_and_no_hang() -> None:
    def kill(_: object) -> None:
        for process in active_children():
            process.kill()

    program, good = emulation("ds-cnn", F746), undisturbed("ds-cnn", F746)
    with pytest.raises(UsageError, match="a process of the fuzzing was killed"):
        fuzz(program, range(1, 40), good, processes=2, progress=kill)
