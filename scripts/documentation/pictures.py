"""The pictures of the pages, taken in headless Chromium: `scripts/docs --pictures`. Not part of --check.

Each is the page that a command writes, at a fixed width, cut at a height, reduced to a palette of 128 colours.
Not modelled: hovering and zooming.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
_WIDTH = 1180


@dataclass(frozen=True)
class Picture:
    """``words`` is a command of mcusim that writes ``page.html``; ``top`` and ``height`` cut it, in CSS pixels."""

    name: str
    words: str
    height: int = 760
    top: int = 0


PICTURES = (
    Picture("run", "run ds-cnn --policy tinyops --html page.html", 785),
    Picture("compare", "compare ds-cnn -m stm32f746g-disco -p internal,external,tinyops --html page.html", 800),
    Picture("sweep", "sweep overlays -o table.parquet --html page.html", 960),
    Picture("memory", "memory figure-1 --order optimal --allocator optimal --html page.html", 768),
    Picture("validation", "validate --stored --html page.html", 1000),
)


def take(folder: Path, only: str = "") -> None:
    """Write the pictures whose name has ``only`` in it to ``folder`` as PNG. Needs Chromium and Pillow."""
    from playwright.sync_api import sync_playwright

    path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=_ARGUMENTS)
        for picture in PICTURES:
            if only in picture.name:
                _take(browser, picture, folder / f"{picture.name}.png")
        browser.close()


def _take(browser: Any, picture: Picture, target: Path) -> None:
    from mcusim.commands.app import main

    with tempfile.TemporaryDirectory() as name:
        html = Path(name) / "page.html"
        words = [str(html) if word == "page.html" else word for word in picture.words.split()]
        main([str(Path(name) / word) if word.endswith(".parquet") else word for word in words])
        page = browser.new_page(viewport={"width": _WIDTH, "height": picture.top + picture.height})
        page.goto(html.as_uri())
        for plot in page.locator(".plot").all():
            plot.locator("svg.main-svg").first.wait_for(state="attached")
        page.wait_for_timeout(500)  # labels are placed after the first drawing
        clip = {"x": 0, "y": picture.top, "width": _WIDTH, "height": picture.height}
        page.screenshot(path=target, clip=clip, full_page=True)
        page.close()
    _reduce(target)


def _reduce(path: Path) -> None:
    """The same picture with 128 colours: a quarter of the bytes."""
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
