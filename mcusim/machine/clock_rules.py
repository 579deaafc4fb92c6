"""What follows from a core clock: the bus, wait states of the flash, clocks of external memories, the regulator.

A part has dividers and tables (:class:`Bus`, :class:`Flash`, :class:`Sdram`, :class:`Qspi`, :class:`RegulatorSetting`);
a clock that a user sets takes of each what the part allows: the lowest setting of the regulator, the fastest bus and
memories, the fewest wait states. What the user sets too stays, and so does what has no divider or table.

A firmware that runs its flash with fewer wait states than the part's table asks (TinyOps on the STM32F746: 5 at
216 MHz, where the table asks 7) is taken at its word for every slower clock: the table holds, with the file's own
number as the most, because what works at a clock works at a slower one. Above the file's clock that says nothing; there
the table holds, with the file's number as the least.

SDRAM timing in ``sdclk`` stays: it is what the firmware wrote into the controller, as constants (ST's board drivers).
Timing written as a time (``"20 ns"``) is as many clocks as it takes at the new SDCLK.

Not modelled: PLLs (any clock up to the part's limit is there), the time that a change takes, a supply voltage other
than the one that a table is of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from mcusim.machine.description import ClockMove, Flash, Machine, Qspi, Region, RegulatorSetting, Sdram
from mcusim.units import hertz


def regulator_setting(machine: Machine, clock: int) -> RegulatorSetting | None:
    """The regulator's lowest setting that allows a core clock of ``clock`` Hz; above all of them the highest, as in a
    what-if beyond the part; or the one that ``core.regulator`` names. None for a machine whose file has no settings."""
    return setting_at(machine.regulator, clock, machine.core.regulator)


def setting_at(settings: Sequence[RegulatorSetting], clock: int, name: str | None = None) -> RegulatorSetting | None:
    """:func:`regulator_setting` among ``settings``, which rise; the one of that ``name``, where there is one."""
    if named := [setting for setting in settings if setting.name == name]:
        return named[0]
    return next((setting for setting in settings if clock <= setting.max_clock), settings[-1] if settings else None)


def regulator_scale(machine: Machine, clock: int) -> str | None:
    """The name of :func:`regulator_setting`, such as ``scale3``, ``vos1`` or ``range1-boost``; None for none."""
    setting = regulator_setting(machine, clock)
    return None if setting is None else setting.name


def wait_states(clocks: Sequence[int], clock: int) -> int:
    """The wait states of a flash at a bus clock of ``clock`` Hz: ``clocks`` has the fastest one for 0, 1, 2 …

    Beyond the table, as in a what-if beyond the part, it goes on by its own step, the clock of 0 wait states, and
    never below its last row.
    """
    within = next((states for states, limit in enumerate(clocks) if clock <= limit), None)
    return max(len(clocks) - 1, -(-clock // clocks[0]) - 1) if within is None else within


def fastest(clock: int, dividers: Sequence[int], limit: int | None) -> int:
    """The divider of ``clock`` Hz that gives the fastest clock within ``limit``, else the largest of ``dividers``."""
    within = (divider for divider in dividers if limit is None or clock <= limit * divider)
    return next(within, dividers[-1])


def file_clock(machine: Machine) -> int:
    """The core's clock in Hz as the machine's file has it."""
    file: Machine = machine if machine._file is None else machine._file
    return file.core.clock


def forced(machine: Machine) -> bool:
    """Does the core run faster than its part is specified for."""
    limit = machine.core.max_clock
    return limit is not None and machine.core.clock > limit


def clock_json(machine: Machine) -> dict[str, object]:
    """The core's clock as plain data: ``{hz, max_hz, forced, regulator, moved[{key, before, after, rule, basis,
    source}], stayed[]}``; ``max_hz`` and ``regulator`` are null where the machine's file does not say."""
    core = machine.core
    return {
        "hz": core.clock,
        "max_hz": core.max_clock,
        "forced": forced(machine),
        "regulator": regulator_scale(machine, core.clock),
        "moved": [move.to_json() for move in machine.moved],
        "stayed": list(machine.stayed),
    }


def clock_columns(machine: Machine) -> dict[str, int | str | None]:
    """What may follow a clock, as a table has it: ``regulator``, ``clock_bus`` and ``clock_<region>`` in Hz,
    ``wait_states_<region>``."""
    result: dict[str, int | str | None] = {"regulator": regulator_scale(machine, machine.core.clock)}
    result["clock_bus"] = machine.bus.clock
    for name, region in machine.memory.items():
        if isinstance(region.device, Flash):
            result[f"wait_states_{name}"] = region.device.wait_states
        elif isinstance(region.device, Sdram | Qspi):
            result[f"clock_{name}"] = region.device.clock
    return result


def movable(machine: Machine) -> Iterator[str]:
    """The keys that may follow a clock."""
    yield "bus.clock"
    for name, region in machine.memory.items():
        if region.kind == "flash":
            yield f"memory.{name}.wait_states"
        elif region.kind in ("sdram", "qspi"):
            yield f"memory.{name}.clock"


class Following:
    """What follows the clocks of ``machine``, whose keys ``pinned`` a user has set in what its ``file`` says.

    :meth:`moved` has all of it; ``problems`` then the keys that no divider brings within a limit, each with that rule.
    """

    def __init__(self, file: Machine, machine: Machine, pinned: Collection[str]) -> None:
        self.file, self.machine, self.pinned = file, machine, pinned
        self.setting, self.bus = regulator_setting(machine, machine.core.clock), machine.bus.clock
        self.problems: list[tuple[str, str]] = []

    def moved(self) -> tuple[ClockMove, ...]:
        """Nothing where no clock, divider, limit or table has changed."""
        if _tree(self.file) == _tree(self.machine):
            return ()
        moves = [self._regulator(), self._bus()]
        for region in self.machine.memory.values():
            if region.name in self.file.memory:  # what a file adds to the one it extends is as it says
                moves.append(self._flash(region) if region.kind == "flash" else self._memory(region))
        return tuple(move for move in moves if move is not None and move.before != move.after)

    def stayed(self) -> tuple[str, ...]:
        """Keys with their values that no divider, table or clock lets follow, where a clock that they hang on has
        changed. Call it after :meth:`moved`."""
        file, figures = self.file, self.machine.figures
        core, bus = self.machine.core.clock != file.core.clock, self.bus != file.bus.clock
        keys = ["bus.clock"] if core and not bus and not _divided(file.core.clock, file.bus.dividers, self.bus) else []
        for name, device in ((region.name, region.device) for region in self.machine.memory.values() if bus):
            if isinstance(device, Flash) and not (
                device.wait_state_clocks or (self.setting or device).wait_state_clocks
            ):
                keys.append(f"memory.{name}.wait_states")
            elif isinstance(device, Sdram | Qspi) and not _divided(file.bus.clock, device.dividers, device.clock):
                keys.append(f"memory.{name}.clock")
        plain = " at " not in figures["power.run"].text and "run" not in self.machine.power.followed
        keys += ["power.run"] if core and plain else []
        return tuple(f"{key} {figures[key].text}" for key in keys if key not in self.pinned)

    def _entry(self, key: str, before: str, after: str, rule: str, rests_on: str) -> ClockMove:
        """``rests_on``: the key whose source the rule has."""
        figure = (self.file if rests_on == "bus.clock" else self.machine).figures[rests_on]
        return ClockMove(key, before, after, rule, figure.basis, figure.source)

    def _regulator(self) -> ClockMove | None:
        if self.setting is None or self.machine.core.regulator is not None:
            return None
        name, core = self.setting.name, self.machine.core.clock
        before = regulator_scale(self.file, self.file.core.clock) or name
        rule = "the highest setting" if core > self.setting.max_clock else "the lowest setting"
        rule += f", up to {hertz(self.setting.max_clock)}"
        return self._entry("regulator", before, name, rule, f"regulator.{name}.max_clock")

    def _bus(self) -> ClockMove | None:
        key, before, core = "bus.clock", self.file.bus.clock, self.machine.core.clock
        dividers = self.machine.bus.dividers
        if key in self.pinned:
            return None
        if not _divided(self.file.core.clock, dividers, before):  # it follows by itself, or stays
            return self._entry(key, hertz(before), hertz(self.bus), "the core's clock", key)
        limited = self.setting is not None and self.setting.max_bus_clock is not None
        limit = f"regulator.{self.setting.name}.max_bus_clock" if self.setting is not None and limited else ""
        most = self.setting.max_bus_clock if self.setting is not None else None
        self.bus, rule = self._divide(key, "core.clock", core, dividers, limit, most)
        return self._entry(key, hertz(before), hertz(self.bus), rule, "bus.dividers")

    def _memory(self, region: Region) -> ClockMove | None:
        device, own = region.device, self.file.memory[region.name].device
        table = f"memory.{region.name}"
        if not isinstance(device, Sdram | Qspi) or f"{table}.clock" in self.pinned or not isinstance(own, Sdram | Qspi):
            return None
        if not _divided(self.file.bus.clock, device.dividers, own.clock):
            return None
        limit, dividers = f"{table}.max_clock", device.dividers
        clock, rule = self._divide(f"{table}.clock", "bus.clock", self.bus, dividers, limit, device.max_clock)
        return self._entry(f"{table}.clock", hertz(own.clock), hertz(clock), rule, f"{table}.dividers")

    def _divide(
        self, key: str, of: str, clock: int, dividers: Sequence[int], limit: str, most: int | None
    ) -> tuple[int, str]:
        """The fastest clock in whole Hz that a divider gives within ``most``, and how."""
        divider = fastest(clock, dividers, most)
        made, rule = clock // divider, f"{of} / {divider}"
        if most is None or clock <= most * divider:
            return made, rule
        text = f"is still above {limit} = {hertz(most)} ({self.machine.figures[limit].source})"
        if not self.machine.core.force_clock:
            reason = f"{of} = {hertz(clock)} by {divider}, its largest divider, {text}"
            self.problems.append((key, f"{reason}; --force-clock runs it as a what-if beyond the part"))
        return made, f"{rule}, its largest divider, beyond {limit} = {hertz(most)}"

    def _flash(self, region: Region) -> ClockMove | None:
        device, file = region.device, self.file.memory[region.name].device
        key, table = f"memory.{region.name}.wait_states", f"memory.{region.name}.wait_state_clocks"
        if not isinstance(device, Flash) or not isinstance(file, Flash) or key in self.pinned:
            return None
        clocks, own = device.wait_state_clocks, file.wait_states
        of_setting = self.setting is not None and bool(self.setting.wait_state_clocks)
        if self.setting is not None and of_setting:
            clocks, table = self.setting.wait_state_clocks, f"regulator.{self.setting.name}.wait_state_clocks"
        if not clocks:
            return None
        states = wait_states(clocks, self.bus)
        slower = self.bus <= self.file.bus.clock
        kept = not of_setting and (states > own if slower else states < own)
        if kept:
            rule = f"the table asks {states}; the file's own are the {'most' if slower else 'least'}"
            return self._entry(key, str(own), str(own), rule, key)
        if self.bus <= clocks[-1]:
            return self._entry(key, str(own), str(states), f"up to {hertz(clocks[states])}", table)
        if not self.machine.core.force_clock:
            ends = f"{hertz(self.bus)}, the bus clock, exceeds the last of {table} ({hertz(clocks[-1])})"
            self.problems.append((key, f"{ends}; --force-clock runs it as a what-if beyond the part"))
        return self._entry(
            key, str(own), str(states), f"beyond the table, by its own step of {hertz(clocks[0])}", table
        )


def moved_currents(file: Machine, board: Machine) -> Iterator[ClockMove]:
    """The currents of ``board`` that follow another clock than in ``file`` (:mod:`mcusim.machine.currents`)."""
    for name in sorted(board.power.followed):
        before, after = (machine.figures[f"power.{name}"] for machine in (file, board))
        if before.text != after.text:
            rule = f"by {after.source.rpartition(' by ')[2]}"
            yield ClockMove(after.key, before.text, after.text, rule, after.basis, after.source)


def _tree(machine: Machine) -> object:
    """All that a clock follows."""
    parts: list[object] = [machine.core.clock, machine.core.regulator, machine.bus, machine.regulator]
    for device in (region.device for region in machine.memory.values()):
        if isinstance(device, Sdram | Qspi):
            parts += [device.dividers, device.max_clock]
        elif isinstance(device, Flash):
            parts.append(device.wait_state_clocks)
    return parts


def _divided(clock: int, dividers: Sequence[int], made: int) -> bool:
    """Whether one of ``dividers`` makes ``made`` of ``clock``; a clock that none makes is a plain figure."""
    return any(clock // divider == made for divider in dividers)
