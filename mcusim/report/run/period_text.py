"""Energy for each period, mean power and battery life as text."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.report.run.interval_text import range_text
from mcusim.results.duty import BatteryLife, Duty
from mcusim.results.result import Result
from mcusim.run_config.period import MCU, WFI
from mcusim.text import columns, quantity, wrapped

_UNITS = (("years", 24 * 365.25), ("days", 24.0), ("h", 1.0), ("min", 1 / 60))


def hours_text(hours: float) -> str:
    """A long time in a unit that suits: ``3.1 years``, ``12 days``, ``7.5 h``, ``14 min``."""
    unit, factor = next((pair for pair in _UNITS if hours >= 2 * pair[1]), _UNITS[-1])
    return f"{hours / factor:.3g} {unit}" if hours / factor < 1000 else f"{hours / factor:,.0f} {unit}"


def period_rows(duty: Duty) -> list[list[str]]:
    """Label, figure and remark of each line."""
    period = quantity(duty.period_ms, "ms")
    if not duty.met or duty.energy_mj is None or duty.sleep_mj is None:
        over = quantity(duty.latency_ms + duty.wake_ms - duty.period_ms, "ms")
        wake = f" and waking up {quantity(duty.wake_ms, 'ms')}" if duty.wake_ms else ""
        taken = f"the inference takes {quantity(duty.latency_ms, 'ms')}{wake}"
        return [["period", period, f"not met: {taken}, {over} too long"]]
    share = duty.sleep_mj / duty.energy_mj if duty.energy_mj else 0.0
    asleep = f"of {period}, {100 * share:.0f} % of it asleep at {_asleep(duty)}"
    rows = [
        ["energy a period", quantity(duty.energy_mj, "mJ"), asleep],
        ["mean power", quantity(duty.mean_power_mw, "mW"), f"{quantity(duty.mean_current_ma, 'mA')} at the supply"],
    ]
    if duty.wake_ms:
        rows.append(["waking up", quantity(duty.wake_mj, "mJ"), f"{quantity(duty.wake_ms, 'ms')} each period"])
    return [*rows, *([battery_text(duty.battery)] if duty.battery is not None else [])]


def _asleep(duty: Duty) -> str:
    """The current, and of which mode where that is not the default."""
    return quantity(duty.sleep_current_ma, "mA") + ("" if duty.sleep == WFI else f" ({duty.sleep})")


def period_text(duty: Duty) -> str:
    """In a few words; of a cell how long it lasts, and what it cannot deliver."""
    period = quantity(duty.period_ms, "ms")
    if not duty.met:
        return f"{period}, not met: {quantity(duty.latency_ms + duty.wake_ms - duty.period_ms, 'ms')} too long"
    text = f"{quantity(duty.energy_mj, 'mJ')} in {period}, {quantity(duty.mean_current_ma, 'mA')} on the mean,"
    text += f" {_asleep(duty)} asleep{', the microcontroller alone' if duty.domain == MCU else ''}"
    if duty.battery is None:
        return text
    cell = duty.battery.battery
    text += f"; {cell.name} lasts {hours_text(duty.battery.hours)}"
    over = duty.battery.overload and cell.most_ma is not None
    return f"{text}, though meant for {cell.most_ma:g} mA at most" if over else text


def battery_text(life: BatteryLife) -> list[str]:
    """Label, figure and remark of a cell."""
    cell = life.battery
    what = cell.name if "Ah" in cell.name else f"{cell.name} of {cell.capacity_mah:g} mAh, {cell.voltage:g} V"
    return ["battery life", hours_text(life.hours), what]


def period_notes(duty: Duty) -> list[str]:
    """Where a measurement is expected; how the battery life was found, and what the cell cannot deliver."""
    return [line for text in period_sentences(duty) for line in wrapped(text)]


def period_sentences(duty: Duty) -> list[str]:
    """:func:`period_notes`, one text each."""
    result = []
    if duty.interval_mj is not None:
        (least, most), text = duty.sleep_band, f"of a period {range_text(duty.interval_mj, 'mJ')} are expected"
        off, on = (" (peripherals off)", " times (on)") if duty.sleep == WFI else ("", " times")
        band = f", {least:.2g}{off} to {most:.2g}{on} as much asleep" if least != most else ""
        result.append(f"{text}{band}")
    if duty.domain == MCU:
        result.append("of the microcontroller alone: the rest of the board is left out")
    if duty.battery is not None:
        text, limit = f"battery life by {duty.battery.by}", duty.battery.battery.most_ma
        if duty.battery.overload and limit is not None:
            text += f"; it draws more than the {limit:g} mA that the cell is meant for"
        result.append(text)
    return result


def period_lines(results: Sequence[Result]) -> list[str]:
    """A block of lines for rows that were asked for with a period: nothing without one."""
    pairs = [(result.label, duty) for result in results if (duty := result.duty) is not None]
    if not pairs:
        return []
    life = next((duty.battery for _, duty in pairs if duty.battery is not None), None)
    head = ["each period", "energy", "expected", "mean power", "" if life is None else life.battery.name]
    note = f"a period is {quantity(pairs[0][1].period_ms, 'ms')}, asleep when there is no inference"
    note += "" if life is None else f"; life by {life.by}"
    note += "; draws more than the cell is meant for" if life is not None and life.overload else ""
    return [*columns([head, *(_cells(policy, duty) for policy, duty in pairs)]), *wrapped(note)]


def _cells(policy: str, duty: Duty) -> list[str]:
    if not duty.met:
        return [policy, "-", "-", "-", f"not met by {quantity(duty.latency_ms - duty.period_ms, 'ms')}"]
    lasts = "" if duty.battery is None else hours_text(duty.battery.hours)
    expected = "-" if duty.interval_mj is None else range_text(duty.interval_mj, "mJ")
    return [policy, quantity(duty.energy_mj, "mJ"), expected, quantity(duty.mean_power_mw, "mW"), lasts]
