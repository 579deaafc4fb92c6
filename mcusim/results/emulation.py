"""The result of one emulated program, as data for tables, JSON and callgrind files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from mcusim.display import Displayed, SavedAsJson, SavedAsPage, SavedAsTrace
from mcusim.errors import UsageError
from mcusim.results.firmware.task_stacks import TaskStack, task_stacks
from mcusim.results.hot_spots import function_of

if TYPE_CHECKING:
    from mcusim.emulator.profile import CycleProfile
    from mcusim.emulator.recording.recording import Recording
    from mcusim.emulator.register_config import SetUpRow
    from mcusim.emulator.stops.fault_log import TakenFault
    from mcusim.emulator.stops.stop import PerformedReset, Stop
    from mcusim.image.image import Image
    from mcusim.machine.description import Machine
    from mcusim.program.program import Program
    from mcusim.results.film import Film
    from mcusim.soc.peripheral_findings import PeripheralFinding


@dataclass(frozen=True, slots=True)
class StackUse:
    """``top`` is where it began; ``limit`` the lowest address it may reach, 0 when unknown; ``used`` bytes at most."""

    top: int
    limit: int
    used: int


@dataclass(frozen=True, slots=True)
class Dump:
    """``data`` that was at ``address`` after the run; ``name`` is the symbol asked for, if it was one."""

    address: int
    data: bytes
    name: str | None = None


@dataclass(frozen=True, slots=True)
class StreamUse:
    """What a DMA stream did for the program: ``transfers`` that ended, and the ``bytes`` they moved."""

    controller: str
    stream: int
    transfers: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FirmwareSetUp:
    """What the program set up by registers, compared with the machine as its file and the user have it.

    ``taken``: keys that the run has from the firmware; ``refused``: keys that the machine cannot take, and why;
    ``costs``: cycles with the firmware's value less those with the machine's, None where the two runs ended otherwise.
    """

    rows: tuple[SetUpRow, ...] = ()
    taken: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class EmulationResult(Displayed, SavedAsJson, SavedAsPage, SavedAsTrace):
    """One program on one machine. ``started`` at the reset vector, the entry point or a called function, at ``pc``.

    ``until`` is where it was to end, None for nowhere. ``arguments`` are the words of the call, ``result`` is r0 after
    one that returned. ``caches``: whether they were on from the first instruction. ``dumps`` in the order asked for.
    ``findings``: what a board would not have answered, or not as it is answered here.
    ``set_up``: what the program set up by registers.
    ``profile``: ``cycles``, ``issued`` (instructions), ``causes``, ``regions``, ``exceptions``, ``depths`` and more.
    ``dma``: what each stream moved. ``recording``: the run over time, of ``record=True``, which pages and traces need.
    ``faults``: those that handlers of the program took, by place, in the order of the first. ``film``: that of a window
    that was asked for.
    """

    machine: Machine = field(repr=False)
    image: Image = field(repr=False)
    started: Literal["reset", "entry", "call"]
    pc: int
    caches: bool
    stop: Stop
    profile: CycleProfile = field(repr=False)
    stack: StackUse
    registers: dict[str, int]
    arguments: tuple[int, ...] = ()
    result: int | None = None
    until: str | None = None
    dumps: tuple[Dump, ...] = field(default=(), repr=False)
    assumptions: tuple[str, ...] = ()
    dma: tuple[StreamUse, ...] = ()
    findings: tuple[PeripheralFinding, ...] = ()
    set_up: FirmwareSetUp = field(default=FirmwareSetUp(), repr=False)
    recording: Recording | None = field(default=None, repr=False, compare=False)
    faults: tuple[TakenFault, ...] = ()
    resets: tuple[PerformedReset, ...] = ()  # of the part, that the program ran on from
    film: Film | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The program's file name."""
        return PurePath(self.image.path).name

    def recorded_program(self) -> Program:
        """The run as a program that :func:`mcusim.replay` takes: the core's work, transfers and waits.

        Raises UsageError for a run that was not recorded, or of more tasks than a program may have.
        """
        from mcusim.engine.recorded.from_firmware import recorded_program

        if self.recording is None:
            raise UsageError("the run was not recorded: emulate(..., record=True)")
        return recorded_program(self.recording, self.machine, self.name, lambda at: function_of(self.image, at)[0])

    @property
    def seconds(self) -> float:
        """Simulated time at the core's clock."""
        return self.profile.cycles / self.machine.core.clock

    @property
    def task_stacks(self) -> tuple[TaskStack, ...]:
        """Stacks that PSP was in, as far as exceptions have shown them."""
        return task_stacks(self.profile.frames, self.image.symbols)

    @property
    def ipc(self) -> float:
        """Instructions per cycle; 0 when nothing ran."""
        return self.profile.issued / self.profile.cycles if self.profile.cycles else 0.0

    @property
    def exit_status(self) -> int:
        """What the command line returns: 0 for a good end or the one asked for, 130 when interrupted, else 1."""
        kind = self.stop.kind
        if kind == "interrupted":
            return 130
        if self.until is not None:
            return 0 if kind in ("reached", "horizon") else 1
        return 0 if kind in ("returned", "main", "idle", "loop") or (kind == "exit" and self.stop.status == 0) else 1

    def _line(self) -> str:
        return f"on {self.machine.name[:60]}: {self.stop.kind}, {int(self.profile.cycles):,} cycles"


def place(image: Image, address: int) -> str:
    """``function+0x1c``, or the bare address where no function is known."""
    function = image.function_at(address)
    if function is None:
        return f"{address:#010x}"
    name, offset = function
    return f"{name}+{offset:#x}" if offset else name
