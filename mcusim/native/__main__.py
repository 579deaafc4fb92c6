"""``python -m mcusim.native`` compiles all native code, as after an installation or before tests run side by side."""

from __future__ import annotations

import sys

from mcusim.native.warm import warm


def _show(done: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"\rcompiling native code: {done} of {count} functions", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    ready = warm(_show)
    print(f"\r{ready} native functions are compiled".ljust(60), file=sys.stderr)
