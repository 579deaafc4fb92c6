"""Models with operators that mcusim does not know: read always, run when asked; what is left out is said everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.model import Graph, Operator, Tensor
from tests.support.graphs.small_graphs import activation
from tests.support.graphs.tflite_writer import write_tflite

WITHOUT = "without CUSTOM(my_op), which mcusim does not know"
TWELVE = ["--cost", "my_op=12 cycles/B"]


def model(folder: Path, *kinds: str) -> str:
    one = activation((1, 8, 8, 4))
    tensors = tuple(replace(one, index=i, name=f"t{i}") for i in range(len(kinds) + 1))
    operators = tuple(Operator(i, kind, (i,), (i + 1,)) for i, kind in enumerate(kinds))
    path = folder / f"{'-'.join(kinds)}.tflite"
    assert isinstance(tensors[0], Tensor)
    path.write_bytes(write_tflite(Graph("unknown", tensors, operators, (0,), (len(kinds),), "")))
    return str(path)


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    return model(tmp_path, "RELU", "my_op", "RELU")


def plain(text: str) -> str:
    return " ".join(text.split())


def test_a_run_names_the_operators_and_both_options(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "compare", "verify"):
        assert main([command, mixed]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1 and "CUSTOM(my_op) (operator 1)" in error
        assert "--allow-unknown" in error and "--cost 'CUSTOM(my_op)=12 cycles/B'" in error


def test_the_total_says_what_it_is_without(mixed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "run.html"
    assert main(["run", mixed, "--allow-unknown", "--all", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    memory = next(i for i, line in enumerate(lines) if line.startswith("Peak memory"))
    assert WITHOUT in plain("\n".join(lines[:memory]))  # under the total
    assert "warning: totals are without CUSTOM(my_op)" in out and "operators left out" in plain(out)
    assert WITHOUT in page.read_text(encoding="utf-8")
    assert main(["compare", mixed, "--allow-unknown", "--policy", "internal"]) == 0
    assert WITHOUT in capsys.readouterr().out


def test_a_cost_counts_and_is_recorded(mixed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def data(*arguments: str) -> dict[str, object]:
        assert main([*arguments, "--json", "-"]) == 0
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    free, costed = (data("run", mixed, "--allow-unknown", *more) for more in ([], TWELVE))
    assert free["left_out"] == ["CUSTOM(my_op)"] and free["costs"] == {}
    assert costed["left_out"] == [] and costed["costs"] == {"CUSTOM(my_op)": "12 cycles/B"}
    runtime = costed["operators"][1]["cycles_by_cause"]["runtime"]  # type: ignore[index]
    assert costed["cycles"] - free["cycles"] == 12 * 2 * 256 + runtime  # type: ignore[operator]
    for more, wanted in (([], free), (TWELVE, costed)):
        program = tmp_path / f"{len(more)}.jsonl"
        assert main(["plan", mixed, "--allow-unknown", *more, "-o", str(program)]) == 0
        played = data("replay", str(program))
        assert [played[key] for key in ("cycles", "left_out", "costs")] == [
            wanted[key] for key in ("cycles", "left_out", "costs")
        ]
    result = mcusim.simulate(mixed, "stm32f746g-disco", allow_unknown=True, costs={"my_op": "12 cycles/B"})
    assert result.run is not None and result.run.cycles == costed["cycles"] and result.left_out == ()
    assert mcusim.simulate(mixed, "stm32f746g-disco", allow_unknown=True).left_out == ("CUSTOM(my_op)",)


def test_no_number_for_one_opaque_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = model(tmp_path, "my_op")
    assert main(["run", one, "--allow-unknown", *TWELVE]) == 0
    assert "engines" not in capsys.readouterr().out  # which take no costs
    assert main(["run", one, "--allow-unknown"]) == 2
    found = capsys.readouterr()
    assert not found.out and "has opaque operators alone (CUSTOM(my_op))" in found.err
    assert main(["compare", one, "--allow-unknown"]) == 2
    assert "ms" not in capsys.readouterr().out.split("opaque operators alone")[1].split("MACs")[0]


def test_what_has_no_code_is_proved_and_not_emulated(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    for fidelity in ("emulate", "both"):
        assert main(["run", mixed, "--allow-unknown", "--fidelity", fidelity]) == 2
        assert "CUSTOM(my_op) cannot be emulated" in capsys.readouterr().err
    assert main(["verify", mixed, "--allow-unknown", "--policy", "internal"]) == 0
    out = plain(capsys.readouterr().out)
    assert "static proof no findings" in out and "not run: mcusim does not know CUSTOM(my_op)" in out
    assert main(["verify", mixed, "--allow-unknown", "--fuzz", "2"]) == 2
    assert "--fuzz is for the run" in capsys.readouterr().err


def test_memory_commands_take_them_without_an_option(
    mixed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ordered.tflite"
    for arguments in (["inspect", mixed], ["memory", mixed], ["reorder", mixed, "-o", str(out)]):
        assert main(arguments) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "count as opaque, inputs and outputs live, nothing else known: CUSTOM(my_op)" in text
    assert main(["memory", mixed, "-m", "f746", "--runtime", "tinyengine"]) == 0
    text = plain(capsys.readouterr().out)
    assert "not counted: kernels, parameters and scratch buffers of CUSTOM(my_op), the stack" in text
    assert out.read_bytes() == Path(mixed).read_bytes()
    assert main(["inspect", mixed, "--json", "-"]) == 0
    shown = json.loads(capsys.readouterr().out)["operators"]
    assert [op["opaque"] for op in shown] == [False, True, False]


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        ("my_op", "--cost needs NAME=COST"),
        ("=1 cycle", "--cost needs NAME=COST"),
        ("my_op=fast", "cost of my_op: 'fast' is not like"),
        ("other=1 cycle", "--cost other: no operator of that name is opaque"),
    ],
)
def test_costs_that_cannot_be_used(cost: str, text: str, mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("run", "compare", "verify"):
        assert main([command, mixed, "--allow-unknown", "--cost", cost]) == 2
        assert text in capsys.readouterr().err
    with pytest.raises(mcusim.errors.UsageError, match="costs = 3: must be a mapping"):
        mcusim.simulate(mixed, "stm32f746g-disco", allow_unknown=True, costs=3)  # type: ignore[arg-type]
