"""What exceptions leave for the profile: a log of entries and returns, and the calls under way of what they interrupt.

Calls that an exception interrupts are put off: their time stands still until the frame is popped. Where another frame
is popped than was pushed, as a scheduler does, the calls that belong to that one go on; a frame is known again by its
address. Not modelled: calls of more contexts, and deeper ones, than there is room for (they are forgotten).
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.system import exception_layout as X
from mcusim.memory import state_layout as L
from mcusim.native.compile import State, native


@native
def note(x: State, what: int, time: int, first: int, second: int) -> None:
    """An entry of the log; the last ones are lost where nobody looks for long."""
    if x[X.LOG_USED] < X.LOG_SIZE:
        at = X.LOG + x[X.LOG_USED] * X.LOG_ENTRY
        x[at + X.LOG_WHAT], x[at + X.LOG_TIME], x[at + X.LOG_FIRST], x[at + X.LOG_SECOND] = what, time, first, second
        x[X.LOG_USED] += 1


@native
def pushed(c: State, s: State, x: State, since: int, frame: int) -> None:
    """From ``since`` on a frame was pushed at ``frame``; ``x[RETURN_TO]`` is its EXC_RETURN."""
    low = 0
    if x[X.RETURN_TO] & X.ON_PROCESS:
        low = min(c[C.OTHER_LOW], frame)
        c[C.OTHER_LOW] = X.NEVER
    note(x, X.PUSHED, since, frame, low)
    n = c[C.NESTED]
    c[C.NESTED] = n + 1
    if n < C.NESTS_DEPTH:
        at = C.NESTS + n * C.NEST
        c[at + C.NEST_FRAME], c[at + C.NEST_SINCE] = frame, since
        c[at + C.NEST_BASE], c[at + C.NEST_DEPTH] = c[C.CALL_BASE], c[C.CALL_DEPTH]
        c[at + C.NEST_INSTRUCTIONS] = c[C.INSTRUCTIONS]
        c[C.CALL_BASE] = c[C.CALL_DEPTH]


@native
def begun(c: State, s: State, x: State, place: int, depth: int) -> None:
    """The handler of ``place`` begins, ``depth`` of them being active."""
    note(x, X.BEGUN | place << 4 | depth << 16, s[L.NOW], x[X.ARRIVED + place], 0)
    if x[X.LOG_USED] >= X.LOG_SIZE - X.LOG_SPARE and c[C.STOP] == C.RUNNING:
        c[C.STOP] = C.FLUSH


@native
def ended(s: State, x: State, place: int) -> None:
    """The handler of ``place`` returns."""
    note(x, X.ENDED | place << 4, s[L.NOW], 0, 0)


@native
def put_off(c: State, at: int) -> None:
    """Keep the calls of the context that nest record ``at`` names: in its slot, a free one, or the oldest."""
    best = C.CONTEXTS
    for i in range(C.CONTEXTS_KEPT):
        k = C.CONTEXTS + i * C.CONTEXT
        if c[k + C.CONTEXT_FRAME] == c[at + C.NEST_FRAME]:
            best = k
            break
        if c[k + C.CONTEXT_SINCE] < c[best + C.CONTEXT_SINCE]:
            best = k
    calls = min(c[at + C.NEST_DEPTH] - c[at + C.NEST_BASE], C.CONTEXT_CALLS)
    c[best + C.CONTEXT_FRAME], c[best + C.CONTEXT_SINCE] = c[at + C.NEST_FRAME], c[at + C.NEST_SINCE]
    c[best + C.CONTEXT_INSTRUCTIONS], c[best + C.CONTEXT_DEPTH] = c[at + C.NEST_INSTRUCTIONS], calls
    base = C.SHADOW + c[at + C.NEST_BASE] * C.SHADOW_ENTRY
    for i in range(calls * C.SHADOW_ENTRY):
        c[best + C.CONTEXT_FRAMES + i] = c[base + i]


@native
def taken_up(c: State, at: int, frame: int) -> int:
    """Let the calls of the context with ``frame`` be those that nest record ``at`` has; 0 where there are none."""
    c[at + C.NEST_DEPTH] = c[at + C.NEST_BASE]
    for i in range(C.CONTEXTS_KEPT):
        k = C.CONTEXTS + i * C.CONTEXT
        calls = c[k + C.CONTEXT_DEPTH]
        if c[k + C.CONTEXT_FRAME] != frame or c[at + C.NEST_BASE] + calls > C.SHADOW_DEPTH:
            continue
        c[k + C.CONTEXT_FRAME] = 0
        base = C.SHADOW + c[at + C.NEST_BASE] * C.SHADOW_ENTRY
        for j in range(calls * C.SHADOW_ENTRY):
            c[base + j] = c[k + C.CONTEXT_FRAMES + j]
        c[at + C.NEST_DEPTH] += calls
        c[at + C.NEST_SINCE], c[at + C.NEST_INSTRUCTIONS] = c[k + C.CONTEXT_SINCE], c[k + C.CONTEXT_INSTRUCTIONS]
        return 1
    return 0


@native
def popped(c: State, s: State, x: State, frame: int, value: int) -> None:
    """The frame at ``frame`` was popped, as EXC_RETURN ``value`` says: its calls go on."""
    note(x, X.POPPED, s[L.NOW], frame, value)
    if value & X.ON_PROCESS:
        c[C.OTHER_LOW] = X.NEVER
    n = c[C.NESTED] - 1
    c[C.NESTED] = max(0, n)
    if n < 0 or n >= C.NESTS_DEPTH:
        return
    at = C.NESTS + n * C.NEST
    same = 1
    if c[at + C.NEST_FRAME] != frame:
        put_off(c, at)
        same = taken_up(c, at, frame)
    c[C.CALL_BASE], c[C.CALL_DEPTH] = c[at + C.NEST_BASE], c[at + C.NEST_DEPTH]
    if same:
        away = s[L.NOW] - c[at + C.NEST_SINCE]
        issued = c[C.INSTRUCTIONS] - c[at + C.NEST_INSTRUCTIONS]
        for k in range(c[C.CALL_BASE], c[C.CALL_DEPTH]):
            call = C.SHADOW + k * C.SHADOW_ENTRY
            c[call + C.CALL_TICKS] += away
            c[call + C.CALL_INSTRUCTIONS] += issued
