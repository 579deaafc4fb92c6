"""What a run of a firmware is given, checked: machine, images, where it starts, and the core with all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mcusim.api.firmware.guest_arguments import address_of
from mcusim.api.simulate import changed
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.run_config.settings import MachineArg, require_overrides, require_type
from mcusim.soc.boot_windows import with_boot_windows

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator
    from mcusim.emulator.startup import Start
    from mcusim.image.image import Image

Strictness = Literal["strict", "lenient"]


def load_firmware(
    path: str | Path,
    images: Iterable[str | Path],
    machine: str | Path | Machine,
    overrides: Mapping[str, str] | None,
) -> tuple[Machine, Image]:
    """The machine with ``overrides`` and the program at ``path`` with the further ``images``, which fit in its memory.

    Raises UsageError, ImageError and what reading a machine raises.
    """
    from mcusim.image.image import check_placements
    from mcusim.image.programs import load_programs

    more = [images] if isinstance(images, str | Path) else list(images)
    for value in (path, *more):
        require_type("path" if value is path else "images", value, ((str, Path), "a path"))
    require_type("machine", machine, MachineArg)
    require_overrides(overrides)
    target, image = changed(machine, overrides), load_programs([path, *more])
    check_placements(image, with_boot_windows(target), False)
    return target, image


def start_of(image: Image, machine: Machine, entry: str | int | None) -> Start:
    """Where ``image`` starts: at ``entry``, a symbol or an address, if there is one. Raises UsageError, ImageError."""
    from mcusim.emulator.startup import start, start_at

    if entry is None:
        return start(image, machine)
    return start_at(image, machine, address_of(image, entry, "--entry")[0] & ~1)


def strictness_of(peripherals: object) -> Strictness:
    """``peripherals`` as the core takes it. Raises UsageError."""
    if peripherals == "strict":
        return "strict"
    if peripherals == "lenient":
        return "lenient"
    raise UsageError(f"peripherals = {repr(peripherals)[:80]}: must be strict or lenient")


def most_instructions(limit: object) -> int | None:
    """``max_instructions`` as the core takes it. Raises UsageError."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, Integral) or not 0 < int(limit) < 1 << 60:
        raise UsageError(f"max_instructions = {repr(limit)[:80]}: must be a whole number of at least 1, or None")
    return int(limit)


def resets_allowed(most: object) -> int:
    """``most_resets`` as the core takes it. Raises UsageError."""
    if isinstance(most, bool) or not isinstance(most, Integral) or not 0 <= int(most) < 1 << 30:
        raise UsageError(f"most_resets = {repr(most)[:80]}: must be a whole number from 0 on")
    return int(most)


def core_with(
    image: Image,
    machine: Machine,
    *,
    as_started: bool,
    caches: bool,
    peripherals: Strictness = "strict",
    itm: str = "0",
    output: Callable[[bytes], object] | None = None,
) -> Emulator:
    """An emulated core with ``image`` in its memory; ``as_started``: as start-up code would have left it.

    Raises UsageError for ``itm``, the stimulus ports that a debugger has enabled.
    """
    from mcusim.emulator.console.trace_ports import enable, port_mask

    mask = port_mask(itm)
    from mcusim.emulator.emulator import Emulator  # the slowest to import: what can be refused has been

    emulator = Emulator(machine, output, caches, peripherals)
    enable(emulator.ppb_words, mask)
    emulator.load(image, as_started=as_started)
    return emulator
