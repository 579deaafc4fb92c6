"""Whether a block's interrupt line is enabled: while it requests the line it is, after a reset it is not."""

from __future__ import annotations

import random

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.soc.peripherals.flash.interface import FlashInterface
from mcusim.soc.register_block import RegisterBlock
from tests.support.cases import sample_size, sampled

BOARDS = ["stm32f469i-disco", "nucleo-h743zi", "stm32f746g-disco", "nucleo-l4r5zi"]


@pytest.mark.parametrize("board", sampled(BOARDS, 2))
def test_who_requests_a_line_has_it_enabled(board: str, monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = Emulator(load_machine(board), caches=False)
    blocks, requested = emulator.peripherals.blocks, set[tuple[str, int]]()
    says = {one.name for one in blocks if type(one).line_enabled is not RegisterBlock.line_enabled}
    off = {one.name for one in blocks if one.lines and not any(one.line_enabled(irq) for irq in one.lines)}
    assert off == says & {one.name for one in blocks if one.lines} and len(off) > 20
    request = RegisterBlock.request

    def checked(block: RegisterBlock, active: bool, irq: int | None = None) -> None:
        line = block.irq if irq is None else irq
        if active and line >= 0:
            requested.add((block.name, line))
            assert block.line_enabled(line), (block.name, line)
        request(block, active, irq)

    monkeypatch.setattr(RegisterBlock, "request", checked)
    dice = random.Random(board)
    for block in blocks:
        if block.name not in says or isinstance(block, FlashInterface) or "WDG" in block.name:
            continue
        for _ in range(sample_size(400, 60)):
            offset, value = dice.choice([*block._registers]), dice.choice([dice.getrandbits(32), 0xFFFF_FFFF, 1, 0])
            block.write(offset, 4, value)
            block.read(dice.choice([*block._registers]), 4)
    assert len(requested) > 10
