"""The tutorial: short, complete, and the same as its notebook."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.documentation import PAGES, notebook

TUTORIAL = (PAGES / "tutorial.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["simulate(", "mcusim.table(", "mcusim.figure(", "compare(", ".replace(", "sweep("])
def test_it_shows_what_a_notebook_needs(name: str) -> None:
    assert any(name in code for code in re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL))


def test_it_takes_five_minutes_to_read() -> None:
    words = re.sub(r"```text\n.*?```", "", TUTORIAL, flags=re.DOTALL).split()
    assert len(words) < 5 * 200  # code read as slowly as prose


def test_the_notebook_is_the_tutorial() -> None:
    text = (PAGES / "tutorial.ipynb").read_text(encoding="utf-8")
    assert text == notebook(TUTORIAL)
    cells = json.loads(text)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [found.strip("\n") for found in re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert "```text" not in text
