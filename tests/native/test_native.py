"""Native code is compiled once, where it is called, and where nothing can be kept on disk too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcusim.native.call_graph import called
from tests.support.cases import few, only_with_all_cases
from tests.support.other_processes import LONGEST_WAIT

# code without a file, for which numba finds no folder either
PROBE = """
from __future__ import annotations
from mcusim.native.functions import native

def double(n: int) -> int:
    return 2 * n

print(native(double)(21))
"""

PARTS = """
from __future__ import annotations
from mcusim.native.functions import inlined, native
from mcusim.native.compile_progress import on_compile

heard = []
on_compile(heard.append)

@native
def half(n: int) -> int:
    return n // 2

@inlined
def quarter(n: int) -> int:
    return half(half(n))

@native
def outer(n: int) -> int:
    return quarter(n) + half(n > 3) + half(n & 6)

print(outer(8), heard, half.overloads == {}, len(outer.overloads))
print(half(7), half(True), heard[2:])
"""

SHARED = """
from __future__ import annotations
from mcusim.native.functions import native, shared
from mcusim.native.compile_progress import on_compile

heard = []
on_compile(heard.append)

@shared
def half(n: int) -> int:
    return n // 2

@shared
def quarter(n: int) -> int:
    return half(half(n))

@native
def between(n: int) -> int:
    return quarter(n) + 1

@native
def outer(n: int) -> int:
    return between(n) + quarter(2 * n)

@native
def other(n: int) -> int:
    return quarter(n) - half(n)

print(outer(8), other(8), quarter(12), heard[::2])
"""

WARM = """
import mcusim
from mcusim.native.compile_progress import on_compile
from mcusim.native.compile_all import entries, warm

steps = []
ready = warm(lambda done, count: steps.append((done, count)))
assert steps == [(n, ready) for n in range(ready + 1)] and ready == len(entries())
late = []
on_compile(late.append)
for fidelity in ("replay", "emulate"):
    mcusim.simulate("ds-cnn", "stm32f746g-disco", policy="tinyops", fidelity=fidelity)
mcusim.simulate("ds-cnn", "stm32f746g-disco", policy="internal", kernels="reference")
print(late)
"""


def run(code: str) -> list[str]:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, text=True, capture_output=True, timeout=LONGEST_WAIT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_without_a_folder_for_compiled_code() -> None:
    assert run(PROBE) == ["42"]


def test_a_part_is_compiled_into_its_caller_only() -> None:
    first, second = run(PARTS)
    assert first == "2 ['outer', None] True 1"
    assert second == "3 0 ['half', None]"


@only_with_all_cases
def test_a_shared_function_is_compiled_once_and_found_again_on_disk(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(SHARED)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import module"
    assert run(code) == ["7 -2 3 ['half', 'quarter', 'outer', 'other']"]
    assert run(code) == ["7 -2 3 []"]


@few(1)
@pytest.mark.parametrize("names", [0, 100, 300, 70_000])
def test_calls_are_found_behind_any_number_of_names(names: int) -> None:
    """By a global name and by one of a module; behind many names the bytecode needs wider arguments."""
    before = "".join(f"    name_{n}\n" for n in range(names))
    known: dict[str, Any] = {"module": ModuleType("module"), "one": 1.0}
    known["module"].other = 2.0
    exec(f"def function():\n{before}    one\n    module.other\n", known)
    assert list(called(known["function"], float)) == [1.0, 2.0]


@only_with_all_cases
def test_nothing_is_left_to_compile_after_all_was() -> None:
    assert run(WARM) == ["[]"]
