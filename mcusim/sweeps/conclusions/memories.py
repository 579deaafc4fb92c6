"""Conclusions about memories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcusim.sweeps.conclusions.series import F469, F746, NEAR, Conclusion, lines, never_falls, never_rises, ratios, span

if TYPE_CHECKING:
    import pandas

Costs = dict[tuple[str, str], list[float]]


def _costs(frame: pandas.DataFrame, along: str, of: Any, to: Any) -> Costs:
    """The latency at ``of`` in parts of that at ``to``, by machine and policy, one number a model."""
    return {
        (machine, policy): ratios(lines(frame, along, machine=machine, policy=policy), of, to)
        for machine in (F469, F746)
        for policy in ("external", "tinyops")
    }


def sdram_width(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    cost = _costs(frame, "memory.sdram.width", 16, 32)
    direct, least = (
        min(map(min, (cost[machine, policy] for machine in (F469, F746)))) for policy in ("external", "tinyops")
    )
    text = "32 bit is never slower than 16 bit"
    if least < 1:  # a column that was read ahead is gone with its first byte, and a wide one has more of them
        text += f" for the core, and by {100 / least - 100:.1f} % at most where the DMA copies byte by byte"
    yield Conclusion(f"{text}.", direct >= 1 and least * NEAR >= 1)
    for machine, board in ((F469, "F469"), (F746, "F746")):
        read, copied = cost[machine, "external"], cost[machine, "tinyops"]
        text = f"On the {board} 16 bit costs external {span(read)} times, TinyOps {span(copied)}:"
        text += " what is copied once asks less of the bus."
        # a word is two beats of 16 bit: one clock of the SDRAM more for every read, which is no rounding
        yield Conclusion(text, min(read) > 1.02 and all(a > b for a, b in zip(read, copied, strict=True)))


def cache_size(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    external, internal = (lines(frame, "cache.data.size", policy=policy) for policy in ("external", "internal"))
    yield Conclusion("A larger data cache is not slower.", never_rises([*external, *internal]))
    none, small, large = (
        [far[size] / near[size] for (_, far), (_, near) in zip(external, internal, strict=True)]
        for size in (0, 4096, 32768)
    )
    text = f"External takes {span(none)} times internal's latency without a cache, {span(small)} with 4 KiB,"
    shrinks = all(a > b > c >= 1 for a, b, c in zip(none, small, large, strict=True))
    yield Conclusion(f"{text} {span(large)} with 32 KiB.", shrinks)


def flash_wait_states(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    waits = lines(frame, "memory.flash.wait_states")
    accelerated = lines(frame, "memory.flash.accelerator.data_lines")
    cost = [line[max(line)] / line[min(line)] for _, line in waits]
    text = f"More wait states are never faster; {max(waits[0][1])} of them cost {span(cost)} times."
    yield Conclusion(text, never_falls(waits) and min(cost) > 1)
    yield Conclusion("Data lines in the accelerator are never slower.", never_rises(accelerated))
    none, five = (
        [100 - 100 * line[8] / line[0] for at, line in accelerated if at["memory.flash.wait_states"] == states]
        for states in (0, 5)
    )
    text = f"They save {span(five, 1)} % at 5 wait states, and nothing at none."
    yield Conclusion(text, all(abs(part) < 0.01 for part in none) and min(five) > 1)


def weights(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    curves = lines(frame, "weights")
    cost = _costs(frame, "weights", "qspi", "sdram")
    least = min(line["qspi"] / line["sdram"] for _, line in curves)
    text = "Weights in QSPI flash are not faster than in SDRAM"
    if least < 1:  # a transfer from there leaves the SDRAM to the core
        text += f", or by {100 - 100 * least:.1f} % at most, where the DMA copies them"
    direct = min(min(cost[machine, "external"]) for machine in (F469, F746))
    yield Conclusion(f"{text}.", direct > 1 and least * NEAR >= 1)
    read, cached = cost[F469, "external"], cost[F746, "external"]
    text = f"Read in place they cost {span(read)} times without a data cache (F469), {span(cached)} with one (F746)."
    yield Conclusion(text, min(read) > max(cached))
    copied = [cost[machine, "tinyops"] for machine in (F469, F746)]
    text = f"Copied by DMA first, {span(copied[0])} and {span(copied[1])}: TinyOps asks for a weight once."
    pairs = [*zip(copied[0], read, strict=True), *zip(copied[1], cached, strict=True)]
    yield Conclusion(text, all(a <= b for a, b in pairs))
