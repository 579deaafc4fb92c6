"""Rows of accesses to memory and of DMA: shown by themselves, and without a part in the errors of networks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcusim.evidence.validate.page import validation_html
from mcusim.evidence.validate.page_answer import answer
from mcusim.evidence.validate.page_memory import MEMORY, memory_section, trials_section
from mcusim.evidence.validate.table import validation_json
from mcusim.evidence.validate.trials import trials
from mcusim.evidence.validate.validate import stored_validation
from mcusim.measurements.interval.coverage import coverage
from mcusim.measurements.interval.published_errors import published_errors
from mcusim.measurements.published.validation_result import Validation, ValidationRow
from mcusim.report.html.page import plain
from mcusim.text import percent, rounded
from tests.support.cases import only_with_all_cases


@pytest.fixture(scope="module")
def found() -> Validation:
    return stored_validation()


def of_memory(found: Validation) -> list[ValidationRow]:
    return [row for row in found.rows if row.quantity in MEMORY]


@only_with_all_cases
def test_every_row_is_in_a_table_of_its_own(found: Validation) -> None:
    """Measured, simulated, error and source; and in no table of networks."""
    page = validation_html(found)
    section = memory_section(found.rows)
    assert section and page.count(section) == 1
    for row in of_memory(found):
        if row.simulated is not None:
            cells = (rounded(row.measured), rounded(row.simulated), percent(row.error))
            numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
            heading = plain(f"{row.source}, {row.table}: {row.board}, {row.placement}")
            (part,) = [one for one in section.split("<b>") if one.startswith(f"{heading}</b>")]
            assert (
                plain(row.why) in part
                and part.count(f"<tr><td>{plain(row.model)}</td><td>{row.use}</td>{numbers}") == 1
            )
    assert memory_section([row for row in found.rows if row.quantity not in MEMORY]) == ""
    networks = page.partition('<section class="runs">')[2].partition("</section>")[0]
    assert "SRAM to SRAM" not in networks and "SRAM to SRAM" in section


@only_with_all_cases
def test_they_have_no_part_in_the_errors_of_networks(found: Validation) -> None:
    """However far off they are: neither in the answer nor among the errors that intervals are made from."""
    far = [replace(row, simulated=99 * row.measured) if row.quantity in MEMORY else row for row in found.rows]
    assert of_memory(found) and answer(Validation(tuple(far), found.figures, found.coverage)) == answer(found)
    errors = published_errors(far, found.figures)
    assert coverage(errors) == found.coverage
    assert all(row.interval is None for row in of_memory(found))


@only_with_all_cases
def test_trials_have_each_figure(found: Validation) -> None:
    assert found.trials == trials()
    section = trials_section(found.trials)
    assert section in validation_html(found) and trials_section(()) == ""
    for trial, document in zip(found.trials, validation_json(found)["trials"], strict=True):
        assert plain(trial.source) in section and document["source"] == trial.source
        for row, data in zip(trial.rows, document["rows"], strict=True):
            assert f"<td>{plain(row.name)}</td>" in section
            assert data["error"] == pytest.approx(100 * (data["simulated"] / data["measured"] - 1))
    assert stored_validation("TinyOps").trials == ()
    assert {one.machine for one in stored_validation(board="F469").trials} == {"stm32f469i-disco"}
