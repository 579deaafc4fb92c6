"""Published figures are shown next to the run that was measured and next to no other."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.api.simulate import plan_program, replay
from mcusim.commands.app import main
from mcusim.machine.catalog import config_directory
from mcusim.program import program_lines, read_program
from mcusim.report.compare.table import compare_table
from mcusim.report.run.table import run_table
from mcusim.results import Result
from mcusim.run_config.settings import Settings
from tests.support.cases import few
from tests.support.paths import shared_model

MODEL, F469 = "proxyless-w0.25-r160", "stm32f469i-disco"


def latency(result: Result) -> float | None:
    return result.measured.figures["latency_ms"] if result.measured else None


PROFILE = Path(mcusim.__file__).parent / "kernels/cost/profiles/cmsis-2021-gcc9.toml"


@few(2)
@pytest.mark.parametrize(
    ("policy", "options", "published"),
    [
        ("external", {}, 2167),
        ("external", {"weights": "sdram"}, 2167),
        ("external", {"weights": "qspi"}, None),
        ("external", {"overrides": {"core.clock": "160 MHz"}}, None),
        ("external", {"overrides": {"core.clock": "180 MHz"}}, None),
        ("internal", {"sram_budget": "256 KiB"}, 1007),
        ("internal", {"sram_budget": "255 KiB"}, None),
        pytest.param("internal", {"kernels": str(PROFILE)}, None, id="internal-a profile's file-None"),
        ("tinyops", {"overlay": ["quant", "bias", "input", "filter"]}, 1059),
        ("tinyops", {"overlay": ["input"]}, None),
        ("tinyops", {"sram_budget": "1 B"}, None),
    ],
    ids=str,
)
def test_only_the_measured_experiment(policy: str, options: dict[str, Any], published: float | None) -> None:
    assert latency(mcusim.simulate(MODEL, F469, policy, **options)) == published


@few(2)
@pytest.mark.parametrize(
    ("model", "policy", "variant", "published"),
    [
        ("mnasnet-w1.00-r080", "tinyops", "2022", 2575),
        ("mnasnet-w1.00-r080", "tinyops", "2023", 2146),
        ("mnasnet-w1.00-r080-pad", "tinyops", "2022", 2575),
        ("mnasnet-w1.00-r080-pad", "tinyops", "2023", None),  # the networks of 2023 had no PADs
        ("mbv3-w0.50-r112", "tinyops", "2022", None),
        ("mbv3-w0.40-r096-pad", "tinyops", "2023", None),
        ("proxyless-w0.30-r144", "internal", None, 1089),
    ],
)
def test_each_variant_has_the_figures_of_its_year(
    model: str, policy: str, variant: str | None, published: float | None
) -> None:
    options: dict[str, Any] = {"sram_budget": "256 KiB", "variant": variant}
    options |= {"buffer_sizes": "largest"} if policy == "tinyops" else {}  # the paper's plan
    graph = mcusim.load_model(model)
    assert latency(mcusim.simulate(graph, F469, policy, **options)) == published
    program = mcusim.plan_program(graph, F469, policy, **options)
    assert latency(replay(program, mcusim.load_machine(F469))) == published


def test_a_network_of_2023_with_pads_would_not_fit() -> None:
    result = mcusim.simulate("proxyless-w0.30-r144-pad", F469, sram_budget="256 KiB")
    assert (result.fits, result.measured) == (False, None)


def test_reports_name_the_variant(capsys: pytest.CaptureFixture[str]) -> None:
    common = ["ds-cnn", "-m", "stm32f746g-disco", "-p", "tinyops", "--variant", "2023"]
    assert main(["run", *common]) == 0
    assert "  policy tinyops 2023, kernels" in capsys.readouterr().out
    assert main(["compare", *common]) == 0
    assert "\ntinyops 2023 " in capsys.readouterr().out
    assert main(["run", *common, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["policy"], found["variant"], found["options"]["variant"]) == ("tinyops", "2023", "2023")
    assert main(["run", *common[:3], "-p", "internal", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["variant"] is None


def test_a_machine_file_that_carries_the_name_is_not_the_machine(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(f'extends = "{F469}"\nname = "{F469}"\n', encoding="utf-8")
    shutil.copy(config_directory() / f"{F469}.toml", tmp_path)
    for machine in (own, tmp_path / f"{F469}.toml"):
        result = mcusim.simulate(MODEL, machine)
        assert (result.machine.name, result.measured) == (F469, None)
    assert latency(mcusim.simulate(MODEL, mcusim.load_machine(F469))) == 1007


def test_a_model_that_carries_the_name_is_not_the_model(tmp_path: Path) -> None:
    file = shutil.copy(shared_model("hello_world_int8.tflite"), tmp_path / f"{MODEL}.tflite")
    result = mcusim.simulate(Path(file), F469)
    assert (result.model, result.measured) == (MODEL, None)
    graph = mcusim.load_model(MODEL)
    assert latency(mcusim.simulate(graph, F469)) == 1007
    assert mcusim.simulate(dataclasses.replace(graph, random_weights=False), F469).measured is None
    assert mcusim.simulate(dataclasses.replace(graph, sha256="0" * 64), F469).measured is None


def test_a_reference_file_is_told_by_its_content(tmp_path: Path) -> None:
    measured = mcusim.simulate(shared_model("ad01_int8.tflite"), "nucleo-l4r5zi")
    assert latency(measured) == 10.05
    other = shutil.copy(shared_model("hello_world_int8.tflite"), tmp_path / "ad01_int8.tflite")
    assert mcusim.simulate(Path(other), "nucleo-l4r5zi").measured is None


@few(1)
@pytest.mark.parametrize(("policy", "published"), [("internal", 1007), ("external", 2167), ("tinyops", 1059)])
def test_a_replayed_program_is_measured_when_it_is_what_the_policy_writes(
    policy: str, published: float, tmp_path: Path
) -> None:
    graph, machine, trace = mcusim.load_model(MODEL), mcusim.load_machine(F469), tmp_path / "x.jsonl"
    lines = list(program_lines(plan_program(graph, machine, Settings(policy))))
    trace.write_text("\n".join(line.rstrip("\n") for line in lines) + "\n", encoding="utf-8")
    program = read_program(trace)
    assert latency(replay(program, machine)) == published
    assert replay(program, machine.replace("core.clock", "90 MHz")).measured is None
    shorter = dataclasses.replace(program, tasks=program.tasks[:-1])
    assert replay(shorter, machine).measured is None


def test_rows_that_do_not_run_follow_the_same_rule() -> None:
    (row,) = mcusim.compare(MODEL, F469, "internal", sram_budget="1 KiB").rows
    assert (row.fits, row.measured) == (False, None)


def test_both_tables_and_json_name_the_changed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    changes = ["--set", "core.clock=200 MHz", "--set", "dma.dma2.burst=1"]
    line = "changed: core.clock = 200 MHz, dma.dma2.burst = 1"
    common = ["ds-cnn", "-m", "stm32f746g-disco", "-p", "internal"]
    for command in ("run", "compare"):
        assert main([command, *common, *changes]) == 0
        assert [text.strip() for text in capsys.readouterr().out.splitlines() if "changed" in text] == [line]
        assert main([command, *common]) == 0
        assert "changed" not in capsys.readouterr().out
        assert main([command, *common, *changes, "--json", "-"]) == 0
        data = json.loads(capsys.readouterr().out)
        row = data if command == "run" else data["rows"][0]
        assert row["set"] == {"core.clock": "200 MHz", "dma.dma2.burst": "1"}


def test_machines_that_differ_in_their_changes_stand_apart() -> None:
    plain = mcusim.load_machine("stm32f746g-disco")
    comparison = mcusim.compare("ds-cnn", [plain, plain.replace("core.clock", "200 MHz")], ["external", "tinyops"])
    text = compare_table(comparison.rows)
    assert text.count("\nds-cnn on stm32f746g-disco") == 2
    assert text.count("changed: core.clock = 200 MHz") == 1 and "On stm32f746g-disco, core.clock = 200 MHz:" in text
    assert text.index("changed") > text.index("external takes")
    assert len(comparison.to_json()["external_over_tinyops"]) == 2
    assert "changed: core.clock = 200 MHz" in run_table(comparison.rows[2])


def test_overrides_reach_machines_given_as_such() -> None:
    plain = mcusim.load_machine("stm32f746g-disco")
    (row,) = mcusim.compare("ds-cnn", plain, "internal", overrides={"core.clock": "100 MHz"}).rows
    assert row.machine.core.clock == 100_000_000
