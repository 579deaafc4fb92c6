"""A new board, policy, replacement or report page is one file; scripts/docs runs the how-to pages that add them."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import REPOSITORY

PAGES = REPOSITORY / "docs" / "pages" / "how-to"
FILES = {
    "add-a-board": r"machine_configs/[\w-]+\.toml",
    "add-a-policy": r"mcusim/plan/policies/\w+\.py",
    "add-a-report-page": r"\w+_page\.py",
    "add-a-replacement": r"\w+\.py",
}


@pytest.mark.parametrize("page", FILES)
def test_one_file_is_added_and_none_changed(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    titles = re.findall(r'^```\w+ title="([^"]+)"$', text, re.MULTILINE)
    assert re.fullmatch(FILES[page], titles[0])
    assert all(not title.startswith("mcusim/") for title in titles[1:])
    assert not (REPOSITORY / titles[0]).exists()
    after = text.partition(f'title="{titles[0]}"')[2]
    assert re.search(r"^```sh\nmcusim ", after, re.MULTILINE), "no command that uses it"
