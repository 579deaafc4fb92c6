"""``python -m mcusim.native`` compiles all native code on all cores: after an installation, before tests run side by
side."""

from __future__ import annotations

import sys

from mcusim.native.compile_all import warm
from mcusim.processes import processes


def _show(done: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"\rcompiling native code: {done} of {count} functions", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    ready = warm(_show, processes(None, 8))
    print(f"\r{ready} native functions are compiled".ljust(60), file=sys.stderr)
