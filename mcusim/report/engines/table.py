"""Inference engines side by side as text: which is the fastest and the smallest, then a row for each, by board."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcusim.report.run.interval_text import ends, percentage
from mcusim.results.engine_choice import BoardEngines, Bytes, EngineChoice, EngineRow
from mcusim.results.measurement.interval import LEVEL, RatioInterval
from mcusim.text import WIDTH, columns, cut, hanging_indent, kib, pick_unit, quantity, size, wrapped

_BASES = {
    "emulated": "a compiled set, run on the emulated core",
    "replayed": "a cost profile of compiled code",
    "estimate": "compiled code's replay times one factor a version, from ST's model zoo (five families of networks on"
    " the STM32H747I-DISCO); RAM is the range of that zoo's networks, no verdict on what fits",
    "fitted": "cycles by family of kernels, fitted to its vendor's public firmware as emulated",
}
_SHORT = {
    "emulated": "a compiled set on the emulated core",
    "replayed": "a cost profile",
    "estimate": "compiled code times a factor by version, from ST's model zoo, whose range RAM is",
    "fitted": "to the vendor's firmware",
}
_REASON = 230  # characters of why an engine does not run the model; the page has all
_HEAD = ["engine", "kernels by", "latency", "RAM KiB", "flash", "basis"]


def engines_table(choice: EngineChoice) -> str:
    """A block for each board of at most 80 columns, then what the bases are."""
    lines: list[str] = []
    for board in choice.boards:
        reasons = _indented(cut(text, _REASON) for text in reason_texts(board))
        lines += [f"{choice.model} on {board.machine}", *_indented(verdict_texts(board)), *_rows(board), *reasons, ""]
    rows = [row for board in choice.boards for row in board.rows]
    names = ", ".join(dict.fromkeys(row.kernels for row in rows if row.kernels))
    bases = {row.basis: f"{row.basis}: {_SHORT[row.basis]}" for row in rows}
    profiles = [f"kernels: {names}"] if names else []
    legend = [*profiles, "; ".join(bases.values()), _interval_note([row for row in rows if row.runs])]
    return "\n".join([*lines, *(line for text in legend for line in hanging_indent(text))])


def verdict_texts(board: BoardEngines) -> list[str]:
    """The fastest, with those that may be as fast, and the smallest."""
    if not board.running:
        return ["no engine runs it"]
    fastest = board.running[0]
    guess = " (an estimate)" if fastest.basis == "estimate" else ""
    text = f"fastest: {fastest.name}{guess}, {quantity(fastest.latency_ms, 'ms')}"
    if board.as_fast:
        text += f"; may be as fast: {', '.join(_ratio(row) for row in board.as_fast)}"
    names = " and ".join(row.name for row in board.smallest)
    smallest = [f"smallest: {names}, {size(row.ram[0])} of RAM" for row in board.smallest[:1] if row.ram]
    return [text, *smallest]


def _ratio(row: EngineRow) -> str:
    ratio = row.over_fastest
    assert ratio is not None
    return f"{row.name} ({times(ratio)})"


def times(ratio: RatioInterval) -> str:
    """Of an engine's latency over the fastest one's."""
    return f"{ratio.simulated:.2f} times, {ratio.low:.2f} to {ratio.high:.2f}"


def latency(row: EngineRow) -> str:
    """With its interval, in one unit; a word for an engine that does not run the model."""
    if row.latency_ms is None or row.interval_ms is None:
        missing = "not known" if row.basis == "estimate" else "does not run"
        return missing if row.latency_ms is None else quantity(row.latency_ms, "ms")
    scale = pick_unit("ms", [row.latency_ms, *row.interval_ms])
    return f"{scale.text(row.latency_ms)} ({ends(row.interval_ms, scale)})"


def memory(of: Bytes | None) -> str:
    """KiB, least to most where they differ."""
    return "-" if of is None else "-".join(dict.fromkeys(kib(bytes) for bytes in of))


def _rows(board: BoardEngines) -> list[str]:
    """Without whose kernels they are, where there is no room for that."""
    rows = [[row.name, row.whose, latency(row), memory(row.ram), memory(row.flash)] for row in board.rows]
    whole = _with_basis(columns([_HEAD[:-1], *rows], left=2), board)
    if max(map(len, whole)) <= WIDTH:
        return whole
    return _with_basis(columns([[row[0], *row[2:]] for row in (_HEAD[:-1], *rows)], left=1), board)


def _with_basis(lines: Sequence[str], board: BoardEngines) -> list[str]:
    """At the end, to the left."""
    bases = [_HEAD[-1], *(row.basis for row in board.rows)]
    return [f"{line}  {basis}" for line, basis in zip(lines, bases, strict=True)]


def _indented(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in wrapped(text)]


def reason_texts(board: BoardEngines) -> list[str]:
    """Why engines do not run the model, each reason once."""
    reasons: dict[str, list[str]] = {}
    for row in board.rows:
        if row.reason:
            reasons.setdefault(row.reason, []).append(row.name)
    return [f"{'; '.join(names)}: {reason}" for reason, names in reasons.items()]


def legend_texts(choice: EngineChoice) -> list[str]:
    """What the kernels, the bases and the intervals are, each once."""
    rows = [row for board in choice.boards for row in board.rows]
    kernels = [f"kernels {row.kernels}: {row.title}" for row in rows if row.kernels]
    bases = [f"{row.basis}: {_BASES[row.basis]}" for row in rows]
    return [*dict.fromkeys(kernels), *dict.fromkeys(bases), _interval_note([row for row in rows if row.runs])]


def _interval_note(rows: Sequence[EngineRow]) -> str:
    """What the intervals in brackets are."""
    kinds = " and ".join(dict.fromkeys(row.name for row in rows if _of_any_build(row)))
    text = f"in brackets: where {percentage(LEVEL)} of measurements are expected"
    return f"{text}; {kinds}: of any build, as nobody names one" if kinds else text


def _of_any_build(row: EngineRow) -> bool:
    interval = None if row.result is None else row.result.interval
    return interval is not None and bool(interval.situation.builds)
