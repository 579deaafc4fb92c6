"""The page of several runs: labels, one time scale, exact parts; a browser draws, hovers and zooms it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim import compare, simulate
from mcusim.commands.app import main
from mcusim.plan import SRAM_BUDGET
from mcusim.report.compare.page import compare_page
from mcusim.report.compare.pairs import labels
from mcusim.results import Result
from tests.support.cases import few, only_with_all_cases
from tests.support.pages.browser import opened
from tests.support.pages.hostile_names import HOSTILE
from tests.support.pages.pages import Page, asks_for_nothing

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"


@pytest.fixture(scope="module")
def rows() -> tuple[Result, ...]:
    return compare(["ds-cnn", "figure-1"], [F469, F746]).rows


def test_labels_say_what_differs(rows: tuple[Result, ...]) -> None:
    boards = [row for row in rows if row.model == "ds-cnn"]
    assert labels(boards)[0] == f"internal, {F469}" and len(set(labels(boards))) == 6
    assert labels(boards[:3]) == ["internal", "external", "tinyops"]
    assert labels([boards[0], boards[0]]) == ["internal (1)", "internal (2)"]
    asked = boards[0].request
    assert asked is not None
    options = asked.settings.options.having(SRAM_BUDGET, 65536)
    budget = replace(boards[0], request=replace(asked, settings=replace(asked.settings, options=options)))
    assert labels([boards[0], budget]) == ["internal", "internal, SRAM budget 64 KiB"]


def test_sections_scales_and_sums(rows: tuple[Result, ...]) -> None:
    whole = compare_page(rows)
    page = Page(whole)
    assert asks_for_nothing(page) and whole == compare_page(rows)
    assert page.names().count("h2") >= 2 and "12 of 12 rows ran, of 2 models." in page.text
    with_lanes = [figure for figure in page.figures if "lanes" in figure["layout"].get("meta", {})]
    assert [len(figure["layout"]["meta"]["lanes"]) for figure in with_lanes] == [6, 6]
    slowest = max(r.run.cycles / r.run.clock * 1e3 for r in rows[:6] if r.run is not None)
    assert with_lanes[0]["layout"]["xaxis"]["range"] == [0, pytest.approx(slowest)]
    tables = re.findall(r"<details><summary>[^<]*\d+ parts by which.*?</details>", whole, re.DOTALL)
    assert len(tables) == 10  # of each model two on each board, and one between the boards
    for text in tables:
        *parts, together = [round(1000 * float(n)) for n in re.findall(r"([+-][\d.]+) [mµ]s", text.replace(",", ""))]
        assert sum(parts) == together


def test_rows_that_did_not_run_are_listed() -> None:
    found = compare(["mobilenet-v1-w1.0-r224"], [F746], ["internal"]).rows
    page = Page(compare_page(found))
    assert "0 of 1 rows ran" in page.text and "internal: " in page.text and not page.figures


def test_a_single_run_and_the_same_run_twice() -> None:
    one = simulate("figure-1", F746, "internal")
    assert "parts by which" not in compare_page([one])
    assert "takes as long as" in compare_page([one, one])


@only_with_all_cases
def test_hostile_names_stay_text(rows: tuple[Result, ...], browser: Any, tmp_path: Path) -> None:
    changed = [
        replace(row, model=HOSTILE[0], policy=HOSTILE[i], kernels=HOSTILE[i + 1]) for i, row in enumerate(rows[:6])
    ]
    with opened(browser, compare_page(changed).encode().decode(), tmp_path) as found:
        assert not found.printed and len(found.asked) == 1
        assert found.page.evaluate("document.querySelectorAll('img, a[href]').length") == 0


@few(1)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_browser_draws_it(rows: tuple[Result, ...], browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    with opened(browser, compare_page(rows), tmp_path, width, scheme) as found:
        assert "compute" in found.hover(0.05, 0.14) or "CONV_2D" in found.hover(0.05, 0.1)
        whole = found.layout("xaxis.range")
        found.drag(0.1, 0.4)
        low, high = found.layout("xaxis.range")
        assert 0 < low < high < whole[1]
        assert found.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert not found.printed and found.asked == [(tmp_path / "page.html").as_uri()]


def run(*words: str | Path) -> int:
    return main([str(word) for word in words])


@only_with_all_cases
def test_the_command_line_writes_both_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, many = tmp_path / "one.html", tmp_path / "many.html"
    assert run("run", "figure-1", "--policy", "tinyops", "--html", one) == 0
    assert run("compare", "figure-1", "-m", F746, "--html", many) == 0
    assert one.read_text().startswith("<!DOCTYPE html>") and "3 of 3 rows ran" in many.read_text()
    before = one.read_bytes()
    capsys.readouterr()
    for words in (("run", "figure-1", "--html", one), ("compare", "figure-1", "--html", one)):
        assert run(*words) == 2
        assert capsys.readouterr().err == f"error: {one} exists; --force overwrites it\n"
    assert one.read_bytes() == before and run("run", "figure-1", "--policy", "tinyops", "--html", one, "--force") == 0
    assert one.read_bytes() == before


@only_with_all_cases
@pytest.mark.parametrize("command", ["run", "compare"])
def test_what_cannot_be_written_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    for path, why in (
        ("-", "-: name a file"),
        (tmp_path, "is a directory"),
        (tmp_path / "no" / "a.html", "there is no directory"),
    ):
        assert run(command, "figure-1", "--html", path) == 2
        assert why in capsys.readouterr().err
    same = tmp_path / "same"
    assert run(command, "figure-1", "--html", same, "--json", same) == 2
    assert "is named for two outputs" in capsys.readouterr().err and not same.exists()


@only_with_all_cases
def test_a_run_that_does_not_fit_has_a_page_and_status_1(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("run", "mobilenet-v1-w1.0-r224", "--html", page) == 1
    assert "There is no run: " in page.read_text()
