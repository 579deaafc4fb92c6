"""Conclusions about what a board costs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from mcusim.sweeps.conclusions.series import F469, Conclusion, span

if TYPE_CHECKING:
    import pandas

TARGET_MS = 100.0
_TARGETS = (25, 50, 100, 200, 400, 800)
_CORES = (
    "nucleo-h743zi",
    "nucleo-f746zg",
    F469,
    "nucleo-l4r5zi",
)  # two M7, then two M4, each with the faster clock first


@cache
def board_prices() -> Mapping[str, int]:
    """US dollars for one board of each machine; assumptions, see the file ``board_prices.toml``."""
    raw = tomllib.loads(Path(__file__).with_name("board_prices.toml").read_text(encoding="utf-8"))
    return {machine: int(about["price_usd"]["value"]) for machine, about in raw.items()}


def cheapest(times: Mapping[str, float], target: float) -> str | None:
    """The cheapest machine whose latency in ``times`` is at most ``target``; of several the fastest, None of none."""
    prices = board_prices()
    met = [machine for machine, latency in times.items() if latency <= target]
    return min(met, key=lambda machine: (prices[machine], times[machine]), default=None)


def boards(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    prices = board_prices()
    best = frame[frame["status"] == "ok"].groupby(["model", "machine"], sort=False)["latency_ms"].min()
    fastest = {model: best[model].to_dict() for model in frame["model"].unique()}
    for model, times in fastest.items():
        board, met = cheapest(times, TARGET_MS), [time for time in times.values() if time <= TARGET_MS]
        made = f"{len(met)} of {len(times)} boards {'makes' if len(met) == 1 else 'make'} it"
        text = f"{model} within {TARGET_MS:.0f} ms: {made}"
        if board is not None:
            text += f", the cheapest is {board} with {times[board]:.1f} ms and {prices[board]} USD (assumed)"
        yield Conclusion(
            f"{text}.", board is not None and all(prices[board] <= prices[m] or times[m] > TARGET_MS for m in times)
        )
    relaxed = [[prices[b] for target in _TARGETS if (b := cheapest(times, target))] for times in fastest.values()]
    text = "A longer target never needs a dearer board."
    yield Conclusion(text, all(b <= a for row in relaxed for a, b in pairwise(row)))
    yield _on_chip(frame)


def _on_chip(frame: pandas.DataFrame) -> Conclusion:
    """The boards by core and clock, each compared with the next."""
    from mcusim.machine import load_machine

    ran = frame[(frame["status"] == "ok") & (frame["policy"] == "internal")]
    times = {machine: ran[ran["machine"] == machine].set_index("model")["latency_ms"].to_dict() for machine in _CORES}
    steps = [[times[b][model] / times[a][model] for model in times[a]] for a, b in pairwise(_CORES)]
    first, *rest = (f"{machine} ({load_machine(machine).core.clock // 10**6} MHz)" for machine in _CORES)
    text = ", and that ".join(f"{span(step)} times as fast as {board}" for step, board in zip(steps, rest, strict=True))
    return Conclusion(f"On chip {first} is {text}.", all(min(step) > 1 for step in steps))
