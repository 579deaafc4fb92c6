"""The test programs that ship: what BUILD.toml records, what the ELFs hold, and the script that builds them."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from mcusim.errors import UsageError
from mcusim.kernels.test_programs import FIRMWARE, FOLDER, program_names, program_path
from mcusim.machine.cores import CORES
from tests.support.cases import only_with_all_cases
from tests.support.graphs import conv_reference
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import REPOSITORY

ROOT = REPOSITORY
PROGRAMS = ("clock", "conv", "dma", "faults", "integer", "loops", "memory", "moves", "pipeline", "system")
ELFS = sorted(FOLDER.glob("*.elf"))
BUILD = Path("scripts", "profiles", "build_kernels")
needs_sources = pytest.mark.skipif(not (ROOT / BUILD).exists(), reason="no source tree")
needs_compiler = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")


def recorded() -> dict[str, dict[str, str]]:
    return tomllib.loads((FOLDER / "BUILD.toml").read_text(encoding="utf-8"))


def symbols(elf: ELFFile) -> dict[str, int]:
    return {symbol.name: symbol["st_value"] for symbol in elf.get_section_by_name(".symtab").iter_symbols()}


def content(elf: ELFFile, address: int, size: int) -> bytes:
    for segment in elf.iter_segments("PT_LOAD"):
        offset = address - segment["p_vaddr"]
        if offset >= 0 and offset + size <= segment["p_filesz"]:
            return segment.data()[offset : offset + size]
    raise AssertionError(f"{size} bytes at {address:#x} are in no segment")


def text_at(elf: ELFFile, address: int) -> str:
    text = b""
    while (byte := content(elf, address + len(text), 1)) != b"\0":
        text += byte
    return text.decode()


def test_every_program_exists_for_both_cores() -> None:
    assert list(program_names("cortex-m4")) == list(PROGRAMS)
    assert program_names("cortex-m7") == program_names() == (*PROGRAMS[:2], "conv-itcm", *PROGRAMS[2:])
    paths = {program_path(name, core) for core in CORES for name in program_names(core)}
    assert paths == set(ELFS)
    assert program_names("cortex-m4", FIRMWARE) == program_names("cortex-m7", FIRMWARE) == program_names(None, FIRMWARE)


def test_build_toml_records_every_file() -> None:
    record = recorded()
    paths = FOLDER.rglob("*.elf")
    found = {path.relative_to(FOLDER).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    assert record["sha256"] == found
    assert set(record["cores"]) == set(CORES)
    assert "arm-none-eabi-gcc" in record["compiler"]


@pytest.mark.parametrize(
    ("name", "isa", "text"),
    [
        ("convv", "cortex-m4", "'convv' for cortex-m4: did you mean 'conv'? there are clock, conv, dma"),
        ("conv-itcm", "cortex-m4", "'conv-itcm' for cortex-m4"),
        ("../elf/conv", "cortex-m7", "there are clock, conv, conv-itcm"),
        ("conv", "cortex-m33", "core 'cortex-m33': test programs are built for cortex-m4 and cortex-m7"),
    ],
)
def test_unknown_program_or_core(name: str, isa: str, text: str) -> None:
    with pytest.raises(UsageError) as error:
        program_path(name, isa)
    assert text in str(error.value)


@pytest.mark.parametrize("path", ELFS, ids=lambda path: path.stem)
def test_elf_holds_what_a_loader_wants(path: Path) -> None:
    data = path.read_bytes()
    assert len(data) < 42_000
    assert not [place for place in (b"/usr/", b"/home/", b"/tmp/", b"/root/", str(ROOT).encode()) if place in data]
    with path.open("rb") as file:
        elf = ELFFile(file)
        names = symbols(elf)
        code = names["vectors"]
        stack, reset = struct.unpack("<II", content(elf, code, 8))
        assert code == (0x0020_0000 if "itcm" in path.stem else 0x0800_0000)
        assert (stack, reset) == (names["_estack"], elf.header["e_entry"]) == (0x2001_0000, names["Reset_Handler"] | 1)
        assert names["_end"] <= names["__StackLimit"] == stack - 8192
        assert next(elf.iter_segments("PT_LOAD"))["p_paddr"] == 0x0800_0000
        assert elf.has_dwarf_info() and elf.get_dwarf_info().debug_line_sec is not None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("conv*.elf")), ids=lambda path: path.stem)
def test_convolution_expects_what_the_host_computes(path: Path) -> None:
    with path.open("rb") as file:
        elf = ELFFile(file)
        expected = struct.unpack("<3I", content(elf, symbols(elf)["expected_crc"], 12))
    assert expected == conv_reference.crcs()


@pytest.mark.parametrize("core", CORES)
def test_pipeline_table_names_every_snippet(core: str) -> None:
    with program_path("pipeline", core).open("rb") as file:
        elf = ELFFile(file)
        names = symbols(elf)
        at, table = names["p_table"], {}
        while True:
            name, function, instructions = struct.unpack("<III", content(elf, at, 12))
            if not name:
                break
            text = text_at(elf, name)
            assert names[text] == function and function % 16 == 1
            table[text] = instructions
            at += 12
    others = {"p_table", "p_setup", "p_constants", "p_floats", "p_return", "p_buffer"}
    assert set(table) == {name for name in names if name.startswith("p_")} - others
    assert [name for name, instructions in table.items() if instructions < 16] == ["p_empty"]
    assert (table["p_add_pair"], table["p_ldr_at_halfword"], table["p_it_failed"]) == (32, 17, 33)


def copied_tree(folder: Path) -> Path:
    (folder / BUILD).parent.mkdir(parents=True)
    for name in (BUILD, BUILD.with_name("firmware.py")):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "mcusim", folder / "mcusim", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "mcusim" / "kernels" / "test_programs" / "elf"


def check_build(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / BUILD), "--check"]
    env = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=LONGEST_WAIT, check=False)


@only_with_all_cases
@needs_sources
@needs_compiler
def test_rebuild_elsewhere_gives_the_same_bytes_and_a_difference_is_named(tmp_path: Path) -> None:
    elf = copied_tree(tmp_path)
    same = check_build(tmp_path)
    assert same.returncode == 0, same.stdout + same.stderr
    if "not checked" in same.stdout:
        pytest.skip("another compiler than BUILD.toml records")
    sets = elf.parents[1] / "sets"
    for path in (elf / "firmware" / "rtos-cortex-m4.elf", sets / "reference" / "reference-cortex-m7.elf"):
        with path.open("r+b") as file:
            file.seek(0x200)
            file.write(b"\xff\xfe\xfd")
    different = check_build(tmp_path)
    assert (different.returncode, different.stdout) == (
        1,
        "build_kernels: built differently: firmware/rtos-cortex-m4.elf, sets/reference/reference-cortex-m7.elf\n",
    )


@needs_sources
@needs_compiler
def test_another_compiler_is_a_notice(tmp_path: Path) -> None:
    elf = copied_tree(tmp_path)
    text = (elf / "BUILD.toml").read_text(encoding="utf-8")
    (elf / "BUILD.toml").write_text(text.replace(recorded()["compiler"], "gcc of another day"), encoding="utf-8")
    done = check_build(tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("build_kernels: not checked: the compiler here is 'arm-none-eabi-gcc")


@needs_sources
def test_no_compiler(tmp_path: Path) -> None:
    done = check_build(ROOT, PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == "build_kernels: no arm-none-eabi-gcc (Debian: apt-get install gcc-arm-none-eabi)\n"
