"""The confidence that a result ends with, from the published results of its machine, kernels and policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim.evidence.annotate import compare, simulate
from mcusim.evidence.published import confidence as module
from mcusim.evidence.published.confidence import confidence, confidence_of_row
from mcusim.evidence.published.stored import stored_rows
from mcusim.machine import load_machine
from mcusim.request.settings import Execution
from tests.support.paths import REPOSITORY

F469, F746, GCC9 = "stm32f469i-disco", "stm32f746g-disco", "cmsis-2021-gcc9"


def worst(machine: str, kernels: str, policy: str, quantity: str) -> float:
    rows = [
        r for r in stored_rows() if (r.machine, r.kernels, r.policy, r.quantity) == (machine, kernels, policy, quantity)
    ]
    return max(abs(r.error or 0) for r in rows if r.use == "validate")


@pytest.mark.parametrize(
    ("machine", "kernels", "policy", "rows"),
    [(F469, GCC9, "tinyops", 5), (F746, GCC9, "tinyops", 4), ("nucleo-l4r5zi", "cmsis", "internal", 4)],
)
def test_validated_names_the_largest_error(machine: str, kernels: str, policy: str, rows: int) -> None:
    latency, energy = (worst(machine, kernels, policy, quantity) for quantity in ("latency", "energy"))
    assert confidence(machine, kernels, policy) == (
        f"latency validated to {latency:.0f} %, energy to {energy:.0f} %: the largest error of {rows} published results"
        f" of {policy} on {machine} with {kernels}"
    )


def test_calibrated_and_extrapolated() -> None:
    for policy in ("internal", "external"):
        found = confidence(F469, GCC9, policy)
        assert found.startswith("calibrated: machine figures were fitted to the published result of ")
        assert f" of {policy} on {F469} with {GCC9}; latency is within " in found
    assert confidence("nucleo-f746zg", "cmsis", "internal").endswith(
        "of the published result of internal on nucleo-f746zg with cmsis"
    )
    for machine, kernels, policy in (
        (F469, "cmsis", "tinyops"), (F469, "cmsis-gcc12", "tinyops"), ("nucleo-h743zi", GCC9, "internal"),
        ("nucleo-l4r5zi", GCC9, "tinyops"), ("my-board", GCC9, "internal"),
        ("nucleo-f767zi", "reference", "internal"),  # what is context does not count
    ):  # fmt: skip
        assert confidence(machine, kernels, policy).startswith("extrapolated: no published result of ")


def test_a_changed_machine_was_not_measured() -> None:
    assert confidence(load_machine(F746), GCC9, "tinyops") == confidence(F746, GCC9, "tinyops")
    changed = load_machine(F746, {"memory.sdram.timing.tRCD": "20 ns"})
    assert confidence(changed, GCC9, "tinyops").startswith("extrapolated: this is not stm32f746g-disco as it ships")
    renamed = replace(load_machine(F746), name=F469)
    assert confidence(renamed, GCC9, "tinyops").startswith("extrapolated: this is not stm32f469i-disco as it ships")


@pytest.mark.parametrize(
    ("policy", "settings", "what"),
    [
        ("external", {"weights": "qspi"}, "weights in qspi"),
        ("internal", {"weights": "qspi"}, "weights in qspi"),
        ("tinyops", {"overlay": ["input", "bias"]}, "overlays of input, bias alone"),
        ("tinyops", {"buffering": "single"}, "single buffering"),
        ("external", {"execution": Execution(code="sram1")}, "code in sram1"),
        (
            "tinyops",
            {"execution": Execution(overhead=50_000)},
            "an interpreter's overhead of 50,000 cycles an operator",
        ),
    ],
)
def test_what_was_set_otherwise_was_not_measured(policy: str, settings: dict[str, Any], what: str) -> None:
    result = simulate("ds-cnn", F746, policy=policy, **settings)
    assert result.confidence == f"extrapolated: no published result with {what} to compare with"
    usual = {"internal": "flash", "external": "sdram", "tinyops": "sdram"}[policy]
    named = simulate("ds-cnn", F746, policy=policy, weights=usual)
    assert named.confidence == simulate("ds-cnn", F746, policy=policy).confidence == confidence(F746, GCC9, policy)


def test_rows_say_it_of_their_own_quantity(monkeypatch: pytest.MonkeyPatch) -> None:
    one = next(r for r in stored_rows() if r.model == "mbv3-w0.40-r096" and r.quantity == "energy")
    assert confidence_of_row(one) == f"validated to {worst(F469, GCC9, 'tinyops', 'energy'):.0f} %"
    assert confidence_of_row(replace(one, policy="external", quantity="latency")) == "calibrated"
    assert confidence_of_row(replace(one, policy="external", quantity="arena")) == "extrapolated"  # none was published
    assert confidence_of_row(replace(one, simulated=None)) is None
    exact = [replace(one, simulated=one.measured * 1.0007)]
    monkeypatch.setattr(module, "_counted", lambda: tuple(exact))
    assert confidence_of_row(one) == "validated to 0.1 %"


def test_context_makes_nothing_calibrated() -> None:
    """Other kernels ran there: rows shown next to a result are no evidence for it."""
    rows = [r for r in stored_rows() if r.use == "context" and r.error is not None]
    assert {r.source for r in rows} == {"Liberis & Lane 2019"} and len(rows) == 6
    assert {confidence_of_row(r) for r in rows} == {"extrapolated"}


def test_run_and_compare_end_with_it(tmp_path: Path) -> None:
    result = simulate("ds-cnn", F746, policy="tinyops")
    assert result.confidence == confidence(F746, GCC9, "tinyops")
    assert str(compare("ds-cnn", F746, "tinyops")).splitlines()[-2:] == [
        "confidence, stm32f746g-disco with cmsis-2021-gcc9: tinyops latency validated to",
        f"  {worst(F746, GCC9, 'tinyops', 'latency'):.0f} %, energy to {worst(F746, GCC9, 'tinyops', 'energy'):.0f} %",
    ]
    # kernels from a file of the user's are not the measured ones, whatever they are called
    profile = tmp_path / "mine.toml"
    profile.write_bytes((REPOSITORY / "mcusim" / "kernels" / "cost" / "profiles" / f"{GCC9}.toml").read_bytes())
    mine = simulate("ds-cnn", F746, policy="tinyops", kernels=str(profile))
    assert mine.kernels == GCC9 and str(mine.confidence).startswith("extrapolated")
