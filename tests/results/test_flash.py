"""What flash keeps: weights by a closed form, code as it is loaded, the file's rest, where each part goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mcusim
from mcusim.engine.guest_program import GuestProgram
from mcusim.kernels import load_profile
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph, Operator, load_model
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan import plan
from mcusim.results.flash import FlashUse, flash_use
from mcusim.runtime.runtime import find_runtime
from tests.support.paths import shared_model

BOARD = "stm32f746g-disco"


def part(flash: FlashUse, name: str) -> int:
    return next(one.bytes for one in flash.parts if one.name == name)


def on(graph: Graph, kernels: str = "cmsis", weights: str | None = None, **sizes: str) -> FlashUse:
    keys = {f"memory.{region}.size": size for region, size in sizes.items()}
    return flash_use(graph, load_machine(BOARD, keys), load_set(kernels), weights)


def test_weights_of_ds_cnn_by_hand(tmp_path: Path) -> None:
    """Filters in bytes, biases in words, the target of the RESHAPE; the exported file is all of the model."""
    first, separable = 64 * 10 * 4 + 64 * 4, (9 * 64 + 64 * 4) + (64 * 64 + 64 * 4)
    expected = first + 4 * separable + (64 * 12 + 12 * 4) + 2 * 4
    graph = load_model("ds-cnn")
    assert part(on(graph), "weights") == expected
    path = tmp_path / "ds-cnn.tflite"
    path.write_bytes(write_tflite(graph))
    read = on(load_model(path))
    assert part(read, "weights") == expected
    assert part(read, "weights") + part(read, "model file") == path.stat().st_size
    assert read.total == path.stat().st_size + part(read, "kernel code") + find_runtime().code_bytes


@pytest.mark.parametrize("kernels", ["cmsis", "cmsis-nano", "reference"])
@pytest.mark.parametrize("board", [BOARD, "stm32f469i-disco"])
def test_code_is_the_image_that_an_emulation_loads(kernels: str, board: str) -> None:
    graph, machine, chosen = load_model("ds-cnn"), load_machine(board), load_set(kernels)
    program = plan(graph, machine, "internal", chosen)
    needed = {kernel.symbol for kernel in GuestProgram(program, graph, chosen).kernels}
    image = chosen.image_at(machine.core.isa, 0x0802_0000, needed)
    flash = flash_use(graph, machine, chosen)
    assert part(flash, "kernel code") == sum(len(segment.data) for segment in image.segments)
    assert part(flash, "kernel code") < chosen.loaded_bytes(machine.core.isa) / 2
    assert [one.basis for one in flash.parts] == ["stored", "stored", "counted", "assumed"]


def test_a_profile_has_the_code_of_its_set_or_a_stated_substitute() -> None:
    graph, machine = load_model("ds-cnn"), load_machine(BOARD)
    fitted = flash_use(graph, machine, load_profile("reference-gcc12"))
    assert part(fitted, "kernel code") == part(on(graph, "reference"), "kernel code")
    stated = flash_use(graph, machine, load_profile("cmsis-2021-gcc9"))
    assert part(stated, "kernel code") == part(on(graph), "kernel code")
    assert stated.parts[2].basis == "assumed"
    assert stated.parts[2].source == "kernel set cmsis, as the code of cmsis-2021-gcc9 is not known"


def test_what_a_set_lacks_is_of_the_reference_set_and_what_none_has_is_named() -> None:
    graph, cmsis = load_model("ds-cnn"), load_set("cmsis")
    lacking = replace(cmsis, kernels={key: one for key, one in cmsis.kernels.items() if key[0] != "SOFTMAX"})
    machine = load_machine(BOARD)
    mixed = flash_use(graph, machine, lacking)
    assert mixed.parts[2].source.endswith("and of reference what it lacks")
    reference = load_set("reference")
    softmax = reference.loaded_bytes(machine.core.isa, {reference.kernel("SOFTMAX").symbol})
    others = {kernel.symbol for (op, types), kernel in lacking.kernels.items() if types == "int8"}
    used = {op.type for op in graph.operators}
    needed = {cmsis.kernel(name).symbol for name in used - {"SOFTMAX"}} & others
    assert part(mixed, "kernel code") == cmsis.loaded_bytes(machine.core.isa, needed) + softmax
    unknown = replace(graph, operators=(*graph.operators, Operator(13, "UNKNOWN:FOO", (0,), (1,))))
    assert on(unknown).uncounted == ("code of FOO: no kernel set has it",)


def test_a_shared_buffer_counts_once() -> None:
    graph = load_model("ds-cnn")
    at = next(t.index for t in graph.tensors if t.constant and t.bytes == 64 * 64)
    again = replace(graph.tensors[at], index=len(graph.tensors))
    other = replace(again, index=again.index + 1, data=np.array(again.data))
    assert part(on(replace(graph, tensors=(*graph.tensors, again))), "weights") == part(on(graph), "weights")
    assert part(on(replace(graph, tensors=(*graph.tensors, again, other))), "weights") == (
        part(on(graph), "weights") + 64 * 64
    )


def test_where_the_model_is_kept() -> None:
    """In its flash; of a RAM in the flash that it is copied from, or in the QSPI flash when that is too small."""
    graph = load_model("ds-cnn")
    assert {one.region for one in on(graph).parts} == {"flash"}
    assert [one.region for one in on(graph, weights="qspi").parts] == ["qspi", "qspi", "flash", "flash"]
    assert {one.region for one in on(graph, weights="sdram").parts} == {"flash"}
    small = on(graph, weights="sdram", flash="64 KiB")
    assert [one.region for one in small.parts] == ["qspi", "qspi", "flash", "flash"] and small.over is None
    over = on(graph, flash="64 KiB").over
    assert over is not None and (over.region, over.available) == ("flash", 65536)
    assert over.needed == on(graph).total


def test_a_flash_too_small_for_code_and_weights_together_is_a_negative_result() -> None:
    result = mcusim.simulate("ds-cnn", BOARD, overrides={"memory.flash.size": "64 KiB"})
    assert not result.fits and result.does_not_fit is not None and result.flash is not None
    assert result.does_not_fit.needed == result.flash.total > 65536 > part(result.flash, "weights")
    assert str(result.does_not_fit).startswith("what flash keeps (weights 24,376 B, model file ")


def test_a_file_of_others() -> None:
    path = shared_model("vww_96_int8.tflite")
    flash = on(load_model(path))
    assert part(flash, "weights") + part(flash, "model file") == path.stat().st_size
