"""The pictures of ``mcusim validate``: every number at its place, with the lines of equality and of ten percent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import log10
from pathlib import Path
from typing import Any

import pytest

from mcusim.evidence.validate.page import validation_html
from mcusim.evidence.validate.validate import stored_validation
from mcusim.measurements.published.validation_result import Validation, ValidationRow
from tests.support.cases import only_with_all_cases, sampled
from tests.support.pages.browser import seen
from tests.support.pages.pages import Page, asks_for_nothing

PLOTS = (("latency",), ("energy",), ("supply_current",), ("arena", "peak_activations"))


def traces(figure: dict[str, Any], mode: str) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if trace["mode"] == mode]


@only_with_all_cases
def test_each_row_is_a_point_of_its_board_and_use() -> None:
    found = stored_validation()
    page = Page(validation_html(found))
    assert len(page.figures) == len(PLOTS) and asks_for_nothing(page)
    colours: dict[str, set[str]] = {}
    for figure, quantities in zip(page.figures, PLOTS, strict=True):
        rows = [row for row in found.rows if row.quantity in quantities and row.simulated is not None]
        drawn = []
        for trace in traces(figure, "markers"):
            board, _, use = trace["name"].rpartition(": ")
            colours.setdefault(board, set()).add(trace["marker"]["color"])
            assert trace["marker"]["symbol"] == {"validate": "circle", "calibrate": "diamond-open"}.get(
                use, "x-thin-open"
            )
            drawn += [(board, use, *pair) for pair in zip(trace["x"], trace["y"], strict=True)]
        factor = {"uJ": 1e-3, "B": 1e-3}
        assert sorted(drawn) == sorted(
            (
                row.board or "no board",
                row.use,
                row.measured * factor.get(row.unit, 1),
                (row.simulated or 0) * factor.get(row.unit, 1),
            )
            for row in rows
        )
        (low, high), other = figure["layout"]["xaxis"]["range"], figure["layout"]["yaxis"]["range"]
        assert other == [low, high]
        assert all(low < log10(number) < high for *_, x, y in drawn for number in (x, y))
        ticks = figure["layout"]["xaxis"]
        assert 3 <= len(ticks["tickvals"]) <= 10 and len(ticks["ticktext"]) == len(ticks["tickvals"])
    assert all(len(shades) == 1 for shades in colours.values())
    assert len(set.union(*colours.values())) == len(colours) == 6


@only_with_all_cases
def test_the_lines_are_those_of_equality_and_of_ten_percent() -> None:
    for figure in Page(validation_html(stored_validation())).figures:
        lines = traces(figure, "lines")
        for line, factor, dash in zip(lines, (1, 1.1, 0.9), ("solid", "dash", "dash"), strict=True):
            assert line["y"] == pytest.approx([factor * x for x in line["x"]]) and line["line"]["dash"] == dash
            assert [log10(x) for x in line["x"]] == pytest.approx(figure["layout"]["xaxis"]["range"])


@only_with_all_cases
def test_hover_says_what_it_is() -> None:
    figure = Page(validation_html(stored_validation("TinyOps"))).figures[0]
    texts = [text for trace in traces(figure, "markers") for text in trace["text"]]
    assert len(texts) == 21
    (one,) = (text for text in texts if "mcunet-f746" in text)
    assert one.startswith(
        "<b>mcunet-f746</b><br>STM32F746G-DISCO, TinyOps, tinyops<br>TinyOps (Sadiq et al. 2022), Table 2: validate<br>"
        "measured 1867 ms, simulated "
    )
    low, high = re.findall(r"<br>cmsis-2021-gcc9 replayed; ([\d.]+) to ([\d.]+) ms$", one)[0]
    assert 1000 < float(low) < 1867 < float(high) < 4000


@only_with_all_cases
def test_what_was_not_run_is_listed_and_equal_validations_give_equal_text() -> None:
    found = stored_validation()
    page = Page(validation_html(found))
    assert "Not run" in page.text and "the q7 functions are other code" in page.text
    assert "cifar10-plain emulated" in page.text and "cifar10-tuned emulated" in page.text
    assert validation_html(found) == validation_html(stored_validation())


def hostile(text: str) -> ValidationRow:
    return ValidationRow(
        text,
        text,
        text,
        text,
        text,
        text,
        text,
        "latency",
        "ms",
        "validate",
        1.0,
        2.0,
        text,
        text,
        text,
        text,
        text,
        text,
    )


@pytest.mark.parametrize(
    "text", sampled(["</script><script>alert(1)//", '"><img src=x onerror=alert(1)>', "%{x}<extra>", ""], 1)
)
def test_texts_stay_texts(text: str) -> None:
    rows = (hostile(text), replace(hostile(text), simulated=None, reason=text))
    page = Page(validation_html(Validation(rows)))
    tame = Page(validation_html(stored_validation()))
    assert asks_for_nothing(page) and set(page.names()) <= set(tame.names())


def test_a_validation_of_nothing_has_no_plot() -> None:
    page = Page(validation_html(Validation((replace(hostile("a"), simulated=None, reason="not here"),))))
    assert not page.figures and "nothing was run that could validate" in page.text and "not here: 1 of a" in page.text
    assert Page(validation_html(Validation((replace(hostile("a"), simulated=0.0),)))).figures


DRAWN = """
const plots = [...document.querySelectorAll(".plot")];
Plotly.Fx.hover(plots[0], [{curveNumber: 3, pointNumber: 0}]);
const counts = () => plots.map((p) => p.querySelectorAll(".points path").length);
setTimeout(() => { document.title = JSON.stringify([counts(), plots[0].querySelector(".hovertext text").textContent,
  [...plots[0].querySelectorAll(".xtick text")].map((t) => t.textContent),
  document.documentElement.scrollWidth <= innerWidth]); }, 500);
"""


def test_a_browser_draws_it(browser: Any, tmp_path: Path) -> None:
    found = stored_validation()
    counts, hover, ticks, fits = json.loads(seen(browser, validation_html(found), tmp_path, DRAWN))
    expected = [sum(r.quantity in q and r.simulated is not None for r in found.rows) for q in PLOTS]
    assert counts == expected and fits and ticks == ["10", "100", "1,000", "10,000"]
    assert "proxyless-w0.40-r080" in hover and "measured 628 ms" in hover
