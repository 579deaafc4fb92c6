"""The fidelity ledger names everything that the package has, and only tests and modules that there are."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from mcusim.evidence.validate.ledger import (
    KINDS,
    LedgerEntry,
    entries,
    kernel_errors,
    ledger_json,
    ledger_markdown,
    ledger_table,
)
from mcusim.evidence.validate.trials import Trial, TrialRow, trials
from mcusim.kernels import load_profile, profile_names
from mcusim.kernels.kernel_set import set_names
from mcusim.machine.field_types import Each, Field, Table
from mcusim.machine.schema import DEVICES, MACHINE
from mcusim.plan import policy_names
from mcusim.run_config.kernel_choice import FIDELITIES
from tests.support.cases import only_with_all_cases
from tests.support.paths import REPOSITORY
from tests.support.table_2_errors import UNTUNED

TESTS = REPOSITORY / "tests"
CORES = ("cortex-m4", "cortex-m7")


def names(kind: str) -> set[str]:
    return {entry.name for entry in entries() if entry.kind == kind}


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def devices() -> set[str]:
    """What a machine file can describe, by the schema: its tables, each kind of memory, tables inside these."""
    found = set(DEVICES)
    for kind, (_, keys) in DEVICES.items():
        found |= {f"{kind}.{key}" for key, spec in keys.items() if isinstance(spec, Table) and key != "timing"}
    for name, spec in MACHINE.fields.items():
        inside = spec.fields.values() if isinstance(spec, Table) else ()
        if isinstance(spec, Field) or name in ("core", "memory"):
            continue
        nested = bool(inside) and all(isinstance(field, Table) for field in inside)
        found |= {f"{name}.{key}" for key in spec.fields} if nested and isinstance(spec, Table) else {name}
    assert isinstance(MACHINE.fields["dma"], Each)
    return found


def test_everything_the_package_has_is_in_it() -> None:
    assert names("policy") == set(policy_names())
    assert names("kernels") == set(set_names())
    assert names("profile") == set(profile_names())
    assert names("device") == devices() >= {"sdram", "flash.accelerator", "cache.data", "dma", "power"}
    assert names("fidelity") == {*FIDELITIES, "interpreter"}
    assert names("core") == set(CORES)
    assert all(set(load_profile(name).cores) == set(CORES) for name in names("profile"))


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_an_entry_is_whole(entry: LedgerEntry) -> None:
    """Tests that exist, modules that say what is not modelled, an error only where a test pins it."""
    assert entry.modelled and entry.left_out and entry.tests
    for test in (*entry.tests, *entry.error_tests):
        file, _, function = test.partition("::")
        assert function in functions(file), test
    assert bool(entry.error) is bool(entry.error_tests)
    texts = []
    for name in entry.modules:
        module = importlib.import_module(name)
        assert module.__file__ is not None
        texts.append(Path(module.__file__).read_text(encoding="utf-8"))
    assert re.search(r"Not\s+modelled|[Ll]e(ft|aves)\s+out", "\n".join(texts)), entry.modules


def test_kernels_of_fitted_profiles_have_their_errors() -> None:
    for name in names("profile"):
        found = kernel_errors(name)
        assert {(k.core, k.kernel) for k in found} == {
            (core, kind)
            for core in CORES
            for costs in [load_profile(name).core(core)]
            for kind in costs.fitted
            if not costs.families
        }
    worst = max(kernel_errors("cmsis-gcc12"), key=lambda k: k.worst)
    (entry,) = (entry for entry in entries() if entry.name == "cmsis-gcc12")
    assert entry.error is not None
    assert entry.error.endswith(f"worst call {worst.worst:.1f} % ({worst.kernel})")


def test_the_errors_of_table_2_are_those_that_are_pinned() -> None:
    (entry,) = (entry for entry in entries() if entry.name == "cmsis-2021-gcc9")
    assert f": {min(UNTUNED.values()):+g} to {max(UNTUNED.values()):+g} %" in (entry.error or "")


@only_with_all_cases
def test_the_table_fits_a_terminal_and_has_every_entry() -> None:
    text = ledger_table()
    assert max(map(len, text.splitlines())) <= 80
    entered, _, kernels = text.partition("Kernels of the fitted profiles")
    assert all(f"{trial.name} on {trial.machine}" in entered and trial.summary in entered for trial in trials())
    headings = {line.strip() for line in entered.splitlines() if re.fullmatch(r"  \S+", line)}
    assert headings == {entry.name for entry in entries()}
    assert all(title in text for title in KINDS.values())
    assert text.count("    not modelled ") == text.count("    tests ") == len(entries())
    furthest = sorted(kernel_errors(), key=lambda k: -k.worst)[:12]
    assert [line.split()[1] for line in kernels.splitlines()[-12:]] == [k.kernel for k in furthest]


@only_with_all_cases
def test_the_document_is_current() -> None:
    """scripts/docs writes it."""
    path = REPOSITORY / "docs" / "pages" / "evidence" / "ledger.md"
    assert path.read_text(encoding="utf-8") == ledger_markdown()


@only_with_all_cases
def test_the_markdown_and_the_json_have_every_entry() -> None:
    assert len(ledger_json()["entries"]) == len(entries())
    assert sum(len(trial["rows"]) for trial in ledger_json()["trials"]) == sum(len(trial.rows) for trial in trials())
    text = ledger_markdown()
    assert all(f"| {row.name} | {row.measured:,g} | {row.simulated:,g} |" in text for t in trials() for row in t.rows)
    assert re.findall(r"^### `(.*)`$", text, re.MULTILINE) == [entry.name for entry in entries()]
    for part in ("Modelled", "Not modelled", "Error", "Tests"):
        assert text.count(f"- **{part}:** ") == len(entries())


def test_a_trial_says_how_far_off_it_is() -> None:
    rows = TrialRow("a", 200, 190), TrialRow("b", 100, 103)
    assert Trial("t", "m", "u", "", "", rows).summary == "mean of signed errors -1.0 %, furthest -5.0 %"
    assert all(trial.rows and trial.tried and trial.source for trial in trials())
