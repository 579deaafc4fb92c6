"""A policy is one file: dropped into the folder, every command knows it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.plan import policies, policy_names, registry, require_effect, takers
from mcusim.plan.options import SRAM_BUDGET, choice
from mcusim.plan.registry import Policy, all_policies, find_policy, register

FILE = '''
"""Weights in QSPI flash: ``internal`` otherwise."""

from dataclasses import replace

from mcusim.plan.options import SRAM_BUDGET, WEIGHTS, choice
from mcusim.plan.policies import internal
from mcusim.plan.registry import register

SHADE = choice("shade", ("light", "dark"), "light", help="With {takers}: light or dark.")


@register("inplace", "data in on-chip SRAM, weights in QSPI flash", options=(SRAM_BUDGET, SHADE))
def plan(graph, machine, kernels, options):
    program = internal.plan(graph, machine, kernels, options.having(WEIGHTS, "qspi"))
    return replace(program, header=replace(program.header, policy="inplace"))
'''


@pytest.fixture
def dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A policy's file in the folder, and nothing else."""
    (tmp_path / "inplace.py").write_text(FILE, encoding="utf-8")
    before = policy_names()
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry._REGISTERED))
    monkeypatch.setattr(policies, "__path__", [*policies.__path__, str(tmp_path)])
    registry._import_all.cache_clear()
    yield
    monkeypatch.undo()
    sys.modules.pop("mcusim.plan.policies.inplace", None)
    del policies.inplace  # type: ignore[attr-defined]
    registry._import_all.cache_clear()
    assert policy_names() == before


def test_the_shipped_policies_in_the_order_of_every_table() -> None:
    assert policy_names() == ("internal", "external", "tinyops")
    assert takers("sram_budget") == ("internal", "tinyops")
    assert takers("overlay") == takers("buffering") == takers("variant") == ("tinyops",)
    assert takers("weights") == takers("core.clock") == policy_names()
    assert all(policy.description for policy in all_policies())


def test_every_file_of_the_folder_is_named_after_its_policy() -> None:
    homes = {policy.name: sys.modules[policy.plan.__module__].__name__ for policy in all_policies()}
    assert homes == {name: f"mcusim.plan.policies.{name}" for name in policy_names()}


@pytest.mark.usefixtures("dropped")
def test_a_dropped_file_is_planned_run_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert policy_names() == ("internal", "external", "tinyops", "inplace")
    assert takers("sram_budget") == ("internal", "tinyops", "inplace")
    program = tmp_path / "program.jsonl"
    assert main(["plan", "figure-1", "--policy", "inplace", "-o", str(program)]) == 0
    header = json.loads(program.read_text(encoding="utf-8").splitlines()[0])
    assert header["policy"] == "inplace" and header["options"]["weights"] == "qspi"
    capsys.readouterr()
    assert main(["run", "figure-1", "--policy", "inplace", "--json", "-"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["policy"] == "inplace" and row["cycles_by_cause"]["qspi"] > 0
    assert main(["run", "figure-1", "--policy", "inplace", "--shade", "dark", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]["shade"] == "dark"
    assert mcusim.simulate("figure-1", "stm32f746g-disco", "inplace", shade="dark").run is not None
    assert main(["run", "figure-1", "--policy", "inplace", "--overlay", "input"]) == 2
    assert "--overlay has no effect under policy inplace; it is for tinyops" in capsys.readouterr().err


@pytest.mark.usefixtures("dropped")
def test_a_dropped_file_is_compared_swept_and_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    rows = mcusim.compare("figure-1", "stm32f746g-disco").rows
    assert [row.policy for row in rows] == ["internal", "external", "tinyops", "inplace"] and rows[-1].fits
    study = {
        "models": ["figure-1"],
        "machines": ["stm32f746g-disco"],
        "policies": ["external", "inplace"],
        "axes": {"sram_budget": ["64 KiB", "128 KiB"]},
    }
    table = mcusim.sweep(study, jobs=1)
    assert list(table["policy"]) == ["external"] * 2 + ["inplace"] * 2 and set(table["status"]) == {"ok"}
    assert main(["run", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "or inplace (data in on-chip SRAM, weights in QSPI flash)." in text
    assert "Limit on-chip RAM (internal, tinyops, inplace):" in text
    assert "--shade NAME With inplace: light or dark." in text


def test_an_unknown_policy_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"^no policy 'inner'.*; there are: internal: .*; external: .*; tinyops: "):
        find_policy("inner")
    with pytest.raises(UsageError, match="no policy 'inner'"):
        require_effect(["internal", "inner"], {})


def test_a_name_is_registered_once_and_an_option_is_one_declaration() -> None:
    with pytest.raises(ValueError, match="two policies are called 'tinyops'"):
        register("tinyops", "again")
    other = choice("variant", ("a", "b"), "a", help="Another one.")
    with pytest.raises(ValueError, match="policy 'new': two options are called 'variant'"):
        register("new", "has an option of its own", options=(other,))
    assert "new" not in policy_names()


def test_policies_of_one_place_are_listed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    last = {name: Policy(name, "", (SRAM_BUDGET,), 9, find_policy("internal").plan) for name in ("b", "a")}
    monkeypatch.setattr(registry, "_REGISTERED", registry._REGISTERED | last)
    assert policy_names() == ("internal", "external", "tinyops", "a", "b")
