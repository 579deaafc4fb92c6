"""What each technique is worth: from an interpreter to all of TinyEngine; and the same bytes without any of them."""

from __future__ import annotations

import pytest

from mcusim import compare, plan_program, verify
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.runtime.runtime import recorded_runtime
from tests.support.cases import few

F746 = "stm32f746g-disco"
STEPS = ["interpreter", "code generation", "kernels", "fusion", "unrolling", "tiling", "in place"]


@few(1)
@pytest.mark.parametrize("board", [F746, "nucleo-h743zi", "stm32f469i-disco"])
@pytest.mark.parametrize(("model", "in_place"), [("mcunet-vww1", 96_000 / 89_600), ("mcunet-in3", 371_712 / 247_808)])
def test_no_step_makes_it_slower_or_larger(model: str, in_place: float, board: str) -> None:
    found = compare(model, board, runtime="tinyengine", ablation=True)
    if not all(row.fits for row in found.rows):
        pytest.skip("does not fit")
    rows = found.to_json()["ablation"]
    assert [row["step"] for row in rows] == STEPS
    times, peaks = [row["latency_ms"] for row in rows], [row["peak_bytes"] for row in rows]
    assert times == sorted(times, reverse=True)
    assert peaks[0] > peaks[1] > peaks[-1] and peaks[2] > peaks[3]
    assert 1.4 <= times[0] / times[-1] <= (2.4 if board == F746 else 3.0), "the paper has 1.6 for one network"
    runs = [row.run for row in found.rows[-2:]]
    assert runs[0] is not None and runs[1] is not None
    assert runs[0].header.memory.activations / runs[1].header.memory.activations == in_place


@few(2)
@pytest.mark.parametrize("without", ["kernels", "fusion", "tiling", "unrolling", "kernels,fusion", "fusion,unrolling"])
@pytest.mark.parametrize("board", [F746, "stm32f469i-disco"])
def test_the_bytes_are_those_of_litert_without_any_of_them(board: str, without: str) -> None:
    found = verify("mnasnet-w0.10-r032-pad", machine=board, policy="internal", runtime="tinyengine", without=without)
    assert not found.wrong, str(found)
    assert found.litert is not None and not found.litert.note


def test_what_is_left_out_is_in_the_header_and_takes_what_rests_on_it() -> None:
    program = plan_program("ds-cnn", F746, runtime="tinyengine", without=["unrolling"])
    assert program.header.options["without"] == "unrolling"
    assert recorded_runtime(program.header.options).left_out == {"unrolling", "tiling"}


def test_an_explanation_is_by_the_names_of_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a network without RAM on the chip, too, whose shares of RAM are none."""
    arguments = ["--machine", F746, "--policy", "external", "--runtime", "tinyengine", "--ablation", "--explain"]
    assert main(["compare", "ds-cnn", *arguments]) == 0
    text = capsys.readouterr().out
    assert "  in all " in text and "of the RAM" not in text
    assert "unrolling/code generation" in text and "tinyengine (" not in text


def test_what_cannot_be_taken_apart_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in (
        (["--ablation"], "takes apart a compiled runtime: name tinyengine with --runtime"),
        (["--ablation", "--runtime", "tflm"], "takes apart a compiled runtime"),
        (["--ablation", "--runtime", "tinyengine", "--without", "fusion"], "--without has no effect with --ablation"),
        (["--ablation", "--runtime", "tinyengine", "--no-in-place"], "--no-in-place has no effect with --ablation"),
        (["--ablation", "--runtime", "tinyengine", "--patches", "auto"], "--patches has no effect with --ablation"),
        (["--ablation", "--runtime", "tinyengine", "--kernels", "tinyengine-gcc12"], "name those of an interpreter"),
        (["--without", "fusion"], "--without fusion has no effect with --runtime tflm: it can leave out nothing"),
        (["--runtime", "tinyengine", "--without", "fusing"], 'unknown without "fusing"; there are kernels, fusion'),
    ):
        assert main(["compare", "ds-cnn", "--machine", F746, "--policy", "internal", *arguments]) == 2
        assert says in capsys.readouterr().err
    with pytest.raises(UsageError, match="--ablation takes a MODEL"):
        compare(runtime="tinyengine", ablation=True)


def test_the_ladder_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "ds-cnn", "--machine", F746, "--runtime", "tinyengine", "--ablation"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("  + tiling")] and all(len(line) <= 80 for line in lines)
    assert any("times as fast, with" in line for line in lines)
    assert "MCUNet's paper (Figure 5" in "".join(lines) and "not published" in lines[-1]  # why its steps are others
