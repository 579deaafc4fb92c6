"""``mcusim kernels build``: sets that run, builds that repeat, and what goes wrong."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.kernels.kernel_set import load_set, set_names
from mcusim.machine.cores import CORES
from tests.support.cases import only_with_all_cases
from tests.support.kernels.kernel_cases import inputs_for, one_operator
from tests.support.kernels.kernel_guest import Guest, run_litert
from tests.support.kernels.tiny_sets import TINY, built, copied, error_of, needs_compiler


@needs_compiler
@pytest.mark.parametrize("isa", CORES)
def test_it_runs_and_gives_what_litert_gives(isa: str, tmp_path: Path) -> None:
    found = load_set(built(tmp_path))
    guests = [Guest(found, isa, address) for address in (None, 0x2001_0000, *([0x40] if isa == "cortex-m7" else []))]
    for kind in ("LOGISTIC", "TANH", "MAXIMUM", "MINIMUM"):
        for seed in range(8):
            graph = one_operator(kind, "int8", seed)
            data = inputs_for(graph, seed)
            wanted = run_litert(graph, data)[0].tobytes()
            assert all(guest.run(graph, data)[0].tobytes() == wanted for guest in guests), (kind, seed)


@needs_compiler
def test_what_was_built_builds_again(tmp_path: Path) -> None:
    first = built(tmp_path / "a", '--cflags=-O1 -DNAME="two words"', source=copied(tmp_path / "mine"))
    assert "two words" in tomllib.loads((first / "BUILD.toml").read_text())["flags"]
    second = built(tmp_path / "b", source=first)
    plain = built(tmp_path / "c")
    for isa in CORES:
        code = [load_set(folder).image(isa).segments[0].data for folder in (first, second, plain)]
        assert code[0] == code[1] != code[2]


@needs_compiler
def test_bytes_do_not_depend_on_the_place(tmp_path: Path) -> None:
    folders = [built(tmp_path / "a"), built(tmp_path / "b" / "deeper" / "still")]
    for name in ("tiny-cortex-m4.elf", "tiny-cortex-m7.elf", "BUILD.toml"):
        assert folders[0].joinpath(name).read_bytes() == folders[1].joinpath(name).read_bytes()


@only_with_all_cases
@needs_compiler
def test_the_sets_that_ship_are_built_by_default(tmp_path: Path) -> None:
    assert main(["kernels", "build", "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == set_names()
    for name in set_names():
        found, shipped = load_set(tmp_path / "out" / name), load_set(name)
        assert dict(found.kernels) == dict(shipped.kernels)
        record = [tomllib.loads((s.manifest.parent / "BUILD.toml").read_text()) for s in (found, shipped)]
        assert record[0]["flags"] == record[1]["flags"]
        if record[0]["compiler"] == record[1]["compiler"]:
            assert record[0] == record[1]
            assert all(found.elf(isa).read_bytes() == shipped.elf(isa).read_bytes() for isa in CORES)


@needs_compiler
def test_a_folder_with_files_needs_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = built(tmp_path)
    (folder / "mine.txt").write_text("mine")
    before = (folder / "tiny-cortex-m4.elf").read_bytes()
    capsys.readouterr()
    again = ("kernels", "build", TINY, "--out", tmp_path / "out", "--cflags=-O0")
    assert f"{folder} holds files; --force" in error_of(capsys, *again)
    assert (folder / "tiny-cortex-m4.elf").read_bytes() == before
    assert main([*map(str, again), "--force"]) == 0
    assert (folder / "tiny-cortex-m4.elf").read_bytes() != before and (folder / "mine.txt").read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tiny"]


@needs_compiler
def test_a_set_is_built_in_its_own_folder(tmp_path: Path) -> None:
    manifest = (TINY / "manifest.toml").read_bytes()
    folder = built(tmp_path / "x", "--force", source=copied(tmp_path / "x" / "out" / "tiny"))
    assert (folder / "manifest.toml").read_bytes() == manifest and (folder / "tiny.c").is_file()
    assert load_set(folder).loaded_bytes("cortex-m4") > 100


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def changed_source(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "tiny.c"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return change


def changed_manifest(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "manifest.toml"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return change


WRONG: dict[str, tuple[Callable[[Path], None] | None, list[str], str, str]] = {
    "syntax": (changed_source("return 0;", "return 0"), [], "tiny.c:10:", "exits with status 1; its messages"),
    "undefined": (changed_source("choose(call, 1)", "chose(call, 1)"), [], "chose", "'tiny' is not built"),
    "variable": (changed_source("int32_t tiny_max", "int32_t n; int32_t tiny_max"), [], "no variables of its own", ""),
    "header": (changed_source("kernels.h", "kernelz.h"), [], "kernelz.h: No such file", ""),
    "symbol": (changed_manifest("tiny_minimum", "tiny_minimun"), [], "", "tiny_minimun"),
    "static": (changed_manifest("tiny_minimum", "choices"), [], "", "it is not a Thumb function"),
    "missing": (changed_manifest('["tiny.c"]', '["tiny.c", "b.c"]'), [], "", 'sources: "b.c": there is no such file'),
    "folder": (changed_manifest('["tiny.c"]', '["."]'), [], "", 'sources: ".": there is no such file'),
    "no sources": (changed_manifest('["tiny.c"]', "[]"), [], "", "sources: names no file"),
    "include": (changed_manifest("flags", 'include = ["h"]\nflags'), [], "", 'include: "h": there is no such folder'),
    "flags": (changed_manifest("-O2", "-O2 'x"), [], "", "No closing quotation"),
    "unknown flag": (None, ["--cflags=-fno-such-thing"], "-fno-such-thing", "exits with status 1"),
    "no output": (None, ["--cflags=-fsyntax-only"], "", "'tiny' is not built"),
    "quotes": (None, ["--cflags", '-DX="'], "", "No closing quotation"),
}


@needs_compiler
@pytest.mark.parametrize("case", WRONG)
def test_sets_that_do_not_build(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, options, message, rule = WRONG[case]
    folder, out = copied(tmp_path / "mine"), tmp_path / "new" / "out"
    if change is not None:
        change(folder)
    before = sorted(folder.iterdir())
    errors = error_of(capsys, "kernels", "build", folder, "--out", out, *options)
    assert message in errors and rule in errors.splitlines()[-1] and ".build-" not in errors.splitlines()[-1]
    assert message or len(errors.splitlines()) == 1 or case == "no output"
    assert not (tmp_path / "new").exists() and sorted(folder.iterdir()) == before


def test_compilers_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases: dict[str, str] = {
        "no-such-gcc": "no compiler 'no-such-gcc': Debian and Ubuntu have one in the package gcc-arm-none-eabi",
        str(tmp_path): "no compiler",
        "": "no compiler ''",
        script(tmp_path / "host", "echo x86_64-linux-gnu"): "compiles for 'x86_64-linux-gnu', not for arm-none-eabi",
        script(tmp_path / "silent", "true"): "does not say what it compiles for",
        script(tmp_path / "fails", "exit 3"): "is not GCC: asked for its target (-dumpmachine), it exits with status 3",
        script(tmp_path / "idle", "echo arm-none-eabi"): "kernel set 'tiny' is not built: idle: ",
        script(tmp_path / "lost", 'case "$1" in -d*) echo arm;; *) exit 9; esac'): "lost exits with status 9",
    }
    for compiler, rule in cases.items():
        errors = error_of(capsys, "kernels", "build", TINY, "--out", tmp_path / "out", "--cc", compiler)
        assert rule in errors and not (tmp_path / "out").exists(), errors


@needs_compiler
def test_places_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert "it is not a directory" in error_of(capsys, "kernels", "build", TINY, "--out", tmp_path / "file")
    assert "cannot build into" in error_of(capsys, "kernels", "build", TINY, "--out", tmp_path / "file" / "x")
    assert "cannot build into" in error_of(capsys, "kernels", "build", TINY, "--out", "/proc/nowhere")
    assert (tmp_path / "file").read_text() == "mine"


@needs_compiler
def test_what_the_compiler_warns_of_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(tmp_path / "mine")
    changed_source("return 0;", "int unused; return 0;")(folder)
    built(tmp_path, "--json", "-", source=folder)
    captured = capsys.readouterr()
    assert "unused variable" in captured.err and json.loads(captured.out)["sets"][0]["name"] == "tiny"
