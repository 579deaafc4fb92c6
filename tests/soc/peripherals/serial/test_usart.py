"""What a USART receives: when each character is there, when one is lost, when the line is idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import load_machine
from mcusim.soc.machine_blocks import blocks_of
from mcusim.soc.peripherals.serial.usart import Usart
from tests.support.bare_clock import Clock
from tests.support.programs.register_script import load, poll, run, store

TC, RXNE, IDLE, ORE = 1 << 6, 1 << 5, 1 << 4, 1 << 3
BRR, FRAME = 87, 870
F4, F7 = "stm32f469i-disco", "stm32f746g-disco"
NAMES = {F4: ("SR", "DR", 1 << 13), F7: ("ISR", "RDR", 1)}  # status, data, CR1.UE


@pytest.fixture(params=[F4, F7])
def usart(request: pytest.FixtureRequest) -> tuple[Usart, Clock, str, str]:
    clock = Clock()
    block = next(b for b in blocks_of(load_machine(request.param), clock) if b.name == "USART1")
    assert isinstance(block, Usart)
    status, data, enable = NAMES[request.param]
    block.feed(b"abc")
    put(block, BRR=BRR, CR1=enable | 1 << 2 | 1 << 5 | 1 << 4)
    return block, clock, status, data


def put(block: Usart, **words: int) -> None:
    for name, word in words.items():
        block.write(block._at[name], 4, word)


def get(block: Usart, name: str) -> int:
    return block.read(block._at[name], 4)


def test_a_character_comes_after_its_bits(usart: tuple[Usart, Clock, str, str]) -> None:
    block, clock, status, data = usart
    for n, character in enumerate(b"abc", 1):
        clock.cycles = n * FRAME - 1
        assert not get(block, status) & RXNE and 37 not in clock.lines
        clock.cycles = n * FRAME
        assert get(block, status) & (RXNE | ORE) == RXNE and 37 in clock.lines
        assert get(block, data) == character and 37 not in clock.lines
    clock.cycles = 4 * FRAME - 1
    assert not get(block, status) & IDLE and block.waiting
    clock.cycles = 4 * FRAME
    assert get(block, status) & IDLE and 37 in clock.lines and not block.waiting
    if status == "SR":
        get(block, data)  # a load of SR, then of DR
    else:
        put(block, ICR=IDLE)
    assert not get(block, status) & IDLE and 37 not in clock.lines


def test_a_character_that_nobody_has_room_for_is_lost(usart: tuple[Usart, Clock, str, str]) -> None:
    block, clock, status, data = usart
    clock.cycles = 2 * FRAME - 1
    assert not get(block, status) & ORE
    clock.cycles = 2 * FRAME
    assert get(block, status) & (RXNE | ORE) == RXNE | ORE
    assert get(block, data) == ord("a")
    put(block, **({"ICR": ORE} if status == "ISR" else {}))
    clock.cycles = 3 * FRAME
    assert get(block, status) & (RXNE | ORE) == RXNE and get(block, data) == ord("c")


def test_a_dma_is_asked_for_each_character(usart: tuple[Usart, Clock, str, str]) -> None:
    block, clock, _, data = usart
    asked: list[int] = []
    block.served_by = lambda: asked.append(get(block, data)) if block.dma_request("RX") else None
    put(block, CR3=1 << 6)
    for n in (1, 2, 3):
        clock.cycles = n * FRAME
        clock.calls[-1][1]()
    assert bytes(asked) == b"abc"


def test_a_program_reads_a_file_by_its_usart(tmp_path: Path) -> None:
    board, usart1 = load_machine(F7), 0x4001_1000
    receive = [poll(usart1 + 0x1C, RXNE, RXNE), load(usart1 + 0x24)]
    counter = [store(0xE000_1FB0, 0xC5AC_CE55), store(0xE000_EDFC, 1 << 24), store(0xE000_1000, 1)]  # CYCCNT
    steps = [*counter, store(usart1 + 0x0C, BRR), store(usart1, 1 | 1 << 2), *receive, *receive, load(0xE000_1004)]
    _, (*words, cycles) = run(tmp_path, board, steps, uart={"usart1": b"hi"})
    assert bytes(words) == b"hi" and 2 * FRAME <= cycles < 2 * FRAME + 200
    with pytest.raises(UsageError, match=r"--uart USART9: stm32f746g-disco has no USART of that name; it has .*USART1"):
        run(tmp_path, board, steps, uart={"USART9": b"hi"})


def test_the_command_line_names_usart_and_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("USART1", "=input.txt", "USART1="):
        assert main(["emulate", "app.elf", "--uart", text]) == 2
        assert "needs NAME=FILE" in capsys.readouterr().err


def test_tc_that_was_cleared_comes_with_the_next_character(usart: tuple[Usart, Clock, str, str]) -> None:
    """A 0 in SR clears it (RM0090), or ICR.TCCF; while a character leaves it comes all the same."""
    block, clock, status, _ = usart
    clear, sent = ({"SR": ~TC & 0xFFFF}, "DR") if status == "SR" else ({"ICR": TC}, "TDR")
    put(block, CR1=get(block, "CR1") | 1 << 3)
    assert get(block, status) & TC
    put(block, **clear)
    clock.cycles += 10 * FRAME
    assert not get(block, status) & TC
    put(block, **{sent: 65})
    put(block, **clear)
    clock.cycles += FRAME - 1
    assert not get(block, status) & TC
    clock.cycles += 1
    assert get(block, status) & TC


def test_a_0_clears_rxne_of_those_with_sr() -> None:
    clock = Clock()
    block = next(b for b in blocks_of(load_machine(F4), clock) if b.name == "USART1")
    assert isinstance(block, Usart)
    block.feed(b"a")
    put(block, BRR=BRR, CR1=1 << 13 | 1 << 2)
    clock.cycles = FRAME
    assert get(block, "SR") & RXNE
    put(block, SR=0xFFFF)
    assert get(block, "SR") & RXNE
    put(block, SR=~RXNE & 0xFFFF)
    assert not get(block, "SR") & RXNE
