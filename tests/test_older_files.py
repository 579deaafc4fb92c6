"""Files that version 0.1.0 wrote or shipped still read, or one line says what to change in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.evidence.calibrate.measurements import read_measurements
from mcusim.machine import load_machine
from mcusim.program import read_program
from mcusim.sweeps import read_study
from tests.support.paths import REPOSITORY

OLD = REPOSITORY / "tests" / "data" / "version-0.1.0"


def test_a_program_is_read_and_played() -> None:
    program = read_program(OLD / "program.jsonl")
    assert (program.header.model, program.header.policy, len(program.tasks)) == ("sample-one-conv", "tinyops", 10)
    assert main(["replay", str(OLD / "program.jsonl")]) == 0


def test_a_study_and_measurements_are_read() -> None:
    assert read_study(OLD / "study.toml").title == "Which overlays pay"
    assert len(read_measurements(OLD / "measurements.csv")) == 3


def test_a_machine_file_says_which_line_to_delete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "-m", str(OLD / "machine.toml")]) == 2
    error = capsys.readouterr().err
    assert "machine.toml:13" in error and "bus.arbitration" in error and "delete" in error and error.count("\n") == 4
    assert "read_cost" in error and "write_cost" in error and "port_cost, matrix_cost, fifo and threshold" in error
    lines = (OLD / "machine.toml").read_text(encoding="utf-8").splitlines()
    changed = tmp_path / "machine.toml"
    gone = ("arbitration", "read_cost", "write_cost")
    changed.write_text("\n".join(line for line in lines if not line.startswith(gone)), encoding="utf-8")
    assert load_machine(changed).core.clock == load_machine("nucleo-l4r5zi").core.clock
