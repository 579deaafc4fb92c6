"""The page of an emulated firmware: it asks for nothing, names stay text, a browser draws it at any width."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.report.firmware.page import firmware_page
from mcusim.results.emulation import EmulationResult
from tests.support.cases import sampled
from tests.support.pages.browser import opened
from tests.support.pages.hostile_names import HOSTILE
from tests.support.pages.pages import Page, asks_for_nothing


@pytest.fixture(scope="module")
def kernel() -> EmulationResult:
    return mcusim.emulate(program_path("rtos", "cortex-m7", FIRMWARE), "stm32f746g-disco", record=True)


def test_numbers_of_the_run_are_on_the_page(kernel: EmulationResult) -> None:
    read = Page(firmware_page(kernel))
    assert asks_for_nothing(read) and len(read.figures) == 2
    for one in kernel.profile.exceptions:
        assert f"{one.count:,}" in read.text and one.name in read.text
    assert read.text.count("task (PSP) stacks") == 3 and "Handlers active at once: 1 at most." in read.text
    lanes, latencies = read.figures
    assert len(lanes["layout"]["meta"]["lanes"][0]["rows"]) == 1 + len(kernel.profile.exceptions)
    assert sum(sum(trace["y"]) for trace in latencies["data"]) == sum(one.count for one in kernel.profile.exceptions)


def test_hostile_names_stay_text(kernel: EmulationResult) -> None:
    named = replace(kernel.profile.exceptions[0], name=HOSTILE[0])
    profile = replace(kernel.profile, exceptions=(named, *kernel.profile.exceptions[1:]))
    read = Page(firmware_page(replace(kernel, profile=profile, assumptions=tuple(HOSTILE))))
    read.own = read.own.replace("https://example.org", "")
    assert asks_for_nothing(read)


def test_a_browser_draws_it_wide_and_narrow(kernel: EmulationResult, browser: Any, tmp_path: Path) -> None:
    html = firmware_page(kernel)
    for width in sampled((1280, 400), 1):
        with opened(browser, html, tmp_path, width) as found:
            assert not found.printed and len(found.asked) == 1
            assert found.page.evaluate("document.documentElement.scrollWidth") <= width
            if width == 1280:
                assert any("tasks, too narrow" in found.hover(x / 20, 0.62) for x in range(2, 20))
