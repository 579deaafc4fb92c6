"""Two runs as a comment for a pull request: at most ten lines of Markdown."""

from __future__ import annotations

from mcusim.report.diff.table import change, largest, said, value
from mcusim.results.saved.run_difference import FigurePair, RunDifference
from mcusim.text import percent

LINES = 10
_SHOWN = ("latency", "energy", "sram", "flash")
_TITLES = {"sram": "SRAM"}
_CUT = 240  # characters of a sentence


def diff_markdown(difference: RunDifference) -> str:
    """Whether a limit is exceeded, the figures of both, and why the second takes longer.

    Not modelled: operators but the one that changed most, and settings that differ but their names.
    """
    first = difference.first.settings
    name = plain(
        f"{difference.second.settings.get('model', 'a model')} on {difference.second.settings.get('machine', '')}"
    )
    lines = [f"**mcusim, {name}: {_answer(difference)}**", ""]
    if difference.negative is None:
        lines += ["| | base | this | change |", "|---|---:|---:|---:|"]
        lines += [_row(pair) for pair in difference.figures if pair.name in _SHOWN]
        lines += ["", " ".join([*_reason(difference), *_settings(difference)])]
    elif first:
        lines += [_cut(plain(difference.negative))]
    return "\n".join(lines[:LINES]) + "\n"


def _answer(difference: RunDifference) -> str:
    if difference.negative is not None:
        return "one of the two did not run"
    if difference.exceeded:
        return _cut(plain(f"exceeds {'; '.join(difference.exceeded)}"))
    latency = next((pair for pair in difference.figures if pair.name == "latency"), None)
    moved = percent(latency.percent) if latency is not None and latency.percent else ""
    if not moved:
        return "nothing takes longer or less"
    doubtful = difference.ratios is not None and not difference.ratios.latency.differs
    return f"latency {moved}{', no difference can be claimed' if doubtful else ''}"


def _row(pair: FigurePair) -> str:
    cells = [value(pair, pair.first), value(pair, pair.second)]
    moved = "" if not pair.change else f"{change(pair)} ({percent(pair.percent)})"
    return f"| {_TITLES.get(pair.name, pair.name)} | {' | '.join([*cells, moved])} |"


def _reason(difference: RunDifference) -> list[str]:
    slowest = largest(difference, 1)
    texts = [_cut(plain(said(difference)[0].rstrip(".")) + ".")] if difference.parts else []
    if slowest:
        pair = slowest[0]
        texts.append(f"Most: operator {pair.any.index} {plain(pair.any.type)}, {1000 * float(pair.seconds):+,.3g} ms.")
    return texts


def _settings(difference: RunDifference) -> list[str]:
    names = [key.replace("_", " ") for key in difference.settings if key != "model_sha256"]
    return [f"Other settings: {', '.join(map(plain, names))}."] if names else []


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"


def plain(text: str) -> str:
    """Without what Markdown or HTML would take for its own, on one line; nobody is mentioned by an @."""
    escaped = "".join(f"\\{c}" if c in "\\`*_{}[]<>|#" else c for c in text if c.isprintable() or c.isspace())
    return " ".join(escaped.split()).replace("@", "@\u200b")  # a space of no width
