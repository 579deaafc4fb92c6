"""``mcusim calibrate``: what it writes and says, and what it refuses in one line, leaving every file as it was."""

from __future__ import annotations

import csv
import io
import json
import os
import tomllib
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.evidence.calibrate.measurements import COLUMNS, LARGEST_FILE, MOST_ROWS, TEMPLATE, read_measurements
from mcusim.machine import load_machine
from tests.support.boards.perturbed_board import measure, networks, write
from tests.support.cases import only_with_all_cases
from tests.support.errors import one_error

F469 = "stm32f469i-disco"
READ, RUN = "memory.sdram.read_overhead", "power.run"
HEADER = "model,policy,quantity,value\n"
GOOD = HEADER + "ds-cnn,external,latency_ms,154\n"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    changes = {READ: "9 cycles", RUN: "55 mA"}
    return write(tmp_path / "board.csv", measure(F469, changes, networks(["internal", "external"])))


def test_writes_a_machine_and_says_what_it_rests_on(
    board: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, data = tmp_path / "mine.toml", tmp_path / "fit.json"
    command = ["calibrate", F469, "--measurements", str(board), "-o", str(out), "--fit", f"{READ},{RUN}"]
    assert main([*command, "--json", str(data)]) == 0
    text, found = capsys.readouterr().out, json.loads(data.read_text(encoding="utf-8"))
    assert f"{F469}, fitted to board.csv" in text and f"written: {out}" in text
    assert "root of the mean squared error" in text and "left out: " in text
    assert [(p["key"], p["unit"], p["start"]) for p in found["parameters"]] == [(READ, "cycles", 4.25), (RUN, "mA", 41)]
    assert [p["value"] for p in found["parameters"]] == [pytest.approx(9, rel=0.01), pytest.approx(55, rel=0.001)]
    assert len(found["rows"]) == 4 and found["rows"][0]["where"] == "board.csv:2"
    assert all(abs(row["error_after_percent"]) < 0.1 for row in found["rows"])
    assert found["rms_after_percent"] < found["rms_before_percent"]
    machine = load_machine(out)
    assert machine.power.run == pytest.approx(0.055, rel=0.001)
    assert tomllib.loads(out.read_text(encoding="utf-8"))["extends"] == F469
    before = out.read_bytes()
    assert main(command) == 2 and out.read_bytes() == before
    assert "--force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0 and out.read_bytes() == before


@only_with_all_cases
def test_the_template_is_a_csv_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "--template"]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "template.csv"
    path.write_text(text, encoding="utf-8")
    rows = read_measurements(path)
    assert text == TEMPLATE and len(rows) == 6
    assert {row.quantity for row in rows} == {"latency_ms", "supply_current_ma", "cycles"}
    assert rows[-1].experiment.arguments == ("0xC0000000", "262144")
    header = next(csv.reader(io.StringIO("".join(line for line in text.splitlines(True) if line[0] != "#"))))
    assert set(header) <= set(COLUMNS)
    out = tmp_path / "board.toml"
    assert main(["calibrate", "stm32f746g-disco", "--measurements", str(path), "-o", str(out)]) == 0
    figures = load_machine(out).figures.values()
    fitted = {figure.key for figure in figures if figure.source.startswith("template.csv")}
    assert fitted == {READ, RUN, "power.sdram_active"}


def test_files_are_found_in_the_csvs_folder_and_cells_may_be_quoted(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(b"")
    path = tmp_path / "x.csv"
    text = (
        'value , quantity,model,policy,set\n"1.5e3",cycles,net.tflite,internal,"core.clock=90 MHz; bus.clock=45 MHz"\n'
    )
    path.write_text("\ufeff# a remark\n\n" + text.replace("\n", "\r\n"), encoding="utf-8")
    (row,) = read_measurements(path)
    assert (row.where, row.value, row.quantity) == ("x.csv:4", 1500, "cycles")
    assert row.experiment.model == str(tmp_path / "net.tflite")
    assert row.experiment.set == (("bus.clock", "45 MHz"), ("core.clock", "90 MHz"))


BAD = {
    "no value column": ("model,policy,quantity\nds-cnn,internal,cycles\n", "x.csv:1: the column value is missing"),
    "no quantity column": ("model,policy,value\nds-cnn,internal,1\n", "the column quantity is missing"),
    "no policy column": ("model,quantity,value\nds-cnn,cycles,1\n", "model and policy are missing"),
    "unknown column": ("modell,policy,quantity,value\n", 'unknown column "modell", did you mean model'),
    "column twice": ("model,policy,value,value,quantity\n", "the column value is there twice"),
    "empty": ("", "has no measurement"),
    "header alone": (HEADER, "--template"),
    "unit": (HEADER + "ds-cnn,internal,latency_ms,34 ms\n", 'x.csv:2: value = "34 ms": must be a plain number, in ms'),
    "comma": (HEADER + 'ds-cnn,internal,latency_ms,"34,5"\n', "must be a plain number"),
    "negative": (HEADER + "ds-cnn,internal,latency_ms,-34\n", 'value = "-34": must be a finite number above zero'),
    "zero": (HEADER + "ds-cnn,internal,latency_ms,0\n", "above zero"),
    "NaN": (HEADER + "ds-cnn,internal,latency_ms,NaN\n", 'value = "NaN": must be a finite number'),
    "infinite": (HEADER + "ds-cnn,internal,latency_ms,1e999\n", "must be a finite number"),
    "no number": (HEADER + "ds-cnn,internal,latency_ms,\n", 'value = "": must be a plain number'),
    "quantity": (HEADER + "ds-cnn,internal,latency,34\n", 'quantity "latency", did you mean latency_ms'),
    "cells": (HEADER + "ds-cnn,internal,latency_ms\n", "x.csv:2: has 3 cells, the header has 4"),
    "model": (HEADER + "ds-cnm,internal,latency_ms,34\n", "x.csv:2: ds-cnm internal: no model 'ds-cnm'"),
    "policy": (HEADER + "ds-cnn,intern,latency_ms,34\n", "x.csv:2: ds-cnn intern: no policy 'intern'"),
    "no policy": (HEADER + "ds-cnn,,latency_ms,34\n", "policy is empty: a model needs it"),
    "kernels": ("kernels," + HEADER + "cmsix,ds-cnn,internal,cycles,34\n", "no kernel profile named 'cmsix'"),
    "fidelity": ("fidelity," + HEADER + "exact,ds-cnn,internal,cycles,34\n", "fidelity 'exact' is not known"),
    "budget": ("sram_budget," + HEADER + "1 KB,ds-cnn,internal,cycles,34\n", "write KiB"),
    "no room": ("sram_budget," + HEADER + "1 KiB,ds-cnn,internal,cycles,34\n", "does not fit"),
    "weights": ("weights," + HEADER + "moon,ds-cnn,external,cycles,34\n", "moon"),
    "set": ("set," + HEADER + "core.clock,ds-cnn,internal,cycles,34\n", 'set = "core.clock": must be KEY=VALUE'),
    "set key": (
        "set," + HEADER + "core.clok=9 MHz,ds-cnn,internal,cycles,34\n",
        "x.csv:2: stm32f469i-disco: core.clok",
    ),
    "set and fit": ("set," + HEADER + f"{READ}=2 cycles,ds-cnn,external,cycles,34\n", f"set fixes {READ}"),
    "both": ("program,function," + HEADER + "memory,f,ds-cnn,internal,cycles,3\n", "names both a model and a program"),
    "neither": (HEADER + ",internal,cycles,3\n", "names neither a model nor a program"),
    "function": ("program,function,quantity,value\nmemory,,cycles,3\n", "function is empty"),
    "no such function": ("program,function,quantity,value\nmemory,nothing,cycles,3\n", "nothing"),
    "program": ("program,function,quantity,value\nmemery,f,cycles,3\n", "did you mean 'memory'"),
    "energy of a program": (
        "program,function,quantity,value\nmemory,f,energy_mj,3\n",
        "a program has latency_ms, cycles",
    ),
    "policy of a program": ("policy,program,function,quantity,value\ninternal,memory,f,cycles,3\n", "does not apply"),
    "fault": (
        "program,function,arguments,quantity,value\nmemory,read_u32,0x40 0x50000000,cycles,3\n",
        "the function did not return",
    ),
    "quote": (HEADER + 'ds-cnn,"internal,cycles,3\n', "x.csv:2: not CSV"),
    "not text": (b"\xff\xfe\x00", "not UTF-8"),
    "null byte": (HEADER + "ds\0cnn,internal,cycles,3\n", "x.csv"),
    "huge": (b"#" * (LARGEST_FILE + 1), "larger than 1,048,576 B"),
    "many": (HEADER + "ds-cnn,internal,cycles,3\n" * (MOST_ROWS + 1), f"more than {MOST_ROWS} measurements"),
    "long cell": (HEADER + f"{'x' * 200_000},internal,cycles,3\n", "x.csv:2: not CSV"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_measurements_are_one_clear_error(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, expected = BAD[name]
    path, out = tmp_path / "x.csv", tmp_path / "out.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out.write_text("mine", encoding="utf-8")
    assert main(["calibrate", F469, "--measurements", str(path), "-o", str(out), "--fit", READ, "--force"]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert expected in printed.err and printed.err.startswith("error: ") and len(printed.err) < 1200
    assert out.read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.toml", "x.csv"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "MACHINE is missing"),
        ([F469], "--measurements is missing"),
        ([F469, "--measurements", "good.csv"], "-o is missing"),
        ([F469, "--measurements", "none.csv", "-o", "o.toml"], "none.csv: cannot be read: No such file"),
        ([F469, "--measurements", ".", "-o", "o.toml"], "not a regular file"),
        ([F469, "--measurements", "pipe", "-o", "o.toml"], "not a regular file"),
        (["nothing", "--measurements", "good.csv", "-o", "o.toml"], "unknown machine"),
        ([F469, "--measurements", "good.csv", "-o", "o.txt"], "ends in .toml"),
        ([F469, "--measurements", "good.csv", "-o", "no/o.toml"], "no directory"),
        ([F469, "--measurements", "good.csv", "-o", "o.toml", "--json", "o.toml"], "two outputs"),
        (["own.toml", "--measurements", "good.csv", "-o", "own.toml", "--force"], "it is an input file"),
        ([F469, "--measurements", "good.csv", "-o", "o.toml", "--json", "good.csv", "--force"], "it is an input file"),
        ([F469, "--measurements", "good.csv", "-o", "o.toml", "--fit", ","], "--fit has no names in it"),
        ([F469, "--measurements", "good.csv", "-o", "o.toml", "--fit", "power.supply"], "is not a fittable figure"),
        (
            [F469, "--measurements", "good.csv", "-o", "o.toml", "--fit", f"{READ},{RUN}"],
            "2 keys cannot be fitted to 1",
        ),
    ],
    ids=str,
)
def test_bad_options_are_one_clear_error(
    arguments: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_text(GOOD, encoding="utf-8")
    Path("own.toml").write_text(f'extends = "{F469}"\n', encoding="utf-8")
    os.mkfifo("pipe")
    before = {name: Path(name).read_bytes() for name in ("good.csv", "own.toml")}
    assert main(["calibrate", *arguments]) == 2
    assert expected in one_error(capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.csv", "own.toml", "pipe"]
    assert all(Path(name).read_bytes() == data for name, data in before.items())


def test_json_to_standard_output_is_all_there(board: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "o.toml"
    assert main(["calibrate", F469, "--measurements", str(board), "-o", str(out), "--fit", RUN, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["operator_overhead"] is None


def test_an_interpreters_cycles_are_told_and_no_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = measure(F469, {"operator_overhead": "9000 cycles"}, networks(["internal"], ["ds-cnn", "figure-1"]))
    path, out = write(tmp_path / "b.csv", rows), tmp_path / "o.toml"
    assert main(["calibrate", F469, "--measurements", str(path), "-o", str(out), "--fit", "operator_overhead"]) == 0
    assert "run with --operator-overhead 9000" in capsys.readouterr().out
    assert "# Interpreter: 9000 cycles an operator" in out.read_text(encoding="utf-8")
    assert load_machine(out).figures.keys() == load_machine(F469).figures.keys()
