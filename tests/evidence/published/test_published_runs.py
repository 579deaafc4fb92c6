"""The published rows, and the run that represents each."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import Any

import pytest

from mcusim.evidence.published import runs as published_runs
from mcusim.evidence.published import same_experiment as experiment
from mcusim.evidence.published.rows import memory_rows, rows
from mcusim.evidence.published.runs import published
from mcusim.evidence.published.stored import FIGURES
from mcusim.evidence.published.table_cases import tinyops_cases
from mcusim.kernels import profile_names
from mcusim.kernels.kernel_set import set_names
from mcusim.kernels.test_programs import FOLDER
from mcusim.machine import load_machine, machine_names
from mcusim.model import zoo_names
from mcusim.model.zoo import parse_name
from tests.support.boards.sdram_measurements import READS, WRITES


def test_every_number_occurs_once_with_one_run() -> None:
    found = published()
    numbers = Counter(published_runs._number(one.row) for one in found)
    assert set(numbers.values()) == {1}
    every = (*rows(), *memory_rows())
    assert {published_runs._number(row) for row in every} == set(numbers)
    assert all(any(one.row is row for one in found) for row in every if row["use"] != "duplicate")
    assert [one.row for one in found[-10:]] == list(memory_rows())


def test_a_number_printed_twice_is_the_same_number_and_names_both_tables() -> None:
    duplicates = [row for row in rows() if row["use"] == "duplicate"]
    assert len(duplicates) == 12
    by_number = {published_runs._number(one.row): one for one in published()}
    for row in duplicates:
        one = by_number[published_runs._number(row)]
        twice = row["quantity"] in ("latency", "supply_current", "energy")
        assert (one.row["value"], one.row["unit"]) == (row["value"], row["unit"])
        assert one.tables == (("Table 2", "Table 3") if twice else ("Table 2",))
        assert one.use == "calibrate"  # so is the rest of that experiment


def test_a_row_has_one_use_and_table_3_calibrates() -> None:
    uses = Counter(one.use for one in published())
    assert uses == {"validate": 73, "calibrate": 44, "context": 9}
    assert all(one.use == "calibrate" for one in published() if "Table 3" in one.tables)
    arenas = [one for one in published() if one.row["quantity"] == "arena"]
    assert len(arenas) == 11 and all(one.use == "calibrate" for one in arenas)  # they show the explicit PADs
    assert all(one.use == one.row["use"] for one in published() if one.row["use"] != "duplicate")


@pytest.mark.parametrize("one", published(), ids=lambda one: f"{one.row['model']}-{one.row['quantity']}")
def test_a_run_names_what_there_is(one: Any) -> None:
    run = one.run
    assert (one.row["quantity"], one.row["unit"]) in FIGURES
    if run.cannot is not None:
        assert one.use == "context" and run.command == ""
        return
    assert run.why and run.fidelity in ("replay", "emulate", "plan")
    zoo = run.sha256 is None and not run.function
    assert (parse_name(run.model) is not None) if zoo else run.model.endswith((".tflite", ".elf"))
    if run.fidelity == "plan":
        assert (run.machine, run.policy, run.kernels) == ("", "", "")
        return
    assert run.machine in machine_names()
    assert run.machine == one.row["board"].lower()
    assert load_machine(run.machine, dict(run.changes)).core.clock == 1e6 * float(one.row["clock_mhz"])
    if run.function:
        assert one.use == "calibrate" and (FOLDER / run.model).is_file()
        return
    assert run.kernels in (profile_names() if run.fidelity == "replay" else set_names())


def test_the_command_of_a_run_is_its_name() -> None:
    runs = {one.run for one in published() if one.run.cannot is None}
    assert len({run.command for run in runs}) == len(runs) == 49
    for run in runs:
        for step in run.command.split(" && "):
            words = shlex.split(step)
            assert words[:2] in [["mcusim", name] for name in ("run", "memory", "reorder", "emulate")]


def test_tinyops_rows_are_run_as_compare_does() -> None:
    """The same machine, kernels and SRAM as in the tables of ``mcusim compare``."""
    runs = {(run.model, run.machine, run.policy): run for run in (one.run for one in published())}
    for case in (*tinyops_cases(2), *tinyops_cases(3)):
        run = runs[str(case.model), str(case.machine), case.settings.policy]
        assert (run.kernels, run.fidelity) == (
            case.settings.kernels.name,
            case.settings.fidelity,
        ) and run.order == "default"
        expected = None if run.policy == "external" else case.settings.options.sram_budget  # it uses none of it
        assert run.sram_budget == expected


def test_model_files_are_those_that_other_commands_know() -> None:
    known = {f"{name}.tflite": sha256 for name, sha256 in experiment._FILES.items()}
    named = {one.run.model: one.run.sha256 for one in published() if one.run.sha256}
    assert {name: named[name] for name in known} == known
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in named.values())


def test_memory_micro_benchmarks_are_those_of_the_other_tests() -> None:
    values = {(row["model"], row["placement"]): float(row["value"]) for row in memory_rows()}
    for kind, published_ in (("read", READS), ("write", WRITES)):
        assert {size: values.pop((f"{kind}, {8 * size} bit", "uncached")) for size in published_} == published_
    assert values == {("copy of 1 MiB", "write-back"): 27, ("copy of 1 MiB", "uncached"): 40}
    for one in published():
        if one.run.accesses:
            bits = int(one.run.function.partition("_u")[2])
            assert one.run.accesses == int(one.run.arguments[1]) * 8 // bits and f" {bits} bit" in one.row["model"]


@pytest.mark.parametrize(
    ("rows_", "found"),
    [
        ({"source": "A"}, 1),
        ({"source": "A", "placement": ["internal", "external"]}, 1),
        ({"source": "A", "placement": "tinyops"}, 0),
        ({"source": ["B"]}, 0),
    ],
)
def test_a_run_represents_rows_by_their_columns(rows_: dict[str, Any], found: int) -> None:
    row = {"source": "A", "placement": "external", "model": next(iter(zoo_names().values()))}
    assert published_runs._belongs(row, rows_) is bool(found)
