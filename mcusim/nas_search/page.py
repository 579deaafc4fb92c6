"""The pages of ``mcusim nas``: distributions of the best spaces, the best space by RAM and flash; fronts of boards.

Not modelled: boards between the cells of the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.nas_search.front import BoardFront, FrontNetwork, FrontPlan
from mcusim.nas_search.selection import spread
from mcusim.nas_search.stats import GRID, QUANTILES, NasRules, SpaceStats, best_spaces
from mcusim.nas_search.tables import latencies, latency_text, score_levels, score_text, shared_networks
from mcusim.report.html.page import PlotFigure, page, plain, table
from mcusim.report.html.style import LAYOUT, PART_COLOURS, axis

DRAWN = 10  # spaces with a line, networks of a front in its table
_PLAIN: dict[str, Any] = {**LAYOUT, "margin": {"l": 64, "r": 14, "t": 28, "b": 44}}


def stats_page(rules: NasRules, stats: Sequence[SpaceStats], share: float) -> str:
    """Equal statistics give equal text."""
    ranked = best_spaces(stats, share)
    lead = (
        f"<p>{plain(rules.machine)}, runtime {plain(rules.runtime)}: {rules.ram:,} B of RAM, {rules.flash:,} B of"
        f" flash; {rules.networks:,} random networks of each of {len(stats)} spaces, seed {rules.seed}. FLOPs are"
        f" multiply-accumulates. The best has the highest mean of the networks that fit, where at least {share:.0%} of"
        " its networks do.</p>"
    )
    rows = [
        [
            plain(statistics.space), f"{statistics.share:.1%}",
            *(f"{n / 1e6:,.1f}" if n is not None else "-" for n in (statistics.mean_flops, statistics.p80_flops)),
        ]
        for statistics in ranked
    ]  # fmt: skip
    head = ["space", "fitting", "mean MFLOPs", "80th percentile"]
    return page(
        "Search spaces for a board",
        [lead, _distributions(ranked), _map(stats, share), "<h2>All spaces</h2>", table(head, rows)],
    )


def _distributions(ranked: Sequence[SpaceStats]) -> PlotFigure:
    """The share of networks that compute no more than so much, of those that fit."""
    traces = [
        {
            "type": "scatter", "mode": "lines", "name": plain(statistics.space),
            "x": [n / 1e6 for n in statistics.quantiles],
            "y": [n / (QUANTILES - 1) for n in range(QUANTILES)],
            "line": {"color": PART_COLOURS[number % len(PART_COLOURS)], "width": 2.5 if number == 0 else 1.4},
            "hovertemplate": f"{plain(statistics.space)}: %{{y:.0%}} up to %{{x:.1f}} MFLOPs<extra></extra>",
        }
        for number, statistics in enumerate(ranked[:DRAWN])
        if statistics.quantiles
    ]  # fmt: skip
    layout = {
        **_PLAIN, "showlegend": True, "xaxis": axis("MFLOPs"),
        "yaxis": axis("of the networks that fit", tickformat=".0%"),
    }  # fmt: skip
    return PlotFigure("<b>Distributions</b> of what networks that fit compute: further right is better", traces, layout)


def _map(stats: Sequence[SpaceStats], share: float) -> PlotFigure:
    """The best space of each RAM and flash."""
    rams, flashes = GRID
    values, texts = list[list[float | None]](), list[list[str]]()
    for column, _ in enumerate(flashes):
        best = [_best_of(stats, row, column, share) for row, _ in enumerate(rams)]
        values.append([None if pair is None else pair[1] / 1e6 for pair in best])
        texts.append(["" if pair is None else plain(pair[0]).replace("-", "<br>") for pair in best])
    trace = {
        "type": "heatmap", "x": [f"{ram} KiB" for ram in rams], "y": [f"{flash} KiB" for flash in flashes],
        "z": values, "text": texts, "texttemplate": "%{text}", "textfont": {"size": 11, "color": "#1f2933"},
        "colorscale": [[0, "#eef3f7"], [1, "#6ea8dc"]],
        "colorbar": {"title": {"text": "MFLOPs"}}, "hoverongaps": False,
        "hovertemplate": "RAM %{x}, flash %{y}: %{text}, %{z:.1f} MFLOPs<extra></extra>",
    }  # fmt: skip
    layout = {
        **_PLAIN, "margin": {"l": 84, "r": 14, "t": 28, "b": 44}, "xaxis": axis("RAM", type="category"),
        "yaxis": axis("flash", type="category"),
    }  # fmt: skip
    return PlotFigure("<b>The best space</b> by RAM and flash, and its mean", [trace], layout, height=420)


def _best_of(stats: Sequence[SpaceStats], row: int, column: int, share: float) -> tuple[str, float] | None:
    pairs = [(stat.cells[row][column], stat.space) for stat in stats]
    able = [(mean, space) for (mean, fitting), space in pairs if fitting >= share and mean]
    if not able:
        return None
    mean, space = max(able, key=lambda pair: (pair[0], pair[1]))
    return space, mean


def front_page(plan: FrontPlan, fronts: Sequence[BoardFront]) -> str:
    """Equal fronts give equal text."""
    lead = (
        f"<p>Networks of MobileNet-like search spaces, scored by {plain(plan.scorer)}; a front has those that none is"
        " better than by score and by latency. Latency is that of a whole replay on the board; nine measurements of ten"
        " are expected in its band.</p>"
    )
    parts: list[Any] = [lead]
    if any(front.networks for front in fronts):
        levels = score_levels(fronts)
        rows = [[plain(front.on.name), *(latency_text(front.fastest(level)) for level in levels)] for front in fronts]
        parts += [_fronts(plan, fronts), "<h2>The fastest network by score, ms</h2>"]
        parts.append(table(["score of at least", *map(score_text, levels)], rows))
    for front in fronts:
        shown = spread(front.networks, DRAWN)
        parts += [f"<h2>{plain(front.on.name)}</h2>", *(f"<p>{plain(reason)}</p>" for reason in front.reasons)]
        if len(shown) < len(front.networks):
            parts.append(
                f"<p>{len(shown)} of {len(front.networks)} networks, all of them in the plot and in the JSON; of"
                f" {front.alive} in the fronts of its spaces {front.replayed} were replayed.</p>"
            )
        parts += [table(_FRONT_HEAD, [[*map(plain, _front_row(network))] for network in shown])] if shown else []
    if plan.shared:
        parts += ["<h2>One set of networks on every board, ms</h2>", _shared(fronts)]
    return page("Networks by score and latency", parts)


def _shared(fronts: Sequence[BoardFront]) -> str:
    rows = []
    for network in spread(shared_networks(fronts), 2 * DRAWN):
        times = ["-" if ms is None else f"{ms:,.1f}" for ms in latencies(network, fronts)]
        rows.append([plain(network.space), score_text(network.score), f"{network.macs / 1e6:,.1f}", *times])
    return table(["space", "score", "MMACs", *(plain(front.on.name) for front in fronts)], rows)


_FRONT_HEAD = ["space", "score", "latency, ms", "90 %", "energy, mJ", "MMACs", "RAM, B", "flash, B"]


def _front_row(network: FrontNetwork) -> list[str]:
    energy = "-" if network.replayed.energy_mj is None else f"{network.replayed.energy_mj:,.1f}"
    needs = [f"{network.macs / 1e6:,.1f}", f"{network.ram:,}", f"{network.flash:,}"]
    return [
        network.space,
        score_text(network.score),
        latency_text(network),
        network.replayed.range_text,
        energy,
        *needs,
    ]


def _fronts(plan: FrontPlan, fronts: Sequence[BoardFront]) -> PlotFigure:
    """Score over latency: a line and a band for each board."""
    traces = [
        trace
        for number, front in enumerate(fronts)
        if front.networks
        for trace in _front_traces(front, PART_COLOURS[number % len(PART_COLOURS)])
    ]
    layout = {
        **_PLAIN, "showlegend": True, "legend": {"orientation": "h", "y": -0.16}, "xaxis": axis("latency, ms"),
        "yaxis": axis(f"score, {plain(plan.scorer[:40])}"), "margin": {"l": 84, "r": 14, "t": 28, "b": 44},
    }  # fmt: skip
    return PlotFigure("<b>Fronts</b>: further up and further left is better", traces, layout, height=520)


def _front_traces(front: BoardFront, colour: str) -> list[dict[str, Any]]:
    """The band of the intervals, and the line over it."""
    networks, name = front.networks, plain(front.on.name)
    ends = [
        (network.replayed.low_ms or network.latency_ms, network.replayed.high_ms or network.latency_ms)
        for network in networks
    ]
    scores = [network.score for network in networks]
    band = {
        "type": "scatter", "mode": "lines", "x": [*(low for low, _ in ends), *(high for _, high in reversed(ends))],
        "y": [*scores, *reversed(scores)], "fill": "toself", "fillcolor": colour, "opacity": 0.16, "line": {"width": 0},
        "hoverinfo": "skip", "showlegend": False, "legendgroup": name,
    }  # fmt: skip
    line = {
        "type": "scatter", "mode": "lines+markers", "name": name, "legendgroup": name,
        "x": [network.latency_ms for network in networks], "y": scores,
        "text": [f"{plain(network.space)}, {network.macs / 1e6:.1f} MMACs, {network.ram:,} B" for network in networks],
        "line": {"color": colour, "width": 2}, "marker": {"color": colour, "size": 5},
        "hovertemplate": "%{text}<br>%{x:.1f} ms, score %{y}<extra>" + name + "</extra>",
    }  # fmt: skip
    return [band, line]
