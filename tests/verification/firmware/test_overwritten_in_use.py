"""A handler starts a transfer into a buffer that a function of the main program is reading.

The program was assembled once from ``start: ldr r4, tables; bl apply; bl reader; b .``, ``handler: push {r4, lr}; ldr
r4, tables+4; bl apply; pop {r4, pc}``, ``apply: ldr r0, [r4], #4; cbz r0, done; ldr r1, [r4], #4; str r1, [r0]; b
apply; done: bx lr`` and ``reader: ldr r5, tables+8; movw r6, #3000; again: ldr r0, [r5, #1020]; subs r6, #1; bne
again; bx lr``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.api.firmware.verify import firmware_case, watch_firmware
from tests.support.boards.dma_bench import CR, EN, F469, FCR, M0AR, M2M, MINC, NDTR, PAR, PINC, sizes, stream

CODE = bytes.fromhex(
    "0d4c00f008f800f00ef8fee710b50b4c00f001f810bd54f8040b18b154f8041b0160f8e77047064d40f6b836d5f8fc03013efbd1704700bf"
)
FLASH, HANDLER, VECTORS = 0x0800_0000, 0xC, 128
DMA2, CLOCKS, ISER, LIFCR = 0x4002_6400, 0x4002_3830, 0xE000_E104, 0x4002_6408
SOURCE, FIRST, READ, OTHER = 0x2000_4000, 0x2000_5000, 0x2000_6000, 0x2000_7000


def copy(target: int, words: int, interrupt: int = 0) -> list[int]:
    """The stores that start stream 0: address, word, ..."""
    control = M2M | PINC | MINC | sizes(4, 4) | interrupt
    stores = [(PAR, SOURCE), (M0AR, target), (NDTR, words), (FCR, 7), (CR, control), (CR, control | EN)]
    return [word for register, value in stores for word in (DMA2 + stream(0, register), value)]


@pytest.mark.parametrize(("target", "rules"), [(READ, ["overwritten-in-use"]), (OTHER, [])])
def test_a_buffer_that_a_function_is_reading(tmp_path: Path, target: int, rules: list[str]) -> None:
    main = [CLOCKS, 1 << 22, ISER, 1 << 24, *copy(FIRST, 64, 1 << 4), 0]
    handler = [LIFCR, 0x3D, *copy(target, 256), 0]
    code = FLASH + 4 * VECTORS
    tables = code + len(CODE) + 12
    words = [tables, tables + 4 * len(main), READ, *main, *handler]
    vectors = [0x2000_4000, code | 1, *[code + HANDLER | 1] * (VECTORS - 2)]
    image = tmp_path / "reader.bin"
    parts = [word.to_bytes(4, "little") for word in vectors], [CODE], [word.to_bytes(4, "little") for word in words]
    image.write_bytes(b"".join(one for part in parts for one in part))
    result = watch_firmware(firmware_case(f"{image}@{FLASH:#x}", F469, max_instructions=50_000))
    assert [one.rule for one in result.findings] == rules
    for one in result.findings:
        assert one.transfer is not None and one.transfer.target == READ and one.low == READ + 1020
