"""``mcusim emulate`` on the programs that ship: exit status, text, JSON, memory in and out, faults, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.kernels.test_programs import program_names, program_path
from tests.support.cases import only_with_all_cases, sampled
from tests.support.other_processes import LONGEST_WAIT

BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
FREE = 0x2000_4000  # RAM that no test program uses


def elf(name: str, isa: str = "cortex-m7") -> str:
    return str(program_path(name, isa))


def emulated(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0, isa: str = "cortex-m7") -> Any:
    """Run the command and return its JSON."""
    words = ["emulate", *arguments, "--machine", BOARDS[isa], "--json", "-"]
    assert main(words) == status
    return json.loads(capsys.readouterr().out)


def one_error(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0]


@pytest.mark.parametrize("isa", sampled(BOARDS, 1))
def test_every_program_ends_and_its_table_has_80_columns(isa: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in program_names(isa):
        assert main(["emulate", elf(name, isa), "--machine", BOARDS[isa], "--top", "3"]) == (name == "faults")
        out = capsys.readouterr().out
        table = out[out.index(f"{name}-{isa}.elf on {BOARDS[isa]}") :]
        for part in ("Cycles by cause", "Memory", "Functions", "Source lines", "Instructions", "assumptions"):
            assert part in table
        assert max(map(len, table.splitlines())) <= 80


def test_the_programs_output_comes_first_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", elf("conv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    end = lines.index("conv: ok")
    assert lines[0].startswith("conv 3x3 plain: crc 0x")
    assert lines[end + 1] == ""
    assert lines[end + 2] == "conv-cortex-m7.elf on stm32f746g-disco"


def test_json_on_standard_output_leaves_the_programs_output_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["emulate", elf("conv"), "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["stop"]["kind"] == "exit"
    assert "conv: ok" in captured.err


def test_quiet_leaves_the_programs_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", elf("conv"), "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == "conv: ok"
    assert captured.err == ""


@pytest.mark.parametrize("isa", BOARDS)
def test_json_has_its_keys_and_adds_up(isa: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", elf("system", isa), "--machine", BOARDS[isa], "--json", "-"]) == 0
    captured = capsys.readouterr()
    row = json.loads(captured.out)
    assert {"stop", "cycles", "instructions", "ipc", "seconds", "causes", "regions", "caches", "branches"} <= set(row)
    assert {"functions", "lines", "hottest", "stack", "result", "dumps", "assumptions", "start"} <= set(row)
    assert row["stop"] == {"kind": "exit", "status": 0, "exit_status": 0, "fault": None, "until": None}
    assert sum(row["causes"].values()) == row["cycles"] > row["instructions"] * 0.5
    for what in ("cycles", "instructions"):
        assert sum(f[what] for f in row["functions"]) == row[what]
    assert row["seconds"] == pytest.approx(row["cycles"] / row["clock_hz"])
    assert row["ipc"] == pytest.approx(row["instructions"] / row["cycles"])
    assert row["start"]["kind"] == "reset"
    assert row["start"]["function"] == "Reset_Handler"
    by_name = {f["name"]: f for f in row["functions"]}
    assert 10 < by_name["check"]["calls"] < captured.err.count(": ok\n")
    assert by_name["main"]["inclusive"] > by_name["check"]["inclusive"] > by_name["check"]["cycles"]
    assert any(line["file"].endswith("system.c") for line in row["lines"])
    assert 0 < row["stack"]["used"] < 1024
    assert {key for key in ("dtcm", "sram1") if key in row["regions"]} == {"sram1" if isa == "cortex-m4" else "dtcm"}


def test_main_is_counted_with_all_it_called_though_it_never_returned(capsys: pytest.CaptureFixture[str]) -> None:
    row = emulated(capsys, elf("conv"), "--max-instructions", "1000000", status=1)
    main_ = next(f for f in row["functions"] if f["name"] == "main")
    assert main_["calls"] == 1
    assert main_["inclusive"] > 0.9 * row["cycles"]


def test_a_call_with_six_arguments_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "0x20004000,16,-1,conv_plain,0xFFFFFFFF,2_000"
    row = emulated(capsys, elf("conv"), "--call", "requantize", "--args", arguments)
    assert row["start"]["kind"] == "call"
    words = row["start"]["arguments"]
    assert words[:3] == [0x2000_4000, 16, 0xFFFF_FFFF]
    assert words[3] & 1, "a function's address has its Thumb bit"
    assert words[4:] == [0xFFFF_FFFF, 2000]
    assert row["stop"]["kind"] == "returned"
    assert row["stack"]["top"] % 8 == 0


def test_more_than_four_arguments_are_on_the_stack() -> None:
    result = mcusim.emulate(
        elf("conv"), "stm32f746g-disco", call="requantize", arguments=range(1, 7), dumps=["0x2000fff8:8"]
    )
    assert result.stack.top == 0x2001_0000
    assert result.dumps[0].data == b"\5\0\0\0\6\0\0\0"


@pytest.mark.parametrize("isa", BOARDS)
def test_what_is_loaded_is_used_and_what_is_dumped_is_written(
    isa: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, out = tmp_path / "a.bin", tmp_path / "b.bin", tmp_path / "out.bin"
    left, right = [k % 256 - 128 for k in range(64)], [(37 * k) % 256 - 128 for k in range(64)]
    a.write_bytes(bytes(x & 255 for x in left))
    b.write_bytes(bytes(x & 255 for x in right))
    loads = ["--load", f"{a}@{FREE:#x}", "--load", f"{b}@{FREE + 64:#x}"]
    dump = ["--dump", f"{FREE:#x}:128={out}", "--dump", f"{FREE + 64:#x}:64", "--dump", f"{FREE:#x}:1"]
    call = ["--call", "dot", "--args", f"{FREE:#x},{FREE + 64:#x},64"]
    row = emulated(capsys, elf("conv", isa), *call, *loads, *dump, isa=isa)
    assert row["result"] == sum(x * y for x, y in zip(left, right, strict=True)) & 0xFFFF_FFFF
    assert out.read_bytes() == a.read_bytes() + b.read_bytes()
    assert bytes.fromhex(row["dumps"][1]["hex"]) == b.read_bytes()
    assert bytes.fromhex(row["dumps"][2]["hex"]) == a.read_bytes()[:1]


def test_a_copy_by_the_program_arrives(tmp_path: Path) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(bytes(range(256)))
    result = mcusim.emulate(
        elf("memory"),
        "stm32f746g-disco",
        call="copy_words",
        arguments=[FREE + 1024, FREE, 256],
        loads=[f"{data}@{FREE}"],
        dumps=[f"{FREE + 1024}:256"],
    )
    assert zlib.crc32(result.dumps[0].data) == zlib.crc32(data.read_bytes())


def test_a_dump_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data.bin"
    data.write_bytes(b"Cortex-M\0\1\2\3")
    words = ["--call", "lcg", "--load", f"{data}@{FREE:#x}", "--dump", f"{FREE:#x}:12", "--top", "0"]
    assert main(["emulate", elf("conv"), *words]) == 0
    out = capsys.readouterr().out
    assert "  20004000  43 6f 72 74 65 78 2d 4d  00 01 02 03              |Cortex-M....|\n" in out
    assert "Functions" not in out


def test_caches_are_off_after_a_reset_and_on_in_a_call_by_default() -> None:
    path, machine = elf("conv"), "stm32f746g-disco"
    call: Any = {"call": "run_layer", "arguments": [0, 1]}
    on, off = mcusim.emulate(path, machine, **call), mcusim.emulate(path, machine, **call, caches=False)
    assert (on.caches, off.caches) == (True, False)
    assert on.result == off.result
    assert off.profile.cycles > 1.3 * on.profile.cycles
    assert off.profile.counters["icache_hits"] == 0 < on.profile.counters["icache_hits"]
    assert mcusim.emulate(path, machine, max_instructions=1000).caches is False


def test_what_if(capsys: pytest.CaptureFixture[str]) -> None:
    words = [elf("conv"), "--call", "run_layer", "--args", "0,1"]
    base = emulated(capsys, *words)
    slow = emulated(capsys, *words, "--set", "memory.flash.wait_states=15", "--caches", "off")
    assert slow["cycles"] > base["cycles"]
    assert slow["set"] == {"memory.flash.wait_states": "15"}


def test_a_program_that_exits_with_another_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", elf("faults")]) == 1
    assert one_error(capsys) == "error: faults-cortex-m7.elf: the program exited with status 42"


def test_a_run_away(capsys: pytest.CaptureFixture[str]) -> None:
    row = emulated(capsys, elf("faults"), "--call", "fault_endless", "--max-instructions", "5000", status=1)
    assert row["stop"]["kind"] == "limit"
    assert 5000 <= row["instructions"] < 5100


@pytest.mark.parametrize("isa", BOARDS)
@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        ("fault_load", "bus fault", "a load at 0x70000000"),
        ("fault_store", "bus fault", "a store of 4 B at 0x70000000"),
        ("fault_jump", "bus fault", "0x70000000"),
        ("fault_undefined", "undefined instruction", ""),
        ("fault_unaligned_pair", "unaligned access", "is not aligned"),
        ("fault_fpu_off", "no coprocessor", "CPACR"),
        ("fault_stack", "stack overflow", "0x2000e000"),
    ],
)
def test_a_fault_is_explained(
    isa: str, function: str, kind: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = emulated(capsys, elf("faults", isa), "--call", function, "--args", "0", isa=isa, status=1)
    fault = row["stop"]["fault"]
    assert row["stop"]["kind"] == "fault"
    assert fault["kind"] == kind
    assert text in fault["text"]
    assert fault["hint"]
    assert set(fault["registers"]) == {*(f"r{i}" for i in range(13)), "sp", "lr", "pc", "xpsr"}
    assert sum(row["causes"].values()) == row["cycles"]


def test_a_fault_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", elf("faults"), "--call", "fault_stack", "--args", "0", "--stack", "4 KiB"]) == 1
    captured = capsys.readouterr()
    block = captured.out[captured.out.index("Fault: stack overflow") : captured.out.index("Cycles by cause")]
    assert "at PC 0x" in block
    assert ", fault_stack+0x" in block
    assert "(faults.c:" in block
    assert "fault_stack+0x78  ->  fault_stack\n" in block or "->  fault_stack" in block
    assert "hint: a larger stack" in block
    assert captured.err.startswith("error: faults-cortex-m7.elf: stack overflow at fault_stack+0x")
    assert len(captured.err.splitlines()) == 1


SAYS_THAT_IT_RUNS = """
import sys

import mcusim.commands.app
from mcusim.emulator.emulator import Emulator

run, totals = Emulator.run, []


def recorded(self, limit=None, progress=None):
    def step(instructions):
        if instructions > 4_000_000 and not totals:
            totals.append(print("it runs", file=sys.stderr, flush=True))
        if progress is not None:
            progress(instructions)

    return run(self, limit, step)


Emulator.run = recorded
sys.exit(mcusim.commands.app.main(sys.argv[1:]))
"""


@only_with_all_cases
def test_ctrl_c_ends_the_run_with_the_profile_so_far() -> None:
    words = ["emulate", elf("faults"), "--call", "fault_endless", "--json", "-"]
    with subprocess.Popen(
        [sys.executable, "-c", SAYS_THAT_IT_RUNS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "it runs\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 130
    row = json.loads(out)
    assert row["stop"]["kind"] == "interrupted"
    assert 2 * row["cycles"] >= row["instructions"] > 4_000_000
    assert err == "error: faults-cortex-m7.elf: interrupted\n"


def test_a_keyboard_interrupt_from_progress_is_a_result() -> None:
    seen: list[tuple[int, float]] = []

    def step(instructions: int, seconds: float) -> None:
        seen.append((instructions, seconds))
        if instructions > 4_000_000:
            raise KeyboardInterrupt

    result = mcusim.emulate(elf("faults"), "stm32f746g-disco", call="fault_endless", progress=step)
    assert result.exit_status == 130
    assert seen[-1] == (result.profile.issued, pytest.approx(result.seconds, rel=1e-3))
