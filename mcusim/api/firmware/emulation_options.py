"""What a run of a program may be asked for beyond its files, start and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypedDict

from mcusim.run_config.film_window import FilmWindow


class FirmwareOptions(TypedDict, total=False):
    """Keyword arguments of :func:`mcusim.emulate`; each may be left out.

    ``peripherals``: an access to a register block not described is a fault (``"strict"``) or the block is storage
    (``"lenient"``). ``stdin`` and ``semihosting_args`` are what semihosting reads. ``uart``: what a USART receives, by
    its name, at its baud rate from when its receiver is on. ``itm``: the stimulus ports that a debugger has enabled,
    ``"0"`` unless said otherwise, as ``"0,3-5"``, ``"all"`` or ``"none"``.
    ``most_resets``: how many resets of the part are performed, 100 unless said otherwise; the next one ends the run.
    ``machine_from_firmware``: run once to find the figures that the firmware sets up by registers, then again from the
    start on a machine that has them. ``set_up_costs``: a further run for each figure that differs, for the cycles that
    it is worth. ``record``: the result has the run over time; calls of functions that a pattern of names has, as
    ``"arm_*"``, apart. ``film``: a window, as ``"2 ms to 3 ms"``, of which the result has a film. ``progress`` gets
    instructions and simulated seconds of a run now and then, ``stage`` the name of each run where there are several.
    """

    peripherals: Literal["strict", "lenient"]
    stdin: bytes
    semihosting_args: str | None
    uart: Mapping[str, bytes]
    itm: str
    most_resets: int
    machine_from_firmware: bool
    set_up_costs: bool
    record: bool | str
    film: str | FilmWindow | None
    progress: Callable[[int, float], object] | None
    stage: Callable[[str], object] | None


def require_known(given: FirmwareOptions) -> None:
    """Raises TypeError for a keyword that is none of them, as Python does."""
    unknown = sorted(given.keys() - FirmwareOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"emulate() got an unexpected keyword argument {unknown[0]!r}")
