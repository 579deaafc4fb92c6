"""What others' code for the same runtime would take, as text."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.results.other_code import OtherCode
from mcusim.text import hanging_indent, quantity


def other_code_text(other: OtherCode) -> str:
    """In a line."""
    if other.latency_ms is None:
        return f"{other.title}: does not run it: {other.reason}"
    return f"{other.title}: {quantity(other.latency_ms, 'ms')}, --kernels {other.kernels}"


def other_code_lines(others: Sequence[OtherCode]) -> list[str]:
    """At most 80 columns wide."""
    return [line for other in others for line in hanging_indent(other_code_text(other))]
