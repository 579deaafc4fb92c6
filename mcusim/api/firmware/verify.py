"""Watch a firmware's run: what ``mcusim verify firmware.elf`` does, with its options as keyword arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcusim.api.firmware.inputs import (
    Strictness,
    core_with,
    load_firmware,
    most_instructions,
    start_of,
    strictness_of,
)
from mcusim.api.firmware.stop_conditions import end_of, run_to, watch
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.soc.boot_windows import with_boot_windows
from mcusim.verification.firmware.firmware_verification import FirmwareOutcome, FirmwareVerification

if TYPE_CHECKING:
    from mcusim.api.verify import VerifyRequest
    from mcusim.emulator.stops.stop import Stop
    from mcusim.image.image import Image

MOST_SEEDS = 100_000
_SUFFIXES = (".elf", ".axf", ".out", ".hex", ".ihex", ".srec", ".s19", ".mot")
_TIMES, _MORE = 20, 20_000_000  # instructions of a disturbed run at most: so many times those of the undisturbed one


def is_firmware(what: object) -> bool:
    """Whether ``what`` is a program for the core by its content: ELF, Intel HEX, S-records, or bytes at an address; by
    its name where there is no such file."""
    from mcusim.image.programs import file_of

    if not isinstance(what, str | Path):
        return False
    path = file_of(what)
    if not path.is_file():
        return path.suffix.lower() in _SUFFIXES or str(path) != str(what)
    with path.open("rb") as file:
        first = file.read(16)
    if str(path) != str(what):
        return True
    hexadecimal = first[:1] == b":" and first[1:9].isalnum()
    return first[:4] == b"\x7fELF" or hexadecimal or (first[:1] == b"S" and first[1:7].isalnum() and path.suffix != "")


@dataclass(frozen=True, kw_only=True)
class FirmwareCase:
    """A firmware and how it is run; any process can run it."""

    paths: tuple[str, ...]
    machine: Machine
    entry: str | int | None = None
    until: str | int | None = None
    peripherals: Strictness = "strict"
    max_instructions: int | None = None

    @property
    def image(self) -> Image:
        """Raises ImageError."""
        from mcusim.image.programs import load_programs

        return load_programs(self.paths)

    def run(
        self, seed: int | None = None, progress: Callable[[int, float], object] | None = None, limit: int | None = None
    ) -> FirmwareOutcome:
        """Run it under observation; with a ``seed`` its timing is disturbed, with a ``limit`` of instructions.

        Raises ImageError and UsageError.
        """
        from mcusim.verification.firmware.endings import end_storm
        from mcusim.verification.firmware.observe import observed

        image, printed = self.image, list[bytes]()
        begin, end = start_of(image, self.machine, self.entry), end_of(image, self.machine, self.until)
        started = begin.kind != "reset"
        emulator = core_with(
            image, self.machine, as_started=started, caches=started, peripherals=self.peripherals, output=printed.append
        )

        def step(count: int, seconds: float) -> None:
            end_storm(emulator)
            if progress is not None:
                progress(count, seconds)

        def run() -> Stop:
            emulator.begin(begin)
            watch(emulator, None if started else begin.pc, end)
            return run_to(emulator, end, self.max_instructions if limit is None else limit, step)

        return observed(emulator, image, run, printed, seed)

    @property
    def by_time(self) -> bool:
        """Whether a time ends the run: disturbed runs end elsewhere."""
        return end_of(self.image, self.machine, self.until).cycle is not None


def firmware_case(
    path: str | Path,
    machine: str | Path | Machine,
    *,
    images: Iterable[str | Path] = (),
    entry: str | int | None = None,
    until: str | int | None = None,
    overrides: Mapping[str, str] | None = None,
    peripherals: str = "strict",
    max_instructions: int | None = None,
) -> FirmwareCase:
    """The firmware with its options checked. Raises UsageError, ImageError and what reading a machine raises."""
    more = [images] if isinstance(images, str | Path) else list(images)
    target, image = load_firmware(path, more, machine, overrides)
    end_of(image, target, until)
    return FirmwareCase(
        paths=tuple(map(str, (path, *more))),
        machine=with_boot_windows(target),
        entry=entry,
        until=until,
        peripherals=strictness_of(peripherals),
        max_instructions=most_instructions(max_instructions),
    )


def check_firmware_request(asked: VerifyRequest) -> None:
    """Raise UsageError for options that a firmware has no use for."""
    named = {name: getattr(asked, name) for name in ("kernels", "model", "sanitize")}
    named |= {"input": asked.input or None, "static": asked.static or None}
    option = asked.of_planning or next((f"--{name}" for name, value in named.items() if value is not None), None)
    if option is not None:
        raise UsageError(f"{option} is for a program or a model; a firmware is run as it is")
    if asked.seed is not None and not asked.fuzz:
        raise UsageError("--seed has no effect without --fuzz")


def verify_firmware(
    path: str | Path,
    machine: str | Path | Machine,
    *,
    images: Iterable[str | Path] = (),
    entry: str | int | None = None,
    until: str | int | None = None,
    overrides: Mapping[str, str] | None = None,
    peripherals: str = "strict",
    max_instructions: int | None = None,
    fuzz: int = 0,
    seed: int | None = None,
) -> FirmwareVerification:
    """Watch the firmware at ``path`` run on ``machine`` from its reset on, for stale bytes, early reads and races.

    ``images``, ``entry``, ``until``, ``overrides``, ``peripherals`` and ``max_instructions`` are those of
    :func:`mcusim.emulate`. ``fuzz`` runs with disturbed timing follow, from ``seed`` on (1); they use several
    processes, so a script has to be importable. Findings and differences are the result's. Raises
    :class:`~mcusim.errors.InputError`. Not modelled: what its parts do not model.
    """
    for name, value, most in (("fuzz", fuzz, MOST_SEEDS), ("seed", seed or 0, 2**62)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise UsageError(f"{name} = {str(value)[:40]}: must be a whole number from 0 to {most:,}")
    if seed is not None and not fuzz:
        raise UsageError("--seed has no effect without --fuzz")
    case = firmware_case(
        path, machine, images=images, entry=entry, until=until, overrides=overrides, peripherals=peripherals,
        max_instructions=max_instructions,
    )  # fmt: skip
    result = watch_firmware(case)
    first = 1 if seed is None else seed
    return fuzz_firmware(result, case, range(first, first + fuzz)) if fuzz else result


def watch_firmware(case: FirmwareCase, progress: Callable[[int, float], object] | None = None) -> FirmwareVerification:
    """Watch ``case`` run; ``progress`` gets instructions and simulated seconds. Raises what running raises."""
    outcome = case.run(progress=progress)
    image = case.image
    missed = str(case.until) if case.until is not None and outcome.ended not in ("reached", "horizon") else None
    missed = None if outcome.ended == "interrupted" else missed
    notes = _notes(image, outcome)
    interrupted = outcome.ended == "interrupted"
    return FirmwareVerification(
        case.paths[0], case.machine, outcome, outcome.findings, notes, missed, interrupted=interrupted
    )


def fuzz_firmware(
    result: FirmwareVerification,
    case: FirmwareCase,
    seeds: Sequence[int],
    processes: int | None = None,
    tick: Callable[[object], object] | None = None,
) -> FirmwareVerification:
    """``result`` of :func:`watch_firmware`, and what the disturbances of each of ``seeds`` change; ``tick`` is called
    after each. Where a time ends the run, how it ends is not compared."""
    from mcusim.verification.firmware.firmware_fuzz import with_seeds

    limit = _TIMES * result.run.instructions + _MORE
    return with_seeds(result, case, seeds, limit, not case.by_time, processes, tick)


def _notes(image: Image, outcome: FirmwareOutcome) -> tuple[str, ...]:
    """What could not be seen."""
    texts = []
    if not len(image.symbols):
        texts.append("the image has no symbols: names of functions and variables, and where these end, are not known")
    elif not len(image.lines if not image.parts else image.parts[0].lines):
        texts.append("the image has no DWARF lines: build it with -g to see source lines")
    if not outcome.transfers:
        texts.append("no DMA transfer was started")
    texts += outcome.remarks
    if outcome.lost:
        texts.append(f"{outcome.lost:,} more reports found no room")
    return tuple(texts)
