"""What exceptions leave for the profile: a log of entries and returns, and the calls under way of what they interrupt.

Calls that an exception interrupts are put off: their time stands still until the frame is popped. Where another frame
is popped than was pushed, as a scheduler does, the calls that belong to that one go on; a frame is known again by its
address. Not modelled: calls of more contexts, and deeper ones, than there is room for (they are forgotten).
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.hook_state import HookState
from mcusim.cpu.state_layout import CoreState, InterruptedCode, ShadowCall, SuspendedContext
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.native import host_memory as host
from mcusim.native.functions import native
from mcusim.native.structs import address_of

CALL_BYTES = 8 * ShadowCall.WORDS


@native
def note(exceptions: ExceptionState, what: int, time: int, first: int, second: int) -> None:
    """An entry of the log; the last ones are lost where nobody looks for long."""
    if exceptions.log_used < X.LOG_SIZE:
        entry = exceptions.log[exceptions.log_used]
        entry.what, entry.time, entry.first, entry.second = what, time, first, second
        exceptions.log_used += 1


@native
def pushed(core: CoreState, exceptions: ExceptionState, since: int, frame: int) -> None:
    """From ``since`` on a frame was pushed at ``frame``; ``exceptions.return_to`` is its EXC_RETURN."""
    low = 0
    if exceptions.return_to & X.ON_PROCESS:
        low = min(core.other_stack_low, frame)
        core.other_stack_low = X.NEVER
    note(exceptions, X.PUSHED, since, frame, low)
    depth = core.nested
    core.nested = depth + 1
    if depth < C.NESTS_DEPTH:
        code = core.interrupted[depth]
        code.frame, code.since = frame, since
        code.call_base, code.call_depth = core.call_base, core.call_depth
        code.instructions = core.instructions
        core.call_base = core.call_depth


@native
def begun(hook: HookState, index: int, depth: int) -> None:
    """The handler of exception ``index`` begins, ``depth`` of them being active."""
    core, exceptions = hook.core, hook.exceptions
    note(exceptions, X.BEGUN | index << 4 | depth << 16, hook.memory.now, exceptions.pending_since[index], 0)
    if exceptions.log_used >= X.LOG_SIZE - X.LOG_SPARE and core.stop == C.RUNNING:
        core.stop = C.FLUSH


@native
def ended(exceptions: ExceptionState, index: int, now: int) -> None:
    """The handler of exception ``index`` returns."""
    note(exceptions, X.ENDED | index << 4, now, 0, 0)


@native
def slot_for(core: CoreState, frame: int) -> SuspendedContext:
    """Where the context that goes on with ``frame`` is kept: in its slot, a free one, or the oldest."""
    oldest = core.contexts[0]
    for i in range(C.CONTEXTS_KEPT):
        context = core.contexts[i]
        if context.frame == frame:
            return context
        if context.since < oldest.since:
            oldest = context
    return oldest


@native
def suspend(core: CoreState, code: InterruptedCode) -> None:
    """Keep the calls of the context that ``code`` has."""
    context = slot_for(core, code.frame)
    calls = min(code.call_depth - code.call_base, C.CONTEXT_CALLS)
    context.frame, context.since = code.frame, code.since
    context.instructions, context.call_count = code.instructions, calls
    host.copy(address_of(context.calls[0]), address_of(core.calls[code.call_base]), calls * CALL_BYTES)


@native
def resume(core: CoreState, code: InterruptedCode, frame: int) -> int:
    """Let the calls of the context with ``frame`` be those that ``code`` has; 0 where there are none."""
    code.call_depth = code.call_base
    for i in range(C.CONTEXTS_KEPT):
        context = core.contexts[i]
        if context.frame != frame or code.call_base + context.call_count > C.SHADOW_DEPTH:
            continue
        context.frame = 0
        size = context.call_count * CALL_BYTES
        host.copy(address_of(core.calls[code.call_base]), address_of(context.calls[0]), size)
        code.call_depth += context.call_count
        code.since, code.instructions = context.since, context.instructions
        return 1
    return 0


@native
def popped(hook: HookState, frame: int, value: int) -> None:
    """The frame at ``frame`` was popped, as EXC_RETURN ``value`` says: its calls go on."""
    core, now = hook.core, hook.memory.now
    note(hook.exceptions, X.POPPED, now, frame, value)
    if value & X.ON_PROCESS:
        core.other_stack_low = X.NEVER
    depth = core.nested - 1
    core.nested = max(0, depth)
    if depth < 0 or depth >= C.NESTS_DEPTH:
        return
    code = core.interrupted[depth]
    same = 1
    if code.frame != frame:
        suspend(core, code)
        same = resume(core, code, frame)
    core.call_base, core.call_depth = code.call_base, code.call_depth
    if same:
        away = now - code.since
        issued = core.instructions - code.instructions
        for k in range(core.call_base, core.call_depth):
            core.calls[k].ticks += away
            core.calls[k].instructions += issued
