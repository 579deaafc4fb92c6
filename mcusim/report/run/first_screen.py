"""The first screen of a result: the verdict, then at most fifteen lines that answer what most people ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcusim.model.operators import shown_type
from mcusim.program.order import stored_index
from mcusim.program.unknown_operators import left_out_text
from mcusim.report.flash_text import flash_text
from mcusim.report.run.advice_text import command_lines, limits_text, ways_lines
from mcusim.report.run.changes import change_texts
from mcusim.report.run.interval_text import ends_text, interval_reason
from mcusim.report.run.other_code_text import other_code_text
from mcusim.report.run.period_text import period_text
from mcusim.report.run.settings_text import title_lines
from mcusim.report.run.verdict_text import doubtful_text, parts_text, reason_lines, verdict_text
from mcusim.results.cautions import cautions
from mcusim.results.result import Result
from mcusim.text import WIDTH, hanging_indent, percent, pick_unit, size, wrapped

if TYPE_CHECKING:
    from mcusim.engine.run import Run
    from mcusim.machine.description import Machine
    from mcusim.results.advice import NextStep
    from mcusim.results.measurement.measured import KernelOutput

LINES = 15  # below the verdict
WAYS = 3  # ways out
CHANGES = 3  # lines on what was set of the machine
_LABEL = 12  # columns of what a line is about, indent included
_SECOND = 0.02  # share of the cycles from which a second cause matters
_WITHOUT = "the stack and the application, in RAM and in flash"
_MORE = "--show timing,memory,flash,operators,assumptions; --all"


def first_screen(result: Result) -> list[str]:
    """Lines of at most 80 columns, but for long names and commands; a refusal names all that was tried."""
    verdict = hanging_indent(verdict_text(result))
    lines = [*title_lines(result), *_changes(result.machine)]
    steps = [_step(step, "" if number else "next") for number, step in enumerate(result.advice.next_steps)]
    if result.run is None:
        lines += [*reason_lines(result), *(_labelled("flash", flash_text(result.flash)) if result.flash else [])]
    else:
        answers = _answers(result, result.run, brief=not result.advice.met)
        if len(answers) + len(lines) > LINES - 1 - len(steps[0] if steps else []):
            answers = _answers(result, result.run, brief=True)
        lines += answers
    if result.run is None or not result.advice.met:
        lines += [*ways_lines(result.advice, WAYS), *_labelled("more", _MORE)]
    else:
        lines += _below(result, result.run, steps, LINES - len(lines))
    return [*verdict, *[""] * bool(verdict), *lines]


def _changes(machine: Machine) -> list[str]:
    lines = [line for text in change_texts(machine, moves=False) for line in wrapped(text)][:CHANGES]
    moved = f"  {len(machine.moved)} figures moved with the clock (--show timing)"
    return [*lines, moved] if machine.moved else lines


def _below(result: Result, run: Run, steps: Sequence[list[str]], room: int) -> list[str]:
    """In ``room`` lines: what to know of the figures, ``steps`` to take next, and where the rest is."""
    following = list(steps[0]) if steps else []
    room -= 1 + len(following)
    lines, dropped = list[str](), 0
    for label, text in _notes(result, run):
        note = _labelled(label, text) if text else []
        fits = len(note) <= room - len(lines)
        lines, dropped = [*lines, *(note if fits else [])], dropped + (not fits)
    for step in steps[1:]:
        fits = len(step) <= room - len(lines)
        following += step if fits else []
        room -= len(step) if fits else 0
    lines += _labelled("without", _WITHOUT) if room > len(lines) else []
    more = f" ({dropped} note{'s' * (dropped > 1)})" if dropped else ""
    return [*lines, *following, *_labelled("more", f"{_MORE}{more}")]


def _step(step: NextStep, label: str) -> list[str]:
    """The command with what it answers behind it, or above it where a line is too short."""
    line = f"  {label}".ljust(_LABEL) + f"{step.command}  # {step.what}"
    return [line] if len(line) <= WIDTH else [*_labelled(label, step.what), *command_lines(step.command, " " * _LABEL)]


def _labelled(label: str, text: str) -> list[str]:
    return hanging_indent(text, f"  {label}".ljust(_LABEL), " " * _LABEL)


def _answers(result: Result, run: Run, brief: bool = False) -> list[str]:
    """Lines; ``brief``: without the parts of the memory, and the slowest operator."""
    energy = _figure(result, "energy_mj", "mJ")
    rows = [
        ("latency", f"{_figure(result, 'latency_ms', 'ms')}; {run.cycles:,} cycles at {run.clock / 1e6:g} MHz"),
        ("energy", f"{energy}; {result.value('supply_current_ma') or 0:.3g} mA" if result.energy else energy),
        *([] if result.interval is None else [("interval", interval_reason(result.interval))]),
        *([] if result.duty is None else [("period", period_text(result.duty))]),
        *([] if run.header.recorded else [("memory", _memory(result, run, brief))]),
        *([] if result.flash is None else [("flash", flash_text(result.flash))]),
        ("cycles", _causes(run, brief)),
        *([("limits", limits_text(result.advice.limits))] if _limited(result) else []),
    ]
    return [line for label, text in rows for line in _labelled(label, text)]


def _limited(result: Result) -> bool:
    """Whether limits are worth a line: not a period alone that is met, which has its own."""
    return any(limit.name != "period" or not limit.met for limit in result.advice.limits)


def _figure(result: Result, name: str, unit: str) -> str:
    """Value, interval and what was measured."""
    value = result.value(name)
    scale = pick_unit(unit, [value])
    ends = None if result.interval is None else getattr(result.interval, name)
    text = scale.text(value) + (f" ({ends_text(ends, scale)})" if ends is not None and value is not None else "")
    if result.measured is None or name not in result.measured.figures:
        return text
    measured = result.measured.figures[name]
    outside = "" if ends is None or ends[0] <= measured <= ends[1] else ", outside of that"
    return f"{text}, measured {scale.text(measured)} ({percent(result.error_percent(name))}{outside})"


def _memory(result: Result, run: Run, brief: bool) -> str:
    """What is used of each memory, but for flash, then in parts unless ``brief``."""
    kept = () if result.flash is None else result.flash.used
    peaks = sorted(run.header.peak_bytes.items())
    shown = [(name, bytes) for name, bytes in peaks if name in result.machine.memory and name not in kept]
    used = [f"{name} {size(bytes)} of {size(result.machine.memory[name].size)}" for name, bytes in shown]
    placed = run.header.options.get("weights") in [name for name, _ in shown]
    parts = {part: bytes for part, bytes in memory_parts(result, run).items() if part != "weights" or placed}
    return ", ".join(used) if brief else f"{', '.join(used)}: {parts_text(parts)}"


def memory_parts(result: Result, run: Run) -> dict[str, int]:
    """Bytes by part, those of an arena as the verdict counts them: each what it adds, so that they sum; parts that only
    some runs have where there are any."""
    memory, counted = run.header.memory, result.verdict
    parts = {part: getattr(memory, part) for part in ("activations", "scratch", "overlay", "runtime", "state")}
    own = counted.parts if counted is not None and "activations" in counted.parts else {}
    always = ("activations", "scratch", "runtime")
    return {part: bytes for part, bytes in {**parts, **own}.items() if bytes or part in always} | {
        "weights": memory.weights
    }


def _causes(run: Run, brief: bool) -> str:
    """The one or two causes that matter, and the slowest operator unless ``brief``."""
    total = run.cycles or 1
    causes = sorted(run.by_cause.items(), key=lambda item: -item[1])
    named = [causes[0], *(item for item in causes[1:2] if item[1] >= _SECOND * total)] if causes else []
    text = ", ".join(f"{cause} {100 * cycles / total:.1f} %" for cause, cycles in named)
    slowest = min(run.operators, key=lambda operator: (-operator.cycles, operator.index), default=None)
    if slowest is None or brief:
        return text
    cause = max(slowest.by_cause, key=lambda name: slowest.by_cause[name], default=named[0][0])
    share = f"{100 * slowest.cycles / total:.1f} %{'' if cause == named[0][0] else f' ({cause})'}"
    index, kind = stored_index(run.header, slowest.index), shown_type(slowest.type)
    return f"{text}; slowest: operator {index} {kind}, {share}"


def _output(output: KernelOutput) -> str:
    values = output.values.reshape(-1)
    shape = "x".join(map(str, output.values.shape)) or "scalar"
    text = f"{output.name[:24]} ({output.values.dtype} {shape})"
    if values.size > 1:
        return f"{text}, largest at {int(values.argmax())}"
    return f"{text}: {values[0]:g}" if values.size else text


def _notes(result: Result, run: Run) -> list[tuple[str, str]]:
    """What to know of the figures, the most important first."""
    again = [invocation.cycles for invocation in result.invocations[1:]]
    mean = (
        pick_unit("ms", [result.value("latency_ms")]).text(1e3 * sum(again) / len(again) / run.clock) if again else ""
    )
    return [
        *(("warning", warning) for warning in result.warnings),
        ("note", left_out_text(result.left_out)),
        *(("note", text) for text in cautions(result)),
        ("", doubtful_text(result)),
        *(("output", _output(output)) for output in result.outputs),
        ("again", f"{mean} on the mean from the second inference on" if again else ""),
        *(("also", other_code_text(other)) for other in result.other_code),
    ]
