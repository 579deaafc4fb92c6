"""Sessions: modules are loaded and called, their values are right, and what a call takes comes again."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mcusim.errors import UsageError
from mcusim.sessions.heap import SessionHeap
from mcusim.sessions.session import DeviceSession, SessionFault, session
from tests.sessions.test_object_file import needs_compiler
from tests.support.cases import sample_size

MACHINES = ("stm32f746g-disco", "stm32f469i-disco")
DOT = """
int dot(const signed char *a, const signed char *b, int n, int f, int g, int h)
{
    int sum = f + 10 * g + 100 * h;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
int fault(int *at) { return *at; }
int endless(volatile int *x) { for (;;) (*x)++; }
int counter(void) { static int count; return ++count; }
void fill(signed char *to, int n) { for (int i = 0; i < n; i++) to[i] = 3 * i; }
"""


def with_dot(machine: str) -> tuple[DeviceSession, list[int | object], int]:
    s = session(machine)
    s.load(DOT)
    a = np.random.default_rng(3).integers(-128, 128, (2, 200)).astype(np.int8)
    return s, [s.tensor(a[0]), s.tensor(a[1]), 200, 1, 2, 3], int((a[0].astype(int) * a[1]).sum()) + 321


@needs_compiler
@pytest.mark.parametrize("machine", MACHINES)
def test_calls_have_values_cycles_and_causes(machine: str) -> None:
    s, values, right = with_dot(machine)
    cold, warm = s.call("dot", *values), s.call("dot", *values)  # type: ignore[arg-type]
    assert cold.signed == warm.signed == right and cold.value == right & 0xFFFF_FFFF
    assert 200 < warm.cycles <= cold.cycles and warm.instructions == cold.instructions > 800
    for one in (cold, warm):
        assert sum(one.causes.values()) == pytest.approx(one.cycles)
    room = s.tensor((50,), region="sdram")
    assert s.call("fill", room, 50).cycles > 50 and room.array.tolist() == [
        (3 * i + 128) % 256 - 128 for i in range(50)
    ]
    room.write(np.ones(50, np.int8))
    assert room.array.sum() == 50


@needs_compiler
def test_the_session_goes_on_after_a_fault() -> None:
    s, values, right = with_dot(MACHINES[0])
    with pytest.raises(SessionFault, match="fault") as error:
        s.call("fault", 0xF000_0000)
    assert error.value.location.startswith("fault+") and error.value.kind
    with pytest.raises(SessionFault, match="more instructions than it may") as error:
        s.call("endless", s.tensor((4,)), max_instructions=10_000)
    assert error.value.kind == "limit" and error.value.location.startswith("endless+")
    assert s.call("dot", *values).signed == right  # type: ignore[arg-type]
    for name, given in (("nothing", ()), ("dot", ("x",)), ("dot", (1 << 32,))):
        with pytest.raises(UsageError):
            s.call(name, *given)  # type: ignore[arg-type]


@needs_compiler
def test_a_snapshot_comes_back_to_the_cycle() -> None:
    s, values, right = with_dot(MACHINES[0])
    s.call("counter")
    snapshot, used = s.snapshot(), s.heap.used
    first = [s.call("counter"), s.call("dot", *values)]  # type: ignore[arg-type]
    s.load("int other(void) { return 1; }")
    s.tensor(np.arange(1000))
    s.restore(snapshot)
    again = [s.call("counter"), s.call("dot", *values)]  # type: ignore[arg-type]
    assert [(one.value, one.cycles) for one in first] == [(one.value, one.cycles) for one in again]
    assert first[0].value == 2 and first[1].signed == right and s.heap.used == used
    s.reset()
    assert not s.symbols and s.heap.used < used
    s.load(DOT)
    assert s.call("counter").value == 1


@needs_compiler
def test_modules_are_linked_with_each_other_and_leave_the_heap_as_it_was(tmp_path: object) -> None:
    s = session(MACHINES[0])
    with pytest.raises(UsageError, match="undefined: helper, other_one; load the modules that have them first"):
        s.load("int helper(int); extern int other_one; int f(int x) { return helper(x) + other_one; }")
    used = s.heap.used
    helper = s.load("int other_one = 5; int helper(int x) { return 2 * x; }", region="dtcm")
    user = s.load("int helper(int); extern int other_one; int f(int x) { return helper(x) + other_one; }")
    assert s.call("f", 4).value == 13
    user.unload()
    helper.unload()
    assert s.heap.used == used
    with pytest.raises(UsageError, match="unloaded already"):
        user.unload()
    with pytest.raises(UsageError, match="does not compile") as error:
        s.load("int f(int x) { return y; }")
    assert any("undeclared" in line for line in error.value.lines)


def test_a_heap_is_as_it_was_when_all_is_given_back() -> None:
    heap, dice = SessionHeap({"a": (0x2000_0000, 4096), "b": (0x6000_0000, 1 << 16)}), random.Random(3)
    held: dict[int, tuple[int, str]] = {}
    for _ in range(sample_size(100_000, 5_000)):
        if held and dice.random() < 0.5:
            address = dice.choice([*held])
            held.pop(address)
            heap.release(address)
            continue
        size, region, alignment = dice.randrange(1, 700), dice.choice("ab"), dice.choice((1, 4, 8, 32))
        try:
            address = heap.allocate(size, region, alignment)
        except UsageError:
            continue
        assert address % alignment == 0
        assert all(address + size <= other or other + bytes_ <= address for other, (bytes_, _) in held.items())
        held[address] = size, region
    assert heap.used == sum(size for size, _ in held.values())
    for address in held:
        heap.release(address)
    assert heap.used == 0 and heap.free_bytes("a") == 4096
    assert heap.allocate(4096, "a") == 0x2000_0000 and heap.allocate(1 << 16, "b") == 0x6000_0000
