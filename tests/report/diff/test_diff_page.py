"""The page of two runs: what it says, and what a browser makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim import simulate
from mcusim.api.diff import diff
from mcusim.report.diff.page import diff_page
from mcusim.results.saved.run_difference import RunDifference
from tests.support.cases import only_with_all_cases, sampled
from tests.support.pages.browser import opened
from tests.support.pages.hostile_names import HOSTILE
from tests.support.pages.pages import Page, asks_for_nothing

F746 = "stm32f746g-disco"


@pytest.fixture(scope="module")
def found() -> RunDifference:
    return diff(simulate("ds-cnn", F746), simulate("ds-cnn", F746, policy="tinyops"), fail_if="latency +5 %")


def test_it_says_what_differs_and_why(found: RunDifference) -> None:
    page = Page(diff_page(found))
    assert asks_for_nothing(page) and diff_page(found) == page.html
    for text in ("What differs", "longer than the first", "Limit exceeded: latency +5 %", "DEPTHWISE_CONV_2D"):
        assert text in page.text
    assert [len(bar["y"]) for bar in page.figures[1]["data"]] == [13, 13]
    for pair in found.operators:
        assert pair.ms.first is not None and pair.ms.second is not None
        assert f"{pair.ms.second - pair.ms.first:+,.3g}" in page.text


def test_runs_that_are_alike_or_did_not_take_place(found: RunDifference) -> None:
    same = Page(diff_page(diff(simulate("ds-cnn", F746), simulate("ds-cnn", F746))))
    assert "takes as long as the first" in same.text and len(same.figures) == 1
    none = diff(simulate("ds-cnn", F746), simulate("ds-cnn", F746, sram_budget="1 KiB"))
    page = Page(diff_page(none))
    assert "did not take place" in page.text and not page.figures


@only_with_all_cases
@pytest.mark.parametrize(("width", "scheme"), sampled([(390, "dark"), (1280, "light")], 1))
def test_a_browser_draws_it(found: RunDifference, browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    named = enumerate(found.operators)
    operators = tuple(replace(p, second=replace(p.any, type=HOSTILE[i % len(HOSTILE)])) for i, p in named)
    first = replace(found.first, name=HOSTILE[0], settings={HOSTILE[1]: HOSTILE[2]})
    hostile = replace(found, first=first, operators=operators)
    with opened(browser, diff_page(hostile).encode().decode(), tmp_path, width, scheme) as drawn:
        assert not drawn.printed and len(drawn.asked) == 1
        assert drawn.page.evaluate("document.querySelectorAll('img, a[href]').length") == 0
        assert drawn.page.evaluate("document.documentElement.scrollWidth") == width
        assert "ms" in drawn.hover(0.06, 0.9, plot=1)
