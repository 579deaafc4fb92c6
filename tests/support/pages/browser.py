"""A real browser on a report: what it says, what it asks for, what the pointer finds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.support.other_processes import LONGEST_WAIT

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@dataclass
class Opened:
    """``printed``: errors and console messages; ``asked``: addresses of all requests."""

    page: Any
    printed: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def hover(self, x: float, y: float, plot: int = 0) -> str:
        """The tooltip at a point of a plot, in parts of its area (0 is left and top); '' for nothing."""
        box = self.area(plot)
        self.page.mouse.move(box["x"] + 1, box["y"] + 1)
        self.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=3)
        self.page.wait_for_timeout(150)
        return str(self.page.evaluate("[...document.querySelectorAll('.hovertext')].map(e => e.textContent).join('|')"))

    def area(self, plot: int = 0) -> dict[str, float]:
        """Where the first panel of a plot is on the page, in view."""
        target = self.page.locator(".plot").nth(plot).locator(".nsewdrag").first
        target.scroll_into_view_if_needed()
        found: dict[str, float] = target.bounding_box()
        return found

    def drag(self, start: float, end: float, plot: int = 0) -> None:
        """Zoom: drag over a part of the first panel's width."""
        box = self.area(plot)
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + start * box["width"], y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + end * box["width"], y, steps=5)
        self.page.mouse.up()
        self.page.wait_for_timeout(300)

    def layout(self, name: str, plot: int = 0) -> Any:
        """A part of a plot's layout, as ``xaxis.range``."""
        return self.page.evaluate(f"document.querySelectorAll('.plot')[{plot}].layout.{name}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window; the test is skipped without it."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)}")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


def seen(browser: Any, html: str, folder: Path, script: str, width: int = 1280) -> str:
    """The page's title, which ``script`` sets to a list; nothing may have been printed."""
    with _page(browser, html.replace("</body>", f"<script>{script}</script></body>"), folder, width) as found:
        last = monotonic() + LONGEST_WAIT
        while not found.page.title().startswith("[") and monotonic() < last:  # the page allows no eval to wait with
            found.page.wait_for_timeout(50)
        assert not found.printed
        return str(found.page.title())


@contextmanager
def opened(browser: Any, html: str, folder: Path, width: int = 1280, scheme: str = "light") -> Iterator[Opened]:
    """The page drawn by the browser: all plots are there."""
    with _page(browser, html, folder, width, scheme) as found:
        plots = found.page.locator(".plot")
        for i in range(plots.count()):
            plots.nth(i).locator(".bars path, .scatterlayer path, .heatmaplayer image").first.wait_for(state="attached")
        yield found


@contextmanager
def _page(browser: Any, html: str, folder: Path, width: int, scheme: str = "light") -> Iterator[Opened]:
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 1400}, color_scheme=scheme)
    context.set_default_timeout(1000 * LONGEST_WAIT)
    found = Opened(context.new_page())
    found.page.on("console", lambda message: found.printed.append(message.text))
    found.page.on("pageerror", lambda error: found.printed.append(str(error)))
    found.page.on("request", lambda request: found.asked.append(request.url))
    found.page.goto(file.as_uri())
    yield found
    context.close()
