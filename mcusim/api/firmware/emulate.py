"""One compiled program on one machine, instruction by instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from mcusim.api.firmware.emulation_options import FirmwareOptions, require_known
from mcusim.api.firmware.film_recording import begin_film
from mcusim.api.firmware.guest_arguments import address_of, dump_range, load_file, word_of
from mcusim.api.firmware.inputs import (
    core_with,
    load_firmware,
    most_instructions,
    resets_allowed,
    start_of,
    strictness_of,
)
from mcusim.api.firmware.recordings import begin_recording, recording_of
from mcusim.api.firmware.set_up import run_set_up
from mcusim.api.firmware.stop_conditions import RunEnd, end_of, run_to, set_host, watch
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.results.assumptions import machine_assumptions
from mcusim.results.emulation import Dump, EmulationResult, FirmwareSetUp, StackUse, StreamUse
from mcusim.run_config.settings import require_type
from mcusim.soc.boot_windows import with_boot_windows
from mcusim.units import parse_size, quoted

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator
    from mcusim.emulator.startup import Start
    from mcusim.emulator.stops.stop import Stop
    from mcusim.image.image import Image

MOST_ARGUMENTS = 64


@dataclass(frozen=True, slots=True)
class _StartPoint:
    kind: Literal["reset", "entry", "call"]
    pc: int
    top: int  # of the stack
    limit: int  # its lowest address, 0 for unknown
    reserved: bool  # a heap does not reach into it
    caches: bool
    found: Start | None = None  # not of a call


def emulate(
    path: str | Path,
    machine: str | Path | Machine,
    *,
    images: Iterable[str | Path] = (),
    entry: str | int | None = None,
    until: str | int | None = None,
    call: str | int | None = None,
    arguments: Sequence[int | str] = (),
    loads: Iterable[str] = (),
    dumps: Iterable[str] = (),
    stack: int | str | None = None,
    max_instructions: int | None = None,
    overrides: Mapping[str, str] | None = None,
    caches: bool | None = None,
    output: Callable[[bytes], object] | None = None,
    **more: Unpack[FirmwareOptions],
) -> EmulationResult:
    """Run the program at ``path`` on ``machine`` and report where its cycles went.

    It is an ELF executable, Intel HEX, S-records, or plain bytes as ``FILE@ADDRESS``, and so is each of ``images``,
    loaded with it. It starts with the caches off at its reset vector or at ``entry``, a symbol or address of code or of
    a vector table; at its entry point where it has no table. That and ``call`` (a function, its ``arguments`` 32-bit
    integers or names of symbols) find data, ``.bss``, FPU and caches as start-up code would have left them. ``caches``
    overrides that. ``until`` is where it ends: a symbol, an address, "1000 cycles" or "5 ms". ``stack``: how far that
    may grow. ``loads`` are texts ``FILE@ADDRESS``, put into memory before the start; ``dumps`` ``ADDRESS:SIZE`` or a
    symbol. ``output`` gets what is printed; a KeyboardInterrupt ends the run. ``more``, as ``record``, ``uart``,
    ``peripherals``: :class:`~mcusim.api.firmware.emulation_options.FirmwareOptions`. A fault is a result. Raises
    :class:`~mcusim.errors.InputError`. Not modelled: what its parts do not model.
    """
    target, image = load_firmware(path, images, machine, overrides)
    require_known(more)
    files, ranges = _texts("loads", loads), _texts("dumps", dumps)

    def once(machine: Machine, output: Callable[[bytes], object] | None) -> EmulationResult:
        begin = _start(image, machine := with_boot_windows(machine), entry, call, arguments, stack, caches)
        emulator = _emulator(machine, image, begin, output, files, more)
        return _ran(emulator, image, begin, arguments, ranges, end_of(image, machine, until), max_instructions, more)

    return run_set_up(once, target, output, more)


def _emulator(
    machine: Machine,
    image: Image,
    begin: _StartPoint,
    output: Callable[[bytes], object] | None,
    loads: Iterable[str],
    more: FirmwareOptions,
) -> Emulator:
    """The core with the program and the files in its memory."""
    itm, most_resets = more.get("itm", "0"), resets_allowed(more.get("most_resets", 100))
    require_type("itm", itm, ((str,), "a text"))
    emulator = core_with(
        image,
        machine,
        as_started=begin.kind != "reset",
        caches=begin.caches,
        peripherals=strictness_of(more.get("peripherals", "strict")),
        itm=itm,
        output=output,
    )
    emulator.most_resets = most_resets
    for text in loads:
        load_file(emulator, image, text)
    for name, data in more.get("uart", {}).items():
        emulator.peripherals.feed(name, data)
    set_host(emulator.host, image, more.get("stdin", b""), more.get("semihosting_args"))
    return emulator


def _ran(
    emulator: Emulator,
    image: Image,
    begin: _StartPoint,
    arguments: Sequence[int | str],
    dumps: Iterable[str],
    end: RunEnd,
    max_instructions: int | None,
    more: FirmwareOptions,
) -> EmulationResult:
    ranges = [dump_range(emulator, image, text) for text in dumps]
    words = _prepare(emulator, image, begin, arguments)
    watch(emulator, begin.pc if begin.kind == "reset" else None, end)
    film = begin_film(emulator, more.get("film"))
    recorder = begin_recording(emulator, image, more.get("record", False) or film is not None)
    stop = run_to(emulator, end, most_instructions(max_instructions), more.get("progress"))
    taken = tuple(Dump(r.address, emulator.read(r.address, r.size), r.name) for r in ranges)
    result = replace(_result(emulator, image, begin, stop), recording=recording_of(emulator, recorder))
    result = replace(result, caches=begin.caches, arguments=words, dumps=taken, until=end.text)
    return result if film is None else replace(result, film=film.taken(result))


def _texts(argument: str, values: Iterable[str]) -> list[str]:
    if isinstance(values, str):
        return [values]
    texts = list(values)
    for value in texts:
        require_type(argument, value, ((str,), "texts"))
    return texts


def _start(
    image: Image,
    machine: Machine,
    entry: str | int | None,
    call: str | int | None,
    arguments: Sequence[int | str],
    stack: int | str | None,
    caches: bool | None,
) -> _StartPoint:
    from mcusim.emulator.startup import stack_is_reserved, stack_limit, stack_top

    require_type("caches", caches, ((bool, type(None)), "True, False or None"))
    if call is None and len(arguments):
        raise UsageError("arguments are those of a function: name it with --call")
    if len(arguments) > MOST_ARGUMENTS:
        raise UsageError(f"{len(arguments)} arguments; a call takes at most {MOST_ARGUMENTS}")
    if call is not None and entry is not None:
        raise UsageError("--call and --entry both say where the run begins: give one of them")
    start = start_of(image, machine, entry) if call is None else None
    kind: Literal["reset", "entry", "call"] = "call" if start is None else start.kind
    pc = start.pc if start else _function(image, "" if call is None else call)
    top = start.sp if start else stack_top(image, machine)
    limit = stack_limit(image, top) or 0 if stack is None else top - _stack_size(machine, top, stack)
    reserved = stack is not None or stack_is_reserved(image, top)
    return _StartPoint(kind, pc, top, limit, reserved, kind != "reset" if caches is None else caches, start)


def _function(image: Image, call: str | int) -> int:
    address, name, _ = address_of(image, call, "--call")
    if name is not None and image.symbol(name).kind == "object":
        raise UsageError(f"--call {name}: is data, not a function")
    if name is not None and not any(s.executable and s.address <= address < s.end for s in image.segments):
        raise UsageError(f"--call {name}: {address:#010x} is in no executable segment of {image.path}")
    return address & ~1


def _stack_size(machine: Machine, top: int, stack: int | str) -> int:
    """Bytes of stack asked for, which the region below ``top`` has."""
    size = parse_size(stack) if isinstance(stack, str) else stack
    if isinstance(size, bool) or not isinstance(size, int) or size < 64:
        raise UsageError(f"--stack {quoted(stack)}: a stack has at least 64 B")
    bases = ((base, r) for r in machine.memory.values() for base in (r.base, *r.aliases))
    base, region = next((b, r) for b, r in bases if b < top <= b + r.size)
    if size > top - base:
        raise UsageError(
            f"--stack {quoted(stack)}: {region.name} of {machine.name} has {top - base:,} B below {top:#010x},"
            " where the stack begins"
        )
    return size


def _prepare(emulator: Emulator, image: Image, begin: _StartPoint, arguments: Sequence[int | str]) -> tuple[int, ...]:
    """Set the registers as ``begin`` says; returns the words of the call."""
    words = tuple(word_of(image, value, "argument") for value in arguments)
    if begin.kind != "call":
        emulator.begin(begin.found)
    emulator.set_stack(begin.top, begin.limit, begin.reserved)
    if begin.kind == "call":
        emulator.call(begin.pc, words)
    return words


def _streams(emulator: Emulator) -> Iterator[StreamUse]:
    for controller in emulator.dma:
        for stream in controller.streams:
            if stream.transfers:
                yield StreamUse(controller.name.lower(), stream.number, stream.transfers, stream.bytes)


def _result(emulator: Emulator, image: Image, begin: _StartPoint, stop: Stop) -> EmulationResult:
    from mcusim.emulator.profile import profile
    from mcusim.emulator.register_config import firmware_set_up

    measured = profile(emulator, begin.top)
    registers = dict(stop.fault.registers) if stop.fault else emulator.registers()
    returned = begin.kind == "call" and stop.kind == "returned"
    return EmulationResult(
        machine=emulator.machine,
        image=image,
        started=begin.kind,
        pc=begin.pc,
        caches=False,
        stop=stop,
        profile=measured,
        stack=StackUse(begin.top, begin.limit, measured.stack_used),
        registers=registers,
        result=registers["r0"] if returned else None,
        findings=emulator.peripherals.findings(),
        faults=emulator.faults.taken,
        resets=tuple(emulator.reset_log),
        assumptions=machine_assumptions(emulator.machine, measured.regions, "cache maintenance" in measured.causes),
        dma=tuple(_streams(emulator)),
        set_up=FirmwareSetUp(firmware_set_up(emulator, emulator.machine)),
    )
