"""Ways out in Python: what is tried, in which order, and what is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import mcusim
from mcusim.api.advice.candidates import Shortage, Ways, changed_settings
from mcusim.api.advice.limit_checks import check_limits
from mcusim.api.advice.suggestions import suggest
from mcusim.errors import UsageError
from mcusim.model import load_model
from mcusim.plan import SRAM_BUDGET
from mcusim.plan.options import IN_PLACE
from mcusim.results import Result
from mcusim.run_config.command_line import run_command
from mcusim.run_config.run_limits import RunLimits
from mcusim.units import Duration
from tests.support.graphs.small_graphs import activation, one_operator

F746 = "stm32f746g-disco"


def too_small(**options: str) -> Result:
    return mcusim.simulate("ds-cnn", F746, overrides={"memory.dtcm.size": "16 KiB"}, sram_budget="20 KiB", **options)


def test_the_command_is_made_of_the_request() -> None:
    result = mcusim.simulate("ds-cnn", F746, overrides={"core.clock": "100 MHz"}, sram_budget="20 KiB")
    found = mcusim.suggest(result)
    assert found.ways_out and found.tried >= len(found.ways_out)
    first = found.ways_out[0]
    assert first.command.startswith(f"mcusim run ds-cnn --machine {F746} --policy {first.policy} --set 'core.clock=100")
    again = mcusim.simulate("ds-cnn", F746, first.policy, overrides={"core.clock": "100 MHz"})
    if "--sram-budget" not in first.command:
        assert again.value("latency_ms") == first.latency_ms


def test_nothing_is_tried_when_all_is_well() -> None:
    result = mcusim.simulate("figure-1", F746)
    assert suggest(result).tried == 0
    found = suggest(result, max_latency="10 s", max_sram="320 KiB")
    assert found.met and found.tried == 0 and [limit.name for limit in found.limits] == ["latency", "sram"]


def test_boards_with_external_memory_are_tried_with_it_where_no_other_has_room() -> None:
    image = activation((1, 256, 256, 16))
    result = mcusim.simulate(one_operator("RELU", [image], [image]), "nucleo-h743zi")
    ways = suggest(result).ways_out
    assert result.run is None and [(way.machine, way.policy) for way in ways] == [(F746, "external")]


def test_a_limit_is_met_at_its_very_value() -> None:
    result = mcusim.simulate("figure-1", F746)
    assert result.run is not None and result.flash is not None
    exact = RunLimits(Duration(Fraction(result.run.cycles), "cycles"), None, None, result.flash.total)
    assert all(check.met and check.over is None for check in check_limits(result, exact))
    less = RunLimits(Duration(Fraction(result.run.cycles - 1), "cycles"), None, None, result.flash.total - 1)
    assert [(check.met, round(check.over or 0, 9) > 0) for check in check_limits(result, less)] == [(False, True)] * 2


def test_what_has_no_value_is_not_met() -> None:
    checks = check_limits(too_small(), RunLimits.of("1 s", "1 J", "1 MiB", "1 MiB"))
    assert [(check.value is None, check.met) for check in checks[:3]] == [(True, False)] * 3
    assert checks[3].met


def test_a_total_without_some_operators_meets_no_limit() -> None:
    graph = load_model("figure-1")
    opaque = replace(graph.operators[-1], type="UNKNOWN:CUSTOM(foo)")
    result = mcusim.simulate(replace(graph, operators=(*graph.operators[:-1], opaque)), F746)
    assert result.fits and result.left_out
    checks = check_limits(result, RunLimits.of("10 s", "10 J", "320 KiB"))
    assert [(check.value is None, check.met) for check in checks] == [(True, False), (True, False), (False, True)]


def test_limits_name_their_option() -> None:
    with pytest.raises(UsageError, match=r"--max-flash .* write KiB"):
        suggest(mcusim.simulate("figure-1", F746), max_flash="1 KB")


def test_changes_for_each_problem() -> None:
    result = too_small()
    assert result.request is not None and result.request.graph is not None
    base = result.request.settings

    def kinds(problem: Shortage) -> list[str]:
        assert result.request is not None and result.request.graph is not None
        ways = Ways(result.request.graph, result.machine, base, problem)
        return list(dict.fromkeys(change.kind for change in ways.changes()))

    others = ["runtime", "external", "tinyops", "board"]
    assert kinds(Shortage(True, False, False)) == ["arena", *others]
    assert kinds(Shortage(False, True, False)) == ["weights", *others]
    assert kinds(Shortage(False, False, True)) == ["weights", *others]
    assert Shortage.of(result, ()) == Shortage(True, False, False)


def test_a_change_of_options_is_a_change_of_settings() -> None:
    base = too_small().request
    assert base is not None
    changed = changed_settings(base.settings, {"policy": "tinyops", "sram-budget": "2 KiB", "in-place": True})
    assert (changed.policy, changed.options[SRAM_BUDGET], changed.options[IN_PLACE]) == ("tinyops", 2048, True)
    assert changed_settings(changed, {"sram-budget": None, "machine": "x", "set": None}).options[SRAM_BUDGET] is None
    assert changed_settings(base.settings, {}) == base.settings


def test_commands_are_quoted_for_a_shell() -> None:
    options = {
        "machine": "my board.toml",
        "set": ["a=1 KiB", "b=$(x)"],
        "in-place": True,
        "weights": None,
        "code": "-x",
    }
    assert run_command("it's.tflite", options) == (
        "mcusim run 'it'\"'\"'s.tflite' --machine 'my board.toml' --set 'a=1 KiB' --set 'b=$(x)' --in-place --code=-x"
    )
    assert run_command("-m.tflite", {"policy": "internal"}) == "mcusim run --policy internal -- -m.tflite"


def test_a_result_without_its_request_and_one_that_faulted_have_no_ways() -> None:
    result = too_small()
    assert suggest(replace(result, request=None)).note == "the result does not say what was asked for"
    assert suggest(mcusim.simulate("figure-1", F746, fidelity="emulate")).tried == 0
