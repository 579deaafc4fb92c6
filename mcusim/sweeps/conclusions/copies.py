"""Conclusions about what TinyOps copies: SRAM budget, DMA beats, buffering, overlays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from mcusim.sweeps.conclusions.series import F469, F746, NEAR, Conclusion, Line, lines, never_rises, ratios, span

if TYPE_CHECKING:
    import pandas


def sram_budget(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    ordered = frame.sort_values("sram_budget", kind="stable").groupby(["model", "machine"])["status"]
    lost = [(a, b) for _, each in ordered for a, b in pairwise(each) if a == "ok" and b != "ok"]
    yield Conclusion("What fits into a budget fits into every larger one.", not lost)
    slow, fast = lines(frame, "sram_budget", machine=F469), lines(frame, "sram_budget", machine=F746)
    gain = [line[min(line)] / line[max(line)] for _, line in slow]
    rise = max((b / a for _, line in slow for a, b in pairwise(line.values())), default=1.0)
    text = "Without a data cache (F469) more SRAM is not slower"
    if rise > 1:
        text += f" by more than {100 * rise - 100:.1f} %"
    text += f": the largest budget is {span(gain)} times as fast as the smallest that fits."
    yield Conclusion(text, rise <= NEAR and max(gain) > 1)
    cost = [line[max(line)] / min(line.values()) for _, line in fast]
    text = (
        f"With one (F746) it is slower, {span(cost)} times the best budget: larger buffers take longer to fill before"
    )
    cycles, dma, sram = (
        lines(frame, "sram_budget", name, machine=F746) for name in ("cycles", "cycles_dma_wait", "cycles_sram")
    )
    explained = [
        _from_best(best, waits) + _from_best(best, reads) > 0.9 * _from_best(best, all_)
        for (_, best), (_, all_), (_, waits), (_, reads) in zip(fast, cycles, dma, sram, strict=True)
    ]
    yield Conclusion(f"{text} the core may begin, and leave the DTCM.", min(cost) > 1 and all(explained))


def _from_best(latency: Mapping[int, float], figure: Mapping[int, float]) -> float:
    """What a figure grows by, from the budget of the least latency to the largest."""
    return figure[max(latency)] - figure[min(latency, key=lambda budget: latency[budget])]


def dma_beat(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    tinyops = lines(frame, "dma.dma2.beat", policy="tinyops")
    saved = [100 - 100 * ratio for ratio in ratios(tinyops, 4, 1)]
    text = f"A wider beat is never slower; words save {span(saved, 1)} %."
    yield Conclusion(text, never_rises(tinyops) and min(saved) > 0)
    waits = lines(frame, "dma.dma2.beat", "cycles_dma_wait", policy="tinyops")
    left = ratios(waits, 4, 1)
    text = f"With words the core waits for the DMA {span(left)} times as long as with bytes."
    yield Conclusion(text, never_rises(waits) and max(left) < 0.75)
    plain = lines(frame, "dma.dma2.beat", policy="external")
    external = {(at["model"], at["machine"]): line[1] for at, line in plain}
    bytes_, words = (sum(line[beat] > external[at["model"], at["machine"]] for at, line in tinyops) for beat in (1, 4))
    text = f"With bytes TinyOps is slower than plain external memory in {bytes_} of {len(tinyops)} cases, with words in"
    yield Conclusion(f"{text} {words}.", words <= bytes_)


def buffering(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    curves = lines(frame, "buffering")
    yield Conclusion("Where double buffering fits, single does.", all("single" in line for _, line in curves))
    both = [(at, line) for at, line in curves if len(line) == 2]
    waits = [line for _, line in lines(frame, "buffering", "cycles_dma_wait") if len(line) == 2]
    text = "Two buffers never make the core wait longer for the DMA."
    yield Conclusion(text, bool(waits) and all(line["double"] <= line["single"] for line in waits))
    most = max(frame["sram_budget"])
    roomy = [(at, line) for at, line in both if at["sram_budget"] == most and at["machine"] == F469]
    saved = ratios(roomy, "single", "double")
    yield Conclusion(f"With room for both (F469) single takes {span(saved)} times as long as double.", min(saved) > 1)
    loses = [(at, line) for at, line in both if line["double"] > line["single"] * NEAR]
    at_f469 = sum(at["machine"] == F469 for at, _ in loses)
    text = (
        f"Double loses in {len(loses)} of {len(both)} cases ({at_f469} of them on the F469, which has no data cache):"
    )
    text += f" {_cases(loses)}. One large buffer takes filters, or stays in the DTCM, where two small ones do not."
    held = 0 < len(loses) < len(both) / 2 and at_f469 > len(loses) / 2
    yield Conclusion(text, held and _lost_to_memory(frame, loses))


def _lost_to_memory(frame: pandas.DataFrame, loses: list[Line]) -> bool:
    """Whether waits for SDRAM and on-chip RAM are what double takes longer wherever it loses."""
    costs = []
    for name in ("cycles", "cycles_sdram", "cycles_sram"):
        more = [(at, line["double"] - line["single"]) for at, line in lines(frame, "buffering", name) if len(line) == 2]
        costs.append([cost for at, cost in more if any(at == lost for lost, _ in loses)])
    return all(sdram + sram > 0.9 * every for every, sdram, sram in zip(*costs, strict=True))


def _cases(curves: list[Line]) -> str:
    """Models with the budgets, by board."""
    cases: dict[tuple[str, str], list[str]] = {}
    for at, line in curves:
        budget = f"{at['sram_budget'] // 1024} KiB ({line['double'] / line['single']:.2f} times)"
        cases.setdefault((at["model"], at["machine"]), []).append(budget)
    return "; ".join(f"{model} on {machine} at {', '.join(texts)}" for (model, machine), texts in cases.items())


def overlays(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    every = "input,filter,bias,quant"
    slow, fast = lines(frame, "overlay", machine=F469), lines(frame, "overlay", machine=F746)
    gains = {part: [100 - 100 * ratio for ratio in ratios(slow, part, "none")] for part in every.split(",")}
    text = ", ".join(f"{text} {span(parts, 1)} %" for text, parts in gains.items())
    text = f"Without a data cache (F469) every overlay pays by itself: {text}."
    yield Conclusion(text, min(map(min, gains.values())) > 0)
    times = ratios(slow, "none", every)
    text = f"All together are the fastest, {span(times)} times as fast as none."
    yield Conclusion(text, all(line[every] == min(line.values()) for _, line in slow) and min(times) > 1)
    saved = [(line["none"] - line["input,filter"], line["none"] - line[every]) for _, line in slow]
    share = [some / all_ if all_ > 0 else 0.0 for some, all_ in saved]
    yield Conclusion(f"Inputs and filters gain {100 * min(share):.0f} % of that or more.", min(share) > 0.75)
    with_cache = ratios(fast, every, "none")
    text = (
        f"With a data cache and byte beats (F746) copying all takes {span(with_cache)} times as long as copying none."
    )
    yield Conclusion(text, min(with_cache) > max(ratios(slow, every, "none")))
