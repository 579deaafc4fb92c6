"""Write traces/broken-*.jsonl. Deterministic: the same files every time.

Each is a sample program with one named fault; the sample is its repaired twin (see catalogue.py). ``page`` is the page
of the documentation about them, which scripts/docs writes.

Usage: python scripts/traces/make_broken.py [FOLDER]     (default: traces/ of this repository)
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mcusim.program import Program, write_program

HERE = Path(__file__).resolve().parent
SAMPLES: Mapping[str, Any] = runpy.run_path(str(HERE / "make.py"))
CATALOGUE = SimpleNamespace(**runpy.run_path(str(HERE / "catalogue.py")))
BROKEN = CATALOGUE.BROKEN

PAGE = """# Broken overlays

Sample programs with one fault each (`traces/broken-*.jsonl`, written by `scripts/traces/make_broken.py`); the sample
without the fault is its repaired twin. `mcusim verify FILE` proves or refutes a program without a board
([guide](../guide/verify.md)).

- *static proof*: rule and tasks of the finding that names the fault (there may be more: one fault has several
  consequences);
- *sanitizer*: rule and tasks of what the run of `emulate` sees from a warm start (the second inference after reset:
  memory and data cache full of stale bytes, the input just written through the cache; seed 1); "not run" are
  programs that the emulated machine does not take, and why;
- *output*: whether that run's output differs from the twin's, byte for byte;
- *with seed N*: under the timing that `mcusim verify FILE --fuzz 1 --seed N` makes.

Where neither proof nor sanitizer finds anything, comparing the output with that of the untiled network, or of LiteRT,
remains: a program does not say which tensor an operator should read.

| file | what is wrong | repaired twin | static proof | sanitizer | output | what a board would show |
|---|---|---|---|---|---|---|
{rows}

The starved tile of `{starved}` costs {cost:.0%}: {slow:,} cycles, its repaired twin {fast:,}
(`mcusim replay traces/{starved} --fidelity emulate --model traces/sample-large-filter.tflite`, and the
same with `traces/next-filter.jsonl`).
"""


def file_name(number: int) -> str:
    """``broken-03-early-buffer-reuse.jsonl``, of broken program ``number`` (from 1)."""
    return f"broken-{number:02d}-{BROKEN[number - 1].name}.jsonl"


def program(number: int) -> Program:
    """Broken program ``number`` (from 1), its title among the header's options."""
    case = BROKEN[number - 1]
    made = case.fault(SAMPLES["program"](SAMPLES["SAMPLES"][case.sample]))
    return replace(made, header=replace(made.header, options={**made.header.options, "title": case.title}))


def named(found: tuple[str, tuple[int, ...]] | None) -> str:
    """A rule and its tasks."""
    return f"{found[0]} {', '.join(map(str, found[1]))}" if found else "–"


def row(number: int, case: Any) -> str:
    """One row of the table."""
    seen = f"not run: {case.refused}" if case.refused else named(case.observed)
    output = "–" if case.refused else "differs" if case.differs else "same"
    if case.seed is not None:
        seen, output = f"– ({named(case.static)} with seed {case.seed})", f"{output} (differs with seed {case.seed})"
    cells = (
        f"`{file_name(number)}`",
        case.title,
        f"`{case.sample}.jsonl`",
        named(case.static),
        seen,
        output,
        case.board,
    )
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The page of the documentation, with its table."""
    slow, fast = CATALOGUE.STARVED_CYCLES
    starved = next(file_name(n) for n, case in enumerate(BROKEN, 1) if case.static and case.static[0] == "priority")
    return PAGE.format(
        rows="\n".join(row(n, case) for n, case in enumerate(BROKEN, 1)),
        starved=starved,
        cost=slow / fast - 1,
        slow=slow,
        fast=fast,
    )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, len(BROKEN) + 1):
        write_program(program(number), folder / file_name(number))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[1] / "traces")
