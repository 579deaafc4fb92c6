"""The catalogue of broken overlays: a sample, one fault, and what static proof, sanitizer and a board say to it."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from mcusim.program import Program

F = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("faults.py"))))
PING_PONG, THIN, SPLIT, LARGE = "ping-pong-four-tiles", "copy-bound", "split-transfer", "next-filter"
CACHED, RESIDUAL, BLOCK = "cached-filters", "add-second-input", "filters-alternate"
Tasks = tuple[int, ...]
Expected = tuple[str, Tasks] | None
STARVED_CYCLES = 1_106_086, 1_036_509  # of the program with the wrong priorities and of its twin


@dataclass(frozen=True)
class Broken:
    """``name`` is that of its file, after its number. ``static`` is the finding that names the fault, ``observed`` that
    of the sanitizer in a run from a warm start, None when there is none; ``differs``: is the output of that run another
    than that of the twin? ``refused``: why no run is possible. ``seed``: one of ``--fuzz`` under which the sanitizer
    sees what ``static`` says, and the output differs, where ``observed`` does not."""

    name: str
    title: str
    sample: str
    fault: Callable[[Program], Program]
    static: Expected
    observed: Expected
    differs: bool
    board: str
    refused: str = ""
    seed: int | None = None


BROKEN = [
    Broken(
        "missing-wait",
        "Missing wait: the call of tile 1 does not wait for its transfer",
        THIN,
        F.waiting(2),
        ("unordered", (0, 2)),
        ("unordered", (0, 2)),
        True,
        "rows of tile 1 computed partly from what the buffer held before; comes and goes with the load of the bus",
    ),
    Broken(
        "hidden-missing-wait",
        "Missing wait that the timing hides: tile 2's transfer is ahead of the call that should wait for its end",
        THIN,
        F.waiting(4),
        ("unordered", (1, 4)),
        None,
        False,
        "nothing on the bench; wrong rows once other masters slow the DMA down",
        seed=6,
    ),
    Broken(
        "early-buffer-reuse",
        "Early buffer reuse: tile 3 is copied into its buffer while tile 1 is computed from it",
        PING_PONG,
        F.waiting(7),
        ("unordered", (6, 7)),
        ("unordered", (6, 7)),
        True,
        "rows of tile 1 computed from tile 3's data: the lower ones, or all of them where the kernel is slow",
    ),
    Broken(
        "swapped-ping-pong",
        "Swapped ping and pong: the call of tile 2 reads tile 1's buffer",
        PING_PONG,
        F.in_buffer(8, "input0", "tile0"),
        ("wrong-data", (5, 7, 8)),
        ("unordered", (7, 8)),
        True,
        "rows 17 to 32 of the result come from tile 1's data, and from tile 3's as far as its copy has got by then",
    ),
    Broken(
        "missing-halo-row",
        "Missing halo row: tile 1 without the row below its own",
        PING_PONG,
        F.all_of(F.shorter(4, 512), F.less(6, "input0", 512), F.rows(6, in_rows=17)),
        ("wrong-data", (6,)),
        None,
        True,
        "a seam: row 16 of the result is wrong (its window reaches into old bytes or padding), all others are right",
    ),
    Broken(
        "wrong-last-tile",
        "Wrong last-tile size: it computes 14 rows where 15 are left",
        PING_PONG,
        F.all_of(F.less(11, "output", 256), F.rows(11, out_rows=14)),
        ("wrong-data", (11,)),
        None,
        True,
        "the last row of the result holds what memory held before; often small changes of the scores only",
        "does not compute its model",
    ),
    Broken(
        "overlapping-overlays",
        "Overlapping overlays: tile buffers of 7 KiB for tiles of 9 KiB",
        PING_PONG,
        F.lower("tile1", 2048),
        ("unordered", (5, 6)),
        ("unordered", (7, 8)),
        True,
        "rows at the tiles' edges computed from the tile that came behind; the firmware reports nothing",
    ),
    Broken(
        "short-transfer",
        "Shortened transfer: the last tile's stops one row early",
        PING_PONG,
        F.shorter(9, 512),
        ("wrong-data", (9, 5, 11)),
        None,
        True,
        "the input's row 63 is row 31, left in the buffer by tile 2: the last two rows of the result are wrong, always",
    ),
    Broken(
        "short-first-transfer",
        "Shortened first transfer: tile 2's stops one row early, where nobody has written before",
        PING_PONG,
        F.shorter(5, 512),
        ("unwritten", (5, 8)),
        None,
        True,
        "row 32 of the result comes from what lay in SRAM at reset: another answer on every board",
    ),
    Broken(
        "producer-not-done",
        "Producer not done: the next operator's first tile is copied before the row it shares with the second is there",
        RESIDUAL,
        F.waiting(12, 7),
        ("unordered", (8, 12)),
        ("unordered", (8, 12)),
        True,
        "one row of the second convolution is computed from the previous inference's row, or from half of it",
    ),
    Broken(
        "filter-in-use",
        "Filter in the wrong slot: the next operator's filter is copied over the one in use",
        BLOCK,
        F.all_of(
            F.destination(12, "second1"), F.in_buffer(22, "filter", "second1"), F.in_buffer(23, "filter", "second1")
        ),
        ("unordered", (12, 15)),
        ("unordered", (12, 15)),
        True,
        "the depthwise convolution computes with a filter that turns into the next one's while it runs",
    ),
    Broken(
        "unsplit-transfer",
        "A transfer of 73,728 units, not split",
        SPLIT,
        F.joined(4, 5),
        ("units", (4,)),
        None,
        True,
        "NDTR counts modulo 65,536: 8,192 B arrive, the rest of the tile is old",
        "no stream takes it",
    ),
    Broken(
        "dma-into-ccm",
        "DMA into CCM: tile buffer 0 in core-coupled memory",
        PING_PONG,
        F.at("tile0", 0x1000_0000, "ccm"),
        ("reach", (4,)),
        None,
        True,
        "the stream stops with a transfer error (TEIF) and its completion never comes: the firmware waits for ever",
        "no DMA reaches it",
    ),
    Broken(
        "dma-into-itcm",
        "DMA into ITCM: a filter buffer at address 0",
        CACHED,
        F.at("second0", 0, "itcm"),
        ("reach", (0,)),
        None,
        True,
        "a transfer error; or, where the error is ignored, filters of zeros and a constant answer",
        "no DMA reaches it",
    ),
    Broken(
        "wrong-priority",
        "Wrong priority: tiles give way to filters, the long one of the next operator among them",
        LARGE,
        F.priorities,
        ("priority", (5, 4)),
        None,
        False,
        "right answers, later: the first call waits until the next operator's filter has gone before its tile",
    ),
    Broken(
        "missing-input-clean",
        "Missing clean: the input's second half is copied past the cache the application wrote it through",
        CACHED,
        F.dropped(6),
        ("missing-clean", (7,)),
        ("missing-clean", (7,)),
        True,
        "stripes of 32 bytes of an older image in the input, only where lines had not been written back by chance",
    ),
    Broken(
        "missing-clean",
        "Missing clean between operators: a tile is copied while the core's last stores are in its cache alone",
        CACHED,
        F.dropped(30),
        ("missing-clean", (25, 31)),
        ("missing-clean", (25, 31)),
        True,
        "stripes of 32 bytes of the previous inference in the third operator's input, in its lower half",
    ),
    Broken(
        "clean-before-store",
        "Clean before the store: the line is dirty again when the transfer starts",
        CACHED,
        F.all_of(F.moved(19, 13), F.waiting(20, 3, 13, 14, 15, 19)),
        ("missing-clean", (13, 20)),
        ("missing-clean", (13, 20)),
        True,
        "as without clean, in the second operator's input",
    ),
    Broken(
        "missing-invalidate",
        "Missing invalidate: the second operator reads lines that the first one left of its own multipliers",
        CACHED,
        F.all_of(F.dropped(22), F.waiting(24, 14, 18)),
        ("missing-invalidate", (14, 24)),
        ("missing-invalidate", (14, 24)),
        True,
        "the second operator's values scaled as if they were the first one's, until another line takes the place",
    ),
    Broken(
        "early-invalidate",
        "Invalidate before completion: done when the transfer is queued, while a call still reads the buffer",
        CACHED,
        F.all_of(F.moved(33, 25), F.waiting(35, 26, 29)),
        ("missing-invalidate", (26, 33, 35)),
        ("missing-invalidate", (26, 35)),
        True,
        "as without invalidate: the call brings the old lines back into the cache",
    ),
    Broken(
        "hidden-early-invalidate",
        "Invalidate before completion that the timing hides: nobody reads the buffer before the transfer's end",
        CACHED,
        F.all_of(F.waiting(12), F.waiting(13, 7)),
        ("missing-invalidate", (7, 12, 13)),
        None,
        False,
        "nothing, until the core reads ahead into the buffer or an interrupt handler uses lines next to it",
    ),
    Broken(
        "unpadded-buffer-edge",
        "Unpadded buffer edge: scratch ends, and the filter of the next operator but one begins, inside one line",
        CACHED,
        F.all_of(F.at("scratch", 0x2001_26B0), F.at("second0", 0x2001_27D0)),
        ("shared-line", (13, 16)),
        ("shared-line", (13, 16)),
        True,
        "the first weights of that filter are the older one's again once the scratch's line has been written back",
    ),
    Broken(
        "harmless-false-sharing",
        "False sharing that does no harm: scratch ends, and the shifts begin, inside one line",
        CACHED,
        F.all_of(F.at("scratch", 0x2001_2688), F.at("shift", 0x2001_27B0)),
        ("shared-line", (13, 15)),
        ("shared-line", (13, 15)),
        False,
        "nothing, until that line is written back between transfer and invalidate; then wrong channels",
    ),
    Broken(
        "dirty-target",
        "Dirty lines under a transfer: a call's scratch lies where the next filter but one will be copied",
        CACHED,
        F.all_of(F.in_buffer(11, "scratch", "second0", 576), F.in_buffer(13, "scratch", "second0", 576)),
        ("dirty-target", (13, 16)),
        ("dirty-target", (13, 16)),
        True,
        "weights replaced by scratch where dirty lines are written back behind the DMA",
    ),
    Broken(
        "missing-wait-in-split",
        "Missing wait in a split transfer: the call waits for the first part",
        SPLIT,
        F.waiting(9, 6),
        ("unordered", (7, 9)),
        None,
        False,
        "nothing, as long as the kernel comes to the last 8 KiB later than the DMA; wrong with a faster kernel",
    ),
    Broken(
        "wrong-tensor",
        "Wrong tensor: ADD takes the first convolution's result twice",
        RESIDUAL,
        F.all_of(F.source(17, "tensor3"), F.source(19, "tensor3", 1024)),
        None,
        None,
        True,
        "a plausible, wrong answer, always the same one",
    ),
    Broken(
        "wrong-weights",
        "Wrong weights: two convolutions of one shape have each other's filters",
        RESIDUAL,
        F.all_of(F.source(0, "tensor4"), F.source(4, "tensor1")),
        None,
        None,
        True,
        "scores that look like scores, and an accuracy of guessing",
    ),
    Broken(
        "invalidate-for-clean",
        "Invalidate where the clean belongs: the core's last stores are thrown away instead of written back",
        CACHED,
        F.invalidating(30),
        ("lost-store", (25, 30, 31)),
        ("lost-store", (25, 30, 31)),
        True,
        "as without clean, always, and for the core's own reads of these bytes too",
    ),
]
