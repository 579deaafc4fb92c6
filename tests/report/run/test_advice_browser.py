"""What does not fit, limits and ways out on a page, in a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim import simulate, suggest
from mcusim.report.run.page import run_page
from mcusim.results import Result
from tests.support.cases import few
from tests.support.pages.browser import opened
from tests.support.pages.hostile_names import HOSTILE
from tests.support.pages.pages import Page, asks_for_nothing

CELLS = "[...document.querySelectorAll('code')].map(e => e.textContent)"


@pytest.fixture(scope="module")
def refused() -> Result:
    result = simulate("ds-cnn", "stm32f746g-disco", sram_budget="20 KiB")
    return replace(result, advice=suggest(result, max_latency="1 s", model="my model's file.tflite"))


@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_it(refused: Result, browser: Any, tmp_path: Path, width: int) -> None:
    with opened(browser, run_page(refused), tmp_path, width) as found:
        text = found.page.inner_text("main")
        assert found.page.evaluate(CELLS) == [way.command for way in refused.advice.ways_out] != []
        assert found.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        for part in (
            "Needed in dtcm+sram1+sram2",
            "activations",
            "16,000 B",
            "too many",
            "3,360 B",
            "not known",
            "Flash",
        ):
            assert part in text
        assert not found.printed and found.asked == [(tmp_path / "page.html").as_uri()]


@few(1)
@pytest.mark.parametrize("name", HOSTILE)
def test_names_from_outside_are_text(refused: Result, name: str) -> None:
    ways = tuple(replace(way, what=name, command=name) for way in refused.advice.ways_out)
    advice = replace(refused.advice, ways_out=ways, note=name)
    plain = Page(run_page(refused))
    assert asks_for_nothing(plain)
    for shown in (advice, replace(advice, ways_out=(), closest=name)):
        page = Page(run_page(replace(refused, advice=shown)))
        assert set(page.names()) <= set(plain.names()) and {"onclick", "onerror", "href"}.isdisjoint(
            attribute for _, found in page.tags for attribute in found
        )
