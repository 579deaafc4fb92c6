"""What public functions return is one line in a terminal, a little HTML in a notebook, and can be saved."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import mcusim
from mcusim.api.fidelity_comparison import simulate_both
from mcusim.commands.app import main as command_line
from mcusim.display import Displayed, one_line
from mcusim.errors import UsageError
from mcusim.evidence.calibrate.calibration import Calibration, Fitted, FittedRow
from mcusim.kernels.test_programs import program_path
from mcusim.measurements.published.validation_result import Validation
from mcusim.model.graph import Graph
from mcusim.program import Program, program_lines
from mcusim.results import Result
from mcusim.run_config.settings import settings
from tests.support.made import bare
from tests.support.pages.hostile_names import HOSTILE

F746 = "stm32f746g-disco"
NOTHING = {
    "__version__",
    "table",
    "figure",
    "sweep",
    "session",
    "SessionFault",
    "tune",
}  # texts, and what has a representation of its own
LARGEST = 60_000  # characters of what a notebook keeps of one object


def calibration() -> Calibration:
    fitted = Fitted("core.clock", "MHz", 200.0, 216.0, "216 MHz", 1.0, 480.0, 0.1, None)
    row = FittedRow("rows.csv:2", "ds-cnn", "latency_ms", 30.0, 33.0, 31.0, None)
    return Calibration(F746, "rows.csv", (fitted,) * 40, (row,) * 40, (), "x" * 10_000, None, 1, 1)


@pytest.fixture(scope="module")
def result() -> Result:
    return mcusim.simulate("ds-cnn", F746, policy="tinyops")


def objects(result: Result) -> dict[str, Any]:
    """What each public function returns, and what that holds."""
    assert result.run is not None and result.request is not None and result.request.graph is not None
    plan, difference = mcusim.plan_memory("figure-1", machine=F746), mcusim.diff(result, result)
    graph = result.request.graph
    with TemporaryDirectory() as folder:
        generated = mcusim.generate("figure-1", folder)
    return {
        "generate": generated,
        "simulate": result,
        "advise": mcusim.advise("figure-1", F746, trials=6, finalists=0),
        "engines": mcusim.engines("figure-1", F746),
        "compare": mcusim.compare(["ds-cnn", "figure-1"], [F746]),
        "replay": mcusim.replay(mcusim.plan_program("ds-cnn")),
        "emulate": mcusim.emulate(program_path("conv", "cortex-m7"), F746, call="run_layer", arguments=[1, 1]),
        "diff": difference,
        "inspect": mcusim.inspect("ds-cnn"),
        "plan_memory": plan,
        "plan_program": result.request.program,
        "reorder": mcusim.reorder("figure-1"),
        "verify": mcusim.verify("ds-cnn", static=True),
        "verify_firmware": mcusim.verify_firmware(program_path("dma", "cortex-m7"), F746),
        "load_machine": result.machine,
        "load_model": graph,
        "suggest": mcusim.suggest(result, max_latency="1 ms"),
        "validate": Validation(()),
        "calibrate": calibration(),
        "parts": [
            result.run, result.run.header, result.request, result.request.settings, result.flash, *result.operators,
            *result.tensors, *graph.tensors, *graph.operators, plan.after, plan.after.timeline,
            *difference.operators, difference.first, *difference.first.operators,
        ],
    }  # fmt: skip


def test_every_public_object_is_one_line_and_a_little_html(result: Result) -> None:
    found = objects(result)
    parts = found.pop("parts")
    assert set(found) == set(mcusim.__all__) - NOTHING
    for one in (*found.values(), *parts):
        text = repr(one)
        assert len(text) < 200 and text.isprintable(), text
        html = one._repr_html_()
        assert html.startswith("<") and len(html) < LARGEST, (type(one), len(html))


def test_each_returned_class_is_shown() -> None:
    """Also those of public functions to come."""
    for name in set(mcusim.__all__) - NOTHING:
        function = inspect.unwrap(getattr(mcusim, name))
        returned = inspect.signature(function).return_annotation if not inspect.isclass(function) else name
        assert returned in {one.__name__ for one in subclasses(Displayed)}, name


def subclasses(kind: type) -> set[type]:
    own: list[type] = kind.__subclasses__()
    return {*own, *(deeper for one in own for deeper in subclasses(one))}


def test_lines_of_hostile_names(result: Result) -> None:
    for name in (*HOSTILE, "x" * 100_000, ""):
        for one in (
            replace(result, model=name), replace(result, run=None, energy=None, unusable=name),
            Graph(name, (), (), (), (), ""), replace(mcusim.load_model("ds-cnn").tensors[1], name=name),
        ):  # fmt: skip
            assert len(repr(one)) < 200 and repr(one).isprintable()
            assert "<img" not in one._repr_html_() and "<script" not in one._repr_html_().lower()


def test_lines_say_what_counts(result: Result) -> None:
    assert repr(result) == f"<Result ds-cnn on {F746}, tinyops, replay: 33.51 ms, 22.18 mJ, 25.8 KiB SRAM>"
    tight = mcusim.simulate("ds-cnn", F746, sram_budget="1 KiB")
    assert repr(tight).startswith(f"<Result ds-cnn on {F746}, internal: the tensor arena does not fit")
    assert repr(mcusim.load_model("ds-cnn").tensors[1]) == "<Tensor 1 'filter_0': int8 64x10x4x1, 2,560 B, constant>"


@dataclass(frozen=True, slots=True)
class Sample(Displayed):
    """A class of a user's own."""

    name: str
    numbers: list[int]
    text: str | None = None
    ratio: float = 0.1
    huge: int = 10**50


def test_a_dataclass_is_written_in_short() -> None:
    assert repr(Sample("a", [1, 2, 3])) == "Sample(name='a', numbers=3 items, ratio=0.1, huge=a large number)"
    assert one_line(Sample("b" * 90, [])) == f"Sample(name='{'b' * 40}...', ratio=0.1, huge=a large number)"
    assert fields(Sample)[0].name == "name" and Sample("a", []) == Sample("a", [])


def test_a_result_is_saved_as_the_command_writes_it(result: Result, tmp_path: Path) -> None:
    written = [tmp_path / name for name in ("c.html", "c.json", "c.perfetto")]
    words = ["--html", str(written[0]), "--json", str(written[1]), "--perfetto", str(written[2])]
    assert command_line(["run", "ds-cnn", "--policy", "tinyops", *words]) == 0
    saved = [tmp_path / name for name in ("p.html", "p.json", "p.perfetto")]
    for save, path in zip((result.save_html, result.save_json, result.save_perfetto), saved, strict=True):
        save(path)
    assert [bare(path) for path in saved] == [bare(path) for path in written]
    assert mcusim.diff(saved[1], result).parts == ()


def test_the_other_objects_are_saved(result: Result, tmp_path: Path) -> None:
    comparison, plan = mcusim.compare(["figure-1"], [F746]), mcusim.plan_memory("figure-1")
    both = simulate_both(mcusim.load_model("figure-1"), result.machine, BOTH)
    saves: list[Callable[[Path], None]] = [
        comparison.save_html, both.save_html, plan.save_html, mcusim.diff(result, result).save_html,
    ]  # fmt: skip
    for number, save in enumerate(saves):
        save(tmp_path / f"{number}.html")
        assert (tmp_path / f"{number}.html").read_text().startswith("<!DOCTYPE html>")
    verified, inspected = mcusim.verify("ds-cnn", static=True), mcusim.inspect("ds-cnn")
    data: list[Any] = [comparison, both, plan, mcusim.diff(result, result), inspected, verified]
    for number, one in enumerate(data):
        one.save_json(tmp_path / f"{number}.json")
        assert json.loads((tmp_path / f"{number}.json").read_text())
    program: Program = mcusim.plan_program("figure-1")
    program.save(tmp_path / "p.jsonl")
    assert bare(tmp_path / "p.jsonl").splitlines() == list(program_lines(program))
    mcusim.reorder("figure-1").save(tmp_path / "f.tflite")
    assert len(mcusim.load_model(tmp_path / "f.tflite").operators) == len(mcusim.load_model("figure-1").operators)


BOTH = settings("internal", "cmsis-gcc12")


def test_what_cannot_be_saved(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("kept")
    with pytest.raises(UsageError, match="exists; force=True overwrites it"):
        result.save_json(path)
    assert path.read_text() == "kept"
    result.save_json(path, force=True)
    assert json.loads(path.read_text())["model"] == "ds-cnn"
    for wrong, message in (
        (tmp_path, "not a regular file"), (tmp_path / "no" / "r.json", "No such file"), (7, "path = 7: must be a path"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            result.save_json(wrong, force=True)  # type: ignore[arg-type]
    tight = mcusim.simulate("ds-cnn", F746, sram_budget="1 KiB")
    with pytest.raises(UsageError, match="there is no run to trace"):
        tight.save_perfetto(tmp_path / "t.json")
    tight.save_html(tmp_path / "t.html")
    assert "does not fit" in (tmp_path / "t.html").read_text()
