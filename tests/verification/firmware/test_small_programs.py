"""Programs of some register accesses under observation: rules that the overlay firmware has no variant for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.api.firmware.verify import firmware_case, watch_firmware
from mcusim.image.image import Image
from mcusim.image.symbols import Symbol
from mcusim.soc.dma.dma_log import LoggedTransfer
from mcusim.verification.firmware.finding import FirmwareFinding
from mcusim.verification.firmware.firmware_variables import ProgramVariables
from mcusim.verification.firmware.layout_rules import beyond, fixed
from tests.support.boards.dma_bench import CR, EN, F469, F746, FCR, M0AR, M2M, M2P, MINC, NDTR, PAR, PINC, sizes, stream
from tests.support.programs.register_script import RAM, Step, image, invalidated_lines, load, poll, store, wait

DMA2, USART1, TIM2_PERIOD = 0x4002_6400, 0x4001_1000, 0x4000_002C
CLOCKS = [store(0x4002_3830, 1 << 22), store(0x4002_3844, 1 << 4), store(0x4002_3840, 1)]  # DMA2, USART1, TIM2
CCR, CLEAN, INVALIDATE = 0xE000_ED14, 0xE000_EF68, 0xE000_EF5C
DATA_CACHE = [*invalidated_lines(4096), store(CCR, 1 << 16 | 1 << 9)]
SRAM = {F469: 0x2000_4000, F746: 0x2001_4000}  # cached on the F746
FIRST, SECOND, ENDS = 0x0, 0x1000, {0: 1 << 5, 1: 1 << 11}
WORDS = 256


def copy(number: int, source: int, target: int, words: int = WORDS) -> list[Step]:
    setting = M2M | PINC | MINC | sizes(4, 4)
    registers = ((PAR, source), (M0AR, target), (NDTR, words), (FCR, 7), (CR, setting | EN))
    return [store(DMA2 + stream(number, register), value) for register, value in registers]


def ended(number: int) -> Step:
    return poll(DMA2, ENDS[number], ENDS[number])


def ended_7() -> Step:
    return poll(DMA2 + 4, 1 << 27, 1 << 27)


def found(folder: Path, board: str, steps: list[Step]) -> list[FirmwareFinding]:
    result = watch_firmware(firmware_case(image(folder, CLOCKS + steps), board, max_instructions=30_000))
    assert result.run.fault is None
    return list(result.findings)


def rules(folder: Path, board: str, steps: list[Step]) -> set[str]:
    return {one.rule for one in found(folder, board, steps)}


def test_memory_is_where_a_run_without_observation_has_it(tmp_path: Path) -> None:
    assert rules(tmp_path, F469, [load(0)]) == set()  # the flash of an F4


@pytest.mark.parametrize(("waits", "rule"), [(False, {"transfers-overlap"}), (True, set())])
def test_a_second_transfer_to_the_target_of_one_that_runs(tmp_path: Path, waits: bool, rule: set[str]) -> None:
    at = SRAM[F469]
    wait = [ended(0)] if waits else []
    steps = copy(0, at, at + SECOND) + wait + copy(1, at, at + SECOND + 64) + [ended(0), ended(1)]
    assert rules(tmp_path, F469, steps) == rule


@pytest.mark.parametrize(("waits", "rule"), [(False, {"target-written"}), (True, set())])
def test_a_store_to_the_target_of_a_transfer_that_runs(tmp_path: Path, waits: bool, rule: set[str]) -> None:
    at = SRAM[F469]
    last = store(at + SECOND + 4 * WORDS - 4, 1)
    steps = copy(0, at, at + SECOND) + ([ended(0), last] if waits else [last, ended(0)])
    assert rules(tmp_path, F469, steps) == rule


@pytest.mark.parametrize(
    "waited", [poll(DMA2 + stream(0, NDTR), 0, 0xFFFF), ended(0), poll(DMA2 + stream(0, CR), 0, 1)]
)
def test_whoever_has_seen_the_end_in_a_register_may_read(tmp_path: Path, waited: Step) -> None:
    at = SRAM[F469]
    read = load(at + SECOND + 4 * WORDS - 4)
    assert rules(tmp_path, F469, [*copy(0, at, at + SECOND), read, waited]) == {"read-early"}
    assert rules(tmp_path, F469, [*copy(0, at, at + SECOND), waited, read]) == set()


@pytest.mark.parametrize(("cleaned", "rule"), [(False, {"missing-clean"}), (True, set())])
def test_a_text_sent_from_a_buffer_that_is_in_the_cache_alone(tmp_path: Path, cleaned: bool, rule: set[str]) -> None:
    text = SRAM[F746]
    uart = [store(USART1 + offset, value) for offset, value in ((0x0C, 16), (8, 1 << 7), (0, 1 | 1 << 3))]
    setting = 4 << 25 | MINC | M2P | EN
    send = [(PAR, USART1 + 0x28), (M0AR, text), (NDTR, 4), (CR, setting)]
    steps = [*DATA_CACHE, load(text), store(text, 0x2E706F74), *([store(CLEAN, text)] if cleaned else []), *uart]
    steps += [store(DMA2 + stream(7, register), value) for register, value in send]
    seen = found(tmp_path, F746, [*steps, poll(DMA2 + 4, 1 << 27, 1 << 27)])
    assert {one.rule for one in seen} == rule
    assert all(one.transfer is not None and (one.transfer.stream, one.low) == (7, text) for one in seen)


@pytest.mark.parametrize(
    ("board", "waited", "rule"),
    [
        (F469, (0, 1 << 6, 1 << 6), set()),  # SR.TC: the last byte has left
        (F746, (0x1C, 1 << 6, 1 << 6), set()),  # ISR.TC
        (F469, (0, 1 << 7, 1 << 7), {"source-overwritten"}),  # SR.TXE: there is room for one more
        (F469, None, {"source-overwritten"}),
    ],
)
def test_who_has_seen_that_a_peripheral_has_sent_all_may_store_to_the_source(
    tmp_path: Path, board: str, waited: tuple[int, int, int] | None, rule: set[str]
) -> None:
    text, old = SRAM[board], board == F469
    uart = [(8, 16), (0x14, 1 << 7), (0xC, 1 << 13 | 1 << 3)] if old else [(0xC, 16), (8, 1 << 7), (0, 1 | 1 << 3)]
    clear = store(USART1, 0) if old else store(USART1 + 0x20, 1 << 6)
    send = [(PAR, USART1 + (4 if old else 0x28)), (M0AR, text), (NDTR, 4), (CR, 4 << 25 | MINC | M2P | EN)]
    steps = [store(USART1 + offset, value) for offset, value in uart] + [clear]
    steps += [store(DMA2 + stream(7, register), value) for register, value in send] + [wait(10)]
    steps += [] if waited is None else [poll(USART1 + waited[0], *waited[1:])]
    assert rules(tmp_path, board, [*steps, store(text, 1), ended_7()]) == rule


@pytest.mark.parametrize(
    ("maintained", "rule"), [("no", {"missing-invalidate"}), ("before", {"missing-invalidate"}), ("after", set())]
)
def test_a_word_from_a_register_that_the_cache_has_an_older_one_of(
    tmp_path: Path, maintained: str, rule: set[str]
) -> None:
    target = SRAM[F746]
    setting = M2M | MINC | sizes(4, 4) | EN
    begin = [(PAR, TIM2_PERIOD), (M0AR, target), (NDTR, 8), (FCR, 7), (CR, setting)]
    transfer = [store(DMA2 + stream(0, register), value) for register, value in begin]
    line = store(INVALIDATE, target)
    steps = [*DATA_CACHE, load(target), *([line] if maintained == "before" else []), *transfer, ended(0)]
    steps += [line] if maintained == "after" else []
    assert rules(tmp_path, F746, [*steps, load(target)]) == rule


def test_a_line_whose_other_part_the_core_stores_to_is_shared_though_nothing_was_lost(tmp_path: Path) -> None:
    source, target = SRAM[F746], SRAM[F746] + SECOND
    steps = [*DATA_CACHE, *copy(0, source, target, 4), ended(0), store(target + 16, 7)]
    (one,) = found(tmp_path, F746, steps)
    assert (one.rule, one.low, one.high) == ("shared-line", target + 16, target + 20)


class Named(Image):
    def __init__(self) -> None:
        pass

    @property
    def symbols(self) -> tuple[Symbol, ...]:  # type: ignore[override]
        return (Symbol("buffer", RAM, 64, "object", 1, 1), Symbol("other", RAM + 64, 64, "label", 1, 1))


def fill(units: int, extent: int) -> LoggedTransfer:
    """From ``flash``, whose reads move, to so many bytes at the beginning of ``buffer``."""
    side, flash = ((RAM, RAM + extent),), ((0x0800_0000, 0x0800_0000 + 4 * units),)
    return LoggedTransfer(
        0, "DMA2", 0, "memory to memory", 0x0800_0000, RAM, flash, side, 4, 4, units, 0, False, {}, 0, 0
    )


def test_a_transfer_goes_past_its_variable() -> None:
    variables = ProgramVariables(Named())
    assert variables.name(RAM + 68) == "other + 4"
    assert list(beyond(fill(16, 64), variables)) == []
    assert list(beyond(fill(17, 68), variables)) == [("writes 4 B past the end of buffer", RAM + 64, RAM + 68)]


def test_a_transfer_stays_at_the_first_word_of_a_variable_that_has_room_for_all() -> None:
    variables = ProgramVariables(Named())
    ((text, low, high),) = fixed(fill(16, 4), variables)
    assert text == "writes all of its units to the first 4 B of buffer: MINC is not set"
    assert (low, high) == (RAM, RAM + 64)
    assert list(fixed(fill(17, 4), variables)) == []  # for which the variable is too small
    assert list(fixed(fill(1, 4), variables)) == list(fixed(fill(16, 64), variables)) == []


@pytest.mark.parametrize("first", [0, 32])
def test_the_text_of_a_line_that_was_stale_stands_for_others_that_were_not(tmp_path: Path, first: int) -> None:
    """Of two lines of a buffer one was in the cache before; the text said that none was."""
    at = SRAM[F746]
    target = at + SECOND
    steps = [
        *DATA_CACHE,
        load(target),
        *copy(0, at, target, 16),
        ended(0),
        load(target + first),
        load(target + 32 - first),
    ]
    (one,) = found(tmp_path, F746, steps)
    assert (one.rule, one.times) == ("missing-invalidate", 8)
    assert "from a cache line that was filled before" in one.text and one.text.endswith("(4 of 8 times)")
    assert "no older line" not in one.text


@pytest.mark.parametrize("apart", [False, True])
def test_advice_about_a_lost_store_keeps_the_bytes_of_both(tmp_path: Path, apart: bool) -> None:
    """A clean after the transfer would write the line's old bytes over those of the DMA."""
    at = SRAM[F746]
    variable, target = at + SECOND, at + SECOND + (64 if apart else 12)
    invalidated = [store(INVALIDATE, variable), load(variable)]
    steps = [*DATA_CACHE, load(variable), *copy(0, at, target, 16), store(variable, 1), ended(0), *invalidated]
    (one,) = (one for one in found(tmp_path, F746, steps) if one.rule == "lost-store")
    assert one.fix.startswith("clean " if apart else "begin and end the DMA's buffer on lines of 32 B")
    assert ("before it is invalidated" in one.fix) is apart
