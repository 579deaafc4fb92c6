"""The page of a tuning: what it says is what the records say, and it is drawn in both schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.tuning.layer import graph_of_shape
from mcusim.tuning.measuring import Measurer
from tests.sessions.test_object_file import needs_compiler
from tests.support.pages.browser import opened
from tests.support.pages.lab_page import axe_findings
from tests.support.pages.pages import Page, asks_for_nothing
from tests.tuning.test_tune import SHAPE, by_formula, plan  # noqa: F401  # a fixture


@needs_compiler
def test_a_page_is_drawn_and_has_the_figures(tmp_path: Path, browser: Any) -> None:
    """A tuning from Python: its page, its text, and the numbers in both."""
    layer = graph_of_shape("CONV_2D", SHAPE, "SAME")
    result = mcusim.tune(layer, "nucleo-f746zg", templates=["conv2d-direct"], trials=9)
    (task,) = result.tasks
    assert task.best is not None and f"{task.best.cycles:,.0f}" in repr(result) and result.data["tuner"] == "model"
    assert sum(record.predicted is not None for record in task.records) >= 1
    drawn = Page(result.html)
    assert asks_for_nothing(drawn) and len(drawn.figures) == 4
    progress, expected, causes, space = drawn.figures
    clock = result.plan.machine.core.clock / 1e3
    measured = [record.cycles or 0.0 for record in task.records]
    assert progress["data"][0]["y"] == [pytest.approx(cycles / clock) for cycles in measured]
    assert progress["data"][1]["y"][-1] == pytest.approx(min(measured) / clock)
    assert len(expected["data"][1]["x"]) == sum(record.predicted is not None for record in task.records)
    bars = [sum(trace["x"][place] for trace in causes["data"]) for place in range(4)]
    took = [task.best.cycles, task.default.cycles, *(found.cycles for found in task.sets.values())]
    assert bars == [pytest.approx((cycles or 0.0) / clock) for cycles in took]
    lines = sum(x is None for trace in space["data"] for x in trace["x"])
    assert lines == len(task.records)
    with opened(browser, result.html, tmp_path, width=390, scheme="dark") as seen:
        assert not axe_findings(seen.page)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert seen.page.locator(".plot .main-svg").count() >= 4


def test_trials_that_went_wrong_are_in_the_page(by_formula: list[int], tmp_path: Path) -> None:  # noqa: F811
    """One without a single right trial has no plots, and says why."""

    def wrong(self: Measurer, task: str, numbers: list[int]) -> Any:
        from mcusim.tuning.trial import TrialResult

        yield from (TrialResult("wrong_output", text="7 of 9 <outputs> differ") for _ in numbers)

    from mcusim.tuning.page import tuning_page
    from mcusim.tuning.tune import tune_tasks

    chosen = plan(trials=9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Measurer, "measured", wrong)
        tasks = tune_tasks(chosen)
    found = Page(tuning_page(chosen, tasks))
    assert "9 wrong output (7 of 9 <outputs> differ)" in found.text and not found.figures


def test_what_python_refuses() -> None:
    for arguments, text in (({"tuner": "best"}, "tuner = "), ({"trials": 0}, "trials = 0"), ({"layers": [77]}, "77")):
        with pytest.raises(UsageError, match=text):
            mcusim.tune("figure-1", "nucleo-f746zg", **arguments)
    assert main(["tune", "figure-1", "--html", "/nowhere/x.html"]) == 2
