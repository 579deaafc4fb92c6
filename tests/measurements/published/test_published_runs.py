"""The published rows, and the run that represents each."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import Any

import pytest

from mcusim.api.table_cases import tinyops_cases
from mcusim.api.verify import verify
from mcusim.evidence.validate.validation_runs import PROGRAMS
from mcusim.kernels import profile_names
from mcusim.kernels.kernel_set import load_set, set_names
from mcusim.kernels.test_programs import FOLDER
from mcusim.machine import load_machine, machine_names
from mcusim.machine.cores import CORES
from mcusim.measurements.published import matching as experiment
from mcusim.measurements.published import runs as published_runs
from mcusim.measurements.published.rows import memory_rows, rows
from mcusim.measurements.published.runs import published
from mcusim.measurements.published.stored import FIGURES, stored_rows
from mcusim.model import zoo_names
from mcusim.model.zoo import parse_name
from mcusim.plan import SRAM_BUDGET
from mcusim.program import read_program
from mcusim.program.program import Transfer
from tests.support.boards.sdram_measurements import READS, WRITES
from tests.support.cases import few

STANDS_FOR = {  # of a row whose board is another or not stated
    "NUCLEO-F411RE": "stm32f407g-disc1",
    "STM32F4DISCOVERY": "stm32f407g-disc1",
    "STM32F4x9": "stm32f469i-disco",
    "STM32F7x6-9": "stm32f746g-disco",
    "STM32H743": "nucleo-h743zi",
    "STM32H750": "nucleo-h743zi",
}


def test_every_number_occurs_once_with_one_run() -> None:
    found = published()
    numbers = Counter(published_runs._number(one.row) for one in found)
    assert set(numbers.values()) == {1}
    every = (*rows(), *memory_rows())
    assert {published_runs._number(row) for row in every} == set(numbers)
    assert all(any(one.row is row for one in found) for row in every if row["use"] != "duplicate")
    assert [one.row for one in found[-len(memory_rows()) :]] == list(memory_rows())


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
    assert uses == {"validate": 98, "calibrate": 44, "context": 30}
    assert all(one.use == "calibrate" for one in published() if "Table 3" in one.tables)
    arenas = [one for one in published() if one.row["quantity"] == "arena"]
    assert len(arenas) == 11 and all(one.use == "calibrate" for one in arenas)  # they show the explicit PADs
    assert all(one.use == one.row["use"] for one in published() if one.row["use"] != "duplicate")


@pytest.mark.parametrize("one", published(), ids=lambda one: f"{one.row['model']}-{one.row['quantity']}")
def test_a_run_names_what_there_is(one: Any) -> None:
    run = one.run
    assert (one.row["quantity"], one.row["unit"]) in FIGURES
    if run.cannot is not None:
        assert run.command == "" and (one.use == "context" or one.row["engine"] == "X-CUBE-AI")
        return
    assert run.why and run.fidelity in ("replay", "emulate", "plan")
    zoo = run.sha256 is None and not run.function and not run.tasks
    assert (parse_name(run.model) is not None) if zoo else run.model.endswith((".tflite", ".elf", ".jsonl"))
    if run.fidelity == "plan":
        assert (run.machine, run.policy, run.kernels) == ("", "", "")
        return
    assert run.machine in machine_names()
    board = one.row["board"]
    assert run.machine == STANDS_FOR.get(board, board.lower())
    machine = load_machine(run.machine, dict(run.changes))
    assert machine.core.clock == 1e6 * float(one.row["clock_mhz"])
    if run.tasks:
        assert (run.policy, run.kernels, one.row["quantity"]) == ("", "", "dma")
        return
    if run.function:
        assert one.use == "calibrate" and (FOLDER / run.model).is_file()
        return
    known = profile_names() if run.fidelity == "replay" else set_names()
    assert run.kernels in known or run.own_kernels is not None


def test_the_command_of_a_run_is_its_name() -> None:
    runs = {one.run for one in published() if one.run.cannot is None}
    assert len({run.command for run in runs}) == len(runs) == 76
    for run in runs:
        for step in run.command.split(" && "):
            words = shlex.split(step)
            assert words[:2] in [["mcusim", name] for name in ("run", "memory", "reorder", "emulate", "replay")]


def test_tinyops_rows_are_run_as_compare_does() -> None:
    """The same machine, kernels and SRAM as in the tables of ``mcusim compare``."""
    runs = {(run.model, run.machine, run.policy): run for run in (one.run for one in published())}
    for case in (*tinyops_cases(2), *tinyops_cases(3)):
        run = runs[str(case.model), str(case.machine), case.settings.policy]
        assert (run.kernels, run.fidelity) == (
            case.settings.kernels.name,
            case.settings.fidelity,
        ) and run.order == "default"
        expected = None if run.policy == "external" else case.settings.options[SRAM_BUDGET]  # it uses none of it
        assert SRAM_BUDGET.parse_or_default(dict(run.options).get(SRAM_BUDGET.name)) == expected


def test_model_files_are_those_that_other_commands_know() -> None:
    known = {f"{name}.tflite": sha256 for name, sha256 in experiment._FILES.items()}
    named = {one.run.model: one.run.sha256 for one in published() if one.run.sha256}
    assert {name: named[name] for name in known} == known
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in named.values())


def test_memory_micro_benchmarks_are_those_of_the_other_tests() -> None:
    values = {(r["model"], r["placement"]): float(r["value"]) for r in memory_rows() if r["quantity"] != "dma"}
    for kind, published_ in (("read", READS), ("write", WRITES)):
        assert {size: values.pop((f"{kind}, {8 * size} bit", "uncached")) for size in published_} == published_
    assert values == {("copy of 1 MiB", "write-back"): 27, ("copy of 1 MiB", "uncached"): 40}
    for one in published():
        if one.run.accesses and one.run.function:
            bits = int(one.run.function.partition("_u")[2])
            assert one.run.accesses == int(one.run.arguments[1]) * 8 // bits and f" {bits} bit" in one.row["model"]


def test_transfers_are_counted_in_the_words_bytes_and_bursts_that_were_measured() -> None:
    sizes = {"word": 4, "byte": 1, "64 B": 64}
    found = [one for one in published() if one.run.tasks]
    assert len(found) == 19
    for one in found:
        (task,) = read_program(PROGRAMS / one.run.model).tasks
        assert isinstance(task, Transfer) and one.row["quantity"] == "dma"
        dma = load_machine(one.run.machine, dict(one.run.changes)).dma["dma2"]
        size = sizes[one.row["model"].partition(",")[0]]
        assert (task.source.bytes, task.source.bytes // one.run.accesses) == (task.destination.bytes, size)
        assert size == (dma.beat * dma.burst if size == 64 else dma.beat)
        mode = one.row["model"].removeprefix("word, ").removeprefix("FIFO ")
        assert not one.row["source"].startswith("ziutek") or mode == dma.threshold + ", INC4" * (dma.burst == 4)


def test_errors_of_the_dma_rows() -> None:
    """No figure is fitted to them. What is not modelled makes the simulation fast: a wake-up, a cold start, bridges."""
    errors: dict[str, list[float]] = {}
    for row in stored_rows():
        if row.quantity == "dma" and row.use == "validate":
            assert row.error is not None
            errors.setdefault(row.source.partition(",")[0], []).append(row.error)
    assert len(errors["ziutek"]) == 12 and all(-7 < error < 0 for error in errors["ziutek"])
    assert len(errors["ST AN4861"]) == 4 and all(-6 < error < 0 for error in errors["ST AN4861"])
    assert errors["battlesnake"] == [pytest.approx(-41, abs=1)]


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


@few(1)
@pytest.mark.parametrize("name", ["cifar10-tuned", "cifar10-plain"])
def test_kernel_sets_of_rows_are_right(name: str) -> None:
    """They are relative to this package alone, built for every core, and give LiteRT's bytes."""
    (run,) = {one.run for one in published() if one.run.kernels == name}
    assert run.own_kernels is not None
    assert '"/' not in (run.own_kernels / "manifest.toml").read_text(encoding="utf-8")
    found = verify(run.model, machine=run.machine, policy=run.policy, kernels=str(run.own_kernels))
    assert found.litert is not None and found.litert.difference is None and not found.litert.note
    kernels = load_set(str(run.own_kernels))
    assert all(kernels.image(core) for core in CORES)
