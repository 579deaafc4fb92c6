"""``mcusim emulate``: exit status, text, JSON, memory in and out, faults, options that cannot be used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from elf_writer import DataSegment, write_elf

import mcusim
from mcusim.cli import main
from mcusim.errors import ImageError, UsageError
from mcusim.kernels.programs import program_names, program_path

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


@pytest.mark.parametrize("isa", BOARDS)
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
    assert row["stop"] == {"kind": "exit", "status": 0, "exit_status": 0, "fault": None}
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
    dump = ["--dump", f"{FREE:#x}:128={out}", "--dump", f"{FREE + 64:#x}:64"]
    call = ["--call", "dot", "--args", f"{FREE:#x},{FREE + 64:#x},64"]
    row = emulated(capsys, elf("conv", isa), *call, *loads, *dump, isa=isa)
    assert row["result"] == sum(x * y for x, y in zip(left, right, strict=True)) & 0xFFFF_FFFF
    assert out.read_bytes() == a.read_bytes() + b.read_bytes()
    assert bytes.fromhex(row["dumps"][1]["hex"]) == b.read_bytes()


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


def test_caches_are_off_after_a_reset_and_on_in_a_call_unless_told_otherwise() -> None:
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/no/such/app.elf"], "/no/such/app.elf"),
        (["/dev/zero"], "not a regular file"),
        (["/"], "directory"),
        ([__file__], "no ELF file"),
        (["a\x1b[31m\nred.elf"], "\\x1b[31m red.elf"),
        (["CONV", "--machine", "no-such-board"], "no-such-board"),
        (["CONV", "--machine", "nucleo-l4r5zi", "--set", "core.clok=1 MHz"], "core.clok"),
        (["CONV", "--call", "run_layr"], "near names are run_layer"),
        (["CONV", "--call", ""], "--call"),
        (["CONV", "--call", "-4"], "--call"),
        (["CONV", "--call", "dot", "--args", "1,,2"], "missing"),
        (["CONV", "--call", "dot", "--args", "1,no_such_thing"], 'no symbol "no_such_thing"'),
        (["CONV", "--call", "dot", "--args", "0x100000000"], "32 bits"),
        (["CONV", "--call", "dot", "--args", "-2147483649"], "32 bits"),
        (["CONV", "--call", "dot", "--args", "1.5"], "1.5"),
        (["CONV", "--call", "dot", "--args", ",".join(["1"] * 65)], "at most 64"),
        (["CONV", "--args", "1"], "--call"),
        (["CONV", "--stack", "8"], "unit"),
        (["CONV", "--call", "dot", "--stack", "32 B"], "at least 64 B"),
        (["CONV", "--call", "dot", "--stack", "1 MiB"], "dtcm of stm32f746g-disco has 65,536 B"),
        (["CONV", "--caches", "maybe"], "on or off"),
        (["CONV", "--max-instructions", "0"], "--max-instructions"),
        (["CONV", "--load", "nowhere.bin"], "FILE@ADDRESS"),
        (["CONV", "--load", "/no/such.bin@0x20004000"], "No such file"),
        (["CONV", "--load", "/dev/zero@0x20004000"], "not a regular file"),
        (["CONV", "--load", "/tmp@0x20004000"], "not a regular file"),
        (["CONV", "--load", f"{__file__}@0x2004fff0"], "not all in the memory"),
        (["CONV", "--load", f"{__file__}@0x70000000"], "not all in the memory"),
        (["CONV", "--load", f"{__file__}@0x100000000"], "0xffffffff"),
        (["CONV", "--load", f"{__file__}@bufer"], 'no symbol "bufer"'),
        (["CONV", "--load", "a\0b@0x20004000"], "null"),
        (["CONV", "--dump", "0x20004000"], "ADDRESS:SIZE"),
        (["CONV", "--dump", "0x20004000:0"], "at least one byte"),
        (["CONV", "--dump", "0x20004000:-4"], "at least one byte"),
        (["CONV", "--dump", "0x20004000:4 KB"], "KiB"),
        (["CONV", "--dump", "0x20004000:x!"], "x!"),
        (["CONV", "--dump", "0x20004000:4 GiB"], "not all in the memory"),
        (["CONV", "--dump", "0x20004000:99999999999999999999"], "not all in the memory"),
        (["CONV", "--dump", "0x20004000:4="], "no file"),
        (["CONV", "--dump", "0x20004000:4=-"], "files"),
        (["CONV", "--dump", "0x20004000:4=/no/such/folder/x"], "/no/such/folder"),
        (["CONV", "--callgrind", "/no/such/folder/x"], "/no/such/folder"),
        (["CONV", "--callgrind", "/"], "directory"),
        (["CONV", "--callgrind", "new", "--json", "new"], "two outputs"),
    ],
)
def test_unusable_input_is_one_line_and_status_2(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["emulate", *(elf("conv") if word == "CONV" else word for word in arguments)]) == 2
    assert said in one_error(capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["emulate", elf("conv"), "--load", f"{pipe}@0x20004000"]) == 2
    assert "not a regular file" in one_error(capsys)
    assert main(["emulate", str(pipe)]) == 2
    assert "not a regular file" in one_error(capsys)


@pytest.mark.parametrize("option", ["--callgrind", "--json", "--dump"])
def test_an_existing_file_is_refused_before_the_run(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_text("mine", encoding="utf-8")
    value = f"0x20000000:4={out}" if option == "--dump" else str(out)
    words = ["emulate", elf("conv"), "--call", "lcg", "--quiet", option, value]
    assert main(words) == 2
    assert "--force" in one_error(capsys)
    assert out.read_text(encoding="utf-8") == "mine"
    assert main([*words, "--force"]) == 0
    assert out.read_bytes() != b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_python_arguments_of_a_wrong_kind_are_named() -> None:
    path, machine = elf("conv"), "stm32f746g-disco"
    with pytest.raises(UsageError, match="max_instructions = 0"):
        mcusim.emulate(path, machine, max_instructions=0)
    with pytest.raises(UsageError, match=r"argument 1\.5"):
        mcusim.emulate(path, machine, call="dot", arguments=[1.5])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="caches"):
        mcusim.emulate(path, machine, caches="on")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="path"):
        mcusim.emulate(3, machine)  # type: ignore[arg-type]
    with pytest.raises(ImageError, match="near names"):
        mcusim.emulate(path, machine, call="dott")


def test_ctrl_c_ends_the_run_with_the_profile_so_far() -> None:
    words = ["emulate", elf("faults"), "--call", "fault_endless", "--json", "-"]
    code = "import sys, mcusim.cli; print('up', file=sys.stderr, flush=True); sys.exit(mcusim.cli.main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "up\n"
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    row = json.loads(out)
    assert row["stop"]["kind"] == "interrupted"
    assert row["cycles"] >= row["instructions"] > 1_000_000
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


# ldr r1, [pc, #4]; ldr r0, [r1]; bx lr; nop; .word 0x2000_0000
READS_ITS_DATA = bytes.fromhex("0149 0868 7047 00bf 00000020")


def test_an_entry_point_finds_what_start_up_code_leaves(tmp_path: Path) -> None:
    data = DataSegment(0x2000_0000, b"\x2a\0\0\0", 64, load_address=0x0800_1000)
    path = write_elf(tmp_path / "app.elf", READS_ITS_DATA, 0x0800_0100, {"begin": 0x0800_0100}, data_segments=[data])
    result = mcusim.emulate(path, "stm32f746g-disco")
    assert (result.started, result.pc, result.caches) == ("entry", 0x0800_0100, True)
    assert (result.stop.kind, result.exit_status) == ("returned", 0)
    assert result.registers["r0"] == 42
    assert result.result is None, "only a call has a result"
    assert str(result).startswith("app.elf on stm32f746g-disco\n  from its entry point: begin, caches on at first\n")
    called = mcusim.emulate(path, "stm32f746g-disco", call="begin", dumps=["0x20000000:4"], stack=256)
    assert (called.result, called.dumps[0].data) == (42, b"\x2a\0\0\0")
    assert called.stack.top - called.stack.limit == 256
    assert len(repr(result)) < 2000


def test_waiting_for_an_interrupt_is_an_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_elf(tmp_path / "idle.elf", bytes.fromhex("0720 30bf fee7"), 0x0800_0100)  # movs r0, #7; wfi; b .
    assert main(["emulate", str(path)]) == 0
    assert "waits for an interrupt" in capsys.readouterr().out


def test_a_jump_into_nothing_shows_no_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_elf(tmp_path / "jump.elf", bytes.fromhex("0047"), 0x0800_0100)  # bx r0
    assert main(["emulate", str(path), "--call", "0x08000100", "--args", "0x70000001"]) == 1
    captured = capsys.readouterr()
    assert "at PC 0x70000000, in no function that is known\n" in captured.out
    assert "0x08000100  ->  0x70000000" in captured.out
    assert "error: jump.elf: bus fault at 0x70000000: " in captured.err


def test_names_from_the_file_cannot_drive_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "f\x1b[2J\nCycles"
    path = write_elf(tmp_path / "app.elf", READS_ITS_DATA, 0x0800_0100, {hostile: 0x0800_0100})
    out = tmp_path / "out.callgrind"
    assert main(["emulate", str(path), "--callgrind", str(out)]) == 0
    assert "\x1b" not in capsys.readouterr().out + out.read_text(encoding="utf-8")
    assert "f\\x1b[2J\\nCycles" in out.read_text(encoding="utf-8")


def test_output_that_is_no_text_passes_through(tmp_path: Path) -> None:
    # movs r0, #3 (WRITEC); adr r1, byte; bkpt 0xab; wfi; byte
    path = write_elf(tmp_path / "app.elf", bytes.fromhex("0320 01a1 abbe 30bf ff000000"), 0x0800_0100)
    seen: list[bytes] = []
    assert mcusim.emulate(path, "stm32f746g-disco", output=seen.append).exit_status == 0
    assert b"".join(seen) == b"\xff"
    done = subprocess.run([sys.executable, "-m", "mcusim", "emulate", str(path), "-q"], capture_output=True, check=True)
    assert done.stdout == b"\xff"
