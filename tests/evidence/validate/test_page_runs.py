"""The page of ``mcusim validate``: its answer, and the table of runs that a browser sorts and filters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from mcusim.evidence.validate.page import validation_html
from mcusim.evidence.validate.page_answer import answer
from mcusim.evidence.validate.page_memory import MEMORY
from mcusim.evidence.validate.page_runs import runs_section
from mcusim.evidence.validate.validate import stored_validation
from mcusim.measurements.published.validation_result import Coverage, Validation, ValidationRow
from tests.support.cases import only_with_all_cases, sampled
from tests.support.pages.browser import Opened, opened

HALF = 0.15  # of the simulated figure, to either side: where the tests below expect a measurement


def expecting(row: ValidationRow, low: float, high: float) -> ValidationRow:
    return replace(row, interval=(low, high))


def with_intervals(found: Validation) -> Validation:
    """Each counted latency and energy within 15 % of the simulated figure."""
    return Validation(
        tuple(
            expecting(row, row.simulated * (1 - HALF), row.simulated * (1 + HALF)) if counted(row) else row
            for row in found.rows
            if row.simulated is None or row.simulated > 0
        ),
        found.figures,
        (Coverage("latency", "source", 0.9, 20, 17, 14.6, None), Coverage("latency", "board", 0.9, 20, 19, 22.4, 0.8)),
    )


def counted(row: ValidationRow) -> bool:
    return row.use == "validate" and row.quantity in ("latency", "energy") and row.simulated is not None


def of(found: Validation, quantity: str, flags: bool = True) -> list[ValidationRow]:
    rows = [row for row in found.rows if counted(row) and row.quantity == quantity]
    return [row for row in rows if not flags or "flags unknown" not in row.build]


def sizes(rows: list[ValidationRow]) -> list[float]:
    return [abs(row.error or 0.0) for row in rows]


@only_with_all_cases
def test_the_answer_comes_first_with_and_without_builds_of_unknown_flags() -> None:
    found = with_intervals(stored_validation())
    page = validation_html(found)
    assert 0 < page.index("How far off?") < page.index("Where?") < page.index("honest?") < page.index('class="runs"')
    text = answer(found)
    for quantity in ("latency", "energy"):
        known, every = of(found, quantity), of(found, quantity, flags=False)
        assert len(every) > len(known) > 5
        shown = re.search(quantity + r": median ([\d.]+) %.*?unknown compiler flags median ([\d.]+) %", text)
        assert shown is not None
        assert [float(one) for one in shown.groups()] == pytest.approx(
            [median(sizes(known)), median(sizes(every))], abs=0.06
        )
    honest = "17 of 20 (85 %) from other sources, ±15 %; 19 of 20 (95 %) from other boards, ±22 %"
    assert f"inside the 90% interval, predicted<ul><li>latency: {honest}</li></ul>" in text
    farthest = max(of(found, "latency") + of(found, "energy"), key=lambda row: abs(row.error or 0.0))
    where = text[text.index("Farthest off") :]
    assert where.index(farthest.network) < 40 and "flags unknown" not in where[: where.index("</ul>")]


@only_with_all_cases
def test_without_intervals_the_answer_says_so_and_nothing_is_counted_inside() -> None:
    found = Validation(tuple(replace(row, interval=None) for row in stored_validation().rows))
    text = answer(found)
    assert "No row has one." in text
    assert 'class="band"' not in runs_section(found.rows)


def one(measured: float, simulated: float, **more: Any) -> ValidationRow:
    texts = ("source", "table", "board", "model", "engine", "build", "placement")
    return ValidationRow(*texts, "latency", "ms", "validate", measured, simulated, **more)


def bar(row: ValidationRow) -> str:
    """The one bar of a page of this row; of the axis only its ends."""
    found = re.findall(r'<svg class="bar"(.*?)</svg>', runs_section((row,)))
    assert len(found) == 2 and "axis" in found[0]
    return str(found[1])


@pytest.mark.parametrize(
    ("measured", "mark"), [(0.89, "outside"), (0.91, "inside"), (1.0, "inside"), (1.19, "inside"), (1.21, "outside")]
)
def test_a_mark_says_whether_the_measurement_is_in_the_interval(measured: float, mark: str) -> None:
    drawn = bar(expecting(one(100 * measured, 100.0), 90.0, 120.0))
    assert f'class="{mark}"' in drawn and 'class="band"' in drawn
    assert f"measured {measured:.2f} of simulated, expected 0.90 to 1.20" in drawn


def test_places_on_the_axis_are_logarithms_of_what_is_measured_over_simulated() -> None:
    def places(row: ValidationRow) -> list[float]:
        drawn = bar(row)
        x, width = (float(number) for number in re.findall(r' x="([\d.]+)" y="3" width="([\d.]+)"', drawn)[0])
        (mark,) = re.findall(r'cx="([\d.]+)"', drawn)
        (line,) = re.findall(r'd="M([\d.]+) 0V', drawn)
        return [x, float(mark), float(line), x + width]

    low, mark, line, high = places(expecting(one(100.0, 100.0), 80.0, 125.0))
    assert mark == line and line - low == pytest.approx(high - line, abs=0.11)  # 0.8 is 1 / 1.25
    near, far = places(expecting(one(110.0, 100.0), 80.0, 125.0)), places(expecting(one(121.0, 100.0), 80.0, 125.0))
    assert far[1] - line == pytest.approx(2 * (near[1] - line), abs=0.21)  # 1.21 is 1.1 squared
    beyond = bar(expecting(one(400.0, 100.0), 80.0, 500.0))
    found = re.findall(r'class="inside" d="M([\d.]+) 9.0l-7 -5v10z"', beyond)  # an arrowhead at the end of the axis
    assert float(found[0]) > high and "beyond the axis" in beyond


def test_what_has_no_ratio_has_no_bar_and_what_has_no_interval_a_ring() -> None:
    assert len(re.findall('<svg class="bar"', runs_section((one(100.0, 0.0),)))) == 1  # the axis
    assert 'class="alone"' in bar(one(100.0, 110.0))


@pytest.fixture(scope="module")
def found() -> Validation:
    return with_intervals(stored_validation())


@pytest.fixture
def page(browser: Any, found: Validation, tmp_path: Path) -> Iterator[Opened]:
    with opened(browser, validation_html(found), tmp_path) as shown:
        yield shown
        assert shown.printed == [] and len(shown.asked) == 1


def rows_of(page: Opened, script: str, visible: bool = True) -> list[Any]:
    rows = '[...document.querySelectorAll(".runs tbody tr")]' + (".filter((row) => !row.hidden)" if visible else "")
    return list(page.page.evaluate(f"{rows}.map((row) => {script})"))


def status(page: Opened) -> str:
    return str(page.page.locator(".runs .shown").inner_text())


@only_with_all_cases
def test_the_page_has_every_run_once_and_those_of_unknown_flags_apart(page: Opened, found: Validation) -> None:
    networks = [row for row in found.rows if row.simulated is not None and row.quantity not in MEMORY]
    keys = {(row.source, row.board, row.network, row.placement, row.run) for row in networks if row.simulated}
    shown = rows_of(page, "[row.dataset.source, row.dataset.board, ...row.cells[0].innerText.split(/\\n|; /)]")
    assert len(shown) == len(keys) > 35
    assert sorted((one[0], one[1], one[2], one[3]) for one in shown) == sorted(key[:4] for key in keys)
    with_bars = rows_of(page, "row.querySelectorAll('[data-value]').length / 3")
    others = rows_of(page, "(row.querySelector('.other')?.innerText ?? '').split('\\n').filter(Boolean).length")
    figures = sum(with_bars) + sum(others)
    assert figures == len(networks)
    unknown = page.page.evaluate("[...document.querySelectorAll('.runs table')].map((t) => t.tBodies[0].rows.length)")
    assert unknown[1] == len({row.run for row in found.rows if "flags unknown" in row.build and row.simulated})
    assert f"{len(keys)} of {len(keys)} runs shown" in status(page)


@only_with_all_cases
def test_a_click_on_a_heading_sorts_and_another_turns_it_round(page: Opened) -> None:
    head = page.page.locator(".runs table").first.locator("th button")

    def values(column: int) -> list[float | None]:
        script = f"[...document.querySelector('.runs tbody').rows].map((row) => row.cells[{column}].dataset.value)"
        return [None if value is None else float(value) for value in page.page.evaluate(script)]

    def sort(column: int) -> list[float]:
        head.nth(column).click()
        kept = values({3: 3, 5: 5}[column])
        known = [value for value in kept if value is not None]
        assert kept == known + [None] * (len(kept) - len(known)) and len(known) > 10 > 0 < len(kept) - len(known)
        return known

    measured = sort(3)
    assert measured == sorted(measured) and sort(3) == measured[::-1]
    errors = [abs(value) for value in sort(5)]
    assert errors == sorted(errors, reverse=True) and min(errors) < max(errors)
    assert [abs(value) for value in sort(5)] == errors[::-1]
    sorts = page.page.evaluate("[...document.querySelectorAll('.runs th')].map((one) => one.ariaSort).filter(Boolean)")
    assert sorts.count("ascending") == 1 and sorts.count("descending") == 0
    head.nth(0).click()
    names = page.page.evaluate("[...document.querySelector('.runs tbody').rows].map((row) => row.cells[0].innerText)")
    assert [name.lower() for name in names] == sorted(name.lower() for name in names)


@only_with_all_cases
def test_filters_leave_what_they_say_and_the_sums_follow(page: Opened, found: Validation) -> None:
    page.page.locator('[data-filter="board"]').select_option("STM32F746G-DISCO")
    assert set(rows_of(page, "row.dataset.board")) == {"STM32F746G-DISCO"}
    page.page.locator('[data-filter="use"]').select_option("validate")
    latency = [row for row in of(found, "latency") if row.board == "STM32F746G-DISCO"]
    assert len(rows_of(page, "1")) == len(latency) > 2
    assert f"latency, {len(latency)} used in no fit: median {median(sizes(latency)):.1f} %" in status(page)
    page.page.locator('[data-filter="text"]').fill("MNASNET tinyops")
    assert all("mnasnet" in name for name in rows_of(page, "row.innerText")) and len(rows_of(page, "1")) == 2
    page.page.locator('[data-filter="text"]').fill("nothing of this name")
    assert rows_of(page, "1") == [] and status(page).startswith("0 of ")


@only_with_all_cases
def test_runs_outside_their_interval_can_be_picked(page: Opened, found: Validation) -> None:
    page.page.locator('[data-filter="kept"]').select_option("outside")
    off = {row.run for row in found.rows if counted(row) and abs(row.measured / (row.simulated or 1) - 1) > HALF}
    assert len(rows_of(page, "1")) == len(off) > 3
    assert all(rows_of(page, "row.querySelectorAll('.bar .outside').length"))
    page.page.locator('[data-filter="kept"]').select_option("inside")
    assert not any(rows_of(page, "row.querySelectorAll('.bar .outside').length")) and rows_of(page, "1")


@only_with_all_cases
@pytest.mark.parametrize("scheme", sampled(["dark", "light"], 1))
def test_it_fits_a_telephone_and_both_colour_schemes(
    browser: Any, found: Validation, tmp_path: Path, scheme: str
) -> None:
    with opened(browser, validation_html(found), tmp_path, width=400, scheme=scheme) as shown:
        assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        fill = "(name) => getComputedStyle(document.querySelector(`.bar .${name}`)).fill"
        colours = {shown.page.evaluate(fill, name) for name in ("band", "inside", "outside")}
        assert len(colours | {shown.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")}) == 4
