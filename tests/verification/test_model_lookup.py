"""Which model a program was written for: found in its folder, in the zoo, or given; nothing else is ever opened."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mcusim.errors import ModelError, ProgramError
from mcusim.model import Graph, load_model
from mcusim.program import read_program
from mcusim.program.program import Program
from mcusim.verification import model_lookup as module
from mcusim.verification.model_lookup import model_of
from tests.support.cases import few
from tests.support.paths import REPOSITORY

FOLDER = REPOSITORY / "traces"
TRACE = FOLDER / "ping-pong-four-tiles.jsonl"
MODEL = FOLDER / "sample-tall-conv.tflite"


def program(**header: object) -> Program:
    found = read_program(TRACE)
    return replace(found, header=replace(found.header, **header))  # type: ignore[arg-type]


@few(7)
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_shipped_program_has_its_model(path: Path) -> None:
    found = read_program(path)
    graph = model_of(found, path, None)
    assert graph is not None
    assert graph.sha256 == found.header.model_sha256


def test_the_name_may_have_its_suffix() -> None:
    assert model_of(program(model="sample-tall-conv.tflite"), TRACE, None) is not None


def test_a_file_goes_before_a_zoo_network(tmp_path: Path) -> None:
    sha256 = load_model(MODEL).sha256
    shutil.copy(MODEL, tmp_path / "ds-cnn.tflite")
    graph = model_of(program(model="ds-cnn"), tmp_path / "trace.jsonl", None)
    assert graph is not None and graph.sha256 == sha256
    assert model_of(program(model="ds-cnn", model_sha256="0" * 64), tmp_path / "trace.jsonl", None) is None
    zoo = load_model("ds-cnn").sha256
    graph = model_of(program(model="ds-cnn", model_sha256=zoo), tmp_path / "trace.jsonl", None)
    assert graph is not None and graph.sha256 == zoo


def test_a_zoo_name_is_no_file_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo = load_model("ds-cnn").sha256
    shutil.copy(MODEL, tmp_path / "ds-cnn")
    monkeypatch.chdir(tmp_path)
    graph = model_of(program(model="ds-cnn", model_sha256=zoo), TRACE, None)
    assert graph is not None and graph.sha256 == zoo


def test_another_model_of_that_name_is_none(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "sample-one-conv.tflite", tmp_path / MODEL.name)
    assert model_of(program(), tmp_path / "trace.jsonl", None) is None


def test_a_damaged_model_of_the_right_sha256_is_none(tmp_path: Path) -> None:
    (tmp_path / MODEL.name).write_bytes(b"no model")
    sha256 = hashlib.sha256(b"no model").hexdigest()
    assert model_of(program(model_sha256=sha256), tmp_path / "trace.jsonl", None) is None


HOSTILE = (
    "../traces/sample-tall-conv",
    str(FOLDER / "sample-tall-conv"),
    str(MODEL),
    "..",
    ".",
    "",
    "/",
    "\0",
    "a\0b",
    "\ud800",
    "x" * 201,
    "x" * 10_000_000,
    "\n",
    "..\\sample-tall-conv",
    "C:sample",
    "/dev/zero",
    "mobilenet-v2",
    "mobilenet-v2-w9-r1",
    "proxyless-w2.00-r512",
    "ds-cnn-w1-r10",
    "https://host/model.tflite",
    "~",
    "$HOME",
)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_open_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for opener in ("load_model", "build"):
        monkeypatch.setattr(module, opener, lambda what: pytest.fail(f"opened {str(what)[:80]}"))
    assert model_of(program(model=name), TRACE, None) is None


def test_neither_links_out_nor_pipes_are_read(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    link = tmp_path / MODEL.name
    link.symlink_to(MODEL)
    assert model_of(program(), trace, None) is None
    link.unlink()
    link.symlink_to(link)
    assert model_of(program(), trace, None) is None
    link.unlink()
    os.mkfifo(link)
    assert model_of(program(), trace, None) is None
    link.unlink()
    link.mkdir()
    assert model_of(program(), trace, None) is None


def test_a_given_model_is_the_programs_or_an_error(tmp_path: Path) -> None:
    graph = model_of(program(model="/nowhere"), tmp_path / "trace.jsonl", str(MODEL))
    assert isinstance(graph, Graph)
    with pytest.raises(ProgramError, match=r"was written for another model \(sample-tall-conv, sha256"):
        model_of(program(), TRACE, "ds-cnn")
    with pytest.raises(ProgramError, match=r"as runtime tflm executes it: operator 0 is none in its header, CONV_2D"):
        model_of(program(operators=()), TRACE, str(MODEL))
    with pytest.raises(ModelError, match="no model 'nowhere'"):
        model_of(program(), TRACE, "nowhere")
