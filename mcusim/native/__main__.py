"""``python -m mcusim.native`` builds the library of native functions: after an installation, before tests run side by
side."""

from __future__ import annotations

import sys

from mcusim.native import build, library
from mcusim.native.objects import OBJECTS

if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        build.work(sys.stdin.buffer, sys.stdout.buffer)
    else:
        for name in OBJECTS:
            library.prepared(name)
        print(f"native code is built: {', '.join(OBJECTS)}", file=sys.stderr)
