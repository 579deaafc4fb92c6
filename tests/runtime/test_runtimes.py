"""A runtime is one file: dropped into the folder, every command knows it, and what it adds is counted."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mcusim
from mcusim import runtime as runtimes
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine.cores import CORES
from mcusim.plan import options
from mcusim.runtime import runtime
from mcusim.runtime.planning_costs import operator_cycles, stated
from mcusim.runtime.runtime import find_runtime, recorded_runtime, runtime_names
from tests.support.made import bare
from tests.support.paths import REPOSITORY

PAGE = (REPOSITORY / "docs" / "pages" / "how-to" / "add-a-runtime.md").read_text(encoding="utf-8")
FILE = PAGE.partition('```python title="mcusim/runtime/direct.py"\n')[2].partition("```")[0]


@pytest.fixture
def dropped(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The runtime of the how-to page in the folder, with more below it where a test says so."""
    (tmp_path / "direct.py").write_text(FILE + getattr(request, "param", ""), encoding="utf-8")
    monkeypatch.setattr(runtimes, "__path__", [*runtimes.__path__, str(tmp_path)])
    runtime._runtimes.cache_clear()
    yield
    monkeypatch.undo()
    sys.modules.pop("mcusim.runtime.direct", None)
    runtime._runtimes.cache_clear()


def test_the_default_is_first_and_an_unknown_one_is_named() -> None:
    assert runtime_names()[0] == runtime.DEFAULT == options.RUNTIME.default
    with pytest.raises(UsageError, match="no runtime 'tflmm', did you mean tflm; there are tflm"):
        find_runtime("tflmm")
    assert recorded_runtime({}) is find_runtime() is recorded_runtime({"runtime": "tflm"}) is find_runtime("TFLM")


def test_cycles_of_every_core_have_a_basis() -> None:
    for isa in CORES:
        assert stated(isa, None).startswith(f"interpreter: {operator_cycles(isa):,} cycles an operator (assumed: ")
        assert stated(isa, 7) == "interpreter: 7 cycles an operator (given)"
    assert operator_cycles("cortex-m4") > operator_cycles("cortex-m7") > 0


def test_to_name_the_default_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for words in ([], ["--runtime", "tflm"]):
        assert main(["run", "figure-1", "--policy", "tinyops", *words, "--json", "-"]) == 0
        texts.append(bare(capsys.readouterr().out))
    assert texts[0] == texts[1] and json.loads(texts[0])["runtime"] == "tflm"
    assert main(["memory", "figure-1", "--runtime", "tflm", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["runtime"] == "tflm"
    assert main(["run", "figure-1", "--runtime", "none"]) == 2
    assert capsys.readouterr().err == "error: no runtime 'none'; there are tflm, tinyengine\n"


WITHOUT_RESHAPES = """

def executed(graph):
    moved = {op.outputs[0]: op.inputs[0] for op in graph.operators if op.type == "RESHAPE"}
    kept = [op for op in graph.operators if op.type != "RESHAPE"]
    return replace(
        graph,
        operators=tuple(
            replace(op, index=i, inputs=tuple(moved.get(t, t) for t in op.inputs)) for i, op in enumerate(kept)
        ),
    )


RUNTIME = replace(RUNTIME, executed=executed)
"""


@pytest.mark.parametrize("dropped", [WITHOUT_RESHAPES], indirect=True)
def test_an_operator_that_vanishes_is_not_called_and_the_outputs_are_the_same(dropped: None, tmp_path: Path) -> None:
    board = "stm32f746g-disco"
    plain = mcusim.simulate("ds-cnn", board, fidelity="emulate")
    direct = mcusim.simulate("ds-cnn", board, fidelity="emulate", runtime="direct")
    kinds = [one.type for one in plain.operators]
    assert [one.type for one in direct.operators] == [kind for kind in kinds if kind != "RESHAPE"] != kinds
    assert [one.values.tobytes() for one in direct.outputs] == [one.values.tobytes() for one in plain.outputs] != []
    program = mcusim.plan_program("ds-cnn", board, "internal", "cmsis", runtime="direct", order="optimal")
    program.save(tmp_path / "direct.jsonl")
    played = mcusim.replay(tmp_path / "direct.jsonl", fidelity="emulate", model="ds-cnn")
    assert len(played.operators) == len(direct.operators)
    assert played.outputs[0].values.tobytes() == plain.outputs[0].values.tobytes()
    assert len(mcusim.plan_memory("ds-cnn", runtime="direct").graph.operators) == len(direct.operators)


@pytest.mark.usefixtures("dropped")
@pytest.mark.parametrize("fidelity", ["replay", "emulate"])
def test_a_dropped_file_is_planned_and_run(fidelity: str) -> None:
    """Fewer cycles around each call, less memory for each node, less of its own in flash; the kernels take as long."""
    board = "stm32f746g-disco"
    plain = mcusim.simulate("figure-1", board, fidelity=fidelity)
    direct = mcusim.simulate("figure-1", board, fidelity=fidelity, runtime="direct")
    assert plain.run is not None and direct.run is not None and plain.flash is not None and direct.flash is not None
    assert direct.run.header.options["runtime"] == direct.planning["runtime"] == "direct"
    calls = len(direct.run.operators)
    assert direct.run.by_cause["runtime"] == 10 * calls < plain.run.by_cause["runtime"]
    assert direct.run.by_cause["compute"] == plain.run.by_cause["compute"]
    assert plain.flash.total - direct.flash.total == find_runtime("tflm").code_bytes - 1024
    assert any(line.startswith("calls: 10 cycles an operator (assumed") for line in direct.assumptions)
    assert direct.measured is None


OWN = '\n\nRUNTIME = replace(RUNTIME, kernels=("reference-gcc12", "reference"), own_kernels=True)\n'


@pytest.mark.parametrize("dropped", [OWN], indirect=True)
def test_a_runtime_that_is_its_kernels_runs_no_others(dropped: None, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["figure-1", "--runtime", "direct"]
    for more, kernels in ((["--fidelity", "emulate"], "reference"), ([], "reference-gcc12")):
        assert main(["run", *words, *more, "--json", "-"]) == 0
        assert json.loads(capsys.readouterr().out)["kernels"] == kernels
    refused = "error: runtime direct has kernels of its own, reference-gcc12 and reference: leave out --kernels cmsis\n"
    for command in ("run", "compare", "plan", "memory", "verify"):
        more = {"plan": ["-o", "-"], "memory": ["-m", "f746"]}.get(command, [])
        assert main([command, *words, *more, "--kernels", "cmsis"]) == 2
        assert capsys.readouterr().err == refused
    assert main(["verify", *words, "--static"]) == 0


@pytest.mark.parametrize("dropped", ["\n\nRUNTIME = replace(RUNTIME, node_bytes=4096)\n"], indirect=True)
def test_memory_gives_the_verdict_of_run(dropped: None) -> None:
    needed = set()
    for name in ("direct", "tflm"):
        plan = mcusim.plan_memory("figure-1", machine="stm32f746g-disco", runtime=name, kernels="cmsis-gcc12")
        run = mcusim.simulate("figure-1", "stm32f746g-disco", kernels="cmsis-gcc12", runtime=name)
        assert plan.verdict is not None and plan.verdict == run.verdict
        needed.add(plan.verdict.needed)
    assert len(needed) == 2
