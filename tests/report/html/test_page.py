"""The shell of HTML reports."""

from __future__ import annotations

import pytest

from mcusim.report.html.page import PlotFigure, page, plain, shortened, table
from tests.support.pages.pages import Page, asks_for_nothing

BARS = PlotFigure(
    "two <b>bars</b>", [{"type": "bar", "y": [1, 2]}], {"meta": {"labels": ["a</script>", "b"]}}, height=300
)


def test_a_page_without_plots_has_no_script() -> None:
    found = Page(page("A & B", ["<p>text</p>"]))
    assert "script" not in found.names() and found.text.split()[:7] == ["A", "&", "B", "A", "&", "B", "text"]
    assert asks_for_nothing(found) and len(found.html) < 6_500


def test_plots_are_alone_or_side_by_side() -> None:
    found = Page(page("plots", [BARS, "<p>between</p>", (BARS, BARS)]))
    rows = [attributes["class"] for tag, attributes in found.tags if tag == "div" and "row" in str(attributes["class"])]
    assert rows == ["row of-1", "row of-2"] and found.names().count("script") == 3 + 2
    assert found.figures == [{"data": [*BARS.data], "layout": BARS.layout}] * 3
    ids = [attributes["id"] for tag, attributes in found.tags if tag == "script" and "id" in attributes]
    assert ids == ["figure-0", "figure-1", "figure-2"] and asks_for_nothing(found)


def test_a_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        page("x", [PlotFigure("", [{"y": [float("nan")]}], {})])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a<b>&\"'", "a&#60;b&#62;&#38;&#34;&#39;"),
        ("tab\there", "tab\\there"),
        ("\x00\u202e\ud800\u2028", "\\x00\\u202e\\ud800\\u2028"),
        ("größer × 2", "größer × 2"),
    ],
)
def test_plain_text_has_no_markup_and_nothing_invisible(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize("limit", [1, 2, 7, 8])
def test_a_long_text_loses_its_middle(limit: int) -> None:
    short = shortened("0123456789", limit)
    assert len(short) == limit and short.count("…") == 1
    assert "0123456789".startswith(short.split("…")[0]) and "0123456789".endswith(short.split("…")[1])
    assert shortened("0123456789", 10) == "0123456789"


def test_a_table_tells_texts_from_numbers() -> None:
    found = table(["name", "bytes"], [["a", "1"], ["b", "2"]])
    assert found.count("<tr>") == 3 and found.count('<td class="number">') == 2 and "<td>b</td>" in found
