"""Checks of a program against a machine, which the file format alone cannot make."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from mcusim.errors import ProgramError
from mcusim.machine.description import Dma, Machine, Region
from mcusim.program.extent import check_extent, steps
from mcusim.program.field_readers import FieldError
from mcusim.program.program import FIRMWARE, Compute, Maintain, Program, Span, Task, Transfer, Work

MOST_STEPS = 10**10  # 20 s at 480 MHz and a MAC a cycle


def check_program(program: Program, machine: Machine) -> None:
    """Raises ProgramError naming the task and the reason unless all of this is true.

    Every span lies in regions the machine has (it may run on into a contiguous one); what is written is writable; lanes
    are DMA streams the machine has; the DMA reaches both ends of a transfer; both ends are equally long and at most the
    stream's maximum units; operands have the bytes that a task's geometry and rows need; ids are unique and ``after``
    names earlier tasks; the loops of all kernel calls are no longer than a microcontroller would run. Not modelled:
    whether the tasks compute the right thing, and races. A program that was right a short while ago, on a machine of
    the same regions and controllers, is not looked at again.
    """
    known = _layout(machine)
    if any(other is program and layout == known for other, layout in _right):
        return
    _check(program, machine)
    _right.append((program, known))


_right: deque[tuple[Program, tuple[object, ...]]] = deque(maxlen=64)  # programs, and what was asked of their machines


def _layout(machine: Machine) -> tuple[object, ...]:
    """All of a machine that the checks ask for."""
    regions = [(r.name, r.base, r.size, r.writable, r.dma) for r in machine.memory.values()]
    return (machine.name, *regions, *((d.name, d.streams, d.max_units, d.beat) for d in machine.dma.values()))


def _check(program: Program, machine: Machine) -> None:
    for buffer in program.header.buffers:
        regions(buffer.span, machine, f"buffer '{buffer.name}'")
    for task in _identified(program):
        where = f"task {task.id}"
        if isinstance(task, Transfer):
            _transfer(task, machine, where)
        elif isinstance(task, Compute):
            _compute(task, machine, where)
        elif isinstance(task, Work):
            _work(task, machine, where, program.header.recorded)
        else:
            _core(task, where)
            regions(task.span, machine, f"{where}, span")
    if sum(task.cycles + task.maintenance for task in program.tasks if isinstance(task, Work)) > MOST_STEPS:
        raise ProgramError(f"the recorded work has more than {MOST_STEPS:.0e} cycles")
    work = sum(steps(task) for task in program.tasks if isinstance(task, Compute))
    if work > MOST_STEPS:
        raise ProgramError(f"the kernel calls have {work:.1e} loop steps, more than the {MOST_STEPS:.0e} allowed")


def check_ids(program: Program) -> None:
    """Raises ProgramError unless ids are unique and ``after`` names earlier tasks."""
    for _ in _identified(program):
        pass


def check_lane(task: Task, machine: Machine) -> Dma | None:
    """The controller of a transfer's stream. Raises ProgramError unless the machine has the task's lane for it."""
    if isinstance(task, Transfer):
        return _controller(task.lane, machine, f"task {task.id}")
    _core(task, f"task {task.id}")
    return None


def _identified(program: Program) -> Iterator[Task]:
    """The tasks, each once its id and its edges are known to be right."""
    seen: set[int] = set()
    for task in program.tasks:
        if task.id in seen:
            raise ProgramError(f"task {task.id}: the id is used twice")
        if not seen.issuperset(task.after):
            later = min(set(task.after) - seen)
            raise ProgramError(f"task {task.id}: after names task {later}, which is not an earlier one")
        seen.add(task.id)
        yield task


def _compute(task: Compute, machine: Machine, where: str) -> None:
    _core(task, where)
    for operand in task.operands:
        name = f"{where}, operand {operand.role}"
        for region in regions(operand.span, machine, name):
            if operand.access != "r":
                _writable(region, name)
    try:
        check_extent(task)
    except FieldError as error:
        raise ProgramError(f"{where}: {error}") from None


def _work(task: Work, machine: Machine, where: str, recorded: bool) -> None:
    _core(task, where)
    if not recorded:
        raise ProgramError(f"{where}: work is for programs recorded from a firmware, whose policy is '{FIRMWARE}'")
    for asked in task.asked:
        if asked.region not in machine.memory:
            raise ProgramError(f"{where}: machine {machine.name} has no region '{asked.region}'")
        if asked.reads + asked.writes > MOST_STEPS:
            raise ProgramError(f"{where}: more than {MOST_STEPS:.0e} accesses to '{asked.region}'")


def _transfer(task: Transfer, machine: Machine, where: str) -> None:
    dma = _controller(task.lane, machine, where)
    for span, name in ((task.source, f"{where}, from"), (task.destination, f"{where}, to")):
        for region in regions(span, machine, name):
            if not region.dma:
                raise ProgramError(f"{name}: the DMA of {machine.name} does not reach region '{region.name}'")
            if span is task.destination:
                _writable(region, name)
    if task.source.bytes != task.destination.bytes:
        raise ProgramError(f"{where}: moves {task.source.bytes} B into {task.destination.bytes} B")
    most = dma.max_units * (dma.beat if task.setting is None else task.setting.beat)
    if task.source.bytes > most:
        raise ProgramError(f"{where}: {task.source.bytes} B in one transfer; {task.lane} takes {most} B at most")


def _controller(lane: str, machine: Machine, where: str) -> Dma:
    name, _, stream = lane.partition(".s")
    dma = machine.dma.get(name)
    if dma is None or not stream.isdecimal() or int(stream) >= dma.streams:
        known = ", ".join(f"{d.name}.s0-s{d.streams - 1}" for d in machine.dma.values()) or "no DMA"
        raise ProgramError(f"{where}: no stream '{lane}' on {machine.name}, which has {known}")
    return dma


def _core(task: Compute | Maintain | Work, where: str) -> None:
    if task.lane != "core":
        raise ProgramError(f"{where}: a {type(task).__name__.lower()} task runs on lane core, not '{task.lane}'")


def _writable(region: Region, where: str) -> None:
    if not region.writable:
        raise ProgramError(f"{where}: region '{region.name}' cannot be written")


def regions(span: Span, machine: Machine, where: str) -> Iterator[Region]:
    """Regions that ``span`` lies in, first to last. Everything is checked before the first is returned."""
    if span.region not in machine.memory:
        raise ProgramError(f"{where}: machine {machine.name} has no region '{span.region}'")
    run = [machine.memory[span.region]]
    if span.bytes < 1 or not run[0].base <= span.address < run[0].end:
        raise ProgramError(f"{where}: {span.address:#010x} ({span.bytes} B) does not start in region '{span.region}'")
    while run[-1].end < span.end:
        following = [r for r in machine.memory.values() if r.base == run[-1].end]
        if not following:
            raise ProgramError(f"{where}: {span.address:#010x} + {span.bytes} B runs past '{run[-1].name}'")
        run.append(following[0])
    return iter(run)
