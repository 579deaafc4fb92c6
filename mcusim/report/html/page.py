"""Reports as one HTML file that needs no network: text, tables, and plots that plotly.js draws in the browser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from mcusim.provenance import Made, made

# what a browser may load: only what is in the file itself
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
_ENTITIES = str.maketrans({c: f"&#{ord(c)};" for c in "&<>\"'"})  # plotly knows few by name


@dataclass(frozen=True)
class PlotFigure:
    """A plot: ``data`` and ``layout`` as plotly.js takes them, ``height`` in CSS pixels, ``caption`` as HTML.

    Texts in ``data`` and ``layout`` are plotly's own markup; what comes from outside goes through :func:`plain` first.
    ``layout["meta"]["labels"]``, where given, names the whole numbers of the x axis from 0 on: as many of them as fit
    are written, more when zoomed in. ``name``: of its file, where it is written to one. ``layout["meta"]["lanes"]``:
    rows of tasks over time (:mod:`mcusim.report.run.figures.lanes`) that are drawn before ``data``. Lines, grid and
    texts take the page's colours.
    """

    caption: str
    data: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    height: int = field(default=480, kw_only=True)
    name: str = field(default="", kw_only=True)


def page(
    title: str,
    parts: Sequence[str | PlotFigure | Sequence[PlotFigure]],
    more_scripts: Sequence[str] = (),
    more_styles: Sequence[str] = (),
    by: Made | None = None,
) -> str:
    """A whole HTML file: each part is HTML, a plot, or plots side by side that share the ranges of their y axes.

    ``title`` is plain text; a part that is a str is taken as it is; ``more_scripts`` and ``more_styles`` are names of
    assets; ``by``, by default this process, is at the end. Equal arguments, made at one time, give equal text. Nothing
    is loaded from elsewhere, and the file forbids it to the browser.
    """
    from plotly.offline import get_plotlyjs

    body: list[str] = []
    figures: list[PlotFigure] = []
    for part in parts:
        if isinstance(part, str):
            body.append(part)
            continue
        row = [part] if isinstance(part, PlotFigure) else list(part)
        drawn = "".join(_figure(figure, len(figures) + i) for i, figure in enumerate(row))
        body.append(f'<div class="row of-{len(row)}">{drawn}</div>')
        figures += row
    timed = any("lanes" in figure.layout.get("meta", ()) for figure in figures)
    scripts = [get_plotlyjs(), *([_asset("lanes.js")] if timed else []), _asset("page.js")] if figures else []
    scripts += [_asset(name) for name in more_scripts]
    return "\n".join(
        [
            *_head(title, more_styles),
            *body,
            f'<footer class="dim">{"<br>".join(plain(line) for line in (by or made()).lines)}</footer>',
            "</main>",
            *(f"<script>{script}</script>" for script in scripts),
            "</body></html>",
            "",
        ]
    )


def _head(title: str, more_styles: Sequence[str]) -> list[str]:
    styles = "".join(f"<style>{_asset(name)}</style>" for name in ("page.css", *more_styles))
    return [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{plain(title)}</title>",
        f"{styles}</head>",
        f"<body><main><h1>{plain(title)}</h1>",
    ]


def plain(text: str) -> str:
    """``text`` to be read as it is, in HTML and in plotly's texts: no markup, no control or formatting characters."""
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return "".join(shown).translate(_ENTITIES)


def shortened(text: str, limit: int = 64) -> str:
    """At most ``limit`` characters: a longer text loses its middle."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}…{text[len(text) - (limit - limit // 2 - 1) :]}"


def bullets(lines: Sequence[str]) -> str:
    """Lines of HTML as a list."""
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Cells of HTML as a table; the first ``left`` columns are texts, the others numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        kinds = ("" if i < left else ' class="number"' for i in range(len(cells)))
        return f"<tr>{''.join(f'<{tag}{k}>{c}</{tag}>' for k, c in zip(kinds, cells, strict=True))}</tr>"

    body = "\n".join(line("td", row) for row in rows)
    return (
        f'<div class="table" tabindex="0"><table><thead>{line("th", head)}</thead>\n<tbody>{body}</tbody></table></div>'
    )


def _figure(figure: PlotFigure, index: int) -> str:
    drawn = json.dumps({"data": list(figure.data), "layout": figure.layout}, separators=(",", ":"), allow_nan=False)
    for character in "<>&":  # they occur inside strings only
        drawn = drawn.replace(character, f"\\u{ord(character):04x}")
    return (
        f'<figure><figcaption>{figure.caption}</figcaption><div class="plot" style="height:{figure.height}px"></div>'
        f'<script type="application/json" id="figure-{index}">{drawn}</script></figure>'
    )


def _asset(name: str) -> str:
    return files("mcusim.report.html").joinpath("assets", name).read_text(encoding="utf-8").strip()
