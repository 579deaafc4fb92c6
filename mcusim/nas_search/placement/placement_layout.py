"""What a part's row has, figure by figure: constants that native code is compiled with."""

from __future__ import annotations

STEPS, INPUT_LAST, OUT_FIRST, OUT_BYTES, MACS, STORED, TABLES, SHARED, RUNTIME, SYMBOLS, COUNT, BUFFERS = range(12)
FIELDS, BLOCK, BLOCKS, SCRATCHES = 12, 6, 6, 6  # figures of a row; figures of a block, blocks, scratch buffers at most
SCRATCH = FIELDS + BLOCK * BLOCKS
ROW = SCRATCH + 2 * SCRATCHES
