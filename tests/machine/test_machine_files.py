"""Machine files as users write them: errors with file and line, ``extends``, hostile and corrupted files."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from mcusim.errors import MachineError
from mcusim.machine import Machine, load_machine, machine_names
from mcusim.machine.catalog import config_directory
from mcusim.machine.description import Sdram
from mcusim.machine.toml_file import TooDeepError, key_lines

F746 = "stm32f746g-disco"


def sdram(machine: Machine) -> Sdram:
    device = machine.memory["sdram"].device
    assert isinstance(device, Sdram)
    return device


def shipped(name: str = F746) -> str:
    return (config_directory() / f"{name}.toml").read_text(encoding="utf-8")


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = shipped()
    assert text.count(old) == 1, f"{old} occurs {text.count(old)} times in {F746}"
    path = tmp_path / "edited.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (
            'clock = "108 MHz"\ndividers',
            'clok = "108 MHz"\ndividers',
            ': memory.sdram.clok = "108 MHz": unknown key, did you',
        ),
        ("[memory.sdram.timing]", "[memory.sdram.timings]", 'unknown key, did you mean "timing"'),
        ('supply = { value = "5 V", basis', 'supply = { value = "5 V", base', 'unknown key "base" next to value'),
        (
            'basis = "measured", source = "TinyOps Table 3: e',
            'basis = "known", source = "e',
            "must be one of datasheet",
        ),
        ('source = "TinyOps Table 3: energy = 5 V x current x latency"', "source = 3", "must be a text that names a"),
        ("rows = 4096\n", "", "[memory.sdram]: the key rows is missing"),
        ("[core]", "[[core]]", "must be a table"),
        (
            "[core]",
            '[bus]\narbitration = "round-robin"\n\n[core]',
            ': bus.arbitration = "round-robin": is no longer a key: nothing read it (core and DMA take turns at a',
        ),
        (
            "columns = 256\n",
            "columns = 256\nfifo = 4\n",
            "memory.sdram.fifo = 4: is no longer a key: nothing read it; delete it",
        ),
        (
            "rows = 4096\n",
            "rows = 4096\nfifo = 1\n",
            "memory.sdram.fifo = 1: is no longer a key: nothing read it; delete it",
        ),
        ("rows = 4096\n", "rows = { a = 1 }\n", "must be one value, not a table"),
        ("rows = 4096\n", "rows = { value = { a = 1 } }\n", "value must not be a table"),
        ('device = "sdram"\n', 'device = "ddr"\n', "must be one of tcm, sram, flash, sdram, qspi"),
        ('device = "sdram"\n', "", "[memory.sdram]: the key device is missing"),
        ("\nqspi = {", "\nqspy = {", "names no region; regions are itcm, flash, dtcm, sram1, sram2, sdram, qspi"),
        ("rows = 4096\n", "rows = " + "9" * 5000 + "\n", "a number with too many digits"),
        ("rows = 4096\n", "rows = 0x" + "f" * 5000 + "\n", "an integer of 20000 bits: must be 1 to 65536"),
        ("rows = 4096\n", "rows = \n", "not valid TOML"),
        ("rows = 4096\n", "rows = 4096\nrows = 4096\n", "not valid TOML"),
        ("rows = 4096\n", '"a b" = 1\n', "a key has 1 to 64 letters"),
    ],
)
def test_file_errors_name_the_file(tmp_path: Path, old: str, new: str, rule: str) -> None:
    path = edited(tmp_path, old, new)
    with pytest.raises(MachineError) as caught:
        load_machine(path)
    assert str(caught.value).startswith(str(path))
    assert rule in str(caught.value)


def test_file_errors_name_the_line(tmp_path: Path) -> None:
    path = edited(tmp_path, 'tRAS = "4 sdclk"', 'tRAS = "4 clk"')
    line = path.read_text(encoding="utf-8").splitlines().index('tRAS = "4 clk"') + 1
    with pytest.raises(MachineError) as caught:
        load_machine(path)
    assert str(caught.value).startswith(f'{path}:{line}: memory.sdram.timing.tRAS = "4 clk": ')


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "the table [core] is missing"),
        (b"\xff\xfe[core]", "not UTF-8 text (byte 0xff)"),
        (b"a." * 200_000 + b"b = 1", "nested too deep"),
        (b"a = " + b"[" * 100_000, "nested too deep"),
        (b"a = " + b"{a = " * 100_000, "nested too deep"),
        (b"[a.b.c.d.e.f.g.h.i.j]\nk = 1", "tables are nested deeper than 8"),
        (b"no machine, a text of many words " * 50, "not valid TOML"),
        (b"#" * ((1 << 20) + 1), "larger than 1,048,576 B"),
        (b'"""' * 100_000, ""),
        (b"a = " + b'\\"""' * 200_000, "not valid TOML"),
    ],
)
def test_hostile_files_end_in_one_error(tmp_path: Path, content: bytes, rule: str) -> None:
    path = tmp_path / "hostile.toml"
    path.write_bytes(content)
    with pytest.raises(MachineError) as caught:
        load_machine(path)
    assert rule in str(caught.value)
    assert all(len(line) < 1000 for line in caught.value.lines or [str(caught.value)])


def test_paths_that_are_no_machine_file(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for path, rule in ((tmp_path / "folder.toml", "is a directory"), (tmp_path / "none.toml", "no such file")):
        with pytest.raises(MachineError, match=rule):
            load_machine(path)
    for name in ("a\0b.toml", "x" * 5000 + ".toml", "/dev/zero", ""):
        with pytest.raises(MachineError):
            load_machine(name)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(MachineError) as caught:
        load_machine("stm32f764g")
    text = str(caught.value)
    assert text.startswith(
        'unknown machine "stm32f764g", did you mean "stm32f746g-disco": the path of a TOML file works'
    )
    assert "; stm32f469i-disco STM32F469I-DISCO as TinyOps ran it; " in text


def test_an_installed_package_brings_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path / "mcusim")
    (tmp_path / "machine_configs").mkdir()
    assert config_directory() == tmp_path / "machine_configs"
    (tmp_path / "mcusim" / "_data" / "machine_configs").mkdir(parents=True)
    assert config_directory() == tmp_path / "mcusim" / "_data" / "machine_configs"


# extends


def test_extends_merges_key_by_key(tmp_path: Path) -> None:
    f746 = load_machine(F746)
    path = tmp_path / "mine.toml"
    path.write_text('extends = "stm32f746g-disco"\n\n[memory.sdram]\ntiming = { CL = "3 sdclk" }\n', encoding="utf-8")
    mine = load_machine(path)
    assert (mine.name, mine.title) == ("mine", "mine")
    assert [int(length.value) for length in (sdram(mine).timing.CL, sdram(mine).timing.tRC)] == [3, 6]
    figure = mine.figures["memory.sdram.timing.CL"]
    assert (figure.file, figure.line, figure.basis, figure.source) == (str(path), 4, "assumed", "no source given")
    figure, there = mine.figures["memory.sdram.timing.tRC"], f746.figures["memory.sdram.timing.tRC"]
    source = f"inherited from {F746}, measured there: {there.source}"
    assert figure == replace(there, basis="assumed", source=source)
    assert set(mine.figures) == set(f746.figures)


SDRAM = """
[memory.sdram]
device = "sdram"
base = 0xC0000000
size = "16 MiB"
width = "32 bit"
clock = "50 MHz"
banks = 4
rows = 4096
columns = 256
dividers = [2, 3]
read_overhead = "9 cycles"
write_overhead = "6 cycles"
write_fifo = 16

[memory.sdram.timing]
CL = "2 sdclk"
tRCD = "2 sdclk"
tRP = "2 sdclk"
tRC = "7 sdclk"
tRAS = "4 sdclk"
tWR = "2 sdclk"
refresh = "15.6 us"
"""


@pytest.mark.parametrize("below", [name for name in machine_names() if "sdram" not in load_machine(name).memory])
def test_a_file_that_extends_adds_a_memory_that_the_one_below_lacks(tmp_path: Path, below: str) -> None:
    path = tmp_path / "more.toml"
    path.write_text(f'extends = "{below}"\n{SDRAM}', encoding="utf-8")
    machine = load_machine(path)
    assert sdram(machine).clock == 50_000_000 and [*machine.memory][:-1] == [*load_machine(below).memory]
    slower = load_machine(path, {"core.clock": "80 MHz"})
    assert sdram(slower).clock <= 50_000_000


@pytest.mark.parametrize("below", machine_names())
def test_what_was_measured_on_a_board_is_assumed_of_one_that_extends_it(tmp_path: Path, below: str) -> None:
    path, further = tmp_path / "mine.toml", tmp_path / "further.toml"
    clock = load_machine(below).figures["core.max_clock"].text
    new = f'extends = "{below}"\ncore.max_clock = {{ value = "{clock}", basis = "measured", source = "x" }}\n'
    path.write_text(new, encoding="utf-8")
    further.write_text('extends = "mine.toml"\n', encoding="utf-8")
    whole, mine, last = load_machine(below).figures, load_machine(path).figures, load_machine(further).figures
    assert (mine["core.max_clock"].basis, last["core.max_clock"].basis) == ("measured", "assumed")
    assert last["core.max_clock"].source == "inherited from mine, measured there: x"
    for key, figure in whole.items():
        if figure.basis in ("measured", "calibrated") and key != "core.max_clock":
            assert mine[key].basis == "assumed"
            assert mine[key].source.startswith(f"inherited from {below}, {figure.basis} there: {figure.source}")
            assert last[key].source == mine[key].source


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "nucleo-u575zi",
            "its core is cortex-m33; the nearest stand-in for cortex-m33 is cortex-m4: it has the same DSP",
        ),
        ("STM32N657", "its core is cortex-m55; the nearest stand-in for cortex-m55 is cortex-m7: with Helium its"),
        ("stm32u5", "its core is cortex-m33; "),
        ("stm32wb55rg", "its core is cortex-m4; of which there is a model"),
    ],
)
def test_a_board_whose_core_is_not_there_is_told_of_the_nearest(name: str, says: str) -> None:
    with pytest.raises(MachineError, match="unknown machine") as error:
        load_machine(name)
    assert says in str(error.value)


@pytest.mark.parametrize("below", ["stm32f469i-disco", F746])
def test_a_file_that_extends_removes_memories_and_what_hangs_on_them(tmp_path: Path, below: str) -> None:
    path = tmp_path / "less.toml"
    path.write_text(f'extends = "{below}"\n[memory]\nqspi = false\nsdram = false\n', encoding="utf-8")
    whole, machine = load_machine(below), load_machine(path)
    assert [*machine.memory] == [name for name in whole.memory if name not in ("qspi", "sdram")]
    gone = ("memory.sdram", "memory.qspi", "power.energy_per_byte.sdram", "power.energy_per_byte.qspi")
    assert [key for key in machine.figures if key.startswith(gone)] == []
    assert load_machine(path, {"core.clock": "100 MHz"}).core.clock == 100_000_000
    again = tmp_path / "again.toml"
    again.write_text(f'extends = "less.toml"\n{SDRAM}', encoding="utf-8")
    assert sdram(load_machine(again)).clock == 50_000_000


def test_extends_takes_a_path_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "base.toml").write_text('extends = "stm32f469i-disco"\n[core]\nclock = "168 MHz"\n', encoding="utf-8")
    (tmp_path / "sub" / "top.toml").write_text('name = "top"\nextends = "../base.toml"\n', encoding="utf-8")
    machine = load_machine(tmp_path / "sub" / "top.toml")
    assert (machine.name, machine.core.clock, machine.bus.clock) == ("top", 168_000_000, 168_000_000)


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({"a": 'extends = "a.toml"'}, 'a.toml:1: extends = "a.toml": the files extend each other in a circle'),
        ({"a": 'extends = "b.toml"', "b": '\nextends = "./a.toml"'}, "b.toml:2: extends = "),
        ({"a": 'extends = "f999"'}, 'a.toml:1: extends = "f999": unknown machine "f999"'),
        ({"a": "extends = 3"}, "must be the name of a shipped machine or a path"),
        ({"a": "extends = {a = 3}"}, "must be the name of a shipped machine or a path"),
        ({"a": 'extends = "missing.toml"'}, "missing.toml: no such file"),
        (
            {"a": f'extends = "{F746}"\n[memory]\nqsp = false'},
            "a.toml:3: memory.qsp = false: removes what is not there; below it are itcm, dtcm, sram1",
        ),
    ],
)
def test_extends_errors(tmp_path: Path, files: dict[str, str], rule: str) -> None:
    for name, content in files.items():
        (tmp_path / f"{name}.toml").write_text(content, encoding="utf-8")
    with pytest.raises(MachineError) as caught:
        load_machine(tmp_path / "a.toml")
    assert rule in str(caught.value)


def test_basis_and_source_travel_together(tmp_path: Path) -> None:
    path = edited(tmp_path, 'tWR = "2 sdclk"', 'tWR = { value = "2 sdclk", basis = "calibrated" }')
    figure = load_machine(path).figures["memory.sdram.timing.tWR"]
    assert (figure.basis, figure.source) == ("calibrated", "no source given")


# Positions


def test_key_lines_follow_every_way_to_write_a_key() -> None:
    text = '''# [not.a.table]
top = "a = 1 # no comment"
[a.b] # c = 1
x.y = { p = 1, "q r" = [1, { s = 2 }], t = 3 }
long = """
z = 1
\\""" """
list = [
  1,
  { k = 1 },
]
[ d . 'e' ]
last = \'\'\'
[f]\'\'\'
end = 1
'''
    assert key_lines(text) == {
        "top": 2, "a": 3, "a.b": 3, "a.b.x": 4, "a.b.x.y": 4, "a.b.x.y.p": 4, "a.b.x.y.q r": 4, "a.b.x.y.q r.1": 4,
        "a.b.x.y.q r.1.s": 4, "a.b.x.y.t": 4, "a.b.long": 5, "a.b.list": 8, "a.b.list.1": 10, "a.b.list.1.k": 10,
        "d": 12, "d.e": 12, "d.e.last": 13, "d.e.end": 15,
    }  # fmt: skip
    assert key_lines("[[a]]\nk = 1\n[[a.b]]\nk = [{ x = 1 }, 2,\n{ x = 2 }]\n[[a]]\n[[a.b]]\n[[a.b]]\nk = 3") == {
        "a": 1, "a.0": 1, "a.0.k": 2, "a.0.b": 3, "a.0.b.0": 3, "a.0.b.0.k": 4, "a.0.b.0.k.0": 4, "a.0.b.0.k.0.x": 4,
        "a.0.b.0.k.2": 5, "a.0.b.0.k.2.x": 5, "a.1": 6, "a.1.b": 7, "a.1.b.0": 7, "a.1.b.1": 8, "a.1.b.1.k": 9,
    }  # fmt: skip


def test_key_lines_refuse_nesting_and_end_on_hostile_text() -> None:
    for text in ("a." * 100, "[" + "a." * 100, "a = " + "[" * 100, "a = " + "{b = " * 100):
        with pytest.raises(TooDeepError):
            key_lines(text)
    for text in ('"""' * 300_000, '\\"""' * 200_000, "'" * 20, "[[a]]\n" * 100_000, "a=" * 200_000):
        key_lines(text)


# Corrupted files


def corrupted(text: str, dice: random.Random) -> bytes:
    """One seeded damage: a cut, flipped bits, a lost or doubled stretch, swapped lines, or a hostile value."""
    data = bytearray(text.encode())
    at = dice.randrange(len(data))
    kind = dice.randrange(6)
    if kind == 0:
        return bytes(data[:at])
    if kind == 1:
        for _ in range(dice.randint(1, 8)):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        return bytes(data)
    if kind == 2:
        return bytes(data[:at] + data[at + dice.randint(1, 200) :])
    if kind == 3:
        return bytes(data[: at + dice.randint(1, 200)] + data[at:])
    lines = text.splitlines()
    if kind == 4:
        dice.shuffle(lines)
        return "\n".join(lines).encode()
    numbered = [index for index, line in enumerate(lines) if "= " in line]
    hostile = (
        "1" + "0" * 400,
        "nan",
        "-inf",
        "-1",
        "[]",
        "{}",
        "0x" + "f" * 999,
        '"\\u001b"',
        "1979-05-27",
        "true",
        "1e999",
    )
    index = dice.choice(numbered)
    lines[index] = lines[index].split("= ")[0] + "= " + dice.choice(hostile)
    return "\n".join(lines).encode()


def test_200_corrupted_files_load_or_fail_cleanly(tmp_path: Path) -> None:
    dice = random.Random(746)
    path = tmp_path / "corrupted.toml"
    refused = 0
    for _ in range(200):
        path.write_bytes(corrupted(shipped(), dice))
        try:
            machine = load_machine(path)
        except MachineError as error:
            refused += 1
            assert str(error).startswith(str(path))
            assert str(error).isprintable() and all(len(line) < 1000 for line in error.lines or [str(error)])
        else:
            assert machine.core.clock > 0 and machine.memory
    assert refused > 100
