"""``run`` and ``memory`` give one verdict: the same bytes, parts and region, whatever the options; files with plans."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcusim import load_machine, load_model, simulate
from mcusim.api.plan_memory import memory
from mcusim.api.reorder import planned_file
from mcusim.commands.app import main
from mcusim.errors import ModelError
from mcusim.model.tflite.offline_plan import with_offline_plan
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan.arena import arena_head
from tests.support.cases import only_with_all_cases, sampled
from tests.support.graphs.tflm import TFLM
from tests.support.graphs.tflm_graphs import random_network
from tests.support.paths import shared_model

MODELS = ("figure-1", "ds-cnn", "cifar10-arm", "mobilenet-v1-w0.25-r096")
BOARDS = ("stm32f746g-disco", "nucleo-f767zi", "nucleo-l4r5zi")
ORDERS, ALLOCATORS = ("default", "optimal"), ("greedy", "linear", "optimal")
SWIFTNET, HPS = "swiftnet_vwwc19_uint8.tflite", "cfu_hps_74.tflite"


def verdicts(model: str, board: str, kernels: str | None = None, **options: Any) -> list[dict[str, Any]]:
    machine = load_machine(board, options.pop("overrides", None))
    ran = simulate(model, machine, kernels=kernels, **options).verdict
    planned = memory(model, machine=machine, kernels=kernels, **options).verdict
    assert ran is not None and planned is not None
    return [ran.to_json(machine), planned.to_json(machine)]


def test_random_options_give_the_same_verdict() -> None:
    rng, fits = random.Random(1), 0
    for _ in range(16):
        kernels = rng.choice([None, "cmsis-gcc12"])
        options: dict[str, Any] = {"order": rng.choice(ORDERS), "allocator": rng.choice(ALLOCATORS)}
        model, board = rng.choice(MODELS), rng.choice(BOARDS)
        if board == "stm32f746g-disco":
            options["overrides"] = {"memory.sram1.size": "1 KiB", "memory.dtcm.size": f"{rng.choice([1, 24])} KiB"}
        ran, planned = verdicts(model, board, kernels, in_place=rng.random() < 0.5, **options)
        assert ran == planned, f"{model} on {board}: {options}"
        fits += ran["fits"]
    assert 4 < fits < 16


def test_weights_and_flash_too_large_are_the_same_verdict() -> None:
    for size in ("16 KiB", "40 KiB"):  # of 23.8 KiB of weights and 72.3 KiB with code and runtime
        ran, planned = verdicts("ds-cnn", "stm32f746g-disco", overrides={"memory.flash.size": size})
        assert ran == planned and not ran["fits"] and ran["region"] == "flash"


def both(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The verdict in the JSON of ``run`` and of ``memory``, which must be one."""
    found = []
    for command in ("run", "memory"):
        status = main([command, *arguments, "--json", "-"])
        found.append(json.loads(capsys.readouterr().out)["verdict"])
        assert status == (0 if found[-1]["fits"] else 1)
    assert found[0] == found[1]
    return found[0]  # type: ignore[no-any-return]


@only_with_all_cases
@pytest.mark.parametrize(("board", "fits"), [("stm32f746g-disco", False), ("nucleo-f767zi", True)])
def test_what_memory_writes_runs_with_the_verdict_that_it_gave(
    board: str, fits: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SwiftNet: 301,056 B of tensors fit 327,680, with 38,112 B of the interpreter's data they do not."""
    path, out = shared_model(SWIFTNET), tmp_path / "planned.tflite"
    asked = ["--order", "optimal", "--allocator", "optimal", "-m", board]
    said = both(capsys, str(path), *asked)
    assert main(["memory", str(path), *asked, "-o", str(out)]) == (0 if fits else 1)
    assert f"{said['needed']:,}" in capsys.readouterr().out
    assert said["needed"] == 339_168 and said["fits"] is fits
    assert both(capsys, str(out), "-m", board) == said


def test_vww_is_written_no_larger_than_it_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = str(shared_model("vww_96_int8.tflite")), tmp_path / "vww.tflite"
    assert main(["memory", path, "--allocator", "optimal", "-o", str(out)]) == 0
    assert "warning" not in capsys.readouterr().out
    assert TFLM(out.read_bytes()).head == 55_296 < TFLM(Path(path).read_bytes()).head == 73_728
    assert main(["memory", path, "--allocator", "linear", "-o", str(out), "--force"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the file written needs 259,744 B, more than the one read: 73,728 B by TFLM's planner;" in text
    assert "--allocator optimal writes a smaller one" in text


@pytest.mark.parametrize("asked", sampled([(), ("--allocator", "optimal")], 1))
def test_a_stored_plan_that_is_better_is_kept(
    asked: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = shared_model(HPS), tmp_path / "hps.tflite"
    assert main(["memory", str(path), *asked, "-o", str(out), "--seconds", "0.5"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the memory plan in the file is" in text and "TensorFlow Lite Micro: 237,552 B" in text
    assert out.read_bytes() == path.read_bytes() and TFLM(out.read_bytes()).head == 237_552


@pytest.mark.parametrize(("asked", "needed"), sampled([("--in-place", 261_376), ("--allocator greedy", 261_376)], 1))
def test_a_file_with_a_larger_arena_than_it_had_says_so(
    asked: str, needed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = shared_model(HPS), tmp_path / "hps.tflite"
    assert main(["memory", str(path), *asked.split(), "-o", str(out), "--seconds", "0.5"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"needs {needed:,} B, more than the one read: 237,552 B by its own plan" in text
    assert TFLM(out.read_bytes()).head == needed and "--allocator offline writes a smaller one" in text


def test_what_memory_says_of_a_stored_plan_is_what_the_wheel_does(tmp_path: Path) -> None:
    """Plans of every allocator, in place too, and with some tensors left to the runtime's planner."""
    rng = random.Random(5)
    for seed in range(30):
        source, path = tmp_path / f"{seed}.tflite", tmp_path / f"p{seed}.tflite"
        source.write_bytes(write_tflite(random_network(4 + seed % 12, seed)))
        found = memory(str(source), allocator=rng.choice(ALLOCATORS), in_place=seed % 2 == 1)
        path.write_bytes(planned_file(str(source), found))
        plan = load_model(path).offline_plan
        assert plan is not None
        left = [-1 if rng.random() < 0.2 else offset for offset in plan]
        path.write_bytes(with_offline_plan(path.read_bytes(), path, left))
        read = memory(str(path))
        assert read.allocator == "offline"
        assert read.tflm_head == TFLM(path.read_bytes()).head == arena_head(load_model(path), left), f"seed {seed}"


def test_a_stored_plan_that_does_not_fit_is_one_verdict() -> None:
    ran, planned = (
        found(str(shared_model(HPS)), machine=load_machine("stm32f746g-disco", {"memory.sram1.size": "64 KiB"})).verdict
        for found in (simulate, partial(memory, seconds=0.5))
    )
    assert ran == planned and ran.parts["activations"] == 237_552 and not ran.fits


def test_a_plan_that_cannot_be_used_is_said_and_can_be_left_aside(tmp_path: Path) -> None:
    graph = load_model("figure-1")
    path = tmp_path / "all-at-zero.tflite"
    path.write_bytes(with_offline_plan(write_tflite(graph), path, [0] * len(graph.tensors)))
    for ask in (simulate, lambda model, machine: memory(model, machine=machine)):
        with pytest.raises(
            ModelError, match=r"its offline memory plan cannot be used: it puts tensor \d+ .* in use at"
        ):
            ask(str(path), "nucleo-f767zi")
    assert memory(str(path), allocator="greedy").placed.bytes == memory("figure-1").placed.bytes
