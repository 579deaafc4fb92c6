"""Sessions: modules are loaded and called, their values are right, and what a call takes comes again."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim.errors import McusimError, UsageError
from mcusim.sessions.heap import SessionHeap
from mcusim.sessions.session import DeviceSession, SessionFault, session
from mcusim.sessions.traffic import LINKS
from tests.sessions.test_object_file import compiled, needs_compiler
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
def test_modules_are_linked_with_each_other_and_leave_the_heap_as_it_was(tmp_path: Path) -> None:
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
    path, before = compiled(tmp_path, "cortex-m7", "-O2", source=MODULE), s.heap.by_region()
    for i in range(sample_size(1000, 100)):
        module = s.load(path, region=("sram1", "dtcm", "sdram", "flash", "itcm")[i % 5])
        assert s.call("twice", i).value == 2 * i
        module.unload()
    assert s.heap.by_region() == before


MODULE = """
static int seen;
static const int factors[] = {1, 2, 3};
int add(int x) { seen += x; return seen * factors[1]; }
int twice(int x) { return add(x); }
"""
CXX = """
extern "C" int puts(const char *);
extern "C" void abort(void);
static int order[3], count;
struct Noted { Noted(int i) { order[count++] = i; } };
Noted first(1), second(2);
struct Shape { virtual int sides() { return 0; } };
struct Square : Shape { int sides() override { return 4; } };
Square square;
Shape *shape = &square;
extern "C" int constructed(void) { return 100 * order[0] + 10 * order[1] + shape->sides(); }
extern "C" double ratio(double a, long long b) { return a / b; }
extern "C" void prints(void)
{
    puts("semihosting");
    *(volatile unsigned char *)0xE0000000 = 'I';
    *(volatile unsigned *)0x40011000 = 0xD;
    *(volatile unsigned *)0x40011028 = 'U';
}
extern "C" void dies(void) { abort(); }
"""


@needs_compiler
def test_what_modules_need_is_there_without_a_library(tmp_path: Path) -> None:
    """Constructors of C++, the compiler's own functions, printing by three ways."""
    (tmp_path / "a.cpp").write_text(CXX)
    s = session(MACHINES[0], {})
    s.load(tmp_path / "a.cpp")
    assert s.call("constructed").value == 124
    assert s.call("ratio", np.float64(10), np.int64(-(10**12))).float64 == -1e-11
    s.call("prints")
    assert s.output.startswith("semihosting\n") and "I" in s.output
    with pytest.raises(SessionFault) as error:
        s.call("dies")
    assert error.value.location == "abort+0x0" and error.value.kind == "undefined instruction"
    assert error.value.exit_status == 1


SCALARS: dict[str, tuple[str, Callable[[random.Random], Any]]] = {
    "int": ("int", lambda dice: dice.randrange(-1000, 1000)),
    "char": ("signed char", lambda dice: dice.randrange(-128, 128)),
    "wide": ("long long", lambda dice: np.int64(dice.randrange(-(1 << 40), 1 << 40))),
    "float": ("float", lambda dice: np.float32(dice.randrange(-1000, 1000) / 8)),
    "double": ("double", lambda dice: np.float64(dice.randrange(-1000, 1000) / 8)),
    "three": ("struct three", lambda dice: np.array(tuple(dice.randrange(-99, 99) for _ in range(3)), THREE)[()]),
    "mixed": ("struct mixed", lambda dice: np.array((dice.randrange(99), dice.randrange(99) / 4), MIXED)[()]),
    "pair": ("struct pair", lambda dice: np.array((dice.randrange(99) / 4, dice.randrange(99) / 4), PAIR)[()]),
}
THREE = np.dtype([("x", "i4"), ("y", "i4"), ("z", "i4")])
MIXED = np.dtype([("n", "i4"), ("d", "f8")], align=True)
PAIR = np.dtype([("x", "f4"), ("y", "f4")])
STRUCTURES = """
struct three { int x, y, z; };
struct mixed { int n; double d; };
struct pair { float x, y; };
"""
TERMS = {"three": "({0}.x + 3 * {0}.y + 5 * {0}.z)", "mixed": "({0}.n + 7 * {0}.d)", "pair": "({0}.x + 9 * {0}.y)"}


FACTORS = {"three": (1, 3, 5), "mixed": (1, 7), "pair": (1, 9)}


def number_of(kind: str, value: Any) -> float:
    """As the C expression of :data:`TERMS`."""
    parts = value.item() if kind in FACTORS else (value,)
    return sum(factor * float(part) for factor, part in zip(FACTORS.get(kind, (1,)), parts, strict=True))


@needs_compiler
def test_values_of_any_kind_arrive_where_compiled_code_expects_them() -> None:
    """Random signatures of up to twelve parameters: the compiler is the reference of the calling standard."""
    dice, source, calls = random.Random(7), STRUCTURES, []
    for number in range(sample_size(400, 40)):
        kinds = [dice.choice([*SCALARS]) for _ in range(dice.randrange(1, 13))]
        parameters = ", ".join(f"{SCALARS[kind][0]} v{i}" for i, kind in enumerate(kinds))
        terms = (f"{i + 1}.0 * {TERMS.get(kind, '{0}').format(f'v{i}')}" for i, kind in enumerate(kinds))
        source += f"double f{number}({parameters}) {{ return {' + '.join(terms)}; }}\n"
        calls.append([(kind, SCALARS[kind][1](dice)) for kind in kinds])
    s = session(MACHINES[1])
    s.load(source, flags="-O1")
    for number, values in enumerate(calls):
        expected = sum((i + 1) * number_of(*value) for i, value in enumerate(values))
        assert s.call(f"f{number}", *(value for _, value in values)).float64 == expected, (number, values)


@needs_compiler
def test_a_queue_gives_the_bytes_of_calls_one_by_one() -> None:
    """Random calls, reads and writes; and it costs a fraction of the round trips."""

    def played(lazy: bool) -> tuple[list[Any], DeviceSession]:
        dice, s = random.Random(5), session(MACHINES[0])
        s.load(DOT + MIX)
        tensors = [
            s.tensor(np.arange(64, dtype=np.int8) * i, region=("sram1", "dtcm", "sdram")[i % 3]) for i in range(5)
        ]
        seen: list[Any] = []
        with s.lazy() if lazy else nullcontext():
            for _ in range(sample_size(2000, 200)):
                a, b, action = dice.choice(tensors), dice.choice(tensors), dice.random()
                seen.append(s.call("mix", a, b, dice.randrange(1, 64)))
                if action < 0.03:
                    a.write(np.full(64, dice.randrange(100), np.int8))
                elif action < 0.06:
                    seen.append(b.array.tolist())
        return [one if isinstance(one, list) else (one.value, one.cycles, one.causes) for one in seen] + [
            one.array.tolist() for one in tensors
        ], s

    (strict, one), (lazy, queue) = played(False), played(True)
    assert strict == lazy
    assert queue.traffic.bytes == one.traffic.bytes and queue.traffic.starts < one.traffic.starts / 5
    assert queue.traffic.round_trips < one.traffic.round_trips / 5
    for link in LINKS:
        assert 0 < queue.traffic.seconds(link) < one.traffic.seconds(link)


MIX = (
    "int mix(signed char *a, const signed char *b, int n) { for (int i = 0; i < n; i++) a[i] += b[63 - i]; return *a; }"
)


@needs_compiler
def test_a_fault_in_a_queue_is_seen() -> None:
    s = session(MACHINES[0])
    s.load(DOT)
    with s.lazy():
        first, second, third = s.call("counter"), s.call("fault", 0xF000_0000), s.call("counter")
        assert "waiting" in repr(second)
        assert first.value == 1
        for call, kind in ((second, "fault"), (third, "not run")):
            with pytest.raises(SessionFault) as error:
                call.value  # noqa: B018
            assert kind in error.value.kind
    with pytest.raises(SessionFault, match="fault"), s.lazy():  # nobody reads it
        s.call("fault", 0xF000_0000)
    assert s.call("counter").value == 2
    other = session(MACHINES[0])
    with pytest.raises(UsageError, match="another session"):
        other.restore(s.snapshot())


@needs_compiler
def test_damaged_modules_end_in_an_error_or_a_fault(tmp_path: Path) -> None:
    """Loaded and called: each a result, a fault or one error, and the session goes on."""
    data, dice = compiled(tmp_path, "cortex-m7", "-O2", source=DOT).read_bytes(), random.Random(11)
    s, path = session(MACHINES[0]), tmp_path / "b.o"
    a = s.tensor(np.arange(32, dtype=np.int8))
    begun, ends = s.snapshot(), Counter[str]()
    for _ in range(sample_size(500, 40)):
        raw = bytearray(data)
        for _ in range(dice.choice((1, 3, 20))):
            raw[dice.randrange(0x34, 0x200)] = dice.randrange(256)
        path.write_bytes(raw)
        try:
            s.load(path)
            for name in ("dot", "fill"):
                s.call(name, a, a if name == "dot" else 32, 32, max_instructions=20_000)
            ends["result"] += 1
        except (McusimError, SessionFault) as error:
            assert "\n" not in str(error)
            ends[type(error).__name__] += 1
        s.restore(begun)
    s.load(DOT)
    s.call("fill", a, 32)
    assert a.array[5] == 15 and ends["SessionFault"] and ends["result"], ends


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
