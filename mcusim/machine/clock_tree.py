"""What follows from a core clock: the bus, wait states of the flash, clocks of external memories, the regulator.

A part has dividers and tables (:class:`Bus`, :class:`Flash`, :class:`Sdram`, :class:`Qspi`, :class:`RegulatorSetting`);
a clock set-up takes of each what the part allows, the fastest memory clock and the fewest wait states.

Not modelled: PLLs (any clock up to the part's limit is there), the time that a change takes, a supply voltage other
than the one that a table is of, SDRAM timing in clocks, which stays as the firmware wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.machine.description import Machine, RegulatorSetting

__all__ = ["fastest", "regulator_scale", "regulator_setting", "setting_at", "wait_states"]


def regulator_setting(machine: Machine, clock: int) -> RegulatorSetting | None:
    """The regulator's lowest setting that allows a core clock of ``clock`` Hz; above all of them the highest, as in a
    what-if beyond the part. None for a machine whose file names no settings."""
    return setting_at(machine.regulator, clock)


def setting_at(settings: Sequence[RegulatorSetting], clock: int) -> RegulatorSetting | None:
    """:func:`regulator_setting` among ``settings``, which rise."""
    return next((one for one in settings if clock <= one.max_clock), settings[-1] if settings else None)


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


def fastest(clock: int, dividers: Sequence[int], limit: int | None) -> int | None:
    """The fastest clock in Hz that one of ``dividers`` makes of ``clock`` within ``limit``; None when none does.

    A clock is whole Hz, rounded down.
    """
    made = (clock // divider for divider in sorted(dividers))
    return next((one for one in made if limit is None or one <= limit), None)
