"""Wrong calls of a session: each is one line that names what is wrong, and the session goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mcusim.errors import McusimError, UsageError
from mcusim.sessions.session import DeviceSession, SessionFault, session
from mcusim.sessions.shell import SessionShell
from tests.sessions.test_object_file import needs_compiler

BOARD = "stm32f746g-disco"
SOURCE = """
#include <stdint.h>
typedef struct { int16_t a, b; } pair;
typedef enum { RED, GREEN = 300 } colour;
int32_t dot(const int8_t *a, const int8_t *b, int n) { int s = 0; while (n--) s += a[n] * b[n]; return s; }
int8_t narrow(int8_t a) { return a; }
uint8_t byte(uint8_t a) { return a; }
int16_t half(int16_t a) { return a; }
uint16_t ushort(uint16_t a) { return a; }
int64_t wide(int64_t a) { return a; }
uint64_t uwide(uint64_t a) { return a; }
float single(float a) { return a; }
double both(double a, float b) { return a + b; }
_Bool flag(_Bool a) { return a; }
colour paint(colour c) { return c; }
int of_pair(pair p) { return p.a + p.b; }
const char *name(void) { return "x"; }
void fill(uint8_t *to, unsigned n) { for (unsigned i = 0; i < n; i++) to[i] = 7; }
void before(int8_t *to) { to[-1] = 1; }
int count(int n, ...) { return n; }
int bare() { return 5; }
int spin(volatile int32_t *x) { for (;;) (*x)++; }
void floats(const float *x) { (void)x; }
"""


@pytest.fixture(scope="module")
def loaded() -> DeviceSession:
    s = session(BOARD)
    s.load(SOURCE)
    return s


@needs_compiler
@pytest.mark.parametrize(
    ("name", "value", "returned"),
    [
        ("narrow", -100, -100), ("narrow", 200, -56), ("byte", 200, 200), ("byte", -1, 255), ("half", -16311, -16311),
        ("ushort", 65535, 65535), ("wide", -(1 << 40), -(1 << 40)), ("uwide", (1 << 64) - 1, (1 << 64) - 1),
        ("single", 1.5, 1.5), ("single", 3, 3.0), ("flag", True, 1), ("paint", 300, 300), ("bare", None, 5),
    ],
)  # fmt: skip
def test_values_are_of_the_declared_types(loaded: DeviceSession, name: str, value: Any, returned: Any) -> None:
    call = loaded.call(name) if value is None else loaded.call(name, value)
    assert call.value == returned and type(call.value) is type(returned)


@needs_compiler
def test_what_has_no_value_has_none_and_others_are_typed(loaded: DeviceSession) -> None:
    room = loaded.tensor((8,), dtype="uint8")
    assert loaded.call("fill", room, 8).value is None and room.array.tolist() == [7] * 8
    a = np.array([-128, 127, 3], np.int8)
    minus = loaded.call("dot", loaded.tensor(a), loaded.tensor(-np.abs(a.astype(int)).astype(np.int8)), 3)
    assert minus.value == minus.signed and minus.unsigned == minus.value % (1 << 32)  # type: ignore[operator]
    assert loaded.call("both", 1, np.float32(0.5)).value == 1.5 and loaded.call("count", 3, 4, 5).value == 3
    text = loaded.call("name").value
    assert isinstance(text, int) and loaded.read(text, 2) == b"x\0"
    pair = np.array([(3, 4)], np.dtype([("a", "<i2"), ("b", "<i2")]))[0]
    assert loaded.call("of_pair", pair).value == 7


def freed(s: DeviceSession) -> object:
    tensor = s.tensor((4,))
    tensor.free()
    return tensor


def room(s: DeviceSession, count: int, dtype: str = "uint8") -> Any:
    return s.tensor((count,), dtype=dtype)


def foreign(s: DeviceSession) -> object:
    return session(BOARD).tensor((4,))


DOT = "int32_t dot(const int8_t *a, const int8_t *b, int n)"
WRONG: dict[str, tuple[Callable[[DeviceSession], object], str]] = {
    "too few": (lambda s: s.call("dot", s.tensor((4,)), 4), f"{DOT} takes 3 values, not 2"),
    "too many": (lambda s: s.call("narrow", 1, 2), "int8_t narrow(int8_t a) takes 1 value, not 2"),
    "none for one": (lambda s: s.call("bare_", 2), 'no module has a function "bare_"; did you mean bare'),
    "a tensor for a number": (lambda s: s.call("narrow", s.tensor((4,))), "a is int8_t, a number; a tensor is none"),
    "a float for an integer": (lambda s: s.call("narrow", 1.5), "a is int8_t, a number; float 1.5 is none"),  # type: ignore[arg-type]
    "too large": (lambda s: s.call("narrow", 300), "a is int8_t, of 8 bits; int 300 has more"),
    "too negative": (lambda s: s.call("ushort", -40000), "a is uint16_t, of 16 bits; int -40000 has more"),
    "beyond 64 bits": (lambda s: s.call("wide", 1 << 70), "a is int64_t, of 64 bits; a number of 71 bits has more"),
    "a number for a pointer": (lambda s: s.call("floats", 1.5), "x is const float *, a tensor or an address"),  # type: ignore[arg-type]
    "an array": (lambda s: s.call("floats", np.zeros(4)), "x is const float *, a tensor or an address"),  # type: ignore[arg-type]
    "integers for floats": (lambda s: s.call("floats", room(s, 4, "int32")), "x is const float *, the tensor's"),
    "floats for bytes": (lambda s: s.call("fill", room(s, 4, "float32"), 1), "to is uint8_t *, the tensor's"),
    "a text": (lambda s: s.call("single", "1.5"), 'a is float, a number; "1.5" is none'),  # type: ignore[arg-type]
    "a structure's size": (lambda s: s.call("of_pair", 3), "p is pair, a numpy structure of 4 B; int 3 is none"),
    "freed": (lambda s: s.call("dot", freed(s), s.tensor((4,)), 4), "was freed"),  # type: ignore[arg-type]
    "foreign": (lambda s: s.call("dot", foreign(s), s.tensor((4,)), 4), "is another session's"),  # type: ignore[arg-type]
    "past the end": (
        lambda s: s.call("fill", room(s, 5), 8), "fill: stored 3 B past the end of the tensor 5 uint8 at",
    ),
    "far past the end": (lambda s: s.call("fill", room(s, 5), 60), "stored at least 32 B past the end"),
    "endless": (lambda s: s.call("spin", s.tensor((4,)), max_instructions=9_000), "instructions than it may, 9,000"),
    "unknown": (lambda s: s.call("dott"), 'no module has a function "dott"; did you mean dot'),
    "nothing like it": (lambda s: s.call("zzzzzz"), 'no module has a function "zzzzzz"; did you mean'),
    "no room": (lambda s: s.tensor((600_000,)), "no room for 600,000 B in sram1: the largest gap has"),
    "read freed": (lambda s: freed(s).array, "was freed"),  # type: ignore[attr-defined]
    "free twice": (lambda s: freed(s).free(), "was freed"),  # type: ignore[attr-defined]
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_is_one_line_and_the_session_goes_on(loaded: DeviceSession, case: str) -> None:
    wrong, says = WRONG[case]
    with pytest.raises(McusimError) as caught:
        wrong(loaded)
    text = str(caught.value)
    assert says in text and "\n" not in text and len(text) < 500, text
    assert loaded.call("narrow", -3).value == -3


@needs_compiler
def test_after_a_session_and_after_a_restore_things_are_named() -> None:
    with session(BOARD) as s:
        s.load(SOURCE)
        kept, snapshot = s.tensor((4,)), s.snapshot()
        late = s.tensor((4,))
        s.restore(snapshot)
        with pytest.raises(UsageError, match="was freed, or is gone with a restore"):
            s.call("dot", late, kept, 4)
        again = s.tensor((4,))  # where the late one was
        assert again.address == late.address
        with pytest.raises(UsageError, match="is gone with a restore"):
            late.write(np.zeros(4, np.int8))
        done = s.call("dot", kept, kept, 4)
    assert done.value == 0
    for act in (
        lambda: s.call("dot", kept, kept, 4),
        lambda: kept.array,
        lambda: s.load(SOURCE),
        lambda: s.tensor((4,)),
    ):
        with pytest.raises(UsageError, match="the session has ended"):
            act()


@needs_compiler
def test_a_store_past_a_tensor_is_seen_of_any_tensor_and_once(loaded: DeviceSession) -> None:
    first, second = loaded.tensor((32,), dtype="uint8"), loaded.tensor((32,), dtype="uint8")
    with pytest.raises(SessionFault, match="past the end of the tensor 32 uint8") as caught:
        loaded.call("before", second)  # into what lies behind the first
    assert f"{first.address:#010x}" in str(caught.value)
    assert loaded.call("narrow", 1).value == 1


@needs_compiler
def test_the_shell_shows_the_declared_type(tmp_path: Any) -> None:
    said: list[str] = []
    shell = SessionShell(session(BOARD), said.append)
    path = tmp_path / "m.c"
    path.write_text(SOURCE, encoding="utf-8")
    for line in (f"load {path}", "call half -16311", "call single 1.5f", "call name", "call bare"):
        shell.onecmd(line)
    assert said[1].startswith("half: int16_t -16311;") and said[2].startswith("single: float 1.5;")
    assert "const char *" in said[3] and said[4].startswith("bare: int 5;")
    assert shell.answers[1]["returned"] == -16311 and shell.answers[1]["value"] == 4294950985
