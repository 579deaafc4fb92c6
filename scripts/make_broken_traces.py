"""Write traces/broken-*.jsonl and the table of traces/README.md. Deterministic: the same files every time.

Each is a sample program with one named fault; the sample is its repaired twin.

Usage: python scripts/make_broken_traces.py [FOLDER]     (default: traces/ beside this folder)
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mcusim.plan import Program, write_program

SAMPLES: Mapping[str, Any] = runpy.run_path(str(Path(__file__).with_name("make_traces.py")))
F = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("overlay_faults.py"))))
PING_PONG, CACHED, SPLIT = "ping-pong-four-tiles", "cache-maintenance", "split-transfer"


@dataclass(frozen=True)
class Broken:
    title: str
    sample: str
    fault: Callable[[Program], Program]
    rule: str
    tasks: tuple[int, ...]  # the finding that names the fault has these ids
    board: str  # what a board would show


BROKEN = [
    Broken(
        "Missing wait: the call of tile 1 does not wait for its transfer",
        PING_PONG,
        lambda p: F.without_edge(p, 8, 5),
        "unordered",
        (5, 8),
        "rows of tile 1 computed partly from what the buffer held before; comes and goes with the load of the bus",
    ),
    Broken(
        "Early buffer reuse: tile 2 is copied into its buffer while tile 0 is computed from it",
        PING_PONG,
        lambda p: F.without_edge(p, 7, 6),
        "unordered",
        (6, 7),
        "the lower rows of tile 0 computed from tile 2's data, more of them the slower the kernel",
    ),
    Broken(
        "Swapped ping and pong: the call of tile 1 reads tile 0's buffer",
        PING_PONG,
        F.swapped,
        "wrong-data",
        (5, 7, 8),
        "rows 17 to 32 of the result come from tile 0's data, and from tile 2's as far as its copy has got by then",
    ),
    Broken(
        "Missing halo row: tile 0 without the row below its own",
        PING_PONG,
        F.no_halo,
        "wrong-data",
        (6,),
        "a seam: row 16 of the result is wrong (its window reaches into old bytes or padding), all others are right",
    ),
    Broken(
        "Wrong last-tile size: it computes 14 rows where 15 are left",
        PING_PONG,
        F.last_tile,
        "wrong-data",
        (11,),
        "the last row of the result holds what memory held before; often small changes of the scores only",
    ),
    Broken(
        "Missing clean: the input's second tile is copied past the cache the application wrote it through",
        CACHED,
        F.no_clean,
        "missing-clean",
        (8,),
        "stripes of 32 bytes of an older image in the input, only where lines had not been written back by chance",
    ),
    Broken(
        "Missing invalidate: the call of tile 1 reads lines left from what the buffer held before",
        CACHED,
        F.no_invalidate,
        "missing-invalidate",
        (8, 15),
        "right on the first inference after reset (a cold cache), stripes of old data from the second one on",
    ),
    Broken(
        "Invalidate before completion: it does not wait for the transfer's end",
        CACHED,
        F.early_invalidate,
        "missing-invalidate",
        (8, 14, 15),
        "as without invalidate, more seldom: only lines that came back into the cache before the transfer had ended",
    ),
    Broken(
        "Clean before the store: the line is dirty again when the transfer starts",
        CACHED,
        F.late_clean,
        "missing-clean",
        (15, 22),
        "stripes of 32 bytes with the previous inference's values in the second operator's input",
    ),
    Broken(
        "Unpadded buffer edge: the kernel's scratch and the shifts share a line",
        CACHED,
        F.shared_edge,
        "shared-line",
        (15, 18),
        "some channels scaled wrongly now and then: the line written back brings the old shifts",
    ),
    Broken(
        "Overlapping overlays: tile buffers of 8 KiB for tiles of 9 KiB",
        PING_PONG,
        F.overlapping,
        "unordered",
        (5, 6),
        "the last rows of each tile wrong; the firmware reports nothing",
    ),
    Broken(
        "A transfer of 73,728 units, not split",
        SPLIT,
        F.unsplit,
        "units",
        (4,),
        "NDTR counts modulo 65,536: 8,192 B arrive, the rest of the tile is old",
    ),
    Broken(
        "DMA into CCM: tile buffer 0 in core-coupled memory",
        PING_PONG,
        F.in_region("tile0", "ccm", 0x1000_0000),
        "reach",
        (4,),
        "the stream stops with a transfer error (TEIF) and its completion never comes: the firmware waits for ever",
    ),
    Broken(
        "DMA into ITCM: a filter buffer at address 0",
        CACHED,
        F.in_region("second0", "itcm", 0),
        "reach",
        (0,),
        "a transfer error; or, where the error is ignored, filters of zeros and a constant answer",
    ),
    Broken(
        "Shortened transfer: the last tile's stops one row early",
        PING_PONG,
        F.short_transfer,
        "wrong-data",
        (9, 5, 11),
        "the input's row 63 is row 31, left in the buffer by tile 1: the last two rows of the result are wrong, always",
    ),
]

README = """# Sample programs

What `mcusim plan` writes, small enough to read, and programs with one fault each. Made by `scripts/make_traces.py` and
`scripts/make_broken_traces.py`. `mcusim verify FILE` proves or refutes them without a board, `mcusim replay FILE` plays
those that the machine can play.

## Broken overlays

Each is a sample with one fault; the sample is its repaired twin. *Rule* and *tasks* are those of the finding of the
static proof that names the fault (there may be more: one fault has several consequences).

| file | what is wrong | repaired | rule | tasks | what a board would show |
|---|---|---|---|---|---|
{rows}

Left out: a wrong priority that starves the input tile, which costs time and no correctness.
"""


def program(number: int) -> Program:
    """Broken program ``number`` (from 1), its title among the header's options."""
    case = BROKEN[number - 1]
    made = case.fault(SAMPLES["program"](SAMPLES["SAMPLES"][case.sample]))
    return replace(made, header=replace(made.header, options={**made.header.options, "title": case.title}))


def named(tasks: tuple[int, ...]) -> str:
    return ", ".join(map(str, tasks))


def readme() -> str:
    """The README with its table."""
    rows = [
        " | ".join([f"| broken-{n:02d}.jsonl", c.title, f"{c.sample}.jsonl", c.rule, named(c.tasks), c.board]) + " |"
        for n, c in enumerate(BROKEN, 1)
    ]
    return README.format(rows="\n".join(rows))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, len(BROKEN) + 1):
        write_program(program(number), folder / f"broken-{number:02d}.jsonl")
    (folder / "README.md").write_text(readme(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "traces")
