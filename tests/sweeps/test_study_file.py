"""Study files: what they mean, and one error with file, line and key for what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.errors import StudyError
from mcusim.machine import machine_names
from mcusim.sweeps import read_study
from mcusim.sweeps.points import points, total
from tests.support.boards.sweep_studies import SMALL, write

HEAD = 'models = ["ds-cnn"]\nmachines = ["stm32f746g-disco", "stm32f469i-disco"]\npolicies = ["internal"]\n'


def test_what_a_study_says(tmp_path: Path) -> None:
    text = (
        'title = "T"\nquestion = "Q?"\nkernels = "cmsis-gcc12"\n' + HEAD + "[axes]\nsram_budget = ['64 KiB', 'none']\n"
    )
    study = read_study(write(tmp_path, text))
    assert (study.name, study.title, study.question) == ("study", "T", "Q?")
    assert (study.kernels, study.fidelities) == (("cmsis-gcc12",), ("replay",))
    assert study.inputs == ("model", "machine", "policy", "kernels", "fidelity", "sram_budget")
    assert [point[-1] for point in points(study)] == [65536, None] * 2


def test_defaults_are_those_of_run(tmp_path: Path) -> None:
    assert read_study(write(tmp_path, HEAD)).all_kernels == ("cmsis-2021-gcc9",)
    assert read_study(write(tmp_path, HEAD + 'fidelity = "emulate"')).all_kernels == ("cmsis",)
    both = read_study(write(tmp_path, HEAD + 'fidelity = ["replay", "emulate"]'))
    assert (both.all_kernels, both.fidelities) == (("cmsis",), ("replay", "emulate"))


def test_each_runtime_has_its_own_kernels_once(tmp_path: Path) -> None:
    axis = '[axes]\nruntime = ["tflm", "tinyengine"]'
    own = read_study(write(tmp_path, HEAD + axis))
    assert {(point[3], point[-1]) for point in points(own)} == {
        ("cmsis-2021-gcc9", "tflm"),
        ("tinyengine-gcc12", "tinyengine"),
    }
    named = points(read_study(write(tmp_path, HEAD + 'kernels = ["cmsis-gcc12", "reference-gcc12"]\n' + axis)))
    assert len(named) == len(set(named)) == 2 * 3  # on two boards
    assert {point[3] for point in named if point[-1] == "tinyengine"} == {"tinyengine-gcc12"}
    with pytest.raises(StudyError, match="no runtime of the study takes them"):
        read_study(write(tmp_path, HEAD + 'kernels = "cmsis-gcc12"\n[axes]\nruntime = ["tinyengine"]'))


def test_all_machines_are_those_that_ship(tmp_path: Path) -> None:
    """In a study and in a comparison, which has a row of each, whether the model fits or not."""
    every = HEAD.replace('["stm32f746g-disco", "stm32f469i-disco"]', '"all"')
    assert read_study(write(tmp_path, every)).machines == machine_names()
    output = tmp_path / "rows.json"
    command = ["compare", "mcunet-vww1", "--machine", "all", "--policy", "internal", "--json", str(output)]
    assert main(command) in (0, 1)
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert [row["machine"] for row in rows] == list(machine_names()) and {row["fits"] for row in rows} == {True, False}
    assert main([*command[:3], "all,nucleo-h743zi", *command[4:], "--force"]) == 2


def test_keys_of_axes_quoted_or_not(tmp_path: Path) -> None:
    quoted = read_study(write(tmp_path, HEAD + '[axes]\n"core.clock" = ["100 MHz"]\n"memory.flash.wait_states" = [5]'))
    plain = read_study(write(tmp_path, HEAD + '[axes]\ncore.clock = ["100 MHz"]\nmemory.flash.wait_states = [5]'))
    assert quoted.axes == plain.axes


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{ low = "20 ns", high = "25 ns", step = "2.5 ns" }', ["20 ns", "22.5 ns", "25 ns"]),
        ('{ low = "1 sdclk", high = "3 sdclk", step = "1 sdclk" }', ["1 sdclk", "2 sdclk", "3 sdclk"]),
        ('{ low = "0.1 us", high = "0.35 us", step = "0.1 us" }', ["0.1 us", "0.2 us", "0.3 us"]),
    ],
)
def test_a_range_is_the_list_of_its_steps(tmp_path: Path, text: str, values: list[str]) -> None:
    study = read_study(write(tmp_path, HEAD + f"[axes]\nmemory.sdram.timing.tRCD = {text}"))
    assert study.axes[0].values == tuple(values)


def test_a_range_of_whole_numbers_and_of_sizes(tmp_path: Path) -> None:
    axes = "memory.flash.wait_states = { low = 0, high = 7, step = 3 }\n"
    axes += 'sram_budget = { low = "64 KiB", high = "128 KiB", step = "64 KiB" }'
    study = read_study(write(tmp_path, HEAD + f"[axes]\n{axes}"))
    assert [axis.values for axis in study.axes] == [(0, 3, 6), (65536, 131072)]


def test_overlays_in_one_form(tmp_path: Path) -> None:
    text = HEAD.replace("internal", "tinyops") + '[axes]\noverlay = ["bias, input", ["filter"], "none"]'
    assert read_study(write(tmp_path, text)).axes[0].values == ("input,bias", "filter", "none")


def test_paths_are_relative_to_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 'extends = "stm32f746g-disco"\n[core]\nclock = "100 MHz"', "slow.toml")
    path = write(tmp_path, HEAD.replace('"stm32f469i-disco"', '"slow.toml"'))
    monkeypatch.chdir("/")
    assert read_study(path).machines == ("stm32f746g-disco", "slow.toml")


CASES = {
    "unknown key": ('colour = "red"', "study.toml:1: colour: unknown key: a study has title, question"),
    "unknown near": (HEAD.replace("policies", "policy"), 'study.toml:3: policy: unknown key, did you mean "policies"'),
    "no models": ('machines = ["stm32f746g-disco"]', "study.toml: models: is missing"),
    "number": (HEAD.replace('["internal"]', "[1]"), "study.toml:3: policies = [1]: must be a list of names"),
    "unknown model": (HEAD.replace("ds-cnn", "ds-dnn"), 'study.toml:1: models = ["ds-dnn"]: no model "ds-dnn"'),
    "unknown machine": (HEAD.replace("f469i", "f470i"), "study.toml:2: machines"),
    "unknown policy": (HEAD.replace("internal", "infernal"), "study.toml:3: policies"),
    "unknown kernels": (HEAD + 'kernels = ["gcc"]', "study.toml:4: kernels"),
    "all and one": (HEAD.replace("stm32f469i-disco", "all"), "\"all\"]: 'all' is every machine that ships, and alone"),
    "twice": (HEAD.replace('"internal"', '"internal", "internal"'), "study.toml:3: policies"),
    "unknown axis": (HEAD + "[axes]\nmemory.sdram.tRDC = [1]", "study.toml:5: axes.memory.sdram.tRDC: unknown key"),
    "axis near": (HEAD + '[axes]\nsram_buget = ["1 KiB"]', 'did you mean "sram_budget"'),
    "axis text": (HEAD + '[axes]\ncore.clock = "1 MHz"', "study.toml:5: axes.core.clock"),
    "axis empty": (HEAD + "[axes]\ncore.clock = []", "is an empty list"),
    "axis value": (HEAD + '[axes]\ncore.clock = ["100 ns"]', "study.toml:5: axes.core.clock"),
    "axis second value": (HEAD + '[axes]\ncore.clock = ["9 MHz", "9 ns"]', 'core.clock = "9 ns"'),
    "axis range's end": (
        HEAD + "[axes]\nmemory.flash.wait_states = { low = 1, high = 9999, step = 1 }",
        "memory.flash.wait_states = 9999",
    ),
    "axis type": (HEAD + "[axes]\ncore.clock = [100]", "has no unit"),
    "axis twice": (HEAD + '[axes]\ncore.clock = ["9 MHz", "9 MHz"]', "has a value twice"),
    "axis model": (HEAD + '[axes]\nmodel = ["a"]', "model is not an axis"),
    "KB": (HEAD + '[axes]\nsram_budget = ["1 KB"]', "1000 or 1024"),
    "region": (
        HEAD + '[axes]\ncode = ["flash", "itmc"]',
        'study.toml:5: axes.code = ["flash", "itmc"]: there is no reg',
    ),
    "no effect": (HEAD + '[axes]\noverlay = ["bias"]', "study.toml:5: axes.overlay: has no effect under internal"),
    "range": (HEAD + '[axes]\ncore.clock = { low = "1 MHz", high = "9 MHz" }', "a range has low, high, step"),
    "range unit": (HEAD + '[axes]\ncore.clock = { low = "1 MHz", high = "9 MHz", step = "1 kHz" }', "the same unit"),
    "range long": (HEAD + '[axes]\ncore.clock = { low = "1 Hz", high = "9 MHz", step = "1 Hz" }', "the same unit"),
    "range many": (HEAD + '[axes]\nsram_budget = { low = "1 B", high = "900000 B", step = "1 B" }', "900,000 values"),
    "method": (HEAD + '[axes]\ncore.clock=["9 MHz"]\n[sampling]\nmethod = "random"', "study.toml:7: sampling.method"),
    "no axes": (HEAD + '[sampling]\nmethod = "list"', "needs axes"),
    "no points": (HEAD + '[axes]\ncore.clock=["9 MHz"]\n[sampling]\nmethod="latin-hypercube"', "needs a whole number"),
    "seed of grid": (HEAD + "[sampling]\nseed = 1", "has no effect with grid"),
    "list lengths": (
        HEAD + '[axes]\ncore.clock=["9 MHz"]\nsram_budget=[1, 2]\n[sampling]\nmethod="list"',
        "core.clock 1, sram_budget 2",
    ),
    "where": (HEAD + '[sampling]\nwhere = ["latency_ms < 1"]', 'no column "latency_ms"'),
    "where text": (HEAD + '[sampling]\nwhere = ["policy <"]', "is not an expression"),
    "derived": (HEAD + '[derived]\na = "latency"', 'did you mean "latency_ms"'),
    "derived later": (HEAD + '[derived]\na = "b"\nb = "cycles"', 'study.toml:5: derived.a = "b": no column "b"'),
    "derived name": (HEAD + '[derived]\ncycles = "macs"', "is the name of another column"),
    "derived code": (HEAD + "[derived]\na = \"__import__('os')\"", "calls"),
    "toml": ("models = [", "study.toml: not valid TOML"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_used(tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, wanted = CASES[case]
    if case == "range long":
        text, wanted = text.replace('"1 Hz", high = "9 MHz"', '"1 Hz", high = "90000 Hz"'), "90,000 values"
    path = write(tmp_path, text)
    with pytest.raises(StudyError) as error:
        read_study(path)
    assert wanted in str(error.value)
    assert main(["sweep", str(path), "-o", str(tmp_path / "out.parquet")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("command", [["--dry-run"], ["-o", "out.parquet"]])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('[derived]\nx = "cycles * policy"', 'study.toml:5: derived.x = "cycles * policy": "internal" is not a number'),
        ('[derived]\nx = "1"\ny = "x + machine"', 'study.toml:6: derived.y = "x + machine": "stm32f746g-disco" is not'),
        (
            '[axes]\nsram_budget=[99999]\n[sampling]\nwhere="policy > 1"',
            'study.toml:7: sampling.where = "policy > 1": "',
        ),
        (
            '[axes]\nmemory.sdram.timing.tRP = ["2 sdclk", "30 ns"]\n'
            "[derived]\nx = \"memory.sdram.timing.tRP < '4 sdclk'\"",
            'study.toml:7: derived.x = "memory.sdram.timing.tRP < \'4 sdclk\'": compares "30 ns" with "4 sdclk"',
        ),
    ],
)
def test_what_cannot_be_computed_is_said_before_the_work(
    tmp_path: Path,
    text: str,
    wanted: str,
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mcusim.sweeps.point._row", None)
    assert main(["sweep", str(write(tmp_path, HEAD + text)), *command]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {wanted}")
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_what_is_no_study_file(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b'title = "\xff"')
    for name, wanted in (("", "is a directory"), ("none.toml", "no such file"), ("bytes.toml", ":1: not UTF-8")):
        with pytest.raises(StudyError, match=wanted):
            read_study(tmp_path / name)
    with pytest.raises(StudyError, match="neither a file nor one that ships"):
        read_study("sdram-or-qspi-or-what")


def test_filters_keep_points(tmp_path: Path) -> None:
    text = SMALL + "[sampling]\nwhere = [\"policy == 'internal' or power.run > '90 mA'\"]"
    study = read_study(write(tmp_path, text))
    assert (total(study), len(points(study))) == (8, 6)
    with pytest.raises(StudyError, match="no point passes its filters"):
        points(read_study(write(tmp_path, SMALL + '[sampling]\nwhere = ["power.run > 1"]')))
    with pytest.raises(StudyError, match="which has another unit"):
        points(read_study(write(tmp_path, SMALL + "[sampling]\nwhere = [\"power.run > '1 V'\"]")))


def test_too_many_points_are_not_drawn(tmp_path: Path) -> None:
    axes = "".join(
        f'memory.sdram.timing.{key} = {{ low = "1 ns", high = "999 ns", step = "1 ns" }}\n' for key in ("tRP", "tRC")
    )
    axes += 'core.clock = { low = "1 MHz", high = "99 MHz", step = "1 MHz" }'
    study = read_study(write(tmp_path, HEAD + f"[axes]\n{axes}"))
    with pytest.raises(StudyError, match="197,604,198 points before its filters"):
        points(study)


def test_a_latin_hypercube_meets_every_part_of_every_axis(tmp_path: Path) -> None:
    axes = 'core.clock = { low = "1 MHz", high = "50 MHz", step = "1 MHz" }\nsram_budget = ["1 KiB", "2 KiB"]\n'
    text = HEAD + f'[axes]\n{axes}[sampling]\nmethod = "latin-hypercube"\npoints = 50\nseed = 7'
    study = read_study(write(tmp_path, text))
    found = points(study)
    assert total(study) == len(found) == 100  # 50 on each machine
    first = found[:50]
    assert sorted(int(str(point[-2]).split()[0]) for point in first) == list(range(1, 51))
    assert sorted(point[-1] for point in first) == [1024] * 25 + [2048] * 25
    assert [point[-2:] for point in first] == [point[-2:] for point in found[50:]]  # the machines are compared alike
    assert points(read_study(write(tmp_path, text))) == found
    assert points(read_study(write(tmp_path, text.replace("seed = 7", "seed = 8")))) != found
    assert [point[-2:] for point in found[:4]] == [
        ("9 MHz", 2048),
        ("22 MHz", 1024),
        ("7 MHz", 2048),
        ("35 MHz", 2048),
    ]  # the same for everybody


def test_a_list_takes_one_value_of_each_axis(tmp_path: Path) -> None:
    text = HEAD + '[axes]\ncore.clock = ["9 MHz", "8 MHz"]\nsram_budget = [1, 2]\n[sampling]\nmethod = "list"'
    assert [point[-2:] for point in points(read_study(write(tmp_path, text)))] == [("9 MHz", 1), ("8 MHz", 2)] * 2
