"""Conclusions from the shipped studies: sentences with numbers of a sweep, and whether they are true of it.

Most are directions that physics demands (a wider bus is not slower); a sweep that contradicts one has found a defect of
mcusim or of a machine. Not modelled: statistical significance; a replay has no noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from mcusim.errors import UsageError
from mcusim.sweeps.conclusions import boards, clocks, copies, memories
from mcusim.sweeps.conclusions.boards import board_prices
from mcusim.sweeps.conclusions.series import Conclusion

if TYPE_CHECKING:
    import pandas

__all__ = ["Conclusion", "board_prices", "conclude", "concluded"]

_STUDIES: Mapping[str, Callable[[pandas.DataFrame], Iterator[Conclusion]]] = {
    "sram-budget": copies.sram_budget,
    "dma-beat": copies.dma_beat,
    "sdram-width": memories.sdram_width,
    "buffering": copies.buffering,
    "cache-size": memories.cache_size,
    "flash-wait-states": memories.flash_wait_states,
    "overlays": copies.overlays,
    "clock": clocks.clock,
    "weights": memories.weights,
    "boards": boards.boards,
}


def conclude(study: str, frame: pandas.DataFrame) -> tuple[Conclusion, ...]:
    """The conclusions of a shipped study from the table of its sweep.

    Raises UsageError for a study that has none, or a table that is not of that study.
    """
    if study not in _STUDIES:
        raise UsageError(f"study {study[:80]!r} has no conclusions; those of {', '.join(_STUDIES)} have")
    try:
        return tuple(_STUDIES[study](frame))
    except (KeyError, ValueError, IndexError) as error:
        raise UsageError(f"the table is not that of study '{study}': {type(error).__name__} {error}") from error


def concluded() -> tuple[str, ...]:
    """The studies that have conclusions."""
    return tuple(_STUDIES)
