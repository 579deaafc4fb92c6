"""``mcusim emulate``: options and files that cannot be used are one error and status 2, before anything is written."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import ImageError, UsageError
from mcusim.kernels.test_programs import program_path
from tests.support.errors import one_error


def elf(name: str, isa: str = "cortex-m7") -> str:
    return str(program_path(name, isa))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["/no/such/app.elf"], "/no/such/app.elf"),
        (["/dev/zero"], "not a regular file"),
        (["/"], "directory"),
        ([__file__], "plain bytes need the address they go to: test_emulate_options.py@0x08000000"),
        ([f"{__file__}@0x08000000"], "are none), and the file names no entry point"),
        ([f"{__file__}@0x70000000"], "0x7000_0000"),
        ([f"{__file__}@0x100000000"], "0xffffffff"),
        (["CONV@0x08000000"], "no such file"),
        (["CONV", "--image", "/no/such.hex"], "/no/such.hex"),
        (["CONV", *["--image", "CONV"] * 16], "17 images; at most 16"),
        (["a\x1b[31m\nred.elf"], "\\x1b[31m red.elf"),
        (["CONV", "--machine", "no-such-board"], "no-such-board"),
        (["CONV", "--machine", "nucleo-l4r5zi", "--set", "core.clok=1 MHz"], "core.clok"),
        (["CONV", "--set", "memory.sdram.base=0x60000020"], "memory.sdram at 0x6000_0020 does not begin a page"),
        (["CONV", "--set", "memory.sdram.base=0xE0000000"], "shares a page with the private peripheral bus"),
        (["CONV", "--call", "run_layr"], "near names are run_layer"),
        (["CONV", "--call", ""], "--call"),
        (["CONV", "--call", "-4"], "--call"),
        (["CONV", "--call", "dot", "--args", "1,,2"], "missing"),
        (["CONV", "--call", "dot", "--args", "1,no_such_thing"], 'no symbol "no_such_thing"'),
        (["CONV", "--call", "dot", "--args", "0x100000000"], "32 bits"),
        (["CONV", "--call", "dot", "--args", "-2147483649"], "32 bits"),
        (["CONV", "--call", "dot", "--args", "1.5"], "1.5"),
        (["CONV", "--call", "dot", "--args", ",".join(["1"] * 65)], "at most 64"),
        (["CONV", "--args", "1"], "--call"),
        (["CONV", "--stack", "8"], "unit"),
        (["CONV", "--call", "dot", "--stack", "32 B"], "at least 64 B"),
        (["CONV", "--call", "dot", "--stack", "1 MiB"], "dtcm of stm32f746g-disco has 65,536 B"),
        (["CONV", "--caches", "maybe"], "on or off"),
        (["CONV", "--max-instructions", "0"], "--max-instructions"),
        (["CONV", "--load", "nowhere.bin"], "FILE@ADDRESS"),
        (["CONV", "--load", "/no/such.bin@0x20004000"], "No such file"),
        (["CONV", "--load", "/dev/zero@0x20004000"], "not a regular file"),
        (["CONV", "--load", "/tmp@0x20004000"], "not a regular file"),
        (["CONV", "--load", f"{__file__}@0x2004fff0"], "not all in the memory"),
        (["CONV", "--load", f"{__file__}@0x70000000"], "not all in the memory"),
        (["CONV", "--load", f"{__file__}@0x100000000"], "0xffffffff"),
        (["CONV", "--load", f"{__file__}@bufer"], 'no symbol "bufer"'),
        (["CONV", "--load", "a\0b@0x20004000"], "null"),
        (["CONV", "--dump", "0x20004000"], "ADDRESS:SIZE"),
        (["CONV", "--dump", "0x20004000:0"], "at least one byte"),
        (["CONV", "--dump", "0x20004000:-4"], "at least one byte"),
        (["CONV", "--dump", "0x20004000:4 KB"], "KiB"),
        (["CONV", "--dump", "0x20004000:x!"], "x!"),
        (["CONV", "--dump", "0x20004000:4 GiB"], "not all in the memory"),
        (["CONV", "--dump", "0x20004000:99999999999999999999"], "not all in the memory"),
        (["CONV", "--dump", "0x20004000:4="], "no file"),
        (["CONV", "--dump", "0x20004000:4=-"], "files"),
        (["CONV", "--dump", "0x20004000:4=/no/such/folder/x"], "/no/such/folder"),
        (["CONV", "--callgrind", "/no/such/folder/x"], "/no/such/folder"),
        (["CONV", "--callgrind", "/"], "directory"),
        (["CONV", "--callgrind", "new", "--json", "new"], "two outputs"),
        (["CONV", "--uart", f"USART1={__file__}", "--uart", f"usart1={__file__}"], "given twice"),
    ],
)
def test_unusable_input_is_one_error_and_status_2(
    arguments: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["emulate", *(elf("conv") if word == "CONV" else word for word in arguments)]) == 2
    assert text in one_error(capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["emulate", elf("conv"), "--load", f"{pipe}@0x20004000"]) == 2
    assert "not a regular file" in one_error(capsys)
    assert main(["emulate", str(pipe)]) == 2
    assert "not a regular file" in one_error(capsys)


def test_input_of_a_program_may_come_from_devices_and_pipes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"text",))
    writer.start()
    call = ["emulate", elf("conv"), "--call", "crc32", "--args", "0x20000000,4", "-q"]
    assert main([*call, "--stdin", "/dev/null", "--uart", f"USART1={pipe}"]) == 0
    writer.join()
    assert main([*call, "--stdin", "/dev/zero"]) == 2
    assert "/dev/zero: larger than 16,777,216 B" in one_error(capsys)


@pytest.mark.parametrize("option", ["--callgrind", "--json", "--dump"])
def test_an_existing_file_is_refused_before_the_run(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_text("mine", encoding="utf-8")
    value = f"0x20000000:4={out}" if option == "--dump" else str(out)
    words = ["emulate", elf("conv"), "--call", "lcg", "--quiet", option, value]
    assert main(words) == 2
    assert "--force" in one_error(capsys)
    assert out.read_text(encoding="utf-8") == "mine"
    assert main([*words, "--force"]) == 0
    assert out.read_bytes() != b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_python_arguments_of_a_wrong_kind_are_named() -> None:
    path, machine = elf("conv"), "stm32f746g-disco"
    with pytest.raises(UsageError, match="max_instructions = 0"):
        mcusim.emulate(path, machine, max_instructions=0)
    with pytest.raises(UsageError, match=r"argument 1\.5"):
        mcusim.emulate(path, machine, call="dot", arguments=[1.5])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="caches"):
        mcusim.emulate(path, machine, caches="on")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="path"):
        mcusim.emulate(3, machine)  # type: ignore[arg-type]
    with pytest.raises(ImageError, match="near names"):
        mcusim.emulate(path, machine, call="dott")


@pytest.mark.parametrize("option", ["--json", "--callgrind", "--dump"])
def test_a_folder_that_cannot_be_written_is_refused_before_the_run(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not (Path(path) == tmp_path and mode & os.W_OK))
    out = tmp_path / "out"
    assert main(["emulate", elf("conv"), option, f"0x20000000:4={out}" if option == "--dump" else str(out)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "", "the program has not run"
    assert captured.err == f"error: cannot write {out}: the directory {tmp_path} is read-only\n"
