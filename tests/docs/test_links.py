"""The checks of links and of named files, each with what it has to find."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.documentation import PAGES, TOP, missing_links, named_files, wrong_links


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="other.html#part">', []),
        ('<a href="none.html">', ["page.html: a none.html leads nowhere"]),
        ('<img src="none.png">', ["page.html: img none.png leads nowhere"]),
        (
            '<script src="https://a.org/x.js"></script>',
            ["page.html: loads https://a.org/x.js from the network"],
        ),
        (
            '<link rel="stylesheet" href="//a.org/x.css">',
            ["page.html: loads //a.org/x.css from the network"],
        ),
        ('<a href="https://example.org">', []),
        ('<a href="mailto:someone@example.org">', []),
        ('<a href="#here">', []),
    ],
)
def test_links_of_the_site(tmp_path: Path, html: str, expected: list[str]) -> None:
    (tmp_path / "other.html").touch()
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    assert list(wrong_links(tmp_path / "page.html", tmp_path)) == expected


def test_links_and_files_of_a_page_outside_the_site() -> None:
    page = TOP / "build" / "page.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(
        "[a](../README.md) [b](none.md#x) [c](https://example.org)\n"
        "`mcusim/units.py` `mcusim/none.py` `tests/machine/test_NAME.py` `machine_configs/*.toml` `traces/*.none`\n",
        encoding="utf-8",
    )
    try:
        assert list(missing_links(page)) == ["build/page.md: link to none.md#x leads nowhere"]
        missing = ["mcusim/none.py", "traces/*.none"]
        assert list(named_files(page)) == [f"build/page.md: names {name}, which does not exist" for name in missing]
    finally:
        page.unlink()


@pytest.mark.parametrize("page", sorted([*PAGES.rglob("*.md"), *TOP.glob("*.md")]), ids=lambda path: path.name)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    assert page.name == "CHANGELOG.md" or list(named_files(page)) == []
    assert page.is_relative_to(PAGES) or list(missing_links(page)) == []
