"""Where a run of a program ends before it does so itself, and what semihosting reads meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import PurePath
from typing import TYPE_CHECKING

from mcusim.api.firmware.guest_arguments import address_of, number
from mcusim.errors import UnitError, UsageError
from mcusim.machine.description import Machine
from mcusim.run_config.settings import require_type
from mcusim.units import parse_duration, quoted

if TYPE_CHECKING:
    from mcusim.emulator.console.semihosting import Semihosting
    from mcusim.emulator.emulator import Emulator
    from mcusim.emulator.stops.stop import Stop
    from mcusim.image.image import Image

_LONGEST_LINE = 4096  # bytes of a command line
_ONE_CYCLE = re.compile(r"^1 *cycles$")
_NUMBER = re.compile(r"[-+]?\.?[0-9]")


@dataclass(frozen=True, slots=True)
class RunEnd:
    """``text`` as it was asked for, None for a run to the program's end; then an address or a core cycle."""

    text: str | None = None
    address: int | None = None
    cycle: int | None = None


def end_of(image: Image, machine: Machine, until: str | int | None) -> RunEnd:
    """``until`` as a symbol, an address (text: hexadecimal after 0x) or a duration. Raises UsageError, ImageError."""
    if until is None:
        return RunEnd()
    require_type("until", until, ((str, int), "a symbol, an address or a duration"))
    text = until.strip() if isinstance(until, str) else f"{until:#x}"
    if isinstance(until, str) and _is_time(text):
        return RunEnd(_ONE_CYCLE.sub("1 cycle", text), cycle=_cycle(text, machine))
    return RunEnd(text, address_of(image, until, "--until")[0] & ~1)


def _is_time(text: str) -> bool:
    """Whether it begins as a number does, and is no address: no symbol of C begins so."""
    return bool(_NUMBER.match(text)) and text[:2].lower() != "0x"


def _cycle(text: str, machine: Machine) -> int:
    """Core cycles from the start, rounded up."""
    if number(text) is not None:
        raise UsageError(f'--until {quoted(text)}: an address begins with 0x, a time has a unit ("{text} cycles")')
    try:
        cycle = ceil(parse_duration(text).cycles(machine.core.clock))
    except UnitError as error:
        raise UsageError(f"--until: {error}") from None
    if not 0 < cycle < 1 << 56:
        raise UsageError(f"--until {quoted(text)}: from 1 cycle on, at most 2**56")
    return cycle


def set_host(host: Semihosting, image: Image, stdin: bytes, arguments: str | None) -> None:
    """Give semihosting its input and the command line, which begins with the program's name."""
    require_type("stdin", stdin, ((bytes,), "bytes"))
    require_type("semihosting_args", arguments, ((str, type(None)), "a text or None"))
    host.stdin = stdin
    if arguments is not None:
        host.command_line = f"{PurePath(image.path).name} {arguments}".encode()
        if b"\0" in host.command_line or len(host.command_line) > _LONGEST_LINE:
            raise UsageError(f"--semihosting-args {quoted(arguments)}: at most {_LONGEST_LINE:,} B, none of them 0")


def watch(emulator: Emulator, reset: int | None, end: RunEnd) -> None:
    """Make the run end there, and where ``main`` returns to the end of the code at ``reset`` (None: not looked for)."""
    from mcusim.emulator.stops.stop import Stop
    from mcusim.emulator.stops.stop_points import after_main, stop_at

    last = None if reset is None else after_main(emulator, reset)
    if last is not None and last != end.address:
        stop_at(emulator, last, Stop("main"))
    if end.address is not None:
        stop_at(emulator, end.address, Stop("reached"))


def run_to(
    emulator: Emulator, end: RunEnd, limit: int | None, progress: Callable[[int, float], object] | None = None
) -> Stop:
    """Run to ``end``, or for ``limit`` instructions; ``progress`` gets them and simulated seconds. Ctrl-C ends it too.

    A run that ends by the limit in the handler of a fault is that fault's.
    """
    from mcusim.emulator.stops.stop import Stop
    from mcusim.emulator.stops.taken_faults import in_handler

    clock = emulator.machine.core.clock
    step = None if progress is None else lambda count: progress(count, emulator.cycles / clock)
    try:
        stop = emulator.run(limit, step) if end.cycle is None else emulator.run_until(end.cycle, limit, step)
    except KeyboardInterrupt:
        stop = Stop("interrupted")
    for controller in emulator.dma:
        controller.update()  # what has arrived by now
    return in_handler(emulator, stop) if stop.kind == "limit" else stop
