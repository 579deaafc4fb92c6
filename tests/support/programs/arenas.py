"""What every arena has to keep to, and the arenas of real models."""

from __future__ import annotations

from mcusim.plan.allocators.greedy import Arena, ArenaBlock

MODELS = {
    "kws_ref_model": (16_000, 16_000),
    "vww_96_int8": (73_728, 55_296),
    "pretrainedResnet_quant": (49_152, 49_152),
    "ad01_int8": (768, 768),
    "person_detect": (55_296, 55_296),
    "swiftnet_vwwc19_uint8": (376_320, 351_232),
}


def assert_sound(blocks: list[ArenaBlock], arena: Arena, align: int) -> None:
    assert len(arena.offsets) == len(blocks)
    for i, (a, offset) in enumerate(zip(blocks, arena.offsets, strict=True)):
        assert offset % align == 0 and offset >= 0
        assert offset + a.bytes <= arena.bytes
        for b, other in zip(blocks[:i], arena.offsets, strict=False):
            together = a.first <= b.last and b.first <= a.last
            assert not together or offset + a.bytes <= other or other + b.bytes <= offset
