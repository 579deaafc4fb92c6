"""Object files: linked at any addresses they have the bytes that the GNU linker makes of them."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from mcusim.errors import ImageError
from mcusim.image.elf import read_elf
from mcusim.machine.cores import compiler_flags
from mcusim.sessions.object_file import VENEER, ObjectFile, read_object
from tests.support.cases import sample_size

needs_compiler = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
SOURCE = """
#include <stdint.h>
extern int32_t far_away(const int8_t *data, int32_t count);
extern int32_t nobody(int32_t) __attribute__((weak));
extern int32_t table_elsewhere[4];
int32_t common_one, common_two[7];
static int32_t kept = 7;
static const int32_t limits[] = {1, -2, 3, -4};
int32_t *const places[] = {&kept, common_two + 3, table_elsewhere + 1};
int32_t (*const functions[])(const int8_t *, int32_t) = {far_away};
static __attribute__((noinline)) int32_t near(int32_t x) { return x * limits[x & 3] + kept++; }
int32_t calls(const int8_t *data, int32_t count)
{
    int32_t sum = near(count) + *places[count % 3];
    if (nobody)
        sum += nobody(sum);
    for (int32_t i = 0; i < count; i++)
        sum += functions[0](data, i) + far_away(data + i, sum);
    common_one = sum;
    return sum > 9 ? far_away(data, sum) : near(sum);
}
int32_t word(int32_t x) { return table_elsewhere[x & 3] + common_two[x]; }
"""


def compiled(folder: Path, core: str, *options: str, source: str = SOURCE) -> Path:
    """An object file of the source."""
    (folder / "a.c").write_text(source)
    path = folder / "a.o"
    command = ["arm-none-eabi-gcc", *compiler_flags()[core], "-c", "-ffunction-sections", "-fdata-sections", *options]
    subprocess.run([*command, "a.c", "-o", str(path)], cwd=folder, check=True)
    return path


def put(file: ObjectFile, base: int, dice: random.Random) -> dict[int, int]:
    """Addresses of its sections, from ``base`` on, with gaps."""
    found, at = {}, base
    for number, section in file.loaded.items():
        at = (at + dice.randrange(300) + max(section.alignment, 1) - 1) & -max(section.alignment, 1)
        found[number] = at
        at += section.size
    return found


def by_ld(
    folder: Path, file: ObjectFile, places: dict[int, int], commons: dict[int, int], known: dict[str, int]
) -> dict[int, bytes]:
    """What the GNU linker makes of it with everything at the same addresses."""
    lines = [f"{name} = {value:#x};" for name, value in known.items()]
    lines += [f"{file.symbols[number].name} = {value:#x};" for number, value in commons.items()]
    sections = "".join(
        f"  .s{number} {place:#x} : {{ KEEP(*({file.elf.sections[number].name})) }}\n"
        for number, place in places.items()
    )
    (folder / "a.ld").write_text("\n".join([*lines, "SECTIONS {", sections, "  /DISCARD/ : { *(*) } }"]))
    command = ["arm-none-eabi-ld", "-T", "a.ld", "a.o", "-o", "a.elf", "-e", "0"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    elf = read_elf(folder / "a.elf")
    return {number: elf.content(found) for number in places if (found := elf.named(f".s{number}")) is not None}


@needs_compiler
@pytest.mark.parametrize("core", sorted(compiler_flags()))
@pytest.mark.parametrize(
    "options", [("-O2",), ("-O0", "-fno-common"), ("-Os", "-mslow-flash-data", "-fcommon"), ("-O2", "-g")]
)
def test_linked_as_the_gnu_linker_does(core: str, options: tuple[str, ...], tmp_path: Path) -> None:
    if core == "cortex-m7" and "-mslow-flash-data" in options:
        options = tuple(one for one in options if one != "-mslow-flash-data")
    file, dice = read_object(compiled(tmp_path, core, *options)), random.Random(f"{core} {options}")
    assert file.needed() == ["far_away", "table_elsewhere"] or set(file.needed()) == {"far_away", "table_elsewhere"}
    for _ in range(sample_size(20, 2)):
        places = put(file, 0x2000_0000 + 4 * dice.randrange(1 << 12), dice)
        commons = {number: 0x2001_0000 + 64 * n for n, number in enumerate(file.commons)}
        known = {"far_away": 0x2002_0001 + 2 * dice.randrange(1 << 10), "table_elsewhere": 0x2400_0000}
        found, veneers = file.linked(places, commons, known.get, 0x2003_0000)
        expected = by_ld(tmp_path, file, places, commons, known)
        assert not veneers and {n for n, data in found.items() if data} <= {*expected}
        for number, data in found.items():
            assert data == expected[number], (file.elf.sections[number].name, hex(places[number]))


@needs_compiler
def test_what_is_far_is_reached_by_a_veneer(tmp_path: Path) -> None:
    """As code in SRAM calls code in flash: each function by one veneer, however often."""
    file = read_object(compiled(tmp_path, "cortex-m7", "-O2"))
    places = put(file, 0x2000_0000, random.Random(1))
    commons = {number: 0x2001_0000 + 64 * n for n, number in enumerate(file.commons)}
    _, veneers = file.linked(
        places, commons, {"far_away": 0x0800_0123, "table_elsewhere": 0x2400_0000}.get, 0x2000_8000
    )
    assert len(veneers) == VENEER <= VENEER * file.calls()
    assert veneers == bytes.fromhex("dff800f0") + (0x0800_0123).to_bytes(4, "little")
    with pytest.raises(ImageError, match="cannot reach far_away"):
        file.linked(places, commons, {"far_away": 0x0800_0123}.get, 0x6000_0000)


@needs_compiler
def test_damaged_object_files_are_one_error(tmp_path: Path) -> None:
    data, dice = compiled(tmp_path, "cortex-m7", "-O2").read_bytes(), random.Random(4)
    path = tmp_path / "b.o"
    for _ in range(sample_size(3000, 300)):
        raw = bytearray(data)
        for _ in range(dice.choice((1, 1, 3, 20))):
            raw[dice.randrange(len(raw))] = dice.randrange(256)
        path.write_bytes(raw[: dice.choice((len(raw), len(raw), dice.randrange(len(raw))))])
        try:
            file = read_object(path)
            places = put(file, 0x2000_0000, dice)
            file.linked(places, dict.fromkeys(file.commons, 0x2001_0000), {"far_away": 0x2002_0001}.get, 0x2003_0000)
        except ImageError as error:
            assert str(path) in str(error) and "\n" not in str(error)
