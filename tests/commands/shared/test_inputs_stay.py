"""No command writes over a file that it reads, by force neither: a board, a cost profile, a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.kernels.cost.profile import FOLDER
from tests.support.paths import REPOSITORY

BOARD = REPOSITORY / "machine_configs" / "stm32f746g-disco.toml"
PROFILE = FOLDER / "cmsis-gcc12.toml"
COMMANDS = [
    "run figure-1 --kernels {profile} --json {profile}",
    "run figure-1 --kernels {profile} --html {profile}",
    "run figure-1 --machine {board} --json {board}",
    "memory figure-1 --machine {board} --kernels {profile} --json {profile}",
    "memory figure-1 --machine {board} --kernels {profile} --html {profile}",
    "compare figure-1 --machine nucleo-h743zi,_{board} --json {board}",
    "compare figure-1 --kernels {profile} --html {profile}",
    "engines figure-1 --machine nucleo-h743zi,_{board} --html {board}",
    "plan figure-1 --machine {board} -o {board}",
    "plan figure-1 --kernels {profile} -o {profile}",
    "replay {trace} --kernels {profile} --json {profile}",
    "replay {trace} --html {trace}",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_read_stays(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"board": tmp_path / "board.toml", "profile": tmp_path / "mine.toml", "trace": tmp_path / "p.jsonl"}
    files["board"].write_bytes(BOARD.read_bytes())
    files["profile"].write_bytes(PROFILE.read_bytes())
    assert main(["plan", "figure-1", "-o", str(files["trace"])]) == 0
    before = {name: path.read_bytes() for name, path in files.items()}
    words = [word.replace(",_", ", ").format(**files) for word in command.split()]
    assert main([*words, "--force"]) == 2
    assert "it is an input file" in capsys.readouterr().err
    assert {name: path.read_bytes() for name, path in files.items()} == before
