"""What the plots of runs look like: the colours of causes, regions and tasks, axes, the layout they share.

Colours are light enough for dark text on them and can be seen on a light and on a dark background.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcusim.machine.description import Machine
from mcusim.report.html.page import plain

CAUSE_COLOURS = {
    "compute": "#6ea8dc",
    "runtime": "#a9b1ba",
    "flash": "#d1bd55",
    "sram": "#5fc4a4",
    "sdram": "#f0954c",
    "qspi": "#b58be0",
    "dma_wait": "#e8636f",
    "bus": "#e58ac6",
    "maintenance": "#b98f6a",
}
KIND_COLOURS = {"activation": "#6ea8dc", "scratch": "#e3b04b", "overlay": "#5fc4a4", "runtime": "#a9b1ba"}
KIND_COLOURS["weights"] = "#c4c9cf"
FIRMWARE_COLOURS = {
    "code": "#6ea8dc",
    "handler": "#e3b04b",
    "asleep": "#c4c9cf",
    "waits for DMA": "#e8636f",
    "transfer": "#5fc4a4",
}
PART_COLOURS = ("#6ea8dc", "#d1bd55", "#f0954c", "#5fc4a4", "#e58ac6", "#b58be0", "#b98f6a", "#e8636f", "#a9b1ba")
MERGED = "#8f98a3"
TRANSFER_COLOURS = {
    "inputs": "#6ea8dc",
    "second inputs": "#8cc4ea",
    "weights": "#e3b04b",
    "biases, multipliers, shifts": "#c58fd8",
    "outputs": "#5fc4a4",
}
_BRINGS = {"input": "inputs", "input1": "second inputs", "filter": "weights", "output": "outputs"}
_REGIONS = {  # by kind of device; a second region of a kind is of the next colour
    "tcm": ("#3f9fa6", "#7fd0d4"),
    "sram": ("#5fc4a4", "#a5d98a", "#2f8f6f", "#cfe8b4"),
    "flash": ("#d1bd55", "#a08f2e"),
    "sdram": ("#f0954c", "#c4641a"),
    "qspi": ("#b58be0", "#8257b5"),
}

LAYOUT: dict[str, Any] = {
    "barmode": "overlay",
    "hovermode": "closest",
    "hoverlabel": {"align": "left", "bgcolor": "#262c33", "bordercolor": "#262c33", "font": {"size": 12}},
    "plot_bgcolor": "rgba(0,0,0,0)",
    "paper_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif", "size": 12},
    "separators": ".,",
    "legend": {
        "orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "font": {"size": 11},
        "bgcolor": "rgba(0,0,0,0)", "itemsizing": "constant", "traceorder": "normal",
    },
}  # fmt: skip


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """A linear axis with plain numbers."""
    named = {"title": {"text": title, "font": {"size": 12}, "standoff": 6}} if title else {}
    return {
        **named,
        "separatethousands": True,
        "exponentformat": "none",
        "gridcolor": "#dde2e7",
        "zerolinecolor": "#dde2e7",
        "tickfont": {"size": 11},
        **more,
    }


def tooltip(*lines: str) -> str:
    """What the pointer shows, from lines of plotly's markup; names in them are no templates."""
    return f"{'<br>'.join(lines)}<extra></extra>".replace("%{", "&#37;{")


def legend(title: str, named: Mapping[str, str]) -> str:
    """A legend as HTML: names, which are any text, and their colours."""
    text = "".join(
        f'<span class="colour"><i style="background:{colour}"></i>{plain(name)}</span>'
        for name, colour in named.items()
    )
    named_so = f'<span class="dim">{title}</span> ' if title else ""
    return f'<span class="colour-legend">{named_so}{text}</span>'


def region_colours(machine: Machine, more: Iterable[str] = ()) -> dict[str, str]:
    """One colour for each region of ``machine``, and grey for names of ``more`` that it does not have."""
    result, used = dict.fromkeys(more, MERGED), dict.fromkeys(_REGIONS, 0)
    for name, region in machine.memory.items():
        colours = _REGIONS[region.kind]
        result[name] = colours[used[region.kind] % len(colours)]
        used[region.kind] += 1
    return result


def transfer_label(label: str) -> str:
    """What a transfer copies, of :data:`TRANSFER_COLOURS`, by its label, as ``3 input part 1/2``."""
    kind = label.split(" ")[1] if " " in label else ""
    return _BRINGS.get(kind, "biases, multipliers, shifts")
