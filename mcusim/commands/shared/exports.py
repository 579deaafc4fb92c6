"""``--html``, ``--perfetto``, ``--vcd`` and ``--film``: a run to look at, in a browser or in other tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared.declare import option
from mcusim.commands.shared.output import check_apart, check_outputs, write_bytes
from mcusim.commands.shared.progress import spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.api.fidelity_comparison import FidelityComparison
    from mcusim.results import Result
    from mcusim.run_config.film_window import FilmWindow

FilmTimes = Annotated[
    str | None, option("TIMES", 'Of the film: "2 ms to 3 ms". Default: from the beginning.', names="--film-window")
]


def film_window(file: Path | None, times: str | None) -> FilmWindow | None:
    """The window of a film that is to go to ``file``. Raises UsageError and UnitError."""
    from mcusim.run_config.film_window import FilmWindow

    if file is None:
        if times is not None:
            raise UsageError("--film-window has no effect without --film, which names the film's file")
        return None
    return FilmWindow() if times is None else FilmWindow.parse(times)


@dataclass(frozen=True)
class Views:
    """The files that were asked for. Both fidelities of a run go into one file."""

    html: Annotated[Path | None, option("FILE", "Plots: tasks over time, memory, cycles and energy by operator.")] = (
        None
    )
    page: Annotated[
        str | None,
        option(
            "PAGE",
            "Which page --html writes, or the path of one (./my_page.py). Default: run; compare for two fidelities.",
        ),
    ] = None
    perfetto: Annotated[Path | None, option("FILE", "The run over time as a Chrome trace, for ui.perfetto.dev.")] = None
    vcd: Annotated[Path | None, option("FILE", "The run over time as a value change dump, for GTKWave or Surfer.")] = (
        None
    )
    film: Annotated[
        Path | None, option("FILE", "A film as a page: what caches and SDRAM rows hold, access by access.")
    ] = None
    film_window: FilmTimes = None

    @property
    def window(self) -> FilmWindow | None:
        """Of the film that was asked for. Raises UsageError and UnitError."""
        return film_window(self.film, self.film_window)

    @property
    def files(self) -> list[Path]:
        """Those that are to be written."""
        return [path for path in (self.html, self.perfetto, self.vcd, self.film) if path is not None]

    def check(self, json: Path | None, inputs: Iterable[str | Path | None], force: bool, fidelity: str) -> None:
        """Refuse before the work what could not be written after it, and what would overwrite an input."""
        if self.page is not None:
            from mcusim.report.html.pages import check_page

            if self.html is None:
                raise UsageError("--page has no effect without --html, which names the file of the page")
            check_page(self.page, 2 if fidelity == "both" else 1)
        given = list(inputs)
        for path in self.files:
            check_apart(path, given)
        check_outputs(self.files, json, given, force)

    def write(self, result: Result | FidelityComparison, force: bool) -> None:
        """Make all of them, then write them; of what has no run only the page, which says why."""
        from mcusim.results import Result

        if not self.files:
            return
        with spinner(f"writing {', '.join(map(str, self.files))}"):
            results = [result] if isinstance(result, Result) else [result.replay, result.emulate]
            for path, text in self._texts(results):
                write_bytes(path, text.encode(), force)

    def unwritten(self) -> str:
        """What to say about the traces when there is no run."""
        names = ", ".join(str(path) for path in (self.perfetto, self.vcd, self.film) if path is not None)
        return f"; there is no run to trace: {names} not written" if names else ""

    def _texts(self, results: Sequence[Result]) -> list[tuple[Path, str]]:
        texts = []
        if self.html is not None:
            from mcusim.report.html.pages import page_html

            texts.append((self.html, page_html(self.page, results)))
        ran = all(result.fits for result in results)
        if self.perfetto is not None and ran:
            from mcusim.report.export.perfetto import perfetto_json

            texts.append((self.perfetto, perfetto_json(*results)))
        if self.vcd is not None and ran:
            from mcusim.report.export.vcd import vcd_text

            texts.append((self.vcd, vcd_text(*results)))
        taken = [result.film for result in results if result.film is not None]
        if self.film is not None and taken:
            from mcusim.report.html.film_page import film_page

            texts.append((self.film, film_page(taken[-1])))
        return texts
