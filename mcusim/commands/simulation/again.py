"""``mcusim run --again``: the run that a JSON is of, done again and compared."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mcusim
from mcusim.commands.shared.output import Output, fail
from mcusim.commands.shared.progress import spinner
from mcusim.errors import InputError
from mcusim.plug_ins import file_sha256
from mcusim.results.saved.repeated import Repeated, read_document, repeated
from mcusim.text import columns, wrapped

_SHOWN = 10  # differences
# options that write, and those that would do something else; a file may be from anybody
_WRITING = {
    *("--json", "--html", "--page", "--perfetto", "--vcd", "--film", "--film-window", "--output", "-o", "--force"),
    *("--again", "--help", "-h"),
}


def run_again(path: Path, model: str | None, output: Output) -> int:
    """Run the command in the JSON at ``path``, of ``model`` instead of its own where that is not None. Exit status 0:
    all figures are equal, 1: some are not.

    Raises InputError for a file that is not the JSON of a run, or says no command, or a model or a machine that is
    another one than it was.
    """
    before = read_document(path)
    words = _words(path, before, model)
    _require_files(path, before, words)
    with spinner(f"running {words[0]} again"):
        after = _run(words)
    result = repeated(before, after, str(path))
    output.emit(lambda: _text(path, result), result.to_json)
    if not result.equal:
        fail(f"{path}: {len(result.differences):,} of {result.compared:,} figures are not those of this run")
    return 0 if result.equal else 1


def _words(path: Path, document: dict[str, Any], model: str | None) -> list[str]:
    """Model and options of the command."""
    try:
        words = shlex.split(document["made"]["command"] or "")
    except (KeyError, TypeError, ValueError, AttributeError):
        words = []
    if words[:2] != ["mcusim", "run"] or len(words) < 3:
        raise InputError(
            f"{path}: does not say which command made it (`mcusim run --json FILE` writes what --again reads; a result"
            " of inputs from arrays, or of another command, has none)"
        )
    writing = [word for word in words if word.partition("=")[0] in _WRITING]
    if writing:
        raise InputError(f"{path}: its command has {writing[0]}, and what is done again writes no files")
    name, options = (words[-1], words[2:-2]) if words[-2] == "--" else (words[2], words[3:])
    name = model or name
    return [name, *options] if not name.startswith("-") else [*options, "--", name]


def _require_files(path: Path, document: dict[str, Any], words: Sequence[str]) -> None:
    """Python that the command names is what it was, before any of it runs."""
    recorded = document["made"].get("plug_ins")
    known = {each.get("sha256") for each in recorded or [] if isinstance(each, dict)} if _is_list(recorded) else set()
    for name in (word.rpartition("=")[2] for word in words):
        if not name.endswith(".py"):
            continue
        try:
            digest = file_sha256(name)
        except OSError as error:
            raise InputError(
                f"{path}: its command names {name}, from the folder that it was run in: {error.strerror or error}"
            ) from None
        if digest not in known:
            raise InputError(f"{path}: its {Path(name).name} is another file now")


def _is_list(value: object) -> bool:
    return value is None or isinstance(value, list)


def _run(words: Sequence[str]) -> dict[str, Any]:
    """The JSON of ``mcusim run`` in a process of its own, of this very package. Raises InputError with the error of one
    that cannot run."""
    command = [sys.executable, "-m", "mcusim", "--no-config", "run", "--json", "-", *words]
    folders = [str(Path(mcusim.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, env=environment)
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        line = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("error: ")), "")
        raise InputError(line.removeprefix("error: ") or f"`mcusim run {shlex.join(words)}` did not run") from None
    return document


def _text(path: Path, result: Repeated) -> str:
    versions = "" if result.before == result.after else f"; made by mcusim {result.before}, this is {result.after}"
    if result.equal:
        return f"equal: all {result.compared:,} figures of {path}{versions}"
    rows = [["", "in the file", "now"]]
    rows += [[name, old, new] for name, old, new in result.differences[:_SHOWN]]
    more = len(result.differences) - _SHOWN
    lines = wrapped(f"{len(result.differences):,} of {result.compared:,} figures differ{versions}")
    return "\n".join([*lines, "", *columns(rows), *([f"  and {more:,} more"] if more > 0 else [])])
