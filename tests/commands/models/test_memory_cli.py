"""``mcusim memory``: what it prints and writes, its verdict, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcusim.api.plan_memory import memory
from mcusim.commands.app import main
from mcusim.machine import load_machine
from mcusim.model import load_model
from mcusim.model.reordered import reordered
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan.allocators import Placed, allocate
from mcusim.plan.allocators.greedy import ArenaBlock
from mcusim.run_config.input_tensors import random_inputs
from tests.support.errors import one_error
from tests.support.graphs.small_graphs import in_place_graph
from tests.support.graphs.tflite_writer import write_tflite as write_unchecked
from tests.support.graphs.tflm import TFLM
from tests.support.paths import shared_model

PERSON = "person_detect.tflite"
SWIFTNET = "swiftnet_vwwc19_uint8.tflite"


def planned(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    assert main(["memory", *arguments, "--json", "-"]) == status
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def arenas(found: dict[str, Any]) -> dict[str, int]:
    return {one["allocator"]: one["bytes"] for one in found["allocators"]}


def test_figure_1_in_both_orders(capsys: pytest.CaptureFixture[str]) -> None:
    """Appendix A of Liberis and Lane 2019."""
    stored, least = planned(capsys, "figure-1"), planned(capsys, "figure-1", "--order", "optimal")
    assert [step["bytes"] for step in stored["steps"]] == [4704, 4704, 5216, 4160, 1280, 1024, 1024]
    assert (stored["peak_before"], stored["peak_after"], stored["lower_bound"]) == (5216, 5216, None)
    assert (least["peak_before"], least["peak_after"], least["lower_bound"], least["optimal"]) == (
        5216,
        4960,
        4960,
        True,
    )
    assert max(step["bytes"] for step in least["steps"]) == 4960 == least["steps"][least["bottleneck"]]["bytes"]
    assert [step["top"] for step in least["steps"]] == [4704, 3648, *[4960] * 5]
    assert [step["type"] for step in least["steps"]] == ["CONV_2D"] * 6 + ["CONCATENATION"]


def test_person_detection_static_and_dynamic(capsys: pytest.CaptureFixture[str]) -> None:
    """Liberis and Lane 2019, Table 1: 241 KB static, 55 KB dynamic."""
    found = planned(capsys, str(shared_model(PERSON)), "--allocator", "dynamic")
    assert arenas(found) == {"linear": 241_072, "greedy": 55_296, "dynamic": 55_296, "optimal": 55_296}
    dynamic = next(one for one in found["allocators"] if one["allocator"] == "dynamic")
    assert (len(dynamic["moves"]), dynamic["moved_bytes"]) == (29, 213_380)
    assert sum(len(one["places"]) for one in found["residents"]) == 29 + len(found["residents"])


def test_swiftnet_in_order_and_in_place(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(shared_model(SWIFTNET))
    found = planned(capsys, path, "--order", "optimal", "--in-place", "--allocator", "optimal")
    assert (found["peak_before"], found["peak_after"], found["arena_bytes"]) == (351_232, 301_056, 301_056)
    assert arenas(found)["greedy"] == 326_144
    assert any(len(one["tensors"]) > 1 for one in found["residents"])
    streamed = planned(capsys, path, "--weights", "streamed")
    assert streamed["peak_after"] > 351_232
    assert {one["kind"] for one in streamed["residents"]} == {"activation", "weights"}


def test_the_table_has_lifetimes_and_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "figure-1", "--order", "optimal", "--allocator", "dynamic", "--all"]) == 0
    out = capsys.readouterr().out
    assert "peak as stored  at operator 2 CONV_2D" in out and "no order needs less" in out
    assert "4,960    4,960  bottleneck" in out and "dynamic *    4,960" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["18", "conv_2d_5", "256", "2-6", "3,648", ">", "3,136", ">", "0"] in rows
    assert ["linear", "8,320", "3,360"] in rows and ["dynamic", "*", "4,960", "0", "6", "5,984"] in rows


def test_the_first_screen_has_the_steps_that_need_most(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "mcunet-in1", "-m", "stm32f746g-disco"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fits: 219.6 KiB of 320 KiB SRAM, flash 870.2 KiB of 1 MiB"
    assert len(lines) <= 33 and all(len(line) <= 80 for line in lines) and "--all" in lines[-1]
    start = next(i for i, line in enumerate(lines) if line.startswith("the 10 of 94 steps that need most"))
    used = [int(line.split()[-2 - line.endswith("bottleneck")].replace(",", "")) for line in lines[start + 2 :][:10]]
    steps = sorted((step["bytes"] for step in planned(capsys, "mcunet-in1")["steps"]), reverse=True)
    assert used == steps[:10] and lines[start + 12] == ""


LIMITED = ["ds-cnn", "-m", "stm32f746g-disco"]


@pytest.mark.parametrize(
    ("limits", "status", "words"),
    [
        (["--max-sram", "24 KiB", "--max-flash", "73 KiB"], 0, "within SRAM 23.3 KiB of 24 KiB, flash 72.3 KiB of 73"),
        (["--max-sram", "23 KiB"], 1, "SRAM 23.3 KiB exceeds 23 KiB by 288 B"),
        (["--max-flash", "72 KiB", "--runtime", "tinyengine"], 0, "within flash"),
        (["--max-flash", "1 KiB", "--runtime", "tinyengine"], 1, "exceeds 1 KiB by"),
    ],
)
def test_limits_are_those_of_run(
    limits: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", *LIMITED, *limits]) == status
    captured = capsys.readouterr()
    assert words in " ".join(captured.out.split()) and (words in captured.err) is (status == 1)
    assert captured.out.startswith("exceeds the limit of" if status else "fits: ")
    checked = planned(capsys, *LIMITED, *limits, status=status)["limits"]
    assert main(["run", *LIMITED, *limits, "--json", "-"]) == status
    assert checked == json.loads(capsys.readouterr().out)["limits"]


def test_a_limit_needs_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    for limit in ("sram", "flash"):
        assert main(["memory", "no-such-model", f"--max-{limit}", "1 KiB"]) == 2
        assert f"--max-{limit} is for what is needed on a machine: name it with --machine" in one_error(capsys)
    assert main(["memory", "no-such-model", "-m", "f746", "--max-sram", "1 KB"]) == 2
    assert "--max-sram" in one_error(capsys)


def test_moving_has_a_price(capsys: pytest.CaptureFixture[str]) -> None:
    """The README compares with the paper's 9 ms and 7 mJ; here the figures are checked against each other."""
    arguments = [str(shared_model(PERSON)), "--allocator", "dynamic", "-m", "nucleo-f767zi"]
    found = planned(capsys, *arguments)
    assert [one["copy"] for one in found["defragmentation"]] == ["words", "bytes"]
    words, bytes_ = found["defragmentation"]
    for one in (words, bytes_):
        assert (one["moves"], one["bytes"], one["memory"]) == (29, 213_380, "dtcm+sram1+sram2")
        assert one["cycles"] == sum(one["by_cause"].values()) == sum(one["cycles_by_move"])
        assert one["ms"] == pytest.approx(one["cycles"] / 216e3) and one["energy_mj"] > 0
    in_readme = [(round(one["ms"], 1), round(one["energy_mj"], 2)) for one in (words, bytes_)]
    assert in_readme == [(0.5, 0.15), (2.5, 0.74)]
    assert 2 * 213_380 / 4 < words["cycles"] < 2.1 * 213_380 / 4 < bytes_["cycles"]
    assert main(["memory", *arguments, "--assumptions"]) == 0
    out = capsys.readouterr().out
    assert f"by words                 {words['cycles']:,}" in out
    most = max(words["by_cause"], key=words["by_cause"].get)
    assert [line.split()[-1] for line in out.splitlines() if line.startswith("  by words")] == [most]
    moves = next(one["moves"] for one in found["allocators"] if one["allocator"] == "dynamic")
    assert all(move["source"] > move["target"] for move in moves) and len(moves) == 29
    assert out.count("(assumed") == sum("(assumed" in text for text in found["assumptions"]) > 0
    waits = load_machine("nucleo-f767zi").memory["flash"].device.wait_states  # fewer of them at 108 MHz
    at_108 = ("--set", "core.clock=108 MHz", "--set", f"memory.flash.wait_states={waits}")
    slower = planned(capsys, *arguments, *at_108)["defragmentation"][0]
    assert slower["cycles"] == words["cycles"] and slower["ms"] == pytest.approx(2 * words["ms"])


def test_no_price_where_nothing_moves_or_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, "figure-1", "-m", "nucleo-f767zi")["defragmentation"] == []
    small = ["-m", "stm32f469i-disco", "--set", "memory.sram3.size=63 KiB"]
    assert planned(capsys, "mnasnet-w1.00-r128", "--allocator", "dynamic", *small, status=1)["defragmentation"] == []


def test_pictures_go_into_a_file_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html, out = tmp_path / "mem.html", tmp_path / "out.tflite"
    arguments = ["memory", "figure-1", "--order", "optimal", "--html", str(html), "-o", str(out)]
    assert main(arguments) == 0
    assert f"wrote {out}, {html}" in capsys.readouterr().out
    page = html.read_text()
    assert page.startswith("<!DOCTYPE html>") and "conv_2d_3" in page
    assert main(arguments) == 2 and html.read_text() == page
    assert main(["memory", "figure-1", "--html", str(tmp_path / "x"), "-o", str(tmp_path / "x")]) == 2
    assert "named for two outputs" in capsys.readouterr().err


@pytest.mark.parametrize(("size", "status", "words"), [("280 KiB", 0, "fits"), ("200 KiB", 1, "does not fit")])
def test_the_verdict_of_a_machine(size: str, status: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """256 KiB of activations, scratch and the interpreter's data, in 160 + 32 KiB and those of the last region."""
    sizes = ["--set", f"memory.sram3.size={size}", "--set", "memory.flash.size=8 MiB"]
    arguments = ["mnasnet-w1.00-r128", "-m", "stm32f469i-disco", *sizes]
    found = planned(capsys, *arguments, status=status)
    assert found["arena_bytes"] == 256 * 1024 and found["memory"]["fits"] is (status == 0)
    assert main(["memory", *arguments, "--all"]) == status
    out = capsys.readouterr().out
    assert f"the tensor arena {words} sram1+sram2+sram3" in out
    assert f"memory.sram3.size = {size}" in out and found["set"]["memory.sram3.size"] == size
    assert max(len(line) for line in out.splitlines() if "the tensor arena" in line or "KiB" in line) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--order", "best"], "order 'best': must be one of default, optimal"),
        (["--allocator", "first"], "allocator 'first': must be one of linear, greedy, dynamic, optimal, offline"),
        (["--allocator", "offline"], "--allocator offline: figure-1 has no offline memory plan in its metadata"),
        (["--kernels", "cmsis"], "--kernels is for the verdict on a machine: name it with --machine"),
        (["--weights", "sram"], "weights 'sram': must be one of flash, streamed, resident"),
        (["--align", "24"], "an alignment of 24 B: must be a power of two"),
        (["--set", "core.clock=1 MHz"], "--set changes a machine: name it with --machine"),
        (["--machine", "no-such-board"], "no-such-board"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "figure-1", *arguments]) == 2
    assert message in one_error(capsys)


def test_the_head_of_tflms_arena(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In place its planner has to follow ours; where it has no such plan, or an unknown kernel, nothing is reported."""

    def head(*arguments: str) -> int | None:
        found: int | None = planned(capsys, *arguments)["tflm_head_bytes"]
        return found

    assert (head("figure-1"), head("figure-1", "--order", "optimal")) == (5216, 4960)
    for arguments in (["--weights", "streamed"], ["--align", "32"], ["--allocator", "linear"]):
        assert head("figure-1", *arguments) is None
    path, out = tmp_path / "sum.tflite", tmp_path / "planned.tflite"
    path.write_bytes(write_tflite(in_place_graph()))
    assert head(str(path)) == 12_288
    for allocator in ("greedy", "optimal"):
        arguments = [str(path), "--in-place", "--allocator", allocator, "-o", str(out), "--force"]
        assert head(*arguments) == TFLM(out.read_bytes()).head == 8192
    graph = load_model("figure-1")
    odd = (*graph.operators[:6], replace(graph.operators[6], type="MyConcatenation"))
    path.write_bytes(write_unchecked(replace(graph, operators=odd)))
    assert head(str(path)) is None


def test_seconds_bound_every_search(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def recorded(blocks: Sequence[ArenaBlock], name: str, align: int, seconds: float, stored: None) -> Placed:
        given.append(seconds)
        return allocate(blocks, name, align, seconds, stored)

    monkeypatch.setattr("mcusim.api.plan_memory.allocate", recorded)
    memory("figure-1", seconds=0.5)
    assert set(given) == {0.5}


def test_a_reordered_graph_renumbers_its_operators() -> None:
    graph = load_model("figure-1")
    found = reordered(graph, (0, 3, 5, 1, 2, 4, 6))
    assert [op.index for op in found.operators] == list(range(7))
    assert found.operators[1].outputs == graph.operators[3].outputs


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "there.json"
    path.write_text("mine")
    assert main(["memory", "figure-1", "--json", str(path)]) == 2
    assert path.read_text() == "mine" and "exists" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["memory", "reorder"])
def test_one_file_under_two_names_is_written_once(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    monkeypatch.chdir(tmp_path)
    for other in ("there/../there/x", "link/x"):
        assert main([command, "figure-1", "-o", "there/x", "--json", other]) == 2
        assert "is named for two outputs" in capsys.readouterr().err and not list((tmp_path / "there").iterdir())


def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    assert main(["memory", "figure-1", "-o", str(path)]) == 0 and path.stat().st_size
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("option", ["-o", "--html", "--json"])
def test_a_full_device_is_named(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "figure-1", option, "/dev/full", "--force"]) == 2
    assert capsys.readouterr().err == "error: cannot write /dev/full: No space left on device\n"


def test_the_plan_goes_into_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TFLM's own planner takes 73,728 B for this network."""
    model, out = shared_model("vww_96_int8.tflite"), tmp_path / "planned.tflite"
    stored = model.read_bytes()
    assert main(["memory", str(model), "--allocator", "optimal", "-o", str(out)]) == 0
    assert f"wrote {out}" in capsys.readouterr().out
    assert model.read_bytes() == stored and stored in out.read_bytes()
    inputs = random_inputs(load_model(model))
    both = [TFLM(stored), TFLM(out.read_bytes())]
    assert [one.head for one in both] == [73_728, 55_296]
    results = [one.run(*inputs) for one in both]
    assert all((a == b).all() for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--allocator", "dynamic"], "the dynamic allocator moves tensors: they have no fixed offsets"),
        (["--weights", "streamed"], "no place for weights in RAM"),
        (["--align", "4"], "needs offsets at multiples of 16 B, not 4"),
        (["--json", "planned.tflite"], "planned.tflite is named for two outputs"),
    ],
)
def test_plans_that_cannot_be_written(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["memory", "figure-1", "-o", "planned.tflite", *arguments]) == 2
    assert message in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_the_model_is_never_its_own_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.tflite"
    assert main(["export", "figure-1", "-o", str(path)]) == 0
    before = path.read_bytes()
    assert main(["memory", str(path), "-o", str(path)]) == 2
    assert path.read_bytes() == before and "it is an input file" in capsys.readouterr().err
    assert main(["memory", str(path), "--order", "optimal", "-o", str(path), "--force"]) == 0
    capsys.readouterr()
    assert planned(capsys, str(path))["peak_before"] == 4960
    assert main(["memory", str(path), "-o", str(path), "--force"]) == 0  # a plan that is there is replaced


@pytest.mark.parametrize("arguments", [["-o", "-"], ["--html", "-"]])
def test_files_are_no_standard_output(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["memory", "figure-1", *arguments]) == 2
    assert "-: name a file" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_head_that_tflm_cannot_have_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(capsys, str(shared_model(SWIFTNET)))["tflm_head_bytes"] is None  # uint8
    assert planned(capsys, "figure-1")["tflm_head_bytes"] == 5216
