"""``--program``, ``--html``, ``--perfetto`` and ``--vcd`` of ``mcusim emulate``: the run over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared.declare import option
from mcusim.commands.shared.exports import FilmTimes, film_window
from mcusim.commands.shared.output import write_bytes
from mcusim.commands.shared.progress import spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.results.emulation import EmulationResult
    from mcusim.run_config.film_window import FilmWindow


@dataclass(frozen=True)
class Pictures:
    """What is written of the run over time."""

    program_file: Annotated[
        Path | None, option("FILE", "Write the run's work and DMA transfers, for `mcusim replay`.", names="--program")
    ] = None
    kernels_in: Annotated[str | None, option("PATTERN", 'There, calls of these functions apart, as "arm_*".')] = None
    html: Annotated[Path | None, option("FILE", "Plots: the core, handlers and DMA over time, latencies, stacks.")] = (
        None
    )
    perfetto: Annotated[Path | None, option("FILE", "The run over time as a Chrome trace, for ui.perfetto.dev.")] = None
    vcd: Annotated[Path | None, option("FILE", "The run over time as a value change dump, for GTKWave or Surfer.")] = (
        None
    )
    film: Annotated[Path | None, option("FILE", "A film as a page: caches, SDRAM rows, code, access by access.")] = None
    film_window: FilmTimes = None

    @property
    def files(self) -> list[Path]:
        """Those that are to be written."""
        return [path for path in (self.program_file, self.html, self.perfetto, self.vcd, self.film) if path is not None]

    @property
    def window(self) -> FilmWindow | None:
        """Of the film that was asked for. Raises UsageError and UnitError."""
        return film_window(self.film, self.film_window)

    @property
    def record(self) -> bool | str:
        """As an argument of :func:`mcusim.emulate`. Raises UsageError."""
        if self.kernels_in is not None and not self.files:
            raise UsageError("--kernels-in has no effect without --program, --html, --perfetto or --vcd")
        return self.kernels_in if self.kernels_in is not None else bool(self.files)

    def write(self, result: EmulationResult, force: bool) -> None:
        """Make all that was asked for, then write it."""
        if not self.files:
            return
        with spinner(f"writing {', '.join(map(str, self.files))}"):
            for path, text in [*self._texts(result)]:
                write_bytes(path, text.encode(), force)

    def _texts(self, result: EmulationResult) -> Iterator[tuple[Path, str]]:
        if self.program_file is not None:
            from mcusim.program import program_lines
            from mcusim.provenance import made

            yield self.program_file, "".join(f"{line}\n" for line in program_lines(result.recorded_program(), made()))
        if self.html is not None:
            from mcusim.report.firmware.page import firmware_page

            yield self.html, firmware_page(result)
        if self.perfetto is not None:
            from mcusim.report.export.firmware import firmware_perfetto

            yield self.perfetto, firmware_perfetto(result)
        if self.vcd is not None:
            from mcusim.report.export.firmware import firmware_vcd

            yield self.vcd, firmware_vcd(result)
        if self.film is not None and result.film is not None:
            from mcusim.report.html.film_page import film_page

            yield self.film, film_page(result.film)
