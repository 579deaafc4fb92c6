"""Sweeps of models with operators that mcusim does not know: refused, left out and said, or at the cost given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import InputError, StudyError
from mcusim.model import Graph, Operator
from tests.support.graphs.small_graphs import activation
from tests.support.graphs.tflite_writer import write_tflite

STUDY = 'models = ["mixed.tflite"]\nmachines = ["stm32f746g-disco"]\npolicies = ["internal", "external"]\n'
WITHOUT = "without CUSTOM(my_op), which mcusim does not know"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    one = activation((1, 8, 8, 4))
    tensors = tuple(replace(one, index=i, name=f"t{i}") for i in range(3))
    operators = (Operator(0, "RELU", (0,), (1,)), Operator(1, "my_op", (1,), (2,)))
    (tmp_path / "mixed.tflite").write_bytes(write_tflite(Graph("mixed", tensors, operators, (0,), (2,), "")))
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_rows_say_what_they_are_without(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = study.with_name("page.html")
    assert main(["sweep", str(study), "--html", str(page)]) == 2
    assert "--allow-unknown" in capsys.readouterr().err
    assert main(["sweep", str(study), "--html", str(page), "--jobs", "1", "--allow-unknown"]) == 0
    assert WITHOUT in " ".join(capsys.readouterr().out.split()) and WITHOUT in page.read_text(encoding="utf-8")


def test_costs_of_a_study_are_those_of_a_run(study: Path) -> None:
    study.write_text(STUDY + 'allow_unknown = true\n[costs]\nmy_op = "3 cycles/B"\n')
    table = mcusim.sweep(study, jobs=1)
    assert "left_out" not in table
    study.write_text(STUDY + "allow_unknown = true\n")
    without = mcusim.sweep(study, jobs=1)
    assert set(without["left_out"]) == {"CUSTOM(my_op)"} and not set(table["key"]) & set(without["key"])
    for more, rows in (({"costs": {"my_op": "3 cycles/B"}}, table), ({}, without)):
        for row in rows.to_dict("records"):
            model = study.with_name("mixed.tflite")
            alone = mcusim.simulate(model, row["machine"], row["policy"], allow_unknown=True, **more)  # type: ignore[arg-type]
            assert alone.run is not None and alone.run.cycles == row["cycles"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("allow_unknown = 1\n", r"study.toml:4: allow_unknown = 1: must be true or false"),
        ("[costs]\nmy_op = 3\n", r"study.toml:5: costs.my_op = 3: must be a text like"),
        ('[costs]\nmy_op = "3"\n', r'study.toml:5: costs.my_op = "3": cost of my_op: \'3\' is not like'),
        ('allow_unknown = true\n[costs]\nother = "3 cycles"\n', "--cost other: no operator of that name is opaque"),
    ],
)
def test_costs_that_cannot_be_used(more: str, text: str, study: Path) -> None:
    study.write_text(STUDY + more)
    with pytest.raises(InputError, match=text) as error:
        mcusim.sweep(study, jobs=1)
    assert isinstance(error.value, StudyError) or "--cost" in str(error.value)
