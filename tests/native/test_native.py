"""Native code compiles where nothing can be kept on disk."""

from __future__ import annotations

import subprocess
import sys

# code without a file, for which numba finds no folder either
PROBE = """
from __future__ import annotations
from mcusim.native.compile import native

def double(n: int) -> int:
    return 2 * n

print(native(double)(21))
"""


def test_without_a_folder_for_compiled_code() -> None:
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False)
    assert done.stdout.strip() == "42", done.stderr
