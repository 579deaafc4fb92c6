"""``mcusim kernels``: the sets as text and as JSON."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.kernels.kernel_set import load_set, set_names
from mcusim.machine.cores import CORES
from mcusim.model.operators import OPERATORS
from tests.support.kernels.tiny_sets import TINY, built, copied, error_of, needs_compiler
from tests.support.made import figures


def test_all_sets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels"]) == 0
    text = capsys.readouterr().out
    assert main(["kernels", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["sets"]
    assert [row["name"] for row in rows] == set_names()
    assert max(map(len, text.splitlines())) <= 80
    for row in rows:
        found = load_set(row["name"])
        missing = {"BATCH_MATMUL"} if row["name"] == "tinyengine" else set()
        assert row["operators"] == sorted(set(OPERATORS) - missing) and row["kernels"] == len(found.kernels)
        assert row["code_bytes"] == {isa: len(found.image(isa).segments[0].data) for isa in CORES}
        assert row["title"] and row["warnings"] == []
        record = tomllib.loads((found.manifest.parent / "BUILD.toml").read_text())
        assert row["compiler"] == record["compiler"] and row["flags"] == record["flags"]
        (line,) = (line for line in text.splitlines() if line.startswith(row["name"] + " "))
        assert str(len(found.kernels)) in line.split() and f"{row['code_bytes']['cortex-m4']:,} B" in line
        assert row["compiler"] in text and "-O3" in text


@pytest.mark.parametrize("name", set_names())
def test_one_set(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", name]) == 0
    text = capsys.readouterr().out
    assert main(["kernels", name, "--json", "-"]) == 0
    row, found = json.loads(capsys.readouterr().out), load_set(name)
    assert max(map(len, text.splitlines())) <= 80
    assert [(line["operator"], line["types"]) for line in row["kernels"]] == list(found.kernels)
    for line in row["kernels"]:
        kernel = found.kernel(line["operator"], line["types"])
        assert line["symbol"] == kernel.symbol and line["scratch"] == kernel.scratch and line["layout"] == kernel.layout
        assert line["code_bytes"] == {isa: found.image(isa).symbol(kernel.symbol).size for isa in CORES}
        assert line["symbol"] in text and line["operator"] in text
    assert main(["kernels", str(found.manifest), "--json", "-"]) == 0
    assert figures(json.loads(capsys.readouterr().out)) == figures(row)


def test_the_cost_profile_of_a_set_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcusim.report import kernels_table

    class Fitted:
        set = "cmsis"

    monkeypatch.setattr(kernels_table, "profile_names", lambda: ["cmsis-x"])
    monkeypatch.setattr(kernels_table, "load_profile", lambda name: Fitted)
    assert main(["kernels"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[1] for line in lines[1:4]] == ["cmsis-x", "-", "-"]


def test_a_set_that_is_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", str(copied(tmp_path / "mine"))]) == 0
    text = capsys.readouterr().out
    assert "tiny_lookup" in text and "no BUILD.toml says what built it" in text
    assert "warning: tiny is not built for cortex-m7: mcusim kernels build" in text


def test_build_records_that_are_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copied(tmp_path / "mine")
    record = folder / "BUILD.toml"
    for text, rule in (
        ("[", "cannot be read"),
        ("compiler = 3", "needs the texts compiler and flags"),
        ("\0", "cannot"),
    ):
        record.write_text(text)
        assert rule in error_of(capsys, "kernels", folder)
    record.write_text('compiler = "gcc\\u001b[2J\\n"\nflags = "-O1\\u0007"\nsha256 = {}\n')
    assert main(["kernels", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "  gcc [2J" in text and "\x1b" not in text and "\a" not in text
    record.unlink()
    record.mkdir()
    assert "not a regular file" in error_of(capsys, "kernels", folder)


def test_help_and_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "build", "--help"]) == 0
    text = capsys.readouterr().out
    assert "Usage: mcusim kernels build [OPTIONS] [SET]" in text and "  mcusim kernels build --out" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "did you mean 'cmsis'" in error_of(capsys, "kernels", "cmsiss")
    assert "did you mean 'cmsis'" in error_of(capsys, "kernels", "build", "cmsiss", "--out", "x")
    assert "manifest.toml: cannot be read" in error_of(capsys, "kernels", Path(__file__).parent)


@needs_compiler
def test_a_set_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = built(tmp_path)
    assert f"tiny -> {folder}" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == [
        "BUILD.toml", "manifest.toml", "tiny-cortex-m4.elf", "tiny-cortex-m7.elf",
    ]  # fmt: skip
    found = load_set(folder)
    assert dict(found.kernels) == dict(load_set(TINY).kernels) and found.title == load_set(TINY).title
    assert main(["kernels", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "tiny_maximum" in text and "warning" not in text
    elf = folder / "tiny-cortex-m7.elf"
    elf.write_bytes(elf.read_bytes() + b"\0")
    assert main(["kernels", str(folder)]) == 0
    assert "warning: tiny-cortex-m7.elf is not the file that its BUILD.toml" in capsys.readouterr().out
