"""Proof, run, comparison and seeds put together: what is a finding, what a note, what an error."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from mcusim.errors import UsageError
from mcusim.kernels.kernel_set import load_set
from mcusim.plan import plan
from mcusim.program.program import Compute, Program, Transfer
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.table import verification_table
from mcusim.verification.verification import Verification
from mcusim.verification.verified_emulation import Emulation
from mcusim.verification.verifier import Verifier
from tests.support.cases import only_with_all_cases
from tests.support.programs.plans import DISCOS, board, model
from tests.support.programs.program_faults import with_tasks

F746 = DISCOS[1]


@cache
def planned() -> Program:
    return plan(model("ds-cnn"), board(F746), "tinyops", load_set("cmsis"))


def emulation(program: Program, **changes: object) -> Emulation:
    graph = model("ds-cnn")
    found = Emulation(program, board(F746), graph, load_set("cmsis"), random_inputs(graph), sanitize="report")
    return replace(found, **changes)  # type: ignore[arg-type]


def verifier(program: Program, **changes: object) -> Verifier:
    return Verifier(program, board(F746), lambda: emulation(program, **changes))


def text(result: Verification) -> str:
    return " ".join(verification_table(result).split())


def broken(kind: str, operator: int = 1) -> tuple[Program, int, int]:
    """The first call of an operator does not wait for its transfer of that kind: program, transfer, call."""
    tasks = {t.id: t for t in planned().tasks}
    call = next(t for t in planned().tasks if isinstance(t, Compute) and t.operator == operator)
    moved = max(n for n in call.after if isinstance(t := tasks[n], Transfer) and t.kind == kind)
    waits = replace(call, after=tuple(n for n in call.after if n != moved))
    return with_tasks(planned(), {call.id: waits}), moved, call.id


def test_a_kernel_fault_is_a_finding_of_the_run() -> None:
    result = verifier(planned(), most_instructions=1000).verify()
    [found] = result.findings
    assert (found.found_by, found.finding.rule) == ("run", "kernel-fault")
    first = next(t for t in planned().tasks if isinstance(t, Compute))
    assert found.finding.tasks == (first.id,)
    assert found.finding.low < found.finding.high
    data = found.to_json()
    assert (data["operator"], data["tile"]) == (0, 0) and data["pc"] and "1,000 instructions" in data["text"]
    assert result.ran is not None and result.ran["cycles"] is None
    assert result.untiled is not None and result.untiled.equal is None
    assert result.wrong == ["1 finding"]
    assert "did not end" in text(result) and "kernel-fault: a compiled kernel broke a rule" in text(result)


def test_what_cannot_run_is_an_error_where_the_proof_is_clean_and_a_note_where_it_is_not() -> None:
    with pytest.raises(UsageError, match="no region 'moon'"):
        verifier(planned(), code="moon").verify()
    program, moved, call = broken("shift")
    result = verifier(program, code="moon").verify()
    assert [f.finding.tasks for f in result.findings] == [(moved, call)]
    assert len(result.notes) == 1 and result.notes[0].startswith("not run: ") and "moon" in result.notes[0]
    assert result.to_json()["run"] is None


@only_with_all_cases
def test_a_finding_of_seeds_is_listed_once_with_the_first_of_them() -> None:
    """The shifts of an operator come in time but under some seeds; the sanitizer sees it there, and only there."""
    program, moved, call = broken("shift")
    work = verifier(program)
    alone = work.verify()
    assert [(f.found_by, f.finding.tasks) for f in alone.findings] == [("proof", (moved, call))]
    assert alone.untiled is not None and alone.untiled.equal
    result = work.fuzz(alone, range(1, 7), processes=1)
    assert result.fuzzed is not None
    seen = [f for f in result.findings if f.found_by == "sanitizer"]
    assert [(f.finding.rule, f.finding.tasks) for f in seen] == [("unordered", (moved, call))]
    failed = [outcome.seed for outcome in result.fuzzed.failed]
    assert "seeds 1 to 6: " in text(result)
    assert 0 < len(failed) < 6 and seen[0].seed is not None and seen[0].seed <= failed[0]
    assert seen[0].to_json()["seed"] == seen[0].seed
    assert f"found by: sanitizer, seed {seen[0].seed}" in text(result)
    assert (
        f"{len(failed)} failed, in addition to the undisturbed run; --fuzz 1 --seed {failed[0]} replays the first"
        in text(result)
    )
    assert result.wrong[-1].startswith(f"seed{'s' if len(failed) > 1 else ''} {failed[0]}")


def test_a_program_that_is_not_run_is_not_fuzzed() -> None:
    work = Verifier(planned(), board(F746), None, ["no model"])
    result = work.fuzz(work.verify(), range(1, 4))
    assert (result.fuzzed, result.ran, result.wrong, list(result.notes)) == (None, None, [], ["no model"])


def test_the_table_fits_a_terminal() -> None:
    program, *_ = broken("filter")
    lines = verification_table(verifier(program).verify()).splitlines()
    assert max(map(len, lines)) <= 80
