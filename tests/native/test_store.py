"""Objects of native code on disk: only whole ones of this machine count, one process builds, and all else is told."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from mcusim.native import library, objects, store
from mcusim.native.compile_progress import on_compile
from mcusim.native.store import NativeObject

IMPORTS = {"uc_reg_read": "mcusim.cpu.hooks.unicorn_calls"}
MADE = NativeObject(["mcusim.a", "mcusim.b"], IMPORTS, [b"code\n" * 40, b"more\n" * 59])


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    both = [tmp_path / "package", tmp_path / "cache"]
    monkeypatch.setattr(store, "folders", lambda: both)
    return both


def file_of(folder: Path) -> Path:
    (file,) = folder.glob("*.o")
    return file


@pytest.mark.parametrize("damage", ["cut", "empty", "code", "header", "name", "key"])
def test_a_damaged_or_foreign_object_counts_as_none(damage: str, folders: list[Path]) -> None:
    store.write("replay", MADE)
    assert store.read("replay") == MADE and store.read("emulation") is None
    file = file_of(folders[0])
    content = file.read_bytes()
    if damage == "name":
        file.rename(file.with_name(file.name.replace("replay", "emulation")))
    elif damage == "key":
        file.write_bytes(content.replace(store.key().encode(), b"0" * 16))
    else:
        flipped = {"code": len(content) - 3, "header": 90}.get(damage, 0)
        changed = content[:flipped] + bytes([content[flipped] ^ 1]) + content[flipped + 1 :]
        file.write_bytes({"cut": content[:-1], "empty": b""}.get(damage, changed))
    assert store.read("replay") is None and store.read("emulation") is None
    store.write("replay", MADE)
    assert store.read("replay") == MADE


def test_an_object_takes_the_place_of_the_oldest(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(10):
        monkeypatch.setattr(store, "key", lambda number=number: f"{number:016}")
        assert store.read("replay") is None
        store.write("replay", MADE)
        file = folders[0] / f"replay-{number:016}.o"
        os.utime(file, ns=(number, number))  # a second write may fall into the same tick of the clock
        store.write("emulation", MADE)
    assert [int(path.stem[-16:]) for path in sorted(folders[0].glob("replay*"))] == [*range(2, 10)]


def test_a_key_is_of_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edited, a new and a renamed one each change it; a file of another kind does not."""
    monkeypatch.setattr(objects, "PACKAGE", tmp_path)
    source = tmp_path / "memory" / "ports" / "replay.py"
    source.parent.mkdir(parents=True)
    source.write_text("cycles = 1\n")
    keys = [objects.key.__wrapped__()]
    source.write_text("cycles = 2\n")
    keys.append(objects.key.__wrapped__())
    source = source.rename(source.with_name("other.py"))
    keys.append(objects.key.__wrapped__())
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "new.py").touch()
    keys.append(objects.key.__wrapped__())
    assert len({*keys}) == 4
    (tmp_path / "cpu" / "notes.txt").touch()
    assert objects.key.__wrapped__() == keys[-1]


def test_a_folder_that_cannot_be_written_is_passed_over(folders: list[Path]) -> None:
    folders[0].write_text("a file in the folder's place")
    with store.locked("replay"):
        store.write("replay", MADE)
    assert file_of(folders[1]).is_file() and store.read("replay") == MADE
    store.write_translations({"digest": b"bitcode"})
    assert store.read_translations() == {"digest": b"bitcode"}


def test_a_full_disk_is_told_in_one_line(folders: list[Path]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    lines: list[str] = []
    on_compile(None, lines.append)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        store.write("replay", MADE)
        store.write_translations({"digest": bytes(range(256))})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        on_compile(None)
    assert [line.count("File too large") for line in lines] == [2] and str(folders[1]) in lines[0]
    assert [path.name for folder in folders for path in folder.iterdir()] == [] and store.read_translations() == {}
    with pytest.warns(
        RuntimeWarning, match=r"native code cannot be kept, and is compiled again at the next start: why"
    ):
        store.not_kept("why")


def test_of_several_that_want_an_object_one_builds(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def build(name: str, wanted: tuple[str, ...]) -> NativeObject:
        built.append(name)
        sleep(0.2)
        return MADE

    monkeypatch.setattr(library, "_build", build)
    results: list[NativeObject] = []
    threads = [Thread(target=lambda: results.append(library.prepared("replay"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["replay"] and results == [MADE] * 3
