"""Runs of a program on the machine that its own register writes describe, and what each of the figures is worth."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from mcusim.api.firmware.emulation_options import FirmwareOptions
from mcusim.emulator.register_config import SetUpRow
from mcusim.errors import MachineError, UsageError
from mcusim.machine.clock_rules import movable
from mcusim.machine.description import Basis, Machine
from mcusim.machine.document import Leaf
from mcusim.machine.loader import replace_all
from mcusim.results.emulation import EmulationResult, FirmwareSetUp
from mcusim.soc.peripheral_findings import PeripheralFinding

Once = Callable[[Machine, Callable[[bytes], object] | None], EmulationResult]
LARGEST_OUTPUT = 16 << 20  # bytes that are kept of a run that may be the only one


def run_set_up(
    once: Once,
    machine: Machine,
    output: Callable[[bytes], object] | None,
    more: FirmwareOptions,
) -> EmulationResult:
    """What ``once(machine, output)`` gives; with ``machine_from_firmware`` on a machine that has what it set up."""
    stage = more.get("stage") or (lambda _: None)
    from_firmware = more.get("machine_from_firmware", False)
    result = _taken(once, machine, output, stage) if from_firmware else once(machine, output)
    if not more.get("set_up_costs", False) or result.stop.kind == "interrupted":
        return result
    if result.stop.kind == "horizon":
        raise UsageError("--set-up-costs compares runs to the same place: --until a time is not one; name a symbol")
    return _with_costs(once, machine, result, stage)


def _taken(
    once: Once, machine: Machine, output: Callable[[bytes], object] | None, stage: Callable[[str], object]
) -> EmulationResult:
    printed = bytearray()
    stage("finding the set-up")
    first = once(machine, lambda data: printed.extend(data[: LARGEST_OUTPUT - len(printed)]))
    wanted = _wanted(machine, first.set_up.rows)
    changed, refused = _on(machine, wanted)
    keys = [key for key in wanted if key not in refused]
    if not keys or first.stop.kind == "interrupted":
        if output is not None and printed:
            output(bytes(printed))
        return replace(first, set_up=replace(first.set_up, refused=refused))
    stage("with the set-up")
    second = once(changed, output)
    otherwise = tuple(_otherwise(second.set_up.rows, {*keys}))
    set_up = FirmwareSetUp(first.set_up.rows, tuple(keys), refused)
    return replace(second, set_up=set_up, findings=(*second.findings, *otherwise))


def _wanted(machine: Machine, rows: Collection[SetUpRow]) -> dict[str, Leaf]:
    """The figures that differ, and, where clocks do, those that would move with them; none that a user has set."""
    clock = any(row.differs for row in rows if row.key in ("core.clock", "bus.clock"))
    follows = {*movable(machine), "core.regulator"} if clock else set()
    return {
        row.key: Leaf(row.value, machine.path, 0, _basis(machine, row), f"the firmware: {_place(row)}", typed=True)
        for row in rows
        if row.settable and (row.differs or row.key in follows) and row.key not in machine.changes
    }


def _place(row: SetUpRow) -> str:
    return f"{row.register} = {row.word:#010x}"


def _basis(machine: Machine, row: SetUpRow) -> Basis:
    """Clocks made of the external one rest on what the file says of that."""
    external = machine.figures.get("core.external_clock")
    return external.basis if external is not None and "HSE" in row.note else "measured"


def _on(machine: Machine, wanted: Mapping[str, Leaf]) -> tuple[Machine, dict[str, str]]:
    """``machine`` with all of ``wanted`` that it can take together, and why not of the others."""
    if not wanted:
        return machine, {}
    try:
        return replace_all(machine, wanted), {}
    except MachineError:
        pass
    refused: dict[str, str] = {}
    left, changed = dict(wanted), machine
    while left:
        before = len(left)
        for key in list(left):
            try:
                changed = replace_all(changed, {key: left[key]})
            except MachineError as error:
                refused[key] = str(error)
            else:
                del left[key]
                refused.pop(key, None)
        if len(left) == before:
            break
    return changed, refused


def _otherwise(rows: Collection[SetUpRow], keys: Collection[str]) -> Iterator[PeripheralFinding]:
    for row in rows:
        if row.key in keys and row.differs:
            text = (
                f"on the machine with its own set-up the firmware sets {row.key} to {row.value}, at first it was"
                f" {row.machine}: the run has {row.machine}"
            )
            yield PeripheralFinding("other-set-up", text, "see what the firmware decides by how fast it runs")


def _with_costs(
    once: Once, machine: Machine, result: EmulationResult, stage: Callable[[str], object]
) -> EmulationResult:
    """Cycles with the firmware's value less those with the machine's, all others as ``result`` has them."""
    values: dict[str, float | None] = {}
    rows = [row for row in result.set_up.rows if row.settable and row.differs]
    for number, row in enumerate(rows, 1):
        stage(f"{row.key}, {number} of {len(rows)}")
        taken = row.key in result.set_up.taken
        try:
            other = replace_all(result.machine, {row.key: row.machine if taken else row.value})
        except MachineError:
            values[row.key] = None
            continue
        run = once(other, None)
        if run.stop.kind == "interrupted":
            break
        same = run.stop.kind == result.stop.kind and run.exit_status == result.exit_status
        difference = result.profile.cycles - run.profile.cycles
        values[row.key] = (difference if taken else -difference) if same else None
    return replace(result, set_up=replace(result.set_up, costs=values))
