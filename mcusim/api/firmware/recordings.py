"""Recording a run for pictures and programs: what is asked for, and what came of it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mcusim.errors import UsageError
from mcusim.results.hot_spots import function_of
from mcusim.run_config.settings import require_type

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator
    from mcusim.emulator.recording.recorder import Recorder
    from mcusim.emulator.recording.recording import Recording
    from mcusim.image.image import Image

MOST_FUNCTIONS = 1000


def begin_recording(emulator: Emulator, image: Image, record: bool | str) -> Recorder | None:
    """Record ``emulator`` from now on, calls of the functions that the pattern ``record`` names apart; False: do not.

    Raises UsageError for a pattern that no function has, or too many have.
    """
    require_type("record", record, ((bool, str), "True, False or a pattern of function names"))
    if record is False:
        return None
    from mcusim.emulator.recording.recorder import Recorder, watch_calls

    recorder = Recorder(emulator, lambda address: function_of(image, address)[1])
    if isinstance(record, str):
        watch_calls(recorder, emulator, _functions(image, record))
    return recorder


def _functions(image: Image, pattern: str) -> list[int]:
    symbols = [symbol for symbol in image.symbols if symbol.kind == "function" and fnmatchcase(symbol.name, pattern)]
    functions = sorted({symbol.address for symbol in symbols})
    if not functions:
        raise UsageError(f"--kernels-in {pattern[:80]!r}: no function of {image.path} has such a name")
    if len(functions) > MOST_FUNCTIONS:
        raise UsageError(f"--kernels-in {pattern[:80]!r}: {len(functions):,} functions, at most {MOST_FUNCTIONS:,}")
    return functions


def recording_of(emulator: Emulator, recorder: Recorder | None) -> Recording | None:
    """What was recorded, now that the run is over."""
    if recorder is None:
        return None
    from mcusim.emulator.recording.recording import Recording

    return Recording.of(emulator, recorder)
