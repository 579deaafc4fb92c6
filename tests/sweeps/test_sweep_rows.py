"""Every row of a sweep is what a run of its own gives with the same keys and options, whatever its points share."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import mcusim
from mcusim.errors import StudyError
from mcusim.machine import load_machine
from mcusim.machine.clock_rules import clock_columns
from mcusim.machine.description import Machine
from mcusim.machine.loader import require_value
from mcusim.results.result import sram_bytes
from mcusim.run_config.kernel_choice import resolve
from mcusim.sweeps import estimate
from mcusim.sweeps import point as point_module
from mcusim.sweeps.axis_values import CLOCKS, OPTIONS
from mcusim.sweeps.journal import Journal, journal_path
from mcusim.sweeps.point import forget
from mcusim.sweeps.points import points
from mcusim.sweeps.study import BASE, CAUSES, INTERVAL
from mcusim.sweeps.study_file import study_of
from mcusim.sweeps.sweep import prepared
from tests.support.cases import few, sample_size, sampled

sweeps = import_module("mcusim.sweeps.sweep")  # the package has its function of this name

COMPILED = ("without", "patches", "patch_split")
TAKEN = {"sram_budget": ("internal", "tinyops")} | dict.fromkeys(("overlay", "buffering", "variant"), ("tinyops",))


def written(value: Any, unit: str) -> Any:
    """A quantity of a table as a study has it."""
    return f"{Decimal(repr(value)):f} {unit}" if unit and value is not None and not pd.isna(value) else value


def alone(row: dict[str, Any], axes: list[str], named: bool = False) -> dict[str, Any]:
    """The row that :func:`mcusim.simulate` gives for the inputs of ``row``."""
    keys = {
        key: str(row[key]).lower() if isinstance(row[key], bool) else row[key] for key in axes if key not in OPTIONS
    }
    taken = [key for key in axes if key in OPTIONS and row["policy"] in TAKEN.get(key, (row["policy"],))]
    if row.get("runtime") == "tflm":
        taken = [key for key in taken if key not in COMPILED]
    chosen = {key: row[key] for key in taken if row[key] is not None}
    if "patches" not in chosen:
        chosen.pop("patch_split", None)
    if "overlay" in chosen:
        chosen["overlay"] = [name for name in chosen["overlay"].split(",") if name != "none"]
    if row["policy"] == "tinyops":
        chosen.setdefault("buffer_sizes", "largest")  # as a sweep has them
    try:
        result = mcusim.simulate(
            row["model"],
            load_machine(row["machine"]),
            row["policy"],
            replace(resolve(row["kernels"], row["fidelity"]), named=named),
            overrides=keys,
            fidelity=row["fidelity"],
            **chosen,
        )
    except mcusim.errors.McusimError as error:
        return {"status": "error", "error": str(error)}
    clocks = clock_columns(result.machine) if set(CLOCKS) & set(axes) else {}
    if result.run is None:
        return {"status": "does-not-fit", "error": str(result.negative), "macs": result.macs, **clocks}
    energy, run = result.energy, result.run
    assert energy is not None
    found = {"status": "ok", "error": None, "macs": result.macs, "cycles": run.cycles, **clocks}
    found |= {name: getattr(energy, name) for name in ("latency_ms", "energy_mj", "supply_current_ma")}
    found |= {"peak_sram_bytes": sram_bytes(result)}
    assert result.interval is not None
    found |= dict(zip(INTERVAL, (*result.interval.latency_ms, *result.interval.energy_mj), strict=True))
    found |= {f"peak_{region}": count for region, count in run.header.peak_bytes.items()}
    return found | {f"cycles_{cause}": run.by_cause[cause] for cause in CAUSES}


def compare(document: dict[str, Any]) -> list[str]:
    """Run the study in this process; the status of each row."""
    study = study_of((document, {}), "study", None, "study")
    forget()
    table = sweeps.sweep_table(study, jobs=1).to_pylist()
    axes = [axis.key for axis in study.axes]
    units = {key: unit for key, unit in study.units.items() if key not in OPTIONS}
    for row in table:
        typed = {key: written(value, units.get(key, "")) for key, value in row.items()}
        wanted = alone(typed, axes, "kernels" in document)
        inputs = {*BASE, *axes, "version", "key"}
        assert {key: value for key, value in row.items() if value is not None and key not in inputs} == {
            key: value for key, value in wanted.items() if value is not None
        }, {key: row[key] for key in (*BASE, *axes)}
    return [row["status"] for row in table]


F746: dict[str, Any] = {"models": ["figure-1"], "machines": ["stm32f746g-disco"]}
STUDIES: dict[str, dict[str, Any]] = {
    "overlays and buffers": {
        "policies": ["tinyops", "internal"],
        "axes": {
            "overlay": ["none", "input", "input,filter,bias,quant"],
            "buffering": ["double", "single"],
            "sram_budget": ["none", "12 KiB", "1 KiB"],
        },
    },
    "variants": {
        "policies": ["tinyops", "external"],
        "axes": {"variant": [2022, "2023"], "sram_budget": ["none", "12 KiB"]},
    },
    "what runs where": {
        "policies": ["internal", "external"],
        "kernels": ["cmsis-2021-gcc9", "cmsis-gcc12"],
        "axes": {
            "code": ["none", "itcm"],
            "weights": ["none", "qspi"],
            "operator_overhead": ["none", 0, 500],
            "memory.qspi.dummy": [10, 4],
        },
    },
    "runtimes": {
        "policies": ["internal"],
        "axes": {
            "runtime": ["tflm", "tinyengine"],
            "in_place": [True, False],
            "without": ["none", "fusion"],
            "patches": ["none", "2x2"],
            "patch_split": [3],
        },
    },
    "flash and caches": {
        "policies": ["external", "internal"],
        "axes": {
            "memory.flash.wait_states": [5, 0],
            "cache.instruction.size": ["4 KiB", "0 B"],
            "cache.data.size": ["4 KiB", "1 KiB", "0 B"],
            "cache.data.ways": [4, 1],
        },
    },
    "transfers": {
        "policies": ["external", "tinyops"],
        "axes": {
            "dma.dma2.port_cost": ["4 hclk", "9 hclk"],
            "dma.dma2.max_units": [65535, 100],
            "dma.dma2.beat": ["1 B", "4 B"],
            "memory.sdram.size": ["8 MiB", "16 KiB"],
        },
    },
    "power": {
        "policies": ["tinyops"],
        "axes": {
            "power.run": ["96 mA", "10 mA"],
            "power.stalled": ["33 mA", "90 mA"],
            "power.sdram_active": ["35 mA", "0 mA"],
            "power.dma_active": ["2 mA", "20 mA"],
            "power.energy_per_byte.sdram": ["0.7 nJ", "9 nJ"],
        },
    },
    "emulated": {
        "policies": ["tinyops"],
        "fidelity": "emulate",
        "axes": {"code": ["none", "itcm"], "memory.sdram.read_overhead": ["6 cycles", "30 cycles"]},
    },
}


@few(1)
@pytest.mark.parametrize("name", sampled(STUDIES, 3))
def test_rows_are_those_of_run(name: str) -> None:
    assert "ok" in compare({**F746, **STUDIES[name]})


def test_what_a_run_does_otherwise_than_the_published_ones_is_said() -> None:
    """With the machine as it ships."""
    study = {"models": ["ds-cnn"], "machines": ["stm32f746g-disco"], "policies": ["tinyops"]}
    [row] = sweeps.sweep_table(study_of((study, {}), "", None, ""), jobs=1).to_pylist()
    usual = row["latency_high_ms"] / row["latency_low_ms"]
    for axis, values in (("overlay", ["bias"]), ("buffering", ["single"]), ("code", ["itcm"]), ("weights", ["qspi"])):
        [row] = sweeps.sweep_table(study_of(({**study, "axes": {axis: values}}, {}), "", None, ""), jobs=1).to_pylist()
        assert [row[name] for name in INTERVAL] == [alone(row, [axis])[name] for name in INTERVAL]
        assert row["latency_high_ms"] / row["latency_low_ms"] > usual


UNITS: dict[str, list[str]] = {
    "cycles": ["0 cycles", "3 cycles", "40 ns"],
    "sdclk": ["1 sdclk", "3 sdclk", "7 sdclk"],
    "hclk": ["0 hclk", "3 hclk"],
    "MHz": ["54 MHz", "100 MHz", "216 MHz"],
    "mA": ["0 mA", "200 mA"],
    "KiB": ["0 B", "1 KiB", "8 KiB", "64 KiB", "128 KiB"],
    "B": ["1 B", "4 B", "32 B"],
    "bit": ["16 bit", "32 bit"],
}
WORDS = {
    "write-back": ["write-through", "uncached"],
    "write-through": ["write-back", "uncached"],
    "lru": ["round-robin", "random"],
    "true": [False],
    "false": [True],
    "bank-row-column": ["row-bank-column"],
}


def other_values(machine: Machine, key: str) -> list[Any]:
    """Some that the key can have, whatever the rest of the machine is."""
    text = machine.figures[key].text
    found = [0, 1, 2, 8] if text.isdigit() else WORDS.get(text) or UNITS.get(text.rpartition(" ")[2], [])
    return [value for value in found if value != text and possible(machine, key, value)]


def possible(machine: Machine, key: str, value: object) -> bool:
    try:
        require_value(machine, key, value)
    except mcusim.errors.MachineError:
        return False
    return True


@few(4)
@pytest.mark.parametrize("seed", range(sample_size(40, 8)))
def test_any_keys_of_any_board(seed: int) -> None:
    """Two or three keys at random, each as the board has it and otherwise."""
    dice = random.Random(seed)
    machine = load_machine(dice.choice(["stm32f746g-disco", "stm32f469i-disco", "nucleo-h743zi"]))
    part = dice.choice(["memory.sdram", "memory.flash", "memory.qspi", "cache.", "dma.", "memory.", "core", ""])
    values = {key: other_values(machine, key) for key in machine.figures if key.startswith(part)}
    keys = [key for key, found in values.items() if found and not key.endswith(".base")]
    chosen = dice.sample(keys, min(len(keys), dice.choice([2, 2, 3])))
    axes = {key: [machine.figures[key].text, dice.choice(values[key])] for key in chosen}
    policies = dice.sample(["internal", "external", "tinyops"], 2)
    compare({"models": ["figure-1"], "machines": [machine.name], "policies": policies, "axes": axes})


def test_rows_of_the_journal_are_not_computed_again(tmp_path: Path) -> None:
    study = study_of(({**F746, "policies": ["internal"], "axes": {"code": ["flash", "itcm"]}}, {}), "", None, "")
    keys = sweeps._keys(study, prepared(study), points(study))
    output, steps = tmp_path / "out.parquet", []
    figures = {"cycles": 12345, "latency_ms": 1.0, "energy_mj": 2.0, "supply_current_ma": 3.0, "peak_sram_bytes": 4}
    with Journal(journal_path(output), set(keys)) as journal:
        journal.add([(keys[1], {"status": "ok", "error": None, **figures})])
    table = sweeps.sweep_table(study, output, jobs=1, progress=lambda *step: steps.append(step))
    assert table.column("cycles").to_pylist()[1] == 12345
    assert steps == [(1, 2), (2, 2)]


def test_what_a_key_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(({**F746, "policies": ["internal"], "axes": {"code": ["flash", "itcm"]}}, {}), "", None, "")
    work, chosen = prepared(study), points(study)
    keys = sweeps._keys(study, work, chosen)
    assert len(set(keys)) == 2
    changed = [replace(work, code="0")]
    for name in ("models", "machines", "kernels"):
        changed.append(replace(work, **{name: {one: (path, "0") for one, (path, _) in getattr(work, name).items()}}))
    for one in changed:
        assert not set(sweeps._keys(study, one, chosen)) & set(keys)
    monkeypatch.setattr(sweeps, "package_versions", list)
    assert not set(sweeps._keys(study, work, chosen)) & set(keys)


def rows_of(axes: dict[str, Any], **more: Any) -> pd.DataFrame:
    study = {"models": ["ds-cnn"], "machines": ["stm32f746g-disco"], "policies": ["internal"], "axes": axes}
    return mcusim.sweep({**study, **more}, jobs=1)


def test_a_key_that_is_set_to_what_it_is_stays_there() -> None:
    """Its default would follow another key: the bus runs at the core's clock unless somebody says otherwise."""
    found = rows_of({"core.clock": ["216 MHz", "100 MHz"], "bus.clock": ["216 MHz", "100 MHz"]})
    assert list(found.status) == ["ok", "ok", "error", "ok"]
    assert "bus.clock = 216 MHz: must not be faster than core.clock" in found.error[2]
    for n in (0, 1, 3):
        overrides = {key: f"{found[key][n]} Hz" for key in ("core.clock", "bus.clock")}
        run = mcusim.simulate("ds-cnn", "stm32f746g-disco", overrides=overrides).run
        assert run is not None
        assert found.cycles[n] == run.cycles


@pytest.mark.parametrize(
    ("key", "value"), [("memory.flash.wait_states", 5), ("core.clock", "216000 kHz"), ("memory.sram1.dma", True)]
)
def test_the_machine_that_was_measured_however_it_is_written(key: str, value: object) -> None:
    as_it_ships = mcusim.simulate("ds-cnn", "stm32f746g-disco").interval
    assert as_it_ships is not None
    found = rows_of({key: [value]})
    assert (found.latency_low_ms[0], found.latency_high_ms[0]) == as_it_ships.latency_ms


def test_regions_by_name_are_texts() -> None:
    found = rows_of({"weights": ["none"], "code": ["none"], "sram_budget": ["none"]})
    assert found.sram_budget.dtype == float  # a number that is missing
    assert (found.weights.dtype, found.code.dtype) == (found.model.dtype, found.model.dtype)


def test_a_dry_run_times_a_point_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a grid often does not fit."""
    study = {"models": ["ds-cnn"], "machines": ["stm32f746g-disco"], "policies": ["tinyops"]}
    runs: list[object] = []
    run_or_reason = point_module.run_or_reason
    monkeypatch.setattr(point_module, "run_or_reason", lambda *all_: runs.append(1) or run_or_reason(*all_))
    found = estimate(study_of(({**study, "axes": {"sram_budget": [1, 1024, "64 KiB"]}}, {}), "", None, "s"), 1)
    assert (found["timed"], found["runs"]) == (1, 3)
    assert len(runs) == 2  # it is the second one that is timed
    assert found["seconds"] > 0
    assert estimate(study_of(({**study, "axes": {"sram_budget": [1, 2]}}, {}), "", None, "s"), 1)["seconds"] is None


def test_a_period_is_an_axis_and_needs_no_run_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """31.2 ms at 216 MHz: a period of 30 ms is not met there. Each clock is run once."""
    runs: list[object] = []
    run_or_reason = point_module.run_or_reason
    monkeypatch.setattr(point_module, "run_or_reason", lambda *all_: runs.append(1) or run_or_reason(*all_))
    forget()
    found = rows_of({"clock": ["108 MHz", "216 MHz"], "period": ["none", "30 ms", "1 s"]})
    assert len(runs) == 2
    for row in found.to_dict("records"):
        period = None if pd.isna(row["period"]) else f"{1000 * row['period']:g} ms"
        overrides = {"core.clock": f"{row['clock']} Hz"}
        duty = mcusim.simulate("ds-cnn", "stm32f746g-disco", overrides=overrides, period=period).duty
        assert (duty is None) == (period is None) and (duty is None or duty.met == (period == "1000 ms"))
        wanted = [None] * 3 if duty is None else [duty.energy_mj, duty.mean_power_mw, duty.sleep_current_ma]
        got = [row["period_energy_mj"], row["mean_power_mw"], row["sleep_current_ma"]]
        assert [None if pd.isna(one) else pytest.approx(one) for one in got] == wanted


@pytest.mark.parametrize(
    ("value", "reason"), [("1", "has no unit"), ("5 cycles", "must be a time"), (1, "must be a text")]
)
def test_what_is_no_period_is_refused(value: object, reason: str) -> None:
    with pytest.raises(StudyError, match=f"axes.period.*: period .*{reason}"):
        rows_of({"period": [value]})
