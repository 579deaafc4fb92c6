"""Defaults of options from mcusim.toml: which win, what is said, what is refused; and completion."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.commands.command_table import Commands
from mcusim.commands.shared.defaults import COMMANDS, NAME, SWITCH, defaults, places
from mcusim.errors import InputError
from mcusim.program import read_program


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file, not there yet; the current folder is empty."""
    monkeypatch.delenv(SWITCH)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    path = places()[1]
    path.parent.mkdir(parents=True)
    return path


def test_every_option_that_may_have_a_default_is_one() -> None:
    commands = Commands()
    for command, options in COMMANDS.items():
        names = {parameter.name for parameter in commands[command].params}
        assert {option.replace("-", "_") for option in options} <= names, command
        assert not {"json", "html", "output", "out", "force", "perfetto", "vcd", "save"} & {*options}


def test_the_command_line_wins_then_the_folder_then_the_user(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user.write_text('machine = "h743"\n[run]\noperators = 1\nsram-budget = "64 KiB"\n')
    Path(NAME).write_text('machine = "f469"\npolicy = "external"\n[run]\npolicy = "tinyops"\n')
    assert main(["run", "figure-1"]) == 0
    captured = capsys.readouterr()
    assert "\n\nfigure-1 on stm32f469i-disco\n  policy tinyops," in captured.out and "(1 of 7)" in captured.out
    assert sorted(captured.err.splitlines()) == [
        f"defaults from {user}: operators = 1, sram-budget = 64 KiB",
        "defaults from mcusim.toml: machine = f469, policy = tinyops",
    ]
    assert main(["run", "figure-1", "-m", "stm32f746g-disco", "--policy", "tinyops", "--operators", "2"]) == 0
    captured = capsys.readouterr()
    assert "on stm32f746g-disco" in captured.out and "(2 of 7)" in captured.out
    assert captured.err == f"defaults from {user}: sram-budget = 64 KiB\n"


def test_a_part_goes_with_its_whole_and_several_are_a_list(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = '[plan]\nruntime = "tinyengine"\npatches = "2x2"\npatch-split = 5\nwithout = ["unrolling", "tiling"]\n'
    none = ["--patches", "none"]
    for split, arguments, patches in (("5", [], ("2x2", 5)), ("5", none, (None, None)), ('"3 blocks"', [], ("2x2", 6))):
        Path(NAME).write_text(text.replace("= 5", f"= {split}"))
        assert main(["plan", "mcunet-vww1", "--machine", "f746", "-o", "p.jsonl", "--force", *arguments]) == 0
        chosen = read_program("p.jsonl").header.options
        assert (chosen.get("patches"), chosen.get("patch_split")) == patches
        assert chosen["without"] == "unrolling,tiling"
        assert (f"patch-split = {split.strip(chr(34))}" in capsys.readouterr().err) == (patches[1] is not None)


@pytest.mark.parametrize("way", ["option", "environment", "other command"])
def test_it_can_be_left_out(
    way: str, user: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(NAME).write_text("nonsense")
    if way == "environment":
        monkeypatch.setenv(SWITCH, "1")
    arguments = {"option": ["--no-config", "run", "figure-1"], "environment": ["run", "figure-1"]}
    assert main(arguments.get(way, ["machines"])) == 0
    assert "default" not in capsys.readouterr().err
    monkeypatch.delenv(SWITCH, raising=False)
    assert main(["run", "figure-1"]) == 2
    assert capsys.readouterr().err.startswith("error: mcusim.toml: not valid TOML: ")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            'machin = "f469"',
            'mcusim.toml:1: machin = "f469": unknown key; there are machine, policy, kernels',
        ),
        ("\n\n[run]\noperators = true", "mcusim.toml:4: run.operators = true: must be a whole number"),
        ("machine = 3", "mcusim.toml:1: machine = 3: must be a text in quotes"),
        ('machine = ""', 'mcusim.toml:1: machine = "": must be a text in quotes'),
        ("[run]\nin-place = 1", "mcusim.toml:2: run.in-place = 1: must be true or false"),
        ('[plan]\nruntime = "x"', "mcusim.toml:2: plan.runtime = \"x\": no runtime 'x'; there are "),
        ("run = 3", "mcusim.toml:1: run = 3: unknown key"),
        ("[run]\nassumptions = 1", "mcusim.toml:2: run.assumptions = 1: must be true or false"),
        ('[run]\njson = "x"', 'mcusim.toml:2: run.json = "x": unknown key; there are machine,'),
        ("[run.machine]\nx = 1", "mcusim.toml:1: run.machine = a table: must be a text in quotes"),
        ("[machines]\nx = 1", "mcusim.toml:1: machines = a table: unknown key"),
        ("a = " + "[" * 2000, "mcusim.toml:1: keys or brackets are nested too deep"),
        ('machine = "none-such"', 'unknown machine "none-such"'),
    ],
)
def test_what_is_wrong_is_one_error(text: str, error: str, user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(NAME).write_text(text)
    assert main(["run", "figure-1"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(("defaults", "  "))]
    assert len(lines) == 1 and lines[0].startswith(f"error: {error}")


def test_what_is_no_file(user: Path) -> None:
    for make in (os.mkfifo, os.mkdir, lambda path: Path(path).symlink_to(path)):
        make(NAME)
        with pytest.raises(InputError, match=r"^mcusim.toml"):
            defaults("run")
        Path(NAME).rmdir() if Path(NAME).is_dir() else Path(NAME).unlink()


def test_damaged_files_are_one_error(user: Path) -> None:
    """100 of the 1,000 of scripts/evidence/hostile_inputs."""
    text, draw = 'machine = "f469"\n[run]\npolicy = "tinyops"\noperators = 2\n[sweep]\njobs = 2\n', random.Random(17)
    for _ in range(100):
        bad = bytearray(text, "ascii")
        for _ in range(draw.randrange(1, 5)):
            bad[draw.randrange(len(bad))] = draw.randrange(256)
        Path(NAME).write_bytes(bad)
        try:
            assert {*defaults("run")} <= {*COMMANDS["run"]}
        except InputError as error:
            assert str(error).startswith("mcusim.toml") and len(str(error)) < 500


def test_policy_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "figure-1", "-m", "f469", "--policy", "all"]) == 0
    assert [capsys.readouterr().out.count(f"\n{name} ") for name in ("internal",)] == [1]
    assert main(["run", "figure-1", "--policy", "all"]) == 2
    assert "`mcusim compare MODEL --policy all` shows all side by side" in capsys.readouterr().err
    assert main(["run", "figure-1", "--policy", "tinyop"]) == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "error: no policy 'tinyop', did you mean tinyops; there are:"
    assert [line.split(":")[0] for line in rest] == ["  internal", "  external", "  tinyops"]


def test_completion_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out
