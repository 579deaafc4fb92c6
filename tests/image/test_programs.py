"""Programs of one or several files: by content, by address, joined; the same cycles in every form."""

from __future__ import annotations

import random
import resource
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import mcusim
from mcusim.errors import ImageError
from mcusim.image.image import load_image
from mcusim.image.programs import file_of, load_program, load_programs
from mcusim.kernels.test_programs import FIRMWARE, program_path
from tests.support.code.elf_writer import write_elf
from tests.support.code.images import CODE, FLASH
from tests.support.images.hostile_images import DAMAGES, hostile, vectors
from tests.support.images.record_writer import Pieces, hex_lines, s_lines, text

QSPI, SDRAM, CCM = 0x9000_0000, 0xC000_0000, 0x1000_0000
SAMPLE = 64
MIB = 1 << 10


def as_hex(pieces: Pieces) -> bytes:
    return text(hex_lines(pieces))


def as_s_records(pieces: Pieces) -> bytes:
    return text(s_lines(pieces))


@pytest.mark.parametrize("isa", ["cortex-m4", "cortex-m7"])
def test_one_program_has_the_same_cycles_in_every_form(isa: str, tmp_path: Path) -> None:
    board = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}[isa]
    path = program_path("memory", isa)
    pieces = [(s.load_address, s.data) for s in load_image(path).segments if s.data]
    start = min(address for address, _ in pieces)
    plain = bytearray(max(address + len(data) for address, data in pieces) - start)
    for address, data in pieces:
        plain[address - start : address - start + len(data)] = data
    forms = {"app.hex": as_hex(pieces), "app.srec": as_s_records(pieces), "app.bin": bytes(plain)}
    wanted, printed = mcusim.emulate(path, board), []
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        file = tmp_path / (f"{name}@{start:#x}" if name == "app.bin" else name)
        result = mcusim.emulate(file, board, output=printed.append)
        assert (result.started, result.pc, result.stop) == ("reset", wanted.pc, wanted.stop)
        assert result.profile.cycles == wanted.profile.cycles and result.profile.causes == wanted.profile.causes
    assert b"".join(printed).count(b"memory: ok") == 3


@pytest.mark.parametrize("isa", ["cortex-m4", "cortex-m7"])
def test_sections_in_qspi_and_sdram_of_a_firmware_are_placed(isa: str, tmp_path: Path) -> None:
    """Constants in QSPI are loaded; variables in SDRAM are the start-up code's own, after the controller's commands."""
    board = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}[isa]
    path, printed = program_path("placed", isa, FIRMWARE), bytearray()
    wanted = mcusim.emulate(path, board, output=printed.extend)
    assert wanted.exit_status == 0 and printed == b"sum 0xacf13568\n" and wanted.findings == ()
    assert {"qspi", "sdram"} <= set(wanted.profile.regions)
    (tmp_path / "a.hex").write_bytes(as_hex([(s.load_address, s.data) for s in load_image(path).segments if s.data]))
    result = mcusim.emulate(tmp_path / "a.hex", board)
    assert (result.stop, result.profile.cycles) == (wanted.stop, wanted.profile.cycles)
    with pytest.raises(ImageError, match="is not inside the memory of stm32f407g-disc1"):
        mcusim.emulate(path, "stm32f407g-disc1")


def test_ranges_in_qspi_sdram_and_ccm_are_placed(tmp_path: Path) -> None:
    """A function in flash adds a word from each of three memories that one HEX file fills."""
    code = struct.pack("<9H", 0x4804, 0x6800, 0x4904, 0x6809, 0x4A04, 0x6812, 0x1840, 0x1880, 0x4770)
    code += b"\0\0" + struct.pack("<3I", QSPI + 4, SDRAM, CCM)
    pieces = [(FLASH, code), (QSPI, struct.pack("<2I", 1, 2)), (SDRAM, struct.pack("<I", 30)), (CCM, b"\x90\x01\0\0")]
    path = tmp_path / "a.hex"
    path.write_bytes(as_hex(pieces))
    result = mcusim.emulate(path, "stm32f469i-disco", call=FLASH)
    assert result.result == 432
    assert {"flash", "qspi", "sdram", "ccm"} <= {name for name, row in result.profile.regions.items() if row["reads"]}


def test_an_elf_names_the_functions_of_a_binary(tmp_path: Path) -> None:
    path = program_path("memory", "cortex-m7")
    (tmp_path / "app.bin").write_bytes(load_image(path).segments[0].data)
    image = load_programs([f"{tmp_path}/app.bin@0x08000000", path])
    assert image.path == f"{tmp_path}/app.bin" and [part.path for part in image.parts] == [image.path, str(path)]
    symbol = image.symbol("main")
    assert image.function_at(symbol.address) == ("main", 0)
    assert image.line_at(symbol.address) == load_image(path).line_at(symbol.address) is not None


def test_symbols_of_the_first_file_win_and_sections_stay_apart(tmp_path: Path) -> None:
    boot = write_elf(tmp_path / "boot.elf", CODE, FLASH, {"main": FLASH, "boot": FLASH + 64})
    app = write_elf(tmp_path / "app.elf", CODE, FLASH + 0x1000, {"main": FLASH + 0x1000, "app": FLASH + 0x1040})
    image = load_programs([boot, app])
    assert image.symbol("main").address == FLASH and image.symbol("app").address == FLASH + 0x1040
    assert image.function_at(FLASH + 0x107F) == ("app", 63) and image.function_at(FLASH + 127) == ("boot", 63)
    assert image.entry == FLASH | 1


@pytest.mark.parametrize("place", [0, 40, 127])
def test_images_overlap_only_where_they_agree(place: int, tmp_path: Path) -> None:
    first = tmp_path / "a.bin"
    first.write_bytes(CODE)
    second = write_elf(tmp_path / "b.elf", CODE, FLASH)
    assert len(load_programs([f"{first}@{FLASH:#x}", second]).segments) == 2
    first.write_bytes(CODE[:place] + b"\x01" + CODE[place + 1 :])
    with pytest.raises(ImageError, match=rf"b\.elf: has another byte at 0x0800_{place:04X} than .*a\.bin:"):
        load_programs([f"{first}@{FLASH:#x}", second])


def test_an_at_sign_without_an_address_is_part_of_the_name(tmp_path: Path) -> None:
    path = write_elf(tmp_path / "app@v2.elf", CODE, FLASH)
    assert load_program(path).path == str(path) == str(file_of(path))
    assert file_of("app@v2.bin@134_217_728") == Path("app@v2.bin")


def test_a_file_with_addresses_of_its_own_takes_no_other(tmp_path: Path) -> None:
    for path in (write_elf(tmp_path / "a.elf", CODE, FLASH), tmp_path / "a.hex"):
        if path.suffix == ".hex":
            path.write_bytes(as_hex([(FLASH, CODE)]))
        with pytest.raises(ImageError, match="has addresses of its own: leave @0x2000_0000 out"):
            load_program(f"{path}@0x20000000")


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_hostile_files_give_an_error_or_an_image_soon(
    damage: Callable[[random.Random], tuple[str, bytes]], tmp_path: Path
) -> None:
    """``scripts/evidence/firmware/hostile_images`` runs a thousand of them by the command."""
    errors, before = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(SAMPLE // len(DAMAGES)):
        file = hostile(tmp_path, damage, seed)
        try:
            load_programs([file])
        except ImageError as error:
            errors += 1
            assert str(error).startswith(str(tmp_path)) and len(str(error)) < 700 and str(error).isprintable()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * MIB
    assert errors or damage is vectors, "damage that never hurts tests nothing"


def test_an_address_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "app.bin").write_bytes(bytes(16))
    with pytest.raises(ImageError, match="the address behind @ is a number"):
        load_programs([f"{tmp_path}/app.bin@flash"])
