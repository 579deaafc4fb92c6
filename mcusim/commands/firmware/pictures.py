"""``--program``, ``--html``, ``--perfetto`` and ``--vcd`` of ``mcusim emulate``: the run over time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared.output import note, write_file
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.results.emulation import EmulationResult

__all__ = ["Pictures"]

Program = Annotated[
    Path | None,
    typer.Option("--program", metavar="FILE", help="Write the run's work and DMA transfers, for `mcusim replay`."),
]
KernelsIn = Annotated[
    str | None,
    typer.Option("--kernels-in", metavar="PATTERN", help='There, calls of these functions apart, as "arm_*".'),
]


@dataclass(frozen=True)
class Pictures:
    """What is written of the run over time."""

    program_file: Program = None
    kernels_in: KernelsIn = None

    @property
    def files(self) -> list[Path]:
        """Those that are to be written."""
        return [path for path in (self.program_file,) if path is not None]

    @property
    def record(self) -> bool | str:
        """As an argument of :func:`mcusim.emulate`. Raises UsageError."""
        if self.kernels_in is not None and not self.files:
            raise UsageError("--kernels-in has no effect without --program, --html, --perfetto or --vcd")
        return self.kernels_in if self.kernels_in is not None else bool(self.files)

    def write(self, result: EmulationResult, force: bool) -> None:
        """Write what was asked for."""
        if self.program_file is not None:
            from mcusim.program import write_program

            recorded = result.recorded_program()
            write_file(self.program_file, lambda file: write_program(recorded, file), force)
            note(f"{self.program_file}: {len(recorded.tasks):,} tasks")
