"""Files that a user names: what is no regular file is not opened, and each reader raises its own error."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcusim.errors import ImageError, InputError, MachineError, McusimError, ProgramError, UsageError
from mcusim.evidence.calibrate.measurements import read_measurements
from mcusim.files import read_guarded, utf8_text
from mcusim.image.elf import LARGEST_FILE as ELF_BYTES
from mcusim.image.elf import read_elf
from mcusim.kernels.cost.profile import load_profile
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.program import read_program
from mcusim.program.program import FILE_BYTES

MIB = 1 << 20
Reader = Callable[[str], object]
# reader, ending, error, most bytes, of a pipe, of a file too large
READERS: dict[str, tuple[Reader, str, type[McusimError], int, str, str]] = {
    "machine": (load_machine, ".toml", MachineError, MIB, "is not a regular file, a machine is a TOML file",
                "the most a machine file may have"),
    "elf": (read_elf, ".elf", ImageError, ELF_BYTES, "is not a regular file, a program is read from a file",
            "strip its debug sections"),
    "program": (read_program, ".jsonl", ProgramError, FILE_BYTES, "not a regular file", "the most a program file"),
    "measurements": (read_measurements, ".csv", UsageError, MIB, "not a regular file; measurements are a CSV file",
                     "a log has one line a measured number"),
    "profile": (load_profile, ".toml", UsageError, MIB, "not a regular file", "the most a kernel profile may"),
    "set": (load_set, ".toml", InputError, MIB, "not a regular file", "the most a manifest may have"),
}  # fmt: skip


def refused(name: str, path: Path) -> str:
    """What the reader says, which names the file."""
    read, _, error, *_ = READERS[name]
    with pytest.raises(error) as raised:
        read(str(path))
    assert raised.type is error
    text = str(raised.value)
    assert str(path) in text or path.name in text
    return text


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_not_opened(name: str, tmp_path: Path) -> None:
    """Nobody writes to it: opening it would never end."""
    path = tmp_path / f"pipe{READERS[name][1]}"
    os.mkfifo(path)
    assert READERS[name][4] in refused(name, path)


@pytest.mark.parametrize("name", [name for name in READERS if name != "set"])  # a set is a folder
def test_a_directory_is_said_to_be_one_or_no_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"folder{READERS[name][1]}"
    path.mkdir()
    text = refused(name, path)
    assert READERS[name][4].replace("is not a regular file", "is a directory") in text


def test_a_kernel_set_whose_manifest_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").mkdir()
    assert "not a regular file" in refused("set", tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_one_byte_more_than_the_most_is_too_large(name: str, tmp_path: Path) -> None:
    _, ending, _, most, _, too_large = READERS[name]
    path = tmp_path / f"large{ending}"
    with path.open("wb") as file:
        file.truncate(most + 1)
    text = refused(name, path)
    assert f"larger than {most:,} B" in text and too_large in text
    with path.open("wb") as file:
        file.truncate(most)
    assert f"larger than {most:,} B" not in refused(name, path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("machine", ":2: not UTF-8 text (byte 0xff)"),
        ("measurements", ":2: not UTF-8 text (byte 0xff)"),
        ("profile", "cannot be read: 'utf-8' codec can't decode byte 0xff"),
        ("set", "cannot be read: 'utf-8' codec can't decode byte 0xff"),
        ("program", "line 2: not UTF-8 at byte 0"),
    ],
)
def test_a_byte_that_is_no_text_is_named(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"bytes{READERS[name][1]}"
    first = Path("traces/ds-cnn-internal.jsonl")
    header = (Path(__file__).parents[1] / first).read_bytes().split(b"\n")[0]
    path.write_bytes((header if name == "program" else b"# text") + b"\n\xff\n")
    assert text in refused(name, path)


def test_the_reasons_by_default(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(InputError, match=r"file: cannot be read: No such file or directory$"):
        read_guarded(path, 3, InputError, too_large="")
    with pytest.raises(InputError, match=r"^mine: gone$"):
        read_guarded(path, 3, InputError, too_large="", shown="mine", missing="gone")
    with pytest.raises(InputError, match=r"cannot be read: embedded null byte$"):
        read_guarded(Path("a\0b"), 3, InputError, too_large="")
    path.write_bytes(b"four")
    with pytest.raises(InputError, match=r"file: larger than 3 B, the most a word may have$"):
        read_guarded(path, 3, InputError, too_large=", the most a word may have")
    assert read_guarded(path, 4, InputError, too_large="") == b"four"


def test_a_byte_order_mark_is_left_out_where_it_may_be_there() -> None:
    assert utf8_text(b"\xef\xbb\xbfa", InputError, "file") == "a"
    with pytest.raises(InputError, match=r"^file:2: not UTF-8 text .byte 0xff.$"):
        utf8_text(b"\xef\xbb\xbfa\n\xff", InputError, "file")
