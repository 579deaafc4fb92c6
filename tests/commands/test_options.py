"""Options that have no effect are refused; the program on standard output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import UsageError
from tests.support.made import bare


def test_compare_takes_an_option_that_one_of_its_policies_takes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "ds-cnn", "--machine", "stm32f746g-disco", "--policy", "external,tinyops", "--json", "-"]
    assert main([*arguments, "--overlay", "input", "--sram-budget", "128 KiB"]) == 0
    assert [row["fits"] for row in json.loads(capsys.readouterr().out)["rows"]] == [True, True]


def test_options_without_effect_are_refused_from_python_too() -> None:
    with pytest.raises(UsageError, match="no effect under policy internal"):
        mcusim.simulate("ds-cnn", "stm32f746g-disco", overlay=["input"])
    with pytest.raises(UsageError, match="no effect under policy external"):
        mcusim.compare(["ds-cnn"], policies=["external"], sram_budget="1 KiB")


def test_plan_to_standard_output_is_the_program_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "ds-cnn", "--policy", "tinyops", "-o", "x.jsonl"]) == 0
    capsys.readouterr()
    assert main(["plan", "ds-cnn", "--policy", "tinyops", "-o", "-"]) == 0
    captured = capsys.readouterr()
    assert (
        bare(captured.out) == bare(tmp_path / "x.jsonl") and captured.out.startswith('{"format"') and not captured.err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


def test_one_item_need_not_be_in_a_list() -> None:
    graph, machine = mcusim.load_model("ds-cnn"), mcusim.load_machine("stm32f746g-disco")
    listed = mcusim.compare(["ds-cnn"], ["stm32f746g-disco"], ["internal"])
    assert mcusim.compare("ds-cnn", "stm32f746g-disco", "internal") == listed
    assert mcusim.compare(graph, machine, "internal") == listed
    assert mcusim.compare(Path("ds-cnn"), machine, ("internal",)) == listed
    one, several = (mcusim.simulate(graph, machine, "tinyops", overlay=copied) for copied in ("input", ["input"]))
    assert one == several


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"model": None}, "model = None"),
        ({"machine": 3}, "machine = 3"),
        ({"policy": None}, "policy = None"),
        ({"kernels": 1}, "kernels = 1"),
        ({"fidelity": []}, r"fidelity = \[\]"),
        ({"weights": 1}, "weights = 1"),
        ({"overlay": 1}, "overlay = 1"),
        ({"overlay": [["input"]]}, r"overlay = \[\['input'\]\]"),
        ({"sram_budget": 3.5}, "sram_budget = 3.5"),
        ({"sram_budget": True}, "sram_budget = True"),
        ({"overrides": "core.clock=1"}, "overrides = 'core.clock=1'"),
        ({"overrides": {1: "1"}}, "overrides = 1"),
    ],
    ids=str,
)
def test_a_wrong_type_from_python_is_one_error_that_names_the_argument(arguments: dict[str, Any], named: str) -> None:
    given = {"model": "ds-cnn", "machine": "stm32f746g-disco", "policy": "tinyops", **arguments}
    with pytest.raises(UsageError, match=f"^{named}: must be "):
        mcusim.simulate(**given)
    lists = {"model": "models", "machine": "machines", "policy": "policies"}
    if next(iter(arguments)) in lists:
        many = {lists.get(name, name): [value] for name, value in given.items()}
        with pytest.raises(UsageError, match=rf"^{lists[next(iter(arguments))]} = .*: must be "):
            mcusim.compare(**many)
    else:
        named_lists = {lists.get(name, name): value for name, value in given.items()}
        with pytest.raises(UsageError, match=f"^{named}: must be "):
            mcusim.compare(**named_lists)


def test_a_model_name_is_a_text() -> None:
    with pytest.raises(UsageError, match="name_or_path = None"):
        mcusim.load_model(None)  # type: ignore[arg-type]


def test_a_link_to_nothing_is_replaced_with_force_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "result.json"
    out.symlink_to(tmp_path / "nothing")
    assert main(["machines", "--json", str(out)]) == 2
    assert "result.json exists; --force overwrites it" in capsys.readouterr().err
    assert out.is_symlink() and not out.exists()
    assert main(["machines", "--json", str(out), "--force"]) == 0
    assert not out.is_symlink() and [path.name for path in tmp_path.iterdir()] == ["result.json"]
