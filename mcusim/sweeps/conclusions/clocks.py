"""Conclusions about the core's clock: time, energy of an inference, energy of a period with sleep in the rest.

Which clock takes least energy, and why, is read from the table: nothing is said that the rows do not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isnan
from typing import TYPE_CHECKING, Any

from mcusim.measurements.interval.intervals import ratio_interval
from mcusim.measurements.interval.situation import code_of
from mcusim.results.measurement.interval import LEVEL, RatioInterval, RunFeatures
from mcusim.sweeps.conclusions.series import Conclusion, Line, lines, ratios, span
from mcusim.units import hertz, unit_text

if TYPE_CHECKING:
    import pandas

Columns = Mapping[str, Sequence[Line]]
_FIGURES = ("energy_mj", "supply_current_ma", "cycles", "regulator", "period_energy_mj", "sleep_current_ma")


def clock(frame: pandas.DataFrame) -> Iterator[Conclusion]:
    curves = lines(frame, "clock")
    faster = all(b < a for _, line in curves for a, b in pairwise(line.values()))
    yield Conclusion("A faster clock is always faster.", faster)
    rising = frame.drop_duplicates("clock").sort_values("clock_bus")
    states = [int(number) for number in rising["wait_states_flash"]]
    half = bool((rising["clock_sdram"] * 2 == rising["clock_bus"]).all())
    text = f"The SDRAM's clock is half the core's at each, flash takes {', '.join(map(str, states))} wait states."
    yield Conclusion(text, half and states == sorted(states) and states[0] < states[-1])
    gains = {
        policy: ratios(lines(frame, "clock", policy=policy), 54_000_000, 216_000_000)
        for policy in ("internal", "tinyops", "external")
    }
    text = ", ".join(f"{policy} {span(times)}" for policy, times in gains.items())
    near = all(abs(gain - 4) < 0.04 for times in gains.values() for gain in times)
    yield Conclusion(f"So four times the clock is four times as fast, whatever waits for SDRAM: {text}.", near)
    yield from _energy({name: lines(frame, "clock", name) for name in _FIGURES})


def least(line: Mapping[Any, float]) -> Any:
    """Where a figure is least; of several the first."""
    return min(line, key=lambda at: line[at])


def verdict(best: Sequence[Any], clocks: Sequence[Any]) -> str:
    """What the ``best`` clocks of some lines say, among the ``clocks`` that were tried, slowest first."""
    words = {clocks[-1]: "race to idle", clocks[0]: "the slower the better"}
    return " or ".join(dict.fromkeys(words.get(speed, "an optimum in between") for speed in _once(best, clocks)))


def _energy(columns: Columns) -> Iterator[Conclusion]:
    """One inference alone, why, and a period with sleep."""
    clocks = sorted(columns["energy_mj"][0][1])
    best: dict[str, list[int]] = {}
    for at, line in columns["energy_mj"]:
        best.setdefault(str(at["policy"]), []).append(least(line))
    texts = [f"{policy} at {_clocks(of, clocks)}" for policy, of in best.items()]
    product = [
        energy[at] / (current[at] * cycles[at] / at)
        for (_, energy), (_, current), (_, cycles) in _rows(columns, "energy_mj", "supply_current_ma", "cycles")
        for at in clocks
    ]
    whole = max(product) <= 1.001 * min(product)  # energy is current a clock times cycles, so these two explain it
    yield Conclusion(f"An inference alone takes least energy under {', '.join(texts)}.", whole)
    yield _claim(columns, clocks)
    yield _static(columns, clocks)
    yield _steps(columns, clocks)
    yield _period(columns, clocks)


def _claim(columns: Columns, clocks: Sequence[int]) -> Conclusion:
    """Whether measurements are expected to show that a slower clock than the fastest takes less energy."""
    fastest, expected = clocks[-1], list[RatioInterval]()
    for at, line in columns["energy_mj"]:
        if (best := least(line)) != fastest:
            slower, fast = _situation(at, best / fastest), _situation(at, 1.0)
            expected.append(ratio_interval(slower, fast, line[best] / line[fastest], "energy"))
    if not expected:
        return Conclusion(f"No slower clock takes less than {hertz(fastest)}.", True)
    low, high = min(interval.low for interval in expected), max(interval.high for interval in expected)
    shown = sum(interval.differs for interval in expected)
    text = (
        f"Where a slower clock takes least, that is {span(interval.simulated for interval in expected)}"
        " times the energy at "
        f"{hertz(fastest)}; measurements are expected between {low:.2f} and {high:.2f} ({100 * LEVEL:g} % interval): "
        f"{f'a difference can be claimed for {shown} of {len(expected)}' if shown else 'no difference can be claimed'}."
    )
    return Conclusion(text, all(interval.low <= interval.simulated <= interval.high for interval in expected))


def _situation(at: Mapping[str, Any], clock: float) -> RunFeatures:
    """Of the rows of a line as far as the table has it: the mix of operators is the same at both clocks."""
    return RunFeatures(
        machine=str(at["machine"]),
        core="",
        code=code_of(str(at["kernels"])),
        fidelity=str(at["fidelity"]),
        policy=str(at["policy"]),
        mix=(),
        model=str(at["model"]),
        clock=clock,
    )


def _static(columns: Columns, clocks: Sequence[int]) -> Conclusion:
    """What of the current is left at the slowest clock, of that at the fastest one with the regulator set as there."""
    setting = columns["regulator"][0][1]
    low, high = clocks[0], next(at for at in reversed(clocks) if setting[at] == setting[clocks[0]])
    share, left = 100 * low / high, dict[str, list[float]]()
    for at, current in columns["supply_current_ma"]:
        left.setdefault(str(at["policy"]), []).append(100 * current[low] / current[high])
    kept = ", ".join(f"{policy} {span(parts, 0)} %" for policy, parts in left.items())
    text = (
        f"For a fast clock: a part of the current follows none. {hertz(low)} is {share:.0f} % of {hertz(high)}; of the"
        f" current there it draws under {kept}."
    )
    return Conclusion(text, all(part >= share for parts in left.values() for part in parts))


def _steps(columns: Columns, clocks: Sequence[int]) -> Conclusion:
    """How the charge of a cycle changes from each clock to the next, and how many cycles there are."""
    kinds: dict[bool, list[float]] = {False: [], True: []}
    for (_, current), (_, setting) in _rows(columns, "supply_current_ma", "regulator"):
        for slow, fast in pairwise(clocks):
            charge = (current[fast] / fast) / (current[slow] / slow)
            kinds[setting[slow] != setting[fast]].append(100 * charge - 100)
    waits = [100 * cycles[clocks[-1]] / cycles[clocks[0]] - 100 for _, cycles in columns["cycles"]]
    same, higher = (span(kinds[item], 1) if kinds[item] else "no" for item in (False, True))
    text = (
        f"For a slow one: from one clock to the next a cycle's charge changes by {same} % at one setting of the "
        f"regulator, by {higher} % where its voltage rises; wait states change the cycles by {span(waits, 1)} % in all."
    )
    return Conclusion(text, not kinds[True] or not kinds[False] or max(kinds[True]) > max(kinds[False]))


def _period(columns: Columns, clocks: Sequence[int]) -> Conclusion:
    """Energy of a period, where it is met, with the current asleep at the clock of the inference."""
    best, shares, period = list[int](), list[float](), ""
    for (at, energy), (_, alone) in _rows(columns, "period_energy_mj", "energy_mj"):
        met, period = (
            {speed: value for speed, value in energy.items() if not isnan(value)},
            unit_text(at["period"], "s"),
        )
        best.append(least(met))
        shares.append(100 - 100 * alone[best[-1]] / met[best[-1]])
    slow, fast = (span([line[at] for _, line in columns["sleep_current_ma"]], 1) for at in (clocks[0], clocks[-1]))
    text = (
        f"Every {period}, asleep in the rest at the same clock, least energy is at {_clocks(best, clocks)}: asleep it "
        f"draws {slow} mA at {hertz(clocks[0])}, {fast} mA at {hertz(clocks[-1])}, and sleep is {span(shares, 0)} % of"
        " that energy."
    )
    return Conclusion(text, all(0 <= share <= 100 for share in shares))


def _clocks(best: Sequence[int], clocks: Sequence[int]) -> str:
    return f"{' or '.join(map(hertz, _once(best, clocks)))} ({verdict(best, clocks)})"


def _rows(columns: Columns, *names: str) -> Iterator[tuple[Line, ...]]:
    return zip(*(columns[name] for name in names), strict=True)


def _once(best: Sequence[int], clocks: Sequence[int]) -> list[int]:
    """Each clock of ``best`` once, slowest first."""
    return [speed for speed in clocks if speed in best]
