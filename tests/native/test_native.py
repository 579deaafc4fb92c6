"""Native functions are linked, stored and loaded; a function without a file is one too."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from mcusim.native import library, objects
from mcusim.native.call_graph import called
from mcusim.native.functions import inlined, native, shared
from tests.support.cases import few
from tests.support.other_processes import LONGEST_WAIT

# code without a file, for which numba finds no folder either, and a function that its user compiles with numba
PROBE = """
from __future__ import annotations
import numba
from mcusim.native.functions import native

def double(n: int) -> int:
    return 2 * n

print(native(double)(21))
numba.njit("int64(int64)")(double)
print(int(numba.config.OPT))
"""

WARM = """
import sys
import mcusim
from mcusim.native.compile_progress import on_compile

late = []
on_compile(late.append)
for fidelity in ("replay", "emulate"):
    mcusim.simulate("ds-cnn", "stm32f746g-disco", policy="tinyops", fidelity=fidelity)
mcusim.simulate("ds-cnn", "stm32f746g-disco", policy="internal", kernels="reference")
print(late, "numba" in sys.modules)
"""


@inlined
def half(n: int) -> int:
    return n // 2


@shared
def quarter(n: int) -> int:
    return half(half(n))


@native
def outer(n: int) -> int:
    return quarter(n) + half(n > 3) + half(n & 6)


@native
def may_raise(n: int) -> int:
    total = 0
    for i in range(0, 9, n):
        total += i
    return total


def run(code: str) -> list[str]:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, text=True, capture_output=True, timeout=LONGEST_WAIT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_function_without_a_file() -> None:
    """And numba optimises as ever what its user compiles afterwards."""
    assert run(PROBE) == ["42", "3"]


def test_what_a_function_calls_is_linked_to_it() -> None:
    assert [outer(8), outer(3), half(7), half(True)] == [2, 1, 3, 0]
    with pytest.raises(TypeError, match=r"str.* cannot be interpreted as an integer"):
        outer("8")  # type: ignore[arg-type]


def test_what_may_raise_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"test_native\.may_raise: may raise, as a range does whose step may be 0"):
        may_raise(0)


@few(1)
@pytest.mark.parametrize("names", [0, 100, 300, 70_000])
def test_calls_are_found_behind_any_number_of_names(names: int) -> None:
    """By a global name and by one of a module; behind many names the bytecode needs wider arguments."""
    before = "".join(f"    name_{n}\n" for n in range(names))
    known: dict[str, Any] = {"module": ModuleType("module"), "one": 1.0}
    known["module"].other = 2.0
    exec(f"def function():\n{before}    one\n    module.other\n", known)
    assert list(called(known["function"], float)) == [1.0, 2.0]


def test_a_stored_library_is_loaded_without_numba() -> None:
    """For replay and emulation alike."""
    for name in objects.OBJECTS:
        library.prepared(name)
    assert run(WARM) == ["[] False"]


RUNS = """
import mcusim
for model, policy in (("mobilenet-v1-w0.25-r032", "tinyops"), ("figure-1", "external")):
    options = {"buffer_sizes": "largest"} if policy == "tinyops" else {}
    result = mcusim.simulate(model, "stm32f746g-disco", policy, **options)
    print(model, result.run.cycles, sorted(result.run.traffic.items()))
"""


def test_a_replay_in_python_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole runs with MCUSIM_NATIVE=0, as a debugger steps them."""
    native_runs = run(RUNS)
    monkeypatch.setenv("MCUSIM_NATIVE", "0")
    assert run(RUNS) == native_runs and len(native_runs) == 2
