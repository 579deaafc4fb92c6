"""Channels of the H7's MDMA: blocks, repeated blocks, buffers, tightly coupled memory, errors with their address."""

from __future__ import annotations

import pytest

from tests.support.boards.dma_machine import H743, DmaMachine

MDMA = 0x5200_0000
IRQ = 122
ISR, IFCR, ESR, CR, TCR, BNDTR, SAR, DAR, BRUR, LAR, TBR = range(0x40, 0x6C, 4)
EN, TEIE, CTCIE, BRTIE, BTIE, TCIE, SWRQ = 1, 2, 4, 8, 16, 32, 1 << 16
TEIF, CTCIF, BRTIF, BTIF, TCIF, CRQA = 1, 2, 4, 8, 16, 1 << 16
ALL = CTCIF | BRTIF | BTIF | TCIF
SWRM, PKE = 1 << 30, 1 << 25
BY_BUFFER, BY_BLOCK, BY_BLOCKS = 0, 1 << 28, 2 << 28
SOURCE_BUS, TARGET_BUS = 1 << 16, 1 << 17
AXI, DTCM, ITCM, SRAM1, SRAM4 = 0x2400_0000, 0x2000_0000, 0x0000_0000, 0x3000_0000, 0x3800_0000
DATA = bytes(n * 7 % 251 for n in range(4096))


def sides(source: int = 4, target: int = 4, source_up: int = 2, target_up: int = 2) -> int:
    """CTCR's sizes in bytes, steps as long; ``up`` 2: addresses go up, 0: they stay, 3: they go down."""
    at = {1: 0, 2: 1, 4: 2, 8: 3}
    s, t = at[source], at[target]
    return source_up | target_up << 2 | s << 4 | t << 6 | s << 8 | t << 10


class Mdma(DmaMachine):
    def __init__(self) -> None:
        super().__init__(H743)
        self.emulator.write(AXI, DATA)

    def set(self, register: int, value: int, n: int = 0) -> None:
        self.store(MDMA + 0x40 * n + register, value)

    def get(self, register: int, n: int = 0) -> int:
        return self.load(MDMA + 0x40 * n + register)

    def begin(
        self, source: int, target: int, size: int, tcr: int, tbr: int = 0, cr: int = 0, n: int = 0, brur: int = 0
    ) -> None:
        """``size``: CBNDTR as a whole."""
        for register, value in (
            (BNDTR, size),
            (SAR, source),
            (DAR, target),
            (BRUR, brur),
            (TBR, tbr),
            (TCR, tcr | SWRM),
        ):
            self.set(register, value, n)
        self.set(CR, cr | EN, n)
        self.set(CR, cr | EN | SWRQ, n)


def buffer(size: int) -> int:
    return size - 1 << 18


@pytest.mark.parametrize("beat", [1, 2, 4, 8])
@pytest.mark.parametrize("burst", [0, 2])
def test_a_block_is_copied_and_every_flag_of_its_end_is_set(beat: int, burst: int) -> None:
    bench = Mdma()
    tcr = BY_BLOCK | PKE | sides(beat, beat) | buffer(64) | burst << 12 | burst << 15
    bench.begin(AXI, AXI + 0x1000, 1024, tcr, cr=CTCIE)
    assert bench.get(ISR) == CRQA and bench.load(MDMA) == 0
    bench.until_raised(IRQ)
    assert bench.emulator.read(AXI + 0x1000, 1025) == DATA[:1024] + b"\0"
    assert (bench.get(ISR), bench.get(CR) & EN, bench.get(BNDTR), bench.load(MDMA)) == (ALL, 0, 0, 1)
    assert (bench.get(SAR), bench.get(DAR)) == (AXI + 1024, AXI + 0x1000 + 1024)
    bench.set(IFCR, ALL)
    assert bench.get(ISR) == 0 and not bench.lines


@pytest.mark.parametrize(("source", "target"), [(AXI, DTCM), (AXI, ITCM), (SRAM1, DTCM), (DTCM, SRAM4)])
@pytest.mark.parametrize("bus", [True, False])
def test_tightly_coupled_memory_is_reached_by_its_own_port(source: int, target: int, bus: bool) -> None:
    bench = Mdma()
    bench.emulator.write(source, DATA)
    tightly = (SOURCE_BUS if source == DTCM else 0) | (TARGET_BUS if target in (DTCM, ITCM) else 0)
    bench.begin(
        source + 4, target + 0x2000, 64, BY_BLOCK | PKE | sides() | buffer(128), tightly if bus else 0, TEIE | CTCIE
    )
    bench.until_raised(IRQ)
    if bus:
        assert bench.get(ISR) == ALL and bench.emulator.read(target + 0x2000, 64) == DATA[4:68]
        return
    writing = 1 << 7 if target in (DTCM, ITCM) else 0
    assert (bench.get(ISR), bench.get(ESR), bench.get(CR) & EN) == (TEIF, writing | (0 if writing else 4), 0)
    assert bench.emulator.dma.log.transfers[0].outcome == "error"


def test_streams_of_dma2_do_not_reach_it() -> None:
    bench = Mdma()
    stream = 0x4002_0400 + 0x10
    for target, flags in ((DTCM, 8), (AXI + 0x1000, 0x30)):
        for register, value in ((4, 16), (8, AXI), (0xC, target), (0, 2 << 6 | 1 << 9 | 1 << 10 | 1)):
            bench.store(stream + register, value)
        bench.run(bench.now + 5000)
        assert bench.load(0x4002_0400) == flags
        bench.store(0x4002_0408, 0x3D)


def test_repeated_blocks_go_to_addresses_apart() -> None:
    bench = Mdma()
    more, source_skip, target_skip = 3, 16, 8
    brur = target_skip << 16 | source_skip
    bench.begin(AXI, AXI + 0x1000, more << 20 | 32, BY_BLOCKS | PKE | sides() | buffer(32), cr=CTCIE | BTIE, brur=brur)
    ends = []
    for _ in range(more + 1):
        ends.append(bench.until_raised(IRQ))
        assert bench.get(ISR) & BTIF
        bench.set(IFCR, BTIF)
    assert ends == sorted(set(ends)) and bench.get(ISR) == ALL & ~BTIF
    for n in range(more + 1):
        assert bench.emulator.read(AXI + 0x1000 + n * 40, 40) == DATA[n * 48 : n * 48 + 32] + bytes(8)
    (transfer,) = bench.emulator.dma.log.transfers
    assert (transfer.size, transfer.moved, len(transfer.writes)) == (128, 128, 4)
    assert transfer.writes[1] == (AXI + 0x1000 + 40, AXI + 0x1000 + 72)


def test_a_block_goes_again_from_below_when_the_update_is_subtracted() -> None:
    bench = Mdma()
    bench.begin(AXI, SRAM1, 1 << 20 | 1 << 18 | 16, BY_BLOCKS | PKE | sides() | buffer(16), brur=16)
    bench.run(5000)
    assert bench.emulator.read(SRAM1, 32) == DATA[:16] * 2


def test_a_request_moves_a_buffer_or_a_block() -> None:
    bench = Mdma()
    bench.begin(AXI, SRAM1, 64, BY_BUFFER | PKE | sides() | buffer(16))
    for n in range(1, 5):
        bench.run(bench.now + 2000)
        assert bench.emulator.read(SRAM1, 64) == DATA[: 16 * n] + bytes(64 - 16 * n)
        assert (bench.get(BNDTR), bench.get(ISR)) == (64 - 16 * n, TCIF if n < 4 else ALL)
        if n < 4:
            bench.set(CR, EN | SWRQ)
    bench.set(IFCR, ALL)
    bench.begin(AXI, SRAM1, 1 << 20 | 16, BY_BLOCK | PKE | sides() | buffer(16))
    bench.run(bench.now + 2000)
    assert (bench.get(ISR), bench.get(BNDTR), bench.get(CR) & EN) == (TCIF | BTIF, 16, EN)
    bench.set(CR, EN | SWRQ)
    bench.run(bench.now + 2000)
    assert bench.get(ISR) == ALL and bench.emulator.read(SRAM1 + 16, 16) == DATA[16:32]


@pytest.mark.parametrize(
    ("tcr", "expected"),
    [
        (PKE | sides(1, 4), DATA[:16]),
        (PKE | sides(8, 2), DATA[:16]),
        (sides(1, 2), bytes(b for byte in DATA[:16] for b in (byte, 0))),
        (PKE | sides(4, 4, source_up=0), DATA[:4] * 4),
        (PKE | sides(1, 1, source_up=3), DATA[32:16:-1]),
    ],
)
def test_bytes_are_packed_filled_repeated_or_turned_round(tcr: int, expected: bytes) -> None:
    bench = Mdma()
    down = tcr & 3 == 3
    bench.begin(AXI + 32 * down, SRAM1, 16, BY_BLOCK | tcr | buffer(16))
    bench.run(5000)
    assert bench.emulator.read(SRAM1, len(expected)) == expected
    assert bench.get(ISR) == ALL


@pytest.mark.parametrize(
    ("source", "size", "error"), [(AXI + 2, 64, 1 << 10), (AXI, 62, 1 << 11), (AXI + 1, 0, 3 << 10)]
)
def test_addresses_and_sizes_that_do_not_fit_are_errors(source: int, size: int, error: int) -> None:
    bench = Mdma()
    bench.begin(source, SRAM1, size, BY_BLOCK | PKE | sides() | buffer(16), cr=TEIE, n=15)
    assert (bench.get(ISR, 15), bench.get(ESR, 15), bench.lines) == (TEIF, error, {IRQ})
    assert bench.load(MDMA) == 1 << 15
    bench.set(IFCR, TEIF, 15)
    assert not bench.lines


def test_a_stopped_channel_keeps_the_rest() -> None:
    bench = Mdma()
    bench.begin(AXI, SRAM1, 4096, BY_BLOCK | PKE | sides() | buffer(16))
    bench.run(5000)
    bench.set(CR, 0)
    bench.run(6000)
    rest = bench.get(BNDTR)
    assert 0 < rest < 4096 and bench.get(ISR) == CTCIF and not bench.get(CR) & EN
    assert bench.emulator.read(SRAM1, 4096) == DATA[: 4096 - rest] + bytes(rest)


def test_of_two_channels_the_more_urgent_ends_first() -> None:
    for first, second, level in ((0, 9, 3 << 6), (9, 0, 0)):
        bench = Mdma()
        bench.begin(AXI, SRAM1, 1024, BY_BLOCK | PKE | sides() | buffer(16), n=first)
        bench.begin(AXI, SRAM1 + 0x2000, 1024, BY_BLOCK | PKE | sides() | buffer(16), cr=level, n=second)
        bench.run(200_000)
        ends = {one.stream: one.end or 0 for one in bench.emulator.dma.log.transfers}
        assert ends[second] < ends[first]
