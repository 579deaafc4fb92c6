"""Callgrind files: they add up to the profile, name its functions, and callgrind_annotate reads them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import mcusim
from mcusim.kernels.test_programs import program_path
from mcusim.report.export.callgrind import callgrind_lines
from mcusim.results.emulation import EmulationResult
from mcusim.results.hot_spots import functions, whole
from tests.support.cases import few

CASES = [("conv", "cortex-m4"), ("conv", "cortex-m7"), ("integer", "cortex-m7"), ("system", "cortex-m7")]
BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
EVENTS = ["Cycles", "Instructions", "DataStalls", "FetchStalls"]


def emulated(name: str, isa: str) -> EmulationResult:
    return mcusim.emulate(program_path(name, isa), BOARDS[isa])


@dataclass
class Parsed:
    """A callgrind file as its specification reads: costs by function, calls by caller and callee."""

    totals: list[int] = field(default_factory=list)
    summary: list[int] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    costs: dict[str, list[int]] = field(default_factory=dict)
    by_address: Counter[int] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    inclusive: Counter[tuple[str, str]] = field(default_factory=Counter)
    inclusive_instructions: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)


class Reader:
    def __init__(self) -> None:
        self.found = Parsed()
        self.names: dict[tuple[str, str], str] = {}
        self.function = self.callee = ""
        self.in_call = False

    def name(self, kind: str, text: str) -> str:
        match = re.fullmatch(r"(\(\d+\))(?: (.+))?", text)
        if match is None:
            return text
        if match[2] is not None:
            assert (kind, match[1]) not in self.names, "a number is defined once"
            self.names[kind, match[1]] = match[2]
        return self.names[kind, match[1]]

    def line(self, line: str) -> None:
        key, equals, value = line.partition("=")
        if equals and key in ("fl", "fi", "fe", "cfi", "cfl"):
            self.found.files.add(self.name("file", value))
        elif equals and key == "fn":
            self.function = self.name("function", value)
        elif equals and key == "cfn":
            self.callee = self.name("function", value)
        elif equals and key == "calls":
            self.found.calls[self.function, self.callee] += int(value.split()[0])
            self.in_call = True
        elif line[:1].isdigit():
            self.cost(line)
        elif line and not line.startswith("#"):
            self.header(*line.split(": ", 1))

    def cost(self, line: str) -> None:
        address, _, *numbers = line.split()
        values = [int(number) for number in numbers]
        if self.in_call:
            self.found.inclusive[self.function, self.callee] += values[0]
            self.found.inclusive_instructions[self.function, self.callee] += values[1]
            self.in_call = False
            return
        assert len(values) == len(EVENTS)
        mine = self.found.costs.setdefault(self.function, [0] * len(EVENTS))
        self.found.costs[self.function] = [a + b for a, b in zip(mine, values, strict=True)]
        self.found.by_address[int(address, 16)] += values[0]

    def header(self, key: str, value: str) -> None:
        if key == "events":
            self.found.events = value.split()
        if key in ("totals", "summary"):
            setattr(self.found, key, [int(number) for number in value.split()])


def parsed(result: EmulationResult) -> Parsed:
    reader = Reader()
    for line in callgrind_lines(result):
        reader.line(line)
    return reader.found


@few(1)
@pytest.mark.parametrize(("name", "isa"), CASES)
def test_self_costs_sum_to_the_profile(name: str, isa: str) -> None:
    result = emulated(name, isa)
    found = parsed(result)
    profile = result.profile
    assert found.events == EVENTS
    assert [sum(column) for column in zip(*found.costs.values(), strict=True)] == found.totals == found.summary
    cycles, instructions, data, fetch = found.totals
    assert cycles == int(profile.cycles)
    assert instructions == profile.issued
    costs = profile.instructions.values()
    assert data == pytest.approx(sum(cost.data for cost in costs), abs=1)
    assert fetch == pytest.approx(sum(cost.fetch for cost in costs), abs=1)
    for address, cost in profile.instructions.items():
        assert abs(found.by_address[address] - cost.cycles) < 1


@few(1)
@pytest.mark.parametrize(("name", "isa"), CASES)
def test_functions_and_calls_are_those_of_the_profile(name: str, isa: str) -> None:
    result = emulated(name, isa)
    found = parsed(result)
    rows = {row.name: row for row in functions(result.profile, result.image)}
    assert set(found.costs) == set(rows)
    for function, cost in found.costs.items():
        assert cost[0] == pytest.approx(rows[function].cycles, rel=1e-3, abs=100)
        assert sum(n for (_, callee), n in found.calls.items() if callee == function) == rows[function].calls
    for callee in {"dot", "crc32", "lcg", "check", "list_sort"} & set(rows):  # never inlined, never jumped to
        row = rows[callee]
        assert row.calls == result.profile.instructions[row.address].issued > 0
    assert sum(found.inclusive[pair] for pair in found.inclusive if pair[1] == "main") > 0.9 * result.profile.cycles
    assert any(file.endswith(f"{name}.c") for file in found.files)


def test_a_call_costs_no_less_than_its_callee_alone() -> None:
    result = mcusim.emulate(program_path("conv", "cortex-m7"), BOARDS["cortex-m7"], call="run_layer", arguments=[1, 1])
    found = parsed(result)
    assert found.calls["conv_smlad", "dot"] > 100
    assert found.inclusive["conv_smlad", "dot"] == pytest.approx(found.costs["dot"][0], rel=0.02)
    assert found.inclusive_instructions["conv_smlad", "dot"] == pytest.approx(found.costs["dot"][1], rel=0.02)


def test_a_program_without_symbols_has_a_profile_too(tmp_path: Path) -> None:
    strip = shutil.which("arm-none-eabi-strip")
    if strip is None:
        pytest.skip("no arm-none-eabi-strip")
    bare = tmp_path / "bare.elf"
    subprocess.run([strip, "-o", str(bare), str(program_path("integer", "cortex-m7"))], check=True)
    result = mcusim.emulate(bare, BOARDS["cortex-m7"])
    found = parsed(result)
    assert found.totals[0] == int(result.profile.cycles)
    assert found.files == {"???"}
    assert all(name.startswith("0x0800") for name in found.costs)


def test_callgrind_annotate_reads_it(tmp_path: Path) -> None:
    annotate = shutil.which("callgrind_annotate")
    if annotate is None:
        pytest.skip("no callgrind_annotate; it is in Debian's valgrind")
    result = emulated("conv", "cortex-m7")
    out = tmp_path / "conv.callgrind"
    out.write_text("\n".join(callgrind_lines(result)) + "\n", encoding="utf-8")
    done = subprocess.run(
        [annotate, "--auto=no", "--threshold=100", str(out)], capture_output=True, text=True, check=True
    )
    (total,) = re.findall(r"^\s*([\d,]+) .*PROGRAM TOTALS", done.stdout, re.MULTILINE)
    assert int(total.replace(",", "")) == int(result.profile.cycles)
    assert done.stderr == ""
    for row in functions(result.profile, result.image)[:5]:
        assert re.search(rf"\.[ch]:{row.name}\b", done.stdout)


@pytest.mark.parametrize(
    ("values", "total", "expected"),
    [
        ([], None, []),
        ([1.5, 1.5], None, [2, 1]),
        ([0.3, 0.3, 0.3], 1, [1, 0, 0]),
        ([2.0, 0.75, 0.25], None, [2, 1, 0]),
        ([10.25, 0.5, 0.25], None, [10, 1, 0]),
    ],
)
def test_whole_numbers_that_keep_their_sum(values: list[float], total: int | None, expected: list[int]) -> None:
    assert whole(values, total) == expected
