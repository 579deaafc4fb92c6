"""Where what was written comes from: the block ``made`` of files, and a result that is made again."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mcusim
from mcusim.api.plan_memory import memory
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.provenance import built_from, made
from mcusim.results.saved.repeated import repeated
from tests.support.errors import one_error
from tests.support.pages.pages import Page
from tests.support.paths import REPOSITORY, shared_model

KEYS = ["version", "commit", "date", "command", "seeds", "model_sha256", "machine_sha256", "plug_ins"]
G4 = "nucleo-g474re"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> dict[str, Any]:
    """The JSON of a run."""
    assert main(["run", *words, "--json", "r.json", "--force"]) == 0
    document: dict[str, Any] = json.loads(Path("r.json").read_text())
    return document


def test_the_time_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert made().date == "1970-01-02T00:00:00Z" and made().command is None
    assert built_from() is None or re.fullmatch(r"[0-9a-f]{40}(\+changes)?", built_from() or "")
    for wrong in ("soon", "9" * 30, "-5", " 5", "٥"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(UsageError, match="must be a whole number of seconds"):
            made()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert made().date > "2026"


def test_a_run_says_what_it_was_made_of() -> None:
    document = run("figure-1", "-m", G4, "--set", "memory.flash.wait_states=3")
    block = document["made"]
    assert list(block) == KEYS and block["version"] == mcusim.__version__ and block["seeds"] == {"weights": "figure-1"}
    assert block["command"] == f"mcusim run figure-1 --machine {G4} --policy internal --set memory.flash.wait_states=3"
    assert block["model_sha256"] == document["model_sha256"]
    figures = document["machine_figures"]
    assert figures["memory.flash.wait_states"]["value"] == "3" and figures["core.clock"]["basis"] == "datasheet"
    lines = sorted(f"{key} = {figure['value']}" for key, figure in figures.items())
    assert block["machine_sha256"] == hashlib.sha256("\n".join(lines).encode()).hexdigest()
    emulated = run("figure-1", "-m", G4, "--fidelity", "emulate")["made"]
    assert emulated["seeds"] == {"weights": "figure-1", "inputs": 0} and emulated["command"].endswith("emulate")


@pytest.mark.parametrize(
    "words",
    [
        ["memory", "figure-1", "-m", G4],
        ["compare", "figure-1", "-m", G4],
        ["engines", "figure-1", "-m", G4],
        ["inspect", "figure-1"],
        ["machines"],
    ],
)
def test_every_json_has_the_block(words: list[str]) -> None:
    assert main([*words, "--json", "x.json"]) == 0
    block = json.loads(Path("x.json").read_text())["made"]
    assert list(block) == KEYS and block["command"] == shlex.join(["mcusim", *words, "--json", "x.json"])
    if words[0] == "memory":
        memory("figure-1", machine=G4).save_json("y.json")
        own = json.loads(Path("y.json").read_text())["made"]
        assert own == block | {"command": None} and own["model_sha256"] and own["machine_sha256"]


def test_programs_tables_and_pages_have_it() -> None:
    assert main(["plan", "figure-1", "-m", G4, "-o", "p.jsonl"]) == 0
    lines = Path("p.jsonl").read_text().splitlines()
    head = json.loads(lines[0])
    assert head["made"]["command"] == f"mcusim plan figure-1 -m {G4} -o p.jsonl"
    Path("q.jsonl").write_text("\n".join([json.dumps(head | {"made": {"x": 1}}), *lines[1:]]))
    Path("b.jsonl").write_text("\n".join([json.dumps(head | {"made": 1}), *lines[1:]]))
    assert main(["replay", "q.jsonl"]) == 0 and main(["replay", "b.jsonl"]) == 2
    study = {"models": ["figure-1"], "machines": [G4], "policies": ["internal"], "axes": {"clock": ["1 MHz", "2 MHz"]}}
    study |= {"sampling": {"method": "latin-hypercube", "points": 2, "seed": 7}}
    mcusim.sweep(study, "t.parquet", jobs=1)
    assert main(["sweep", "t.parquet", "--json", "t.json", "--html", "t.html"]) == 0
    block = json.loads(Path("t.json").read_text())["made"]
    assert set(block) == {*KEYS} and block["seeds"] == {"sampling": 7} and set(block["model_sha256"]) == {"figure-1"}
    assert block["machine_sha256"] == {G4: run("figure-1", "-m", G4)["made"]["machine_sha256"]}
    assert "mcusim sweep t.parquet" in Page(Path("t.html").read_text()).text
    assert main(["run", "figure-1", "-m", G4, "--html", "r.html"]) == 0
    text = Page(Path("r.html").read_text()).text
    assert "2023-11-14T22:13:20Z" in text and block["machine_sha256"][G4] in text
    assert f"mcusim run figure-1 --machine {G4} --policy internal" in text


@pytest.mark.parametrize(
    "words",
    [
        ["figure-1", "-m", G4, "--clock", "100 MHz", "--max-latency", "1 s", "--show", "memory"],
        ["figure-1", "-m", "nucleo-h743zi", "--period", "1 s", "--battery", "CR2032", "--set", "core.clock=400 MHz"],
        ["figure-1", "--fidelity", "emulate", "--input", "in.npy"],
        ["figure-1", "-p", "tinyops", "--sram-budget", "16 KiB", "--overlay", "input"],
    ],
)
def test_a_run_again_is_equal(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if "in.npy" in words:
        graph = mcusim.load_model("figure-1")
        np.save("in.npy", np.ones(graph.tensors[graph.inputs[0]].shape, np.int8))
    run(*words)
    capsys.readouterr()
    assert main(["run", "--again", "r.json"]) == 0
    assert re.fullmatch(r"equal: all [0-9,]+ figures of r.json\n", capsys.readouterr().out)
    if "tinyops" in words:
        result = mcusim.simulate("figure-1", "stm32f746g-disco", "tinyops", sram_budget="16 KiB", overlay=["input"])
        result.save_json("p.json")
        assert main(["run", "--again", "p.json", "--json", "-"]) == 0
        assert json.loads(capsys.readouterr().out)["equal"] is True


def test_what_a_configuration_sets_is_in_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mcusim.toml").write_text('[run]\nperiod = "2 s"\n')
    monkeypatch.delenv("MCUSIM_NO_CONFIG")
    document = run("figure-1", "-m", G4)
    assert "--period '2 s'" in document["made"]["command"] and document["period"]["period_ms"] == 2000
    Path("mcusim.toml").unlink()
    assert main(["run", "--again", "r.json"]) == 0


def test_what_is_not_equal(capsys: pytest.CaptureFixture[str]) -> None:
    document = run("figure-1", "-m", G4)
    document["latency_ms"] *= 1.001
    document["made"]["version"] = "0.1.0"
    Path("o.json").write_text(json.dumps(document))
    assert main(["run", "--again", "o.json", "--json", "d.json"]) == 1
    captured = capsys.readouterr()
    assert "1 of " in captured.out and "latency_ms" in captured.out and "made by mcusim 0.1.0, this is" in captured.out
    assert captured.err.startswith("error: o.json: 1 of ")
    [difference] = json.loads(Path("d.json").read_text())["differences"]
    assert difference["name"] == "latency_ms"
    near = repeated({"a": 1.0, "b": [1, "x"]}, {"a": 1.0 + 1e-12, "b": [1, "x"], "c": 2}, "n")
    assert near.equal and near.compared == 3


def test_another_model_or_machine_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(shared_model("hello_world_int8.tflite"), "a.tflite")
    Path("mine.toml").write_text(f'extends = "{G4}"\nname = "mine"\n[core]\nclock = "100 MHz"\n')
    run("a.tflite", "-m", "mine.toml")
    Path("b.tflite").write_bytes(Path("a.tflite").read_bytes())
    Path("a.tflite").unlink()
    for words, error in (
        (["r.json"], "a.tflite"),
        (["r.json", "figure-1"], "r.json: its model is another one: sha256 "),
        (["none.json"], "none.json: "),
        (["mine.toml"], "mine.toml: not JSON"),
    ):
        capsys.readouterr()
        assert main(["run", "--again", *words]) == 2
        assert error in one_error(capsys)
    assert main(["run", "--again", "r.json", "b.tflite"]) == 0
    Path("mine.toml").write_text(f'extends = "{G4}"\nname = "mine"\n[core]\nclock = "90 MHz"\n')
    capsys.readouterr()
    assert main(["run", "--again", "r.json", "b.tflite"]) == 2
    assert "r.json: its machine is another one: sha256 " in one_error(capsys)


def test_what_cannot_be_done_again(capsys: pytest.CaptureFixture[str]) -> None:
    run("figure-1", "-m", G4)
    document = json.loads(Path("r.json").read_text())
    for number, block in enumerate(({}, {"command": None}, {"command": "mcusim memory x"}, {"command": "'"}, 5)):
        capsys.readouterr()
        Path("x.json").write_text(json.dumps(document | {"made": block}))
        assert main(["run", "--again", "x.json"]) == 2, number
        assert "x.json: does not say which command made it" in one_error(capsys)
    Path("keep.html").write_text("mine")
    for writing in ("--html keep.html", "--html=keep.html", "-o x.npy", "--json y.json", "--force"):
        capsys.readouterr()
        Path("x.json").write_text(
            json.dumps(document | {"made": {"command": f"mcusim run figure-1 {writing} --force"}})
        )
        assert main(["run", "--again", "x.json"]) == 2
        assert "what is done again writes no files" in one_error(capsys)
    assert Path("keep.html").read_text() == "mine"
    capsys.readouterr()
    assert main(["run", "--again", "r.json", "--clock", "1 MHz"]) == 2
    assert "--clock has no effect with --again" in one_error(capsys)
    assert main(["run"]) == 2
    assert "Missing argument 'MODEL'" in capsys.readouterr().err


def test_what_to_cite_is_this_version() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == mcusim.__version__ and citation["license"] == "Apache-2.0"
    assert citation["title"].startswith("mcusim") and citation["cff-version"] == "1.2.0" and citation["authors"]
