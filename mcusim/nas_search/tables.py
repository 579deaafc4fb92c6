"""Statistics of search spaces and networks that were searched, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np

from mcusim.nas_search.front import BoardFront, FrontNetwork, FrontPlan
from mcusim.nas_search.search import FoundNetwork, NasSearch, SearchResult
from mcusim.nas_search.selection import OBJECTIVES, spread
from mcusim.nas_search.stats import NasRules, SpaceStats, best_spaces
from mcusim.text import columns, wrapped

LISTED, FRONT_LISTED = 15, 6


def stats_text(rules: NasRules, stats: Sequence[SpaceStats], share: float) -> str:
    """The best spaces, at most 80 columns wide."""
    ranked = best_spaces(stats, share)
    lines = [f"{rules.machine}, runtime {rules.runtime}: {rules.ram:,} B of RAM, {rules.flash:,} B of flash"]
    lines += wrapped(
        f"{rules.networks:,} networks of each of {len(stats)} spaces, seed {rules.seed}; the best: highest mean of"
        f" those that fit, where at least {share:.0%} of them do"
    )
    rows = [["", "space", "fitting", "mean MFLOPs", "80 %", ""]]
    for number, statistics in enumerate(ranked[:LISTED], 1):
        few = "few fit" if statistics.share < share else ""
        figures = [f"{n / 1e6:.1f}" if n is not None else "-" for n in (statistics.mean_flops, statistics.p80_flops)]
        rows.append([str(number), statistics.space, f"{statistics.share:.1%}", *figures, few])
    lines += ["", *columns(rows, left=2)]
    more = len(ranked) - LISTED
    return "\n".join([*lines, *([f"  and {more} more, in --json"] if more > 0 else [])])


def stats_json(rules: NasRules, stats: Sequence[SpaceStats], share: float) -> dict[str, Any]:
    """All spaces, the best first; FLOPs are multiply-accumulates, as the paper counts them."""
    ranked = best_spaces(stats, share)
    best = ranked[0].space if ranked and ranked[0].share >= max(share, 1 / rules.networks) else None
    return {
        "machine": rules.machine, "runtime": rules.runtime, "ram": rules.ram, "flash": rules.flash,
        "networks": rules.networks, "seed": rules.seed, "in_place": rules.in_place, "min_fitting": share, "best": best,
        "spaces": [statistics.to_json() for statistics in ranked],
    }  # fmt: skip


def search_text(search: NasSearch, result: SearchResult, listed: int = 5) -> str:
    """The best networks, or those of a front, at most 80 columns wide."""
    rules, settings = search.rules, search.settings
    lines = wrapped(
        f"{search.space} on {rules.machine}, runtime {rules.runtime}, scorer {search.scorer[:40]}, seed {rules.seed}"
    )
    if not result.networks:
        return "\n".join([*lines, *wrapped(result.reason)])
    name, best = settings.objectives[0], _best(search, result)
    unit = " ms" if name == "latency" else ""
    lines += wrapped(
        f"{result.scored:,} networks that fit were scored; best {name} of the first generation {score_text(best[0])}"
        f"{unit}, of the last {score_text(best[-1])}{unit}"
    )
    if result.too_slow:
        certain = " at the interval's upper end" * settings.certain
        lines += wrapped(
            f"{result.too_slow} of the best were too slow{certain} when they were replayed whole, and are left out"
        )
    shown = result.networks[:listed]
    if len(settings.objectives) > 1:
        shown = result.networks
        lines += wrapped(
            f"front by {', '.join(settings.objectives)}, {len(shown)} of {result.alive} (--points): none is better by"
            " all"
        )
    timed = search.board is not None
    rows = [["", "score", "MMACs", "RAM, B", "flash, B", *(["latency, ms", "90 %"] if timed else []), "blocks"]]
    rows += [_network_row(number, own) for number, own in enumerate(shown, 1)]
    return "\n".join([*lines, "", *columns(rows, left=1)])


def _best(search: NasSearch, result: SearchResult) -> list[float]:
    """The best by the first objective after each generation, latency in milliseconds."""
    name = search.settings.objectives[0]
    values = [OBJECTIVES[name] * value for value in result.best]
    if name == "latency" and search.board is not None:
        return [search.board.milliseconds(int(value)) for value in values]
    return values


def _network_row(number: int, network: FoundNetwork) -> list[str]:
    candidate, timed = network.candidate, list[str]()
    if network.replayed is not None:
        timed = [f"{network.replayed.latency_ms:,.1f}", network.replayed.range_text]
    depths = "+".join(str(len(stage)) for stage in candidate.network.stages)
    return [
        str(number), score_text(candidate.score), f"{candidate.macs / 1e6:.1f}", f"{candidate.ram:,}",
        f"{candidate.flash:,}", *timed, depths,
    ]  # fmt: skip


def score_text(value: float) -> str:
    """A score of any size."""
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.5g}"


def search_json(search: NasSearch, result: SearchResult) -> dict[str, Any]:
    """The networks, and the best by the first objective after each generation (latency in milliseconds)."""
    rules, settings, board = search.rules, search.settings, search.board
    most = settings.most_cycles
    return {
        "machine": rules.machine, "runtime": rules.runtime, "ram": rules.ram, "flash": rules.flash, "seed": rules.seed,
        "in_place": rules.in_place, "space": str(search.space), "classes": search.space.classes,
        "scorer": search.scorer, "objectives": [*settings.objectives], "generations": settings.generations,
        "max_latency_ms": None if board is None or most is None else board.milliseconds(most),
        "certain": settings.certain,
        "scored": result.scored, "best": _best(search, result), "alive": result.alive, "too_slow": result.too_slow,
        "reason": result.reason or None, "networks": [network.to_json() for network in result.networks],
    }  # fmt: skip


def fronts_text(plan: FrontPlan, fronts: Sequence[BoardFront]) -> str:
    """Each front, and the fastest networks of all boards for some scores, at most 80 columns wide."""
    scored = sum(front.scored for front in fronts)
    lines = wrapped(
        f"scorer {plan.scorer[:40]}; {scored:,} networks that fit were scored; latency by replay, in ms, and where nine"
        " measurements of ten are expected"
    )
    for front in fronts:
        spaces = ", ".join(str(space) for space in front.on.spaces)
        lines += ["", *wrapped(f"{front.on.name}: {spaces or 'no space'}")]
        rows = [["", "score", "latency", "90 %", "MMACs", "RAM, B", "flash, B", "space"]]
        for number, network in enumerate(spread(front.networks, FRONT_LISTED), 1):
            needs = [f"{network.macs / 1e6:.1f}", f"{network.ram:,}", f"{network.flash:,}", network.space]
            latency = [f"{network.latency_ms:,.1f}", network.replayed.range_text]
            rows.append([str(number), score_text(network.score), *latency, *needs])
        lines += columns(rows, left=1) if front.networks else []
        if front.replayed < front.alive:
            lines += wrapped(
                f"{front.replayed} of {front.alive} networks of its spaces' fronts were replayed (--points)"
            )
        for reason in front.reasons:
            lines += wrapped(reason)
    if len(fronts) > 1:
        levels = score_levels(fronts)
        lines += ["", "the fastest network of a score of at least"]
        rows = [["", *map(score_text, levels)]]
        rows += [[front.on.name, *(latency_text(front.fastest(level)) for level in levels)] for front in fronts]
        lines += columns(rows, left=1)
    if plan.shared:
        count = len(shared_networks(fronts))
        lines += ["", f"one set of {count} networks, of all fronts; latency, ms", *_shared(fronts)]
    return "\n".join(lines)


def shared_networks(fronts: Sequence[BoardFront]) -> list[FrontNetwork]:
    """Those of all boards, the best score first, each as on the first board that it runs on."""
    first = {network.identity: network for front in reversed(fronts) for network in front.shared}
    return sorted(first.values(), key=lambda network: (-network.score, network.macs))


def latencies(network: FrontNetwork, fronts: Sequence[BoardFront]) -> list[float | None]:
    """Of a shared network on each board, in milliseconds; None where it does not run."""
    own = [{network.identity: network.latency_ms for network in front.shared} for front in fronts]
    return [times.get(network.identity) for times in own]


def _shared(fronts: Sequence[BoardFront]) -> list[str]:
    """Some of the shared networks, and what they take on each board."""
    legend = [f"  {letter}: {front.on.name}" for letter, front in zip(ascii_uppercase, fronts, strict=False)]
    rows = [["", "score", "MMACs", "space", *ascii_uppercase[: len(fronts)]]]
    for number, network in enumerate(spread(shared_networks(fronts), 2 * FRONT_LISTED), 1):
        times = ["-" if ms is None else f"{ms:,.1f}" for ms in latencies(network, fronts)]
        rows.append([str(number), score_text(network.score), f"{network.macs / 1e6:.1f}", network.space, *times])
    return [*columns(rows, left=1), *legend]


def score_levels(fronts: Sequence[BoardFront], count: int = 4) -> list[float]:
    """From the lowest score of all fronts to the highest, each the same factor more where they are above 0."""
    scores = [network.score for front in fronts for network in front.networks]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    levels = np.geomspace(low, high, count) if low > 0 else np.linspace(low, high, count)
    return [low, *map(float, levels[1:-1]), high] if high > low else [low]


def latency_text(network: FrontNetwork | None) -> str:
    """In milliseconds."""
    return "-" if network is None else f"{network.latency_ms:,.1f}"


def fronts_json(plan: FrontPlan, fronts: Sequence[BoardFront]) -> dict[str, Any]:
    """All fronts, with the blocks of their networks."""
    shared = [
        {"space": network.space, "genes": [*network.genes], "score": network.score, "macs": network.macs,
         "latency_ms": latencies(network, fronts)}
        for network in shared_networks(fronts)
    ]  # fmt: skip
    return {
        "scorer": plan.scorer,
        "seed": plan.boards[0].rules.seed,
        "shared": shared if plan.shared else None,
        "fronts": [
            {
                "machine": front.on.rules.machine, "runtime": front.on.rules.runtime, "ram": front.on.rules.ram,
                "flash": front.on.rules.flash, "spaces": [str(space) for space in front.on.spaces],
                "scored": front.scored, "alive": front.alive, "replayed": front.replayed, "reasons": [*front.reasons],
                "networks": [network.to_json(front.on.network(network)) for network in front.networks],
            }
            for front in fronts
        ],
    }  # fmt: skip
