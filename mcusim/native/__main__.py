"""``python -m mcusim.native`` builds the library of native functions: after an installation, before tests run side by
side."""

from __future__ import annotations

import sys

from mcusim.native import library

if __name__ == "__main__":
    for name in library.OBJECTS:
        library.prepare(name)
    print(f"native code is built: {', '.join(library.OBJECTS)}", file=sys.stderr)
