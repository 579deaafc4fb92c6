"""``mcusim verify`` on the command line: tables, JSON, exit status, and files that are damaged."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.finding_rules import PROGRAM
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.damaged_files import TEXT, check, variants
from tests.support.errors import one_error
from tests.support.paths import REPOSITORY

TRACES = REPOSITORY / "traces"
GOOD = sorted({*TRACES.glob("*.jsonl")} - {*TRACES.glob("broken-*")})
PROOF = {"found_by", "rule", "tasks", "buffers", "bytes", "text", "fix"}
RUN = PROOF | {
    "operator",
    "type",
    "tile",
    "tiles",
    "buffer",
    "address",
    "line",
    "pc",
    "source",
    "function",
    "cycle",
    "times",
}


def verified(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    status = main(["verify", *arguments, "--json", "-"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("policy", sampled(["tinyops", "internal", "external"], 1))
def test_planned_models_are_verified(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = verified(["ds-cnn", "--machine", "stm32f746g-disco", "--policy", policy], capsys)
    assert (status, data["findings"], data["policy"]) == (0, [], policy)
    assert [data["equivalence"][name]["equal"] for name in ("untiled", "litert")] == [True, True]
    assert data["run"]["sanitize"] == "report" and data["run"]["cycles"] > 1_000_000


@only_with_all_cases
def test_a_model_is_planned_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ds-cnn", "--overlay", "filter", "--sram-budget", "128 KiB", "--set", "dma.dma2.max_units=1000"]
    status, data = verified(arguments, capsys)
    assert (status, data["findings"]) == (0, [])
    assert main(["verify", "ds-cnn", "-m", "stm32f469i-disco"]) == 0
    assert "no findings" in capsys.readouterr().out


def broken(by_proof: bool) -> list[Path]:
    """The broken programs that the static proof refutes, or those that it does not."""
    cases = runpy.run_path(str(REPOSITORY / "scripts" / "traces" / "catalogue.py"))["BROKEN"]
    chosen = [number for number, case in enumerate(cases, 1) if bool(case.static) is by_proof]
    return [TRACES / f"broken-{number:02d}-{cases[number - 1].name}.jsonl" for number in chosen]


@few(1)
@pytest.mark.parametrize("path", sampled(broken(by_proof=True), 3), ids=lambda path: path.stem)
def test_broken_traces_have_status_1_and_whole_findings(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = verified([str(path)], capsys)
    assert status == 1
    assert data["findings"][0]["found_by"] == "proof"
    ids = {json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()[1:]}
    for finding in data["findings"]:
        assert set(finding) == (PROOF if finding["found_by"] == "proof" else RUN)
        assert finding["found_by"] in ("proof", "sanitizer")
        assert finding["rule"] in PROGRAM
        assert finding["tasks"] and set(finding["tasks"]) <= ids
        assert finding["bytes"][0] < finding["bytes"][1]
    assert bool(data["run"]) is not bool(data["notes"])
    assert all(note.startswith("not run: ") for note in data["notes"])


@pytest.mark.parametrize("path", broken(by_proof=False), ids=lambda path: path.stem)
def test_outputs_tell_what_neither_proof_nor_sanitizer_sees(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = verified([str(path)], capsys)
    assert (status, data["findings"], data["notes"]) == (1, [], [])
    assert [data["equivalence"][name]["equal"] for name in ("untiled", "litert")] == [False, False]


@few(1)
@pytest.mark.parametrize("path", sampled(GOOD, 3), ids=lambda p: p.stem)
def test_sample_programs_are_clean(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = verified([str(path)], capsys)
    assert (status, data["findings"], data["notes"]) == (0, [], [])
    assert data["equivalence"]["untiled"]["equal"] is True


def test_the_table_says_what_and_how_to_fix_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(TRACES / "broken-01-missing-wait.jsonl"), "--static"]) == 1
    shown = capsys.readouterr()
    assert "1. unordered" in shown.out
    assert "tasks 0, 2; 0x20000000 to 0x20001dff (7.5 KiB) in tile0" in shown.out
    assert "fix: add 0 to `after` of task 2" in shown.out
    assert "\nrun " not in shown.out
    assert shown.err.strip().endswith("broken-01-missing-wait.jsonl: 1 finding")


def test_the_sanitizer_names_place_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    """A buffer that is reused while a call reads it: the outputs differ, in the tile that the call computes."""
    trace = str(TRACES / "broken-03-early-buffer-reuse.jsonl")
    assert main(["verify", trace]) == 1
    shown = capsys.readouterr()
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    text = " ".join(shown.out.split())
    assert "found by: sanitizer" in text
    assert "operator 0 CONV_2D, tile 1 of 4: tile0 at 0x2000" in text
    assert (
        "differs from the untiled run (internal on stm32f469i-disco), first at operator 0 CONV_2D, tile 1 of 4" in text
    )
    assert shown.err.strip().endswith("broken-03-early-buffer-reuse.jsonl: 2 findings, the outputs differ")
    status, data = verified([trace], capsys)
    seen = data["findings"][1]
    assert (status, seen["found_by"], seen["rule"], seen["tasks"]) == (1, "sanitizer", "unordered", [6, 7])
    assert seen["source"].endswith(tuple("0123456789")) and seen["pc"] and seen["cycle"]
    difference = data["equivalence"]["litert"]["difference"]
    assert difference == data["equivalence"]["untiled"]["difference"]
    assert (difference["operator"], difference["tile"], difference["tiles"]) == (0, 0, 4)


@only_with_all_cases
def test_halt_stops_at_the_first_finding_and_off_looks_at_outputs_alone(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "broken-03-early-buffer-reuse.jsonl")
    status, data = verified([trace, "--sanitize", "halt"], capsys)
    assert (status, [f["found_by"] for f in data["findings"]]) == (1, ["proof", "sanitizer"])
    assert data["run"]["cycles"] is None
    assert data["equivalence"]["untiled"]["note"] == "the run did not end; what it had computed is the same"
    status, data = verified([trace, "--sanitize", "off"], capsys)
    assert (status, [f["found_by"] for f in data["findings"]]) == (1, ["proof"])
    assert data["equivalence"]["untiled"]["equal"] is False


@only_with_all_cases
def test_a_program_may_be_verified_on_another_machine(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "cache-maintenance.jsonl")
    assert verified([trace], capsys)[0] == 0
    status, data = verified([trace, "--machine", "stm32f469i-disco"], capsys)
    assert status == 1
    assert {f["rule"] for f in data["findings"]} == {"bounds"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere.jsonl"], "cannot be read"),
        (["nowhere.elf"], "nowhere.elf: no such file"),
        (["no-such-model"], "no-such-model"),
        ([str(TRACES / "broken-01-missing-wait.jsonl"), "--policy", "tinyops"], "--policy is for a model"),
        ([str(TRACES / "broken-01-missing-wait.jsonl"), "--machine", "moon"], "moon"),
        ([str(TRACES)], "traces"),
        (["ds-cnn", "--policy", "moon"], "moon"),
        (["ds-cnn", "--kernels", "moon"], "moon"),
        (["ds-cnn", "--kernels", "cmsis-2021-gcc9"], "cost profile of code that is not here"),
        (["ds-cnn", "--static", "--fuzz", "3"], "--static runs nothing; --fuzz is for the run"),
        (["ds-cnn", "--static", "--input", "x.npy"], "--static runs nothing; --input is for the run"),
        (["ds-cnn", "--model", "ds-cnn"], "--model is for a program"),
        (["ds-cnn", "--seed", "3"], "--seed has no effect without --fuzz"),
        (["ds-cnn", "--sanitize", "loud"], "--sanitize 'loud': must be one of off, report, halt"),
        (["ds-cnn", "--fuzz", "-1"], "'--fuzz'"),
        (["ds-cnn", "--fuzz", "2", "--seed", "-1"], "'--seed'"),
        (["ds-cnn", "--input", "nowhere.npy"], "nowhere.npy"),
        ([str(TRACES / "broken-01-missing-wait.jsonl"), "--model", "ds-cnn"], "written for another model"),
        ([str(TRACES / "broken-01-missing-wait.jsonl"), "--input", "nowhere.npy"], "nowhere.npy"),
    ],
)
def test_bad_input_is_one_error(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *arguments]) == 2
    assert reason in one_error(capsys)


def test_damaged_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, statuses = tmp_path / "bad.jsonl", set()
    for sample in ("cache-maintenance", "broken-10-producer-not-done"):
        for data in variants((TRACES / f"{sample}.jsonl").read_bytes(), TEXT, sample):
            path.write_bytes(data)
            statuses.add(check(["verify", str(path)], capsys))
    assert statuses >= {1, 2}


def test_help_says_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "static proof" in shown and "mcusim verify traces/broken-03-early-buffer-reuse.jsonl" in shown
    assert "--fuzz 200 --seed 1" in shown


def without_model(tmp_path: Path) -> str:
    path = tmp_path / "program.jsonl"
    path.write_bytes((TRACES / "ping-pong-four-tiles.jsonl").read_bytes())
    return str(path)


def test_without_its_model_a_program_is_proven_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = without_model(tmp_path)
    status, data = verified([trace], capsys)
    assert (status, data["run"], data["equivalence"], data["fuzz"]) == (0, None, None, None)
    assert data["notes"] == ["proved, not run: the program's model 'sample-tall-conv' is not here; --model names it"]
    for option in (["--fuzz", "3"], ["--sanitize", "halt"], ["--kernels", "cmsis"], ["--input", "x.npy"]):
        assert main(["verify", trace, *option]) == 2
        assert f"{option[0]} is for the run, and the program's model" in capsys.readouterr().err
    status, data = verified([trace, "--model", str(TRACES / "sample-tall-conv.tflite")], capsys)
    assert (status, data["notes"], data["equivalence"]["litert"]["equal"]) == (0, [], True)


def test_a_program_planned_for_a_cost_profile_is_proven_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ds-cnn.jsonl"
    assert main(["plan", "ds-cnn", "--policy", "tinyops", "-m", "stm32f746g-disco", "-o", str(path)]) == 0
    status, data = verified([str(path)], capsys)
    assert (status, data["findings"], data["run"]) == (0, [], None)
    assert data["notes"] == [
        "proved, not run: kernels 'cmsis-2021-gcc9' are a cost profile without code; `mcusim verify ds-cnn"
        " --machine stm32f746g-disco --policy tinyops` plans the model for kernels cmsis and runs it"
    ]
    assert main(["verify", str(path), "--fuzz", "3"]) == 2
    assert (
        "--fuzz is for the run, and kernels 'cmsis-2021-gcc9' are a cost profile without code"
        in capsys.readouterr().err
    )
    assert main(["verify", str(path), "--kernels", "cmsis"]) == 2
    assert "plan it for this kernel set or its profile" in capsys.readouterr().err


def test_what_cannot_run_is_an_error_unless_the_proof_has_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown kernels: the good program is refused, the findings of the broken one are listed."""
    for sample, status in (("ping-pong-four-tiles", 2), ("broken-03-early-buffer-reuse", 1)):
        path = tmp_path / f"{sample}.jsonl"
        text = (TRACES / f"{sample}.jsonl").read_text(encoding="utf-8")
        path.write_text(text.replace('"cmsis-gcc12"', '"moon"', 1), encoding="utf-8")
        model = str(TRACES / "sample-tall-conv.tflite")
        assert main(["verify", str(path), "--model", model]) == status
        shown = capsys.readouterr()
        assert "written for kernels 'moon'" in " ".join((shown.out + shown.err).split())


@only_with_all_cases
def test_seeds_that_fail_are_named_and_replay(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "broken-03-early-buffer-reuse.jsonl")
    status, data = verified([trace, "--fuzz", "3", "--seed", "6"], capsys)
    assert (status, data["fuzz"]["seeds"]) == (1, [6, 7, 8])
    failed = {outcome["seed"]: outcome for outcome in data["fuzz"]["failed"]}
    assert failed
    seed = next(iter(failed))
    status, data = verified([trace, "--fuzz", "1", "--seed", str(seed)], capsys)
    assert (status, data["fuzz"]["failed"]) == (1, [failed[seed]])
    assert main(["verify", trace, "--fuzz", "1", "--seed", str(seed)]) == 1
    shown = capsys.readouterr()
    assert f"--fuzz 1 --seed {seed} replays the first" in " ".join(shown.out.split())
    assert shown.err.strip().endswith(f"the outputs differ, seed {seed} failed")


@only_with_all_cases
def test_clean_programs_pass_the_fuzzing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(TRACES / "ping-pong-four-tiles.jsonl"), "--fuzz", "2"]) == 0
    assert "seeds 1 to 2: identical outputs" in capsys.readouterr().out


def test_the_program_itself_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = Path(without_model(tmp_path))
    before = trace.read_bytes()
    assert main(["verify", str(trace), "--json", str(trace), "--force"]) == 2
    assert f"cannot write {trace}: it is an input file" in capsys.readouterr().err
    assert trace.read_bytes() == before
