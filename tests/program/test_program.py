"""Programs as files: round trip, the samples, and every kind of damage."""

from __future__ import annotations

import json
import os
import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from mcusim.errors import ProgramError
from mcusim.machine import load_machine
from mcusim.program import check_program, program_lines, read_program, write_program
from mcusim.program.program import Program
from tests.support.cases import only_with_all_cases, sample_size
from tests.support.paths import REPOSITORY
from tests.support.programs.plan_proof import assert_race_free
from tests.support.programs.program_strategies import programs

TRACES = sorted((REPOSITORY / "traces").glob("[!b]*.jsonl"))
SAMPLE = REPOSITORY / "traces" / "add-second-input.jsonl"


@given(programs())
@settings(
    max_examples=sample_size(150, 30), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_what_is_written_is_read_back(tmp_path: Path, program: Program) -> None:
    path = tmp_path / "program.jsonl"
    write_program(program, path)
    assert read_program(path) == program
    assert path.read_text(encoding="utf-8").splitlines() == list(program_lines(program))


def test_there_are_thirteen_samples_and_they_are_what_the_script_writes(tmp_path: Path) -> None:
    assert len(TRACES) == 13
    runpy.run_path(str(REPOSITORY / "scripts" / "traces" / "make.py"))["main"](tmp_path)
    kept = [*TRACES, *(REPOSITORY / "traces").glob("*.tflite")]
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {p.name: p.read_bytes() for p in kept}


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.stem)
def test_samples_are_small_sound_and_titled(path: Path) -> None:
    program = read_program(path)
    check_program(program, load_machine(program.header.machine))
    assert_race_free(program)
    assert 1 <= len(program.tasks) <= 40
    assert program.header.options["title"]
    assert "\n".join(program_lines(program)) + "\n" == path.read_text(encoding="utf-8")


def damaged(path: Path, change: Callable[[list[Any]], None], tmp_path: Path) -> Path:
    """The sample with its parsed lines changed."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(lines)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return bad


def first(lines: list[Any], do: str) -> Any:
    return next(line for line in lines[1:] if line["do"] == do)


CHANGES: dict[str, tuple[Callable[[list[Any]], object], str]] = {
    "no header": (lambda x: x.pop(0), "line 1: .*first line must be the header"),
    "other format": (lambda x: x[0].update(format="other"), "line 1: .*first line must be the header"),
    "next version": (lambda x: x[0].update(version=2), "line 1: version 2 is not supported; this reads version 1"),
    "version true": (lambda x: x[0].update(version=True), "version True is not supported"),
    "header twice": (lambda x: x.insert(1, x[0]), "line 2: unknown task None"),
    "missing key": (lambda x: x[0].pop("kernels"), "line 1: missing key 'kernels'"),
    "unknown key": (lambda x: x[3].update(colour=1), "line 4: unknown key 'colour'; known are id, do"),
    "text for id": (lambda x: x[3].update(id="3"), "line 4: id must be a whole number, found '3'"),
    "fraction": (lambda x: x[3].update(id=3.5), "line 4: id must be a whole number, found 3.5"),
    "true for tile": (lambda x: x[3].update(tile=True), "line 4: tile must be a whole number, found True"),
    "negative": (lambda x: x[3].update(tile=-1), "line 4: tile must be at least 0 and below 1048576, found -1"),
    "huge": (lambda x: x[3].update(tile=10**30), "line 4: .* found a huge number"),
    "unknown task": (lambda x: x[3].update(do="dance"), "unknown task 'dance'; known are compute, transfer, maintain"),
    "unknown lane": (lambda x: first(x, "compute").update(lane="dsp"), "unknown lane of a compute task 'dsp'"),
    "core copies": (
        lambda x: first(x, "transfer").update(lane="core"),
        "lane of a transfer must be a name, found 'core'",
    ),
    "unknown kind": (lambda x: first(x, "transfer").update(kind="air"), "unknown kind 'air'"),
    "unknown operator": (lambda x: x[3].update(op=3), "line 4: op must be at least 0 and below 3, found 3"),
    "tile too many": (lambda x: first(x, "compute").update(tile=9), "tile must be at least 0 and below 2, found 9"),
    "part too many": (lambda x: first(x, "transfer").update(part=1), "part must be at least 0 and below 1, found 1"),
    "id twice": (lambda x: x[4].update(id=x[3]["id"]), "line 5: id 2 is used twice"),
    "after later": (lambda x: x[3].update(after=[9]), "line 4: after names task 9, which no earlier line defines"),
    "after itself": (lambda x: x[3].update(after=[2]), "after names task 2, which no earlier line defines"),
    "after text": (lambda x: x[3].update(after="1"), "line 4: after must be a list, found '1'"),
    "unknown role": (lambda x: first(x, "compute")["operands"][0].__setitem__(0, "spare"), "unknown role 'spare'"),
    "access": (
        lambda x: first(x, "compute")["operands"][0].__setitem__(1, "x"),
        "unknown access 'x'; known are r, w, rw",
    ),
    "operand short": (lambda x: first(x, "compute")["operands"][0].pop(), "operand must be .*found 4 entries"),
    "number as address": (lambda x: x[3]["from"].__setitem__(1, 5), "address of from must be a string such as"),
    "no hex": (lambda x: x[3]["from"].__setitem__(1, "0xzz"), "address of from must be a string such as"),
    "past the end": (
        lambda x: x[3].update({"from": ["sdram", "0xffffffff", 2]}),
        "from runs past the end of the 32-bit",
    ),
    "no bytes": (lambda x: x[3]["from"].__setitem__(2, 0), "bytes of from must be at least 1"),
    "unequal": (lambda x: x[3]["from"].__setitem__(2, 31), "a transfer moves 31 B into 32 B"),
    "rows outside": (lambda x: first(x, "compute").update(rows=[0, 17, 0, 9]), "rows .* reach outside"),
    "rows short": (lambda x: first(x, "compute").update(rows=[0]), "rows must be a list of 4 numbers, found 1"),
    "no height": (lambda x: first(x, "compute")["geometry"].update({"in": [0, 1, 1]}), "in must be at least 1"),
    "large geometry": (
        lambda x: first(x, "compute")["geometry"].update({"in": [1 << 23, 1 << 23, 1]}),
        "geometry is larger than",
    ),
    "unknown types": (
        lambda x: first(x, "compute")["geometry"].update(types="int8_grouped_grouped"),
        "types int8_grouped_grouped are none; they are such as int8, int8_to_float32, int8_grouped",
    ),
    "groups of other types": (
        lambda x: first(x, "compute")["geometry"].update(groups=2),
        "groups 2 of CONV_2D of int8: a CONV_2D in groups has types that end in _grouped",
    ),
    "types of groups alone": (
        lambda x: first(x, "compute")["geometry"].update(types="int8_grouped"),
        "groups 1 of CONV_2D of int8_grouped",
    ),
    "groups that divide no channels": (
        lambda x: first(x, "compute")["geometry"].update(groups=3, types="int8_grouped"),
        "groups 3 do not divide 8 input and 8 output channels",
    ),
    "paddings of nine axes": (
        lambda x: first(x, "compute")["geometry"].update(paddings=[[0, 1, 1]] * 9),
        "paddings of 9 axes; kernels move tensors of up to 5",
    ),
    "paddings of another rank": (
        lambda x: first(x, "compute")["geometry"].update(paddings=[[0, 1, 1]] * 3),
        r"paddings \[\[0, 1, 1\], .* are not of an input 16x16x8 and an output of 1 times",
    ),
    "paddings of another shape": (
        lambda x: first(x, "compute")["geometry"].update(paddings=[[0, 1, 1]] * 4),
        "are not of an input .* and an output of",
    ),
    "line is a list": (lambda x: x.__setitem__(3, []), "line 4: expected an object, found a list"),
    "operators": (lambda x: x[0]["operators"].reverse(), "operator 2 is at position 0"),
    "buffer": (lambda x: x[0]["buffers"][0].pop(), "a buffer must be .*found 6 entries"),
    "buffer ends before it starts": (lambda x: x[0]["buffers"][0].__setitem__(5, 2), "first operator of a buffer"),
    "option": (lambda x: x[0]["options"].update(title={}), "option 'title' must be a string, a number"),
    "set is a list": (lambda x: x[0]["options"].update(set=["core.clock"]), "expected an object, found a list"),
    "set to a number": (
        lambda x: x[0]["options"].update(set={"core.clock": 1}),
        "option 'set', key 'core.clock', must be a string, found 1",
    ),
    "budget": (lambda x: x[0]["options"].update(sram_budget="1"), "option 'sram_budget' must be a whole number"),
    "runtime": (lambda x: x[0]["options"].update(runtime=["x"]), "unknown option 'runtime'"),
    "no budget": (lambda x: x[0]["options"].update(sram_budget=0), "option 'sram_budget' must be at least 1"),
    "exported arena": (lambda x: x[0]["memory"].update(arena_exported=None), "arena_exported must be a whole number"),
    "other memory": (lambda x: x[0]["memory"].update(stack=1), "unknown key 'stack'"),
    "surrogate": (lambda x: x[0].update(model="\ud800"), "model has a lone surrogate"),
    "long text": (lambda x: x[0].update(model="m" * 5000), "model is longer than 4096 characters"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_malformed_line_is_named_with_its_reason(name: str, tmp_path: Path) -> None:
    change, reason = CHANGES[name]
    bad = damaged(SAMPLE, change, tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=reason) as caught:
        read_program(bad)
    assert str(caught.value).startswith(f"{bad}, line ")


RAW = {
    "empty": (b"", "line 1: empty file"),
    "blank": (b"\n\n", "line 1: empty file"),
    "not JSON": (b"{'format'}\n", "line 1: not JSON at column 2"),
    "not UTF-8": (b'{"format": "\xff"}\n', "line 1: not UTF-8 at byte 12"),
    "NaN": (b'{"format": NaN}\n', "line 1: NaN is not a number"),
    "infinity": (b'{"format": -Infinity}\n', "line 1: -Infinity is not a number"),
    "deep": (b"[" * 100_000 + b"\n", "line 1: nested too deeply"),
    "many digits": (b'{"format": ' + b"9" * 5000 + b"}\n", "line 1: a number with too many digits"),
    "key twice": (b'{"format": 1, "format": 2}\n', "line 1: key 'format' is given twice"),
    "long line": (b" " * (5 << 20) + b"{}\n", "line 1: longer than 4194304 B"),
    "zeros": (bytes(1000), "line 1: not JSON"),
}


@pytest.mark.parametrize("name", RAW)
def test_what_is_no_program_at_all(name: str, tmp_path: Path) -> None:
    content, reason = RAW[name]
    path = tmp_path / "raw.jsonl"
    path.write_bytes(content)
    with pytest.raises(ProgramError, match=reason):
        read_program(path)


def test_lines_that_are_blank_or_cut(tmp_path: Path) -> None:
    lines = SAMPLE.read_bytes().split(b"\n")
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"\n".join([*lines[:2], b"", *lines[2:]]))
    with pytest.raises(ProgramError, match="line 3: blank line"):
        read_program(path)
    path.write_bytes(SAMPLE.read_bytes()[:-9])
    with pytest.raises(ProgramError, match=f"line {len(lines) - 1}: not JSON"):
        read_program(path)
    path.write_bytes(lines[0].replace(b'"factor": 2', b'"factor": 1e999'))
    with pytest.raises(ProgramError, match="option 'factor' is not a finite number"):
        read_program(path)


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="cannot be read: No such file"):
        read_program(tmp_path / "absent.jsonl")
    with pytest.raises(ProgramError, match="not a regular file"):
        read_program(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProgramError, match="not a regular file"):
        read_program(tmp_path / "pipe")
    with pytest.raises(ProgramError, match="cannot be read"):
        read_program("a\0b")


@only_with_all_cases
def test_size_limits_keep_reading_short(tmp_path: Path) -> None:
    header, *rest = SAMPLE.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "long.jsonl"
    task = json.loads(next(line for line in rest if '"compute"' in line))
    task.pop("after")
    lines = [json.dumps(task | {"id": n}) for n in range(39_000)]
    path.write_text("\n".join([header, *lines]), encoding="utf-8")
    with pytest.raises(ProgramError, match="larger than 16,777,216 B"):
        read_program(path)
    path.write_text("\n".join([header, *lines[:21_000]]), encoding="utf-8")
    assert len(read_program(path).tasks) == 21_000
    path.write_text("\n".join([header, *("{}" for _ in range(40_001))]), encoding="utf-8")
    with pytest.raises(ProgramError, match="line 40002: more than 40000 tasks"):
        read_program(path)


def corrupt(data: bytes, chance: random.Random) -> bytes:
    """One of several kinds of damage."""
    at, kind = chance.randrange(len(data)), chance.randrange(6)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if kind == 2:
        end = min(len(data), at + chance.randrange(1, 200))
        return data[:at] + data[end:]
    if kind == 3:
        return data[:at] + chance.choice([b"9" * 40, b"-", b"[[", b"null", b"\x00", b"\n", b'"', b"1e400"]) + data[at:]
    lines = data.split(b"\n")
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    if kind == 4:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        lines.insert(a, lines[b])
    return b"\n".join(lines)


def test_two_hundred_corruptions_give_an_error_or_a_program(tmp_path: Path) -> None:
    path, refused = tmp_path / "corrupt.jsonl", 0
    machine = load_machine("stm32f469i-disco")
    for seed in range(200):
        path.write_bytes(corrupt(SAMPLE.read_bytes(), random.Random(seed)))
        try:
            program = read_program(path)
            check_program(program, machine)
            write_program(program, path)
            assert read_program(path) == program
        except ProgramError as error:
            assert str(path) in str(error) or str(error).startswith(("task", "buffer"))
            refused += 1
    assert refused > 100
