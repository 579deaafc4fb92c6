"""Why the rows of a comparison differ, as text and as JSON: the numbers are those of the rows."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mcusim import compare, load_machine
from mcusim.api.compare import Comparison, compare_cases, product_cases
from mcusim.report.compare.pairs import by_model, differences_json, differences_lines, pairs, verdict_lines
from mcusim.report.compare.table import compare_table
from mcusim.results import Result
from mcusim.run_config.settings import base_settings
from tests.support.cases import only_with_all_cases, sampled

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(sampled(["ds-cnn", "mobilenet-v1-w1.0-r224", "figure-1"], 1), [F469, F746])


@only_with_all_cases
def test_json_sums_to_the_difference_of_the_rows(found: Comparison) -> None:
    data = found.to_json()
    assert {one["model"] for one in data["differences"]} == {row["model"] for row in data["rows"]}
    for one in data["differences"]:
        row, than = data["rows"][one["row"]], data["rows"][one["than_row"]]
        assert row["model"] == than["model"] == one["model"]
        assert one["ms"] == pytest.approx(row["latency_ms"] - than["latency_ms"]) and one["ms"] >= 0
        assert sum(part["ms"] for part in one["parts"]) == pytest.approx(one["ms"])
        assert [abs(p["ms"]) for p in one["parts"]] == sorted((abs(p["ms"]) for p in one["parts"]), reverse=True)
        if row["machine"] == than["machine"]:
            waits = sum(p["ms"] for p in one["parts"] if p["cause"] == "dma_wait")
            cycles = row["cycles_by_cause"]["dma_wait"] - than["cycles_by_cause"]["dma_wait"]
            assert waits == pytest.approx(1e3 * cycles / row["clock_hz"])


@only_with_all_cases
def test_every_run_but_the_fastest_is_explained_once(found: Comparison) -> None:
    for members in by_model(found.rows).values():
        ran = sorted((row for row in members if row.run), key=lambda row: row.value("latency_ms") or 0)
        printed = pairs(members)
        assert {id(pair.second) for pair in printed} == {id(row) for row in ran[1:]} and len(printed) == len(ran[1:])
        assert all(pair.first.machine == pair.second.machine or pair.first is ran[0] for pair in printed)


@only_with_all_cases
def test_the_text_below_the_table(found: Comparison) -> None:
    lines = differences_lines(found.rows)
    text = compare_table(found.rows, explain=True)
    assert "\n".join(lines) in text and max(map(len, lines)) <= 80
    joined = re.sub(r"\n  ", " ", "\n".join(lines)).splitlines()
    assert len(joined) == len(differences_json(found.rows))
    for line in joined:
        if "latency 1.0" in line and " takes " not in line:
            assert line.count("no difference can be claimed") in (1, 2)
            continue
        printed = re.match(r"(\S+): (?:On \S+: )?.+ takes ([\d,.]+) [mµ]?s longer than .+?: (-?[\d,.]+ .*)", line)
        assert printed, line
        parts = [float(n.replace(",", "")) for n in re.findall(r"(?:^|, )(-?[\d,.]*\d) ", printed[3])]
        assert sum(parts) == pytest.approx(float(printed[2].replace(",", ""))) and len(parts) > 1
    assert joined[0].startswith(f"ds-cnn: On {F469}: ")


def test_the_verdict_is_first_and_a_difference_is_taken_apart_where_there_is_any(found: Comparison) -> None:
    rows = [row for row in found.rows if row.model == "ds-cnn"]
    lines = verdict_lines(rows)
    assert compare_table(rows).startswith("\n".join(lines)) and max(map(len, lines)) <= 80
    text = " ".join("\n".join(lines).split())
    assert text.startswith(f"On {F469}: tinyops is fastest, 66 ms; internal takes 1.00 times tinyops' time (0.")
    assert "no difference can be claimed; external takes 2." in text
    explained = compare_table(rows, explain=True)
    assert "external takes" in explained and "internal takes 0" not in explained
    assert "longer than" not in str(found) and "--explain says where the time goes" in str(found)


def test_the_verdict_names_what_did_not_run() -> None:
    small = {"memory.sram1.size": "16 KiB", "memory.sram2.size": "4 KiB", "memory.dtcm.size": "4 KiB"}
    rows = compare("ds-cnn", F746, ["internal", "external", "tinyops"], overrides=small).rows
    text = " ".join(line.strip() for line in verdict_lines(rows))
    assert text.startswith("external runs, ") and "; internal does not fit: needs 23.3 KiB of 16 KiB SRAM" in text
    without = compare("ds-cnn", "nucleo-l4r5zi").rows
    assert verdict_lines(without) == ["internal runs, 134 ms (81.9 to 174); external, tinyops cannot be planned"]


def test_progress_gets_each_row_when_it_is_done() -> None:
    seen: list[Result] = []
    cases = product_cases("figure-1", F746, ["internal", "external"], [base_settings()])
    rows = compare_cases(cases, progress=seen.append).rows
    assert [replace(row, ratios=None) for row in rows] == seen and len(seen) == 2


def test_a_single_machine_is_not_named(found: Comparison) -> None:
    alone = pairs([row for row in found.rows if row.model == "ds-cnn" and row.machine.name == F469])
    assert len(alone) == 2 and not any(pair.place for pair in alone)


def test_no_text_without_a_pair() -> None:
    alone = compare("ds-cnn", F746, "internal")
    assert differences_lines(alone.rows) == [] and alone.to_json()["differences"] == []
    none = compare("mobilenet-v1-w1.0-r224", F746, "internal")
    assert differences_lines(none.rows) == [] and none.to_json()["differences"] == []


def test_variants_of_a_machine_are_machines_of_their_own() -> None:
    slow = load_machine(F746, {"core.clock": "108 MHz"})
    first, second, third = (
        pair.sentence() for pair in pairs(compare("ds-cnn", [F746, slow], ["internal", "external"]).rows)
    )
    assert first.startswith(f"On {F746}: external takes")
    assert second.startswith(f"On {F746}, core.clock = 108 MHz: external takes")
    assert re.match(r"internal, core.clock = 108 MHz takes [\d.]+ ms longer than internal: [\d.]+ the clock", third)
