"""``mcusim emulate`` on programs of a few instructions: entry points, idling, odd names and odd output."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main
from tests.support.cases import only_with_all_cases
from tests.support.code.elf_writer import DataSegment, ElfSymbol, write_elf

# SysTick every 1000 cycles; 1: wfi; cmp r5, #5; bne 1b; exit by semihosting. Its handler: adds r5, #1; bx lr
TICKS = "4ef21000cef2000040f2e731072241608160026030bf052dfcd1182040f22601c0f20201abbe00bf01357047"

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
    assert mcusim.table(result).startswith(
        "app.elf on stm32f746g-disco\n  from its entry point: begin, caches on at first\n"
    )
    called = mcusim.emulate(path, "stm32f746g-disco", call="begin", dumps=["0x20000000:4"], stack=256)
    assert (called.result, called.dumps[0].data) == (42, b"\x2a\0\0\0")
    assert called.stack.top - called.stack.limit == 256
    assert len(repr(result)) < 2000


@pytest.mark.parametrize("stack", [None, "4 KiB"])
def test_a_heap_behind_static_data_is_no_stack_overflow(stack: str | None, tmp_path: Path) -> None:
    """``malloc`` begins at the end of static data, which is the stack's limit only where nothing else is known."""
    program = bytes.fromhex("0149 0860 7047 00bf 04000020")  # ldr r1, [pc, #4]; str r0, [r1]; bx lr; nop; address
    data = DataSegment(0x2000_0000, b"", 4)
    top = ("_estack", ElfSymbol(0x2000_1000))
    path = write_elf(tmp_path / "app.elf", program, 0x0800_0100, symbols=[top], data_segments=[data])
    kind = mcusim.emulate(path, "stm32f746g-disco", stack=stack, call=0x0800_0101).stop.kind
    assert kind == ("returned" if stack is None else "fault"), "a stack that was asked for keeps its guard"


def test_waiting_for_an_interrupt_is_an_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_elf(tmp_path / "idle.elf", bytes.fromhex("0720 30bf fee7"), 0x0800_0100)  # movs r0, #7; wfi; b .
    assert main(["emulate", str(path)]) == 0
    assert "waits for an interrupt" in capsys.readouterr().out


def test_exceptions_are_counted_and_their_cycles_are_in_the_sums(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = struct.pack("<16I", 0x2000_1000, 0x0800_0101, *[0] * 13, 0x0800_0129)
    symbols = {"main": 0x0800_0100, "SysTick_Handler": 0x0800_0128}
    path = write_elf(tmp_path / "tick.elf", vectors.ljust(256, b"\0") + bytes.fromhex(TICKS), 0x0800_0000, symbols)
    assert main(["emulate", str(path), "--json", str(tmp_path / "tick.json")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "exception count cycles latency min median max jitter handler SysTick 5 " in out
    shown = json.loads((tmp_path / "tick.json").read_text())
    (tick,) = shown["exceptions"]
    assert (tick["number"], tick["name"], tick["count"]) == (15, "SysTick", 5)
    latencies = [f"{tick['latency'][name]:,.1f}".removesuffix(".0") for name in ("min", "median", "max")]
    assert f" SysTick 5 {tick['cycles']:,.0f} {' '.join(latencies)} " in out  # one decimal, never as 1e+06
    assert 12 <= tick["latency"]["min"] <= tick["latency"]["median"] <= tick["latency"]["max"] < 100
    assert 5000 < shown["cycles"] < 5200
    assert sum(shown["causes"].values()) == int(shown["cycles"])
    functions = {row["name"]: row["cycles"] for row in shown["functions"]}
    assert sum(functions.values()) == pytest.approx(shown["cycles"])
    assert functions["(asleep)"] > 4500 and functions["(exception entry and return)"] >= 5 * (12 + 10)


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


@only_with_all_cases
def test_output_that_is_no_text_passes_through(tmp_path: Path) -> None:
    # movs r0, #3 (WRITEC); adr r1, byte; bkpt 0xab; wfi; byte
    path = write_elf(tmp_path / "app.elf", bytes.fromhex("0320 01a1 abbe 30bf ff000000"), 0x0800_0100)
    seen: list[bytes] = []
    assert mcusim.emulate(path, "stm32f746g-disco", output=seen.append).exit_status == 0
    assert b"".join(seen) == b"\xff"
    done = subprocess.run([sys.executable, "-m", "mcusim", "emulate", str(path), "-q"], capture_output=True, check=True)
    assert done.stdout == b"\xff"


@only_with_all_cases
@pytest.mark.parametrize(
    ("most", "shown"), [(["--max-instructions", "9000000"], " 100 %"), ([], "4,000,000 instructions")]
)
def test_a_long_run_shows_how_far_it_is(most: list[str], shown: str, tmp_path: Path) -> None:
    """On a terminal, and gone at the end; the program here counts until it is interrupted or its limit is reached."""
    path = write_elf(tmp_path / "long.elf", bytes.fromhex("0130fde7"), 0x0800_0100)  # adds r0, #1; b back
    code = (
        "import sys; from mcusim.commands.shared import progress; from mcusim.commands.app import main\n"
        "progress.QUICK = 0\n"
        "step = progress.Counter.step\n"
        "def once(self, count, seconds):\n"
        "    step(self, count, seconds)\n"
        "    if self._total is None and count >= 4000000: raise KeyboardInterrupt\n"
        "progress.Counter.step = once\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    terminal, other = os.openpty()
    words = [sys.executable, "-c", code, "emulate", str(path), "--quiet", *most]
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(words, stderr=other, stdout=subprocess.PIPE, env=environment) as process:
        os.close(other)
        seen = b""
        while chunk := _read(terminal):
            seen += chunk
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(terminal)
    assert process.returncode == (1 if most else 130)
    text = seen.decode()
    assert shown in text
    assert "simulated" in text
    assert text.rstrip().rpartition("\x1b[2K")[2].startswith("error: long.elf: ")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@only_with_all_cases
def test_on_a_terminal_an_open_line_is_left_alone(tmp_path: Path) -> None:
    """A bar drawn on the line that the program has begun would wipe it out."""
    # movs r0, #3 (WRITEC); adr r1, byte; bkpt 0xab; 1: adds r0, #1; b 1b; nop; byte
    path = write_elf(tmp_path / "open.elf", bytes.fromhex("0320 02a1 abbe 0130 fde7 00bf 2e000000"), 0x0800_0100)
    code = (
        "import sys; from mcusim.commands.shared import progress; from mcusim.commands.app import main\n"
        "progress.QUICK = 0\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    terminal, other = os.openpty()
    words = [sys.executable, "-c", code, "emulate", str(path), "--quiet", "--max-instructions", "9000000"]
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(words, stderr=other, stdout=other, env=environment):
        os.close(other)
        seen = b""
        while chunk := _read(terminal):
            seen += chunk
    os.close(terminal)
    before, error, _ = seen.decode().partition("error: open.elf: runaway")
    assert error
    assert before.endswith("."), "nothing was drawn over what the program had printed"
