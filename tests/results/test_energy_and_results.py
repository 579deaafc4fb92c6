"""Energy, results and tables from hand-made runs, and the published figures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mcusim.engine.run import CAUSES, Event, Traffic
from mcusim.errors import DoesNotFit
from mcusim.machine import load_machine
from mcusim.machine.description import Figure
from mcusim.measurements.published.rows import measured, rows
from mcusim.report.compare.table import compare_table, ratio
from mcusim.report.run.table import run_table
from mcusim.results import Measured, assumptions, energy, sram_bytes, to_json
from mcusim.results.advice import Advice, LimitCheck
from mcusim.results.cautions import cautions
from mcusim.text import columns, rounded, size
from tests.support.pages.made_results import CLOCK, make_machine, make_result, make_run


def transfer(lane: str, start: int, end: int) -> Event:
    return Event(0, lane, "transfer", "input", 0, start, end, {})


def test_energy_of_the_core_and_its_traffic() -> None:
    found = energy(make_run(), make_machine())
    assert found.latency_ms == pytest.approx(10.0)
    assert found.energy_mj == pytest.approx(1e3 * (5 * 0.01 * 0.1 + 1500 * 5e-10))
    assert found.supply_current_ma == pytest.approx(found.energy_mj / (5 * 0.01))


def test_external_memories_draw_current_only_when_used() -> None:
    base = energy(make_run(), make_machine()).energy_mj
    header = make_run().header
    kept = make_run(header=replace(header, peak_bytes={"sram1": 1520, "qspi": 10}))
    assert energy(kept, make_machine()).energy_mj - base == pytest.approx(1e3 * 5 * 0.01 * 0.005)
    moved = make_run(traffic={"sram1": Traffic(1000, 500), "sdram": Traffic(dma_read=1_000_000)})
    assert energy(moved, make_machine()).energy_mj - base == pytest.approx(1e3 * (5 * 0.01 * 0.02 + 1e6 * 1e-9))


def test_a_core_that_waits_for_data_draws_what_it_draws_stalled() -> None:
    """Waits for SRAM, SDRAM, QSPI and the bus; not for flash, and polling for a DMA is running."""
    cycles, spent = 1_000_000, {"sram": 10, "sdram": 40_000, "qspi": 300, "bus": 690, "flash": 5_000, "dma_wait": 7_000}
    by_cause = dict.fromkeys(CAUSES, 0) | spent
    by_cause["compute"] = cycles - sum(spent.values())
    machine, run = make_machine(), make_run(cycles, by_cause=by_cause)
    stalled = replace(machine, power=replace(machine.power, stalled=0.03))
    saved = energy(run, machine).energy_mj - energy(run, stalled).energy_mj
    assert saved == pytest.approx(1e3 * 5 * (0.1 - 0.03) * 41_000 / CLOCK)
    same = replace(machine, power=replace(machine.power, stalled=0.1))
    assert energy(run, same) == energy(run, machine)


def test_the_stalled_current_is_an_assumption_of_what_waits() -> None:
    machine = make_machine()
    figure = Figure("power.stalled", "30 mA", "assumed", "test", "bench.toml", 1)
    named = replace(
        machine, power=replace(machine.power, stalled=0.03), figures={**machine.figures, "power.stalled": figure}
    )
    by_cause = dict.fromkeys(CAUSES, 0) | {"compute": 90, "sdram": 10}
    line = "power.stalled = 30 mA (assumed: test)"
    assert line in assumptions(make_run(100, by_cause=by_cause), named)
    assert line not in assumptions(make_run(100, by_cause=by_cause | {"sdram": 0, "compute": 100}), named)
    as_it_runs = replace(named, power=replace(named.power, stalled=machine.power.run))
    assert line not in assumptions(make_run(100, by_cause=by_cause), as_it_runs)


def test_dma_energy_counts_the_union_of_a_controllers_transfers() -> None:
    events = (transfer("dma2.s0", 0, 100), transfer("dma2.s1", 50, 150), transfer("dma1.s0", 0, 10))
    assert make_run(events=events).dma_busy == 150 + 10
    extra = energy(make_run(events=events), make_machine()).energy_mj - energy(make_run(), make_machine()).energy_mj
    assert extra == pytest.approx(1e3 * 5 * 0.004 * 160 / CLOCK)


def test_a_run_of_no_cycles_has_no_energy() -> None:
    found = energy(make_run(0, by_cause={}, operators=(), traffic={}), make_machine())
    assert (found.latency_ms, found.energy_mj, found.supply_current_ma) == (0, 0, 0)


def test_assumptions_name_what_the_run_used() -> None:
    lines = assumptions(make_run(), make_machine())
    keys = {line.partition(" = ")[0] for line in lines}
    assert keys == {"bus.clock", "memory.sram1.read_latency", "power.run", "kernel profile unit (assumed)"}
    everything = make_run(
        traffic={"sdram": Traffic(dma_read=1)},
        busy={"dma2.s0": 5},
        events=(transfer("dma2.s0", 0, 5),),
        header=replace(make_run().header, random_weights=True, warnings=("costed as a copy",)),
    )
    lines = assumptions(everything, make_machine())
    text = "\n".join(lines)
    assert "memory.sdram.read_overhead = 1 (calibrated: test)" in lines
    for part in ("dma.dma2", "sdram_active", "dma_active", "energy_per_byte.sdram", "random weights", "costed as"):
        assert part in text
    assert "qspi" not in text


@pytest.mark.parametrize(("fidelity", "counts"), [("replay", False), ("emulate", True)])
def test_arbitration_of_loads_counts_where_they_are_emulated(fidelity: str, counts: bool) -> None:
    run = replace(make_run(), fidelity=fidelity, traffic={"sram2": Traffic(core_read=1)})
    lines = assumptions(run, load_machine("stm32f407g-disc1"))
    assert any(line.startswith("memory.sram2.read_arbitration = 1 hclk (assumed: ") for line in lines) == counts


def test_assumptions_name_external_memory_without_energy() -> None:
    run = make_run(traffic={"qspi": Traffic(core_read=1), "sdram": Traffic(dma_read=1)})
    machine = make_machine()
    unpaid = [line for line in assumptions(run, machine) if "not in the energy" in line]
    assert unpaid == ["power.energy_per_byte has no qspi: its accesses are not in the energy"]
    nothing = replace(machine.power, sdram_active=0.0, qspi_active=0.0, energy_per_byte={"sdram": 0.0})
    unpaid = [line for line in assumptions(run, replace(machine, power=nothing)) if "not in the energy" in line]
    assert [line.partition(":")[0] for line in unpaid] == [
        "power.sdram_active = 0 A",
        "power.qspi_active = 0 A",
        "power.energy_per_byte.sdram = 0 J",
        "power.energy_per_byte has no qspi",
    ]
    idle = assumptions(make_run(), replace(machine, power=nothing))
    assert not [line for line in idle if "not in the energy" in line]


def test_cautions_say_which_memory_the_energy_or_the_cache_leaves_out() -> None:
    run = make_run(traffic={"sdram": Traffic(core_read=1)})
    machine = load_machine("stm32f746g-disco")
    assert cautions(make_result(run=run, machine=machine)) == ()
    silent = replace(machine, power=replace(machine.power, sdram_active=0.0))
    (text,) = cautions(make_result(run=run, machine=silent))
    assert "leaves sdram out" in text and 'shows those of a board that has: --set "power.sdram_active=..."' in text
    assert cautions(make_result(run=make_run(traffic={"sram1": Traffic(core_read=1)}), machine=silent)) == ()
    moved = load_machine("stm32f746g-disco", {"memory.sdram.base": "0xC0000000"})
    (text,) = cautions(make_result(run=run, machine=moved))
    assert "makes 0xc0000000 device memory" in text and "--set memory.sdram.attribute=write-back" in text
    assert any("makes 0xc0000000 device memory" in line for line in assumptions(run, moved))
    meant = load_machine("stm32f746g-disco", {"memory.sdram.base": "0xC0000000", "memory.sdram.attribute": "device"})
    assert cautions(make_result(run=run, machine=meant)) == ()


ISSUE_KEYS = {
    "model", "machine", "policy", "kernels", "fidelity", "fits", "cycles", "latency_ms", "energy_mj",
    "supply_current_ma", "macs", "peak_bytes", "memory", "cycles_by_cause", "operators", "assumptions",
}  # fmt: skip


def test_json_has_the_promised_keys() -> None:
    row = json.loads(json.dumps(to_json(make_result()), allow_nan=False))
    assert set(row) >= ISSUE_KEYS
    assert row["fits"] is True
    assert row["latency_ms"] == pytest.approx(10.0)
    assert row["macs"] == 1000
    assert {"activations", "scratch", "overlay", "runtime"} <= set(row["memory"])
    assert {"index", "type", "cycles", "tiles"} <= set(row["operators"][0])
    assert sum(row["cycles_by_cause"].values()) == row["cycles"]
    assert "measured" not in row


def test_json_of_a_model_that_does_not_fit() -> None:
    reason = DoesNotFit("sram1", 2000, 1000, "the arena")
    row = to_json(make_result(run=None, energy=None, does_not_fit=reason))
    assert set(row) >= ISSUE_KEYS
    assert row["fits"] is False
    assert row["cycles"] is row["latency_ms"] is row["peak_bytes"] is None
    assert row["does_not_fit"] == {"region": "sram1", "needed": 2000, "available": 1000, "what": "the arena"}


def test_json_of_a_measured_row_has_errors() -> None:
    published = Measured(
        "a paper", ("Table 1",), {"latency_ms": 8.0, "arena_bytes": 2000.0}, {"latency_ms": "validate"}
    )
    row = to_json(make_result(measured=published))
    assert row["measured"]["latency_ms"] == 8.0
    assert row["measured"]["source"] == "a paper, Table 1"
    assert row["measured"]["error_percent"] == pytest.approx({"latency_ms": 25.0, "arena_bytes": -24.0})


def test_a_published_arena_is_compared_with_explicit_pads() -> None:
    """1520 B as planned, 1900 B with PADs, 2000 B published."""
    header = make_run().header
    run = make_run(header=replace(header, memory=replace(header.memory, arena_exported=1900)))
    published = Measured("a paper", ("Table 1",), {"arena_bytes": 2000.0})
    result = make_result(run=run, measured=published)
    row = to_json(result)
    assert (row["memory"]["arena"], row["memory"]["arena_exported"]) == (1520, 1900)
    assert row["measured"]["error_percent"] == {"arena_bytes": pytest.approx(-5.0)}
    other_run = make_result("external", run=run)
    assert (result.value("arena_bytes"), other_run.value("arena_bytes")) == (1900, 1520)
    text = compare_table([result, other_run])
    assert "1.9    2 -5.0%" in text
    assert "1.9    -     -" in text
    assert "arena as planned, without PADs: 1.52 KB, error -24.0%" in text
    assert "inferred" in text
    assert "1.9 KB (KB = 1000) measured 2, error -5.0%" in run_table(result)
    assert "without PADs: 1.5 KB, error -24.0%" in run_table(result)
    assert "PAD" not in compare_table([other_run]) + run_table(other_run)


def test_sram_bytes_leaves_out_external_memory() -> None:
    run = make_run(header=replace(make_run().header, peak_bytes={"sram1": 100, "sdram": 5000}))
    assert sram_bytes(make_result(run=run)) == 100


def test_run_table_says_everything_within_80_columns() -> None:
    published = Measured("a paper", ("Table 1",), {"latency_ms": 8.0, "arena_bytes": 2000.0})
    text = run_table(make_result(measured=published))
    assert " 10 ms  measured 8, error +25.0%" in text
    assert "1,000,000  at 100 MHz" in text
    assert "measured 2, error -24.0%" in text
    assert "CONV_2D" in text
    assert "Rests on 1 assumptions; --assumptions lists them" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "  a = 1" in run_table(make_result(), assumptions=True)


def test_run_table_of_a_model_that_does_not_fit_says_why() -> None:
    text = run_table(make_result(run=None, energy=None, does_not_fit=DoesNotFit("sram1", 2000, 1000, "the arena")))
    assert "the arena does not fit sram1: needs 2,000 B, 1,000 B available" in text
    assert "energy" not in text and text.startswith("does not fit: needs 2 KiB of 1000 B SRAM\n\nnet on bench")


def test_run_table_says_first_which_limit_is_exceeded() -> None:
    slow, good = LimitCheck("latency", "ms", 5.0, 10.0), LimitCheck("sram", "B", 2.0, 1.0)
    text = run_table(make_result(advice=Advice(limits=(slow, good))))
    assert text.startswith("exceeds the limit of latency: ")


def test_compare_table_groups_and_shows_the_ratio() -> None:
    external = make_result("external", 2_000_000, measured=Measured("p", ("T",), {"latency_ms": 19.0}))
    tinyops = make_result("tinyops", 1_000_000, measured=Measured("p", ("T",), {"latency_ms": 10.0}))
    misfit = make_result(run=None, energy=None, does_not_fit=DoesNotFit("sram1", 2000, 1000, "the arena"))
    text = compare_table([misfit, external, tinyops])
    assert text.count("net on bench") == 1
    assert "external takes 2.00 times tinyops' time, 1.90 measured, error +5.3%" in text
    assert "the arena does not fit sram1" in text
    assert max(map(len, text.splitlines())) <= 80
    assert ratio([misfit, external]) is None


def test_compare_table_stays_within_80_columns_with_large_figures() -> None:
    figures = {"latency_ms": 2167.0, "supply_current_ma": 120.0, "energy_mj": 1183.0, "arena_bytes": 568e3}
    row = make_result("external", 250_000_000, measured=Measured("p", ("T",), figures))
    assert max(map(len, compare_table([row]).splitlines())) <= 80


def test_sizes_and_numbers_as_text() -> None:
    assert [size(n) for n in (0, 1023, 1024, 1536, 16 << 20)] == ["0 B", "1023 B", "1 KiB", "1.5 KiB", "16 MiB"]
    assert [rounded(x) for x in (None, 0, 0.12345, 9.876, 1007.4)] == ["-", "0", "0.123", "9.88", "1007"]
    assert columns([["a", "1"], ["bb", "22"]]) == ["  a    1", "  bb  22"]


def test_published_table_3_is_complete() -> None:
    boards = {"proxyless-w0.25-r160": "stm32f469i-disco", "proxyless-w0.25-r192": "stm32f746g-disco"}
    latencies = [
        measured(model, machine, policy).figures["latency_ms"]  # type: ignore[union-attr]
        for model, machine in boards.items()
        for policy in ("internal", "external", "tinyops")
    ]
    assert latencies == [1007, 2167, 1059, 623, 891, 687]


def test_published_figures_carry_unit_source_and_use() -> None:
    found = measured("proxyless-w0.25-r160", "stm32f469i-disco", "internal")
    assert found is not None
    assert found.figures == {"latency_ms": 1007, "supply_current_ma": 41, "energy_mj": 206, "arena_bytes": 218_000}
    assert found.use["latency_ms"] == "calibrate"
    assert found.reference == "TinyOps (Sadiq et al. 2022), Table 2, Table 3"
    assert measured("ad01_int8", "nucleo-l4r5zi", "internal").figures["energy_mj"] == pytest.approx(0.416)  # type: ignore[union-attr]
    assert measured("cifar10-arm", "nucleo-f746zg", "internal").figures == {"latency_ms": 135.9}  # type: ignore[union-attr]
    assert measured("proxyless-w0.25-r160", "nucleo-f767zi", "internal") is None


def test_no_published_number_calibrates_and_validates() -> None:
    uses: dict[tuple[str, ...], set[str]] = {}
    for row in rows():
        key = tuple(row[name] for name in ("source", "board", "engine", "placement", "model", "quantity"))
        uses.setdefault(key, set()).add(row["use"])
        assert row["use"] in ("calibrate", "validate", "duplicate", "context")
        assert row["source"]
    assert not [key for key, use in uses.items() if {"calibrate", "validate"} <= use]
