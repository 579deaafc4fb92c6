"""Which keys a set of measurements determines: chosen when no keys are named, refused when a named key is not
determined.

Not modelled: what another start would see; the effects are those at the machine's present figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from mcusim.errors import UsageError
from mcusim.evidence.calibrate.calibration import HARDLY, UnfittedKey
from mcusim.evidence.calibrate.experiments import Rig
from mcusim.evidence.calibrate.least_squares import Array, Solution, confounded, independent
from mcusim.evidence.calibrate.parameters import Parameter, parameter_of
from mcusim.units import quoted

NO_EFFECT = 2e-4  # a doubt of the key moves no row by more than this share
SMALL_EFFECT = 1e-2  # what a doubt must change beyond all other keys, for a key to be fitted that was not named
MOST_KEYS = 16


def named_keys(
    names: Sequence[str], known: tuple[Parameter, ...], rig: Rig
) -> tuple[tuple[Parameter, ...], tuple[UnfittedKey, ...]]:
    """The parameters of ``names``; UsageError for one that cannot be fitted, and for a fit that is not determined."""
    if not names:
        raise UsageError("no key to fit is named")
    if len(names) > MOST_KEYS:
        raise UsageError(f"{len(names)} keys: at most {MOST_KEYS} are fitted at a time")
    parameters = tuple(_named(name, known, rig) for name in names)
    _require_unset(parameters, rig)
    if len(rig.rows) < len(parameters):
        raise UsageError(
            f"{len(parameters)} keys cannot be fitted to {len(rig.rows)} measurements: {', '.join(names)};"
            " measure more, or"
            " name fewer keys"
        )
    scaled = _effects(parameters, rig)
    effects = np.abs(scaled).max(axis=0)
    if np.any(effects < NO_EFFECT):
        raise UsageError(f"under-determined: {_unseen(parameters, effects)}")
    groups = confounded(scaled)
    if groups:
        kept = [parameters[i].key for i in sorted(independent(scaled, NO_EFFECT, len(parameters)))]
        raise UsageError(f"under-determined: {_alike([[parameters[i] for i in group] for group in groups], kept)}")
    return parameters, ()


def chosen_keys(known: tuple[Parameter, ...], rig: Rig) -> tuple[tuple[Parameter, ...], tuple[UnfittedKey, ...]]:
    """The keys that the rows determine, and those that were left and why; UsageError when there is none."""
    taken = {key for row in rig.rows for key, _ in row.experiment.set}
    open_keys = tuple(p for p in known if p.default and p.key not in taken)
    if not open_keys:
        raise UsageError(
            f"{rig.machine.name} has no figure to fit that is not measured or from a data sheet; name keys"
        )
    scaled = _effects(open_keys, rig)
    effects = np.abs(scaled).max(axis=0)
    chosen = independent(scaled, SMALL_EFFECT, max(1, _spare(rig)))
    if not chosen:
        raise UsageError(f"under-determined: {_unseen(open_keys, effects, SMALL_EFFECT)}")
    left = [
        UnfittedKey(p.key, HARDLY if effect < SMALL_EFFECT else "the rows do not distinguish it", p.sees)
        for i, (p, effect) in enumerate(zip(open_keys, effects, strict=True))
        if i not in chosen
    ]
    return tuple(open_keys[i] for i in sorted(chosen)), tuple(left)


def at_the_fit(parameters: tuple[Parameter, ...], solution: Solution) -> list[tuple[Parameter, str]]:
    """Parameters that the rows do not determine where the fit ended, though they did where it began, and why."""
    flat = [
        (p, f"near {p.text(value)}, where the fit ends, it has no effect on any row")
        for p, value, effect in zip(parameters, solution.x, solution.effects, strict=True)
        if effect < NO_EFFECT
    ]
    if flat:
        return flat
    scaled = solution.jacobian * [p.doubt for p in parameters]
    groups = confounded(scaled)
    kept = independent(scaled, NO_EFFECT, len(parameters)) if groups else range(len(parameters))
    reason = "where the fit ends, the rows do not distinguish it"
    return [(p, reason) for i, p in enumerate(parameters) if i not in kept]


def without(
    parameters: tuple[Parameter, ...], left: tuple[UnfittedKey, ...], flat: Sequence[tuple[Parameter, str]], named: bool
) -> tuple[tuple[Parameter, ...], tuple[UnfittedKey, ...]]:
    """``parameters`` less the ``flat`` ones, which join ``left``; UsageError if they were named or none remains."""
    out = [p for p, _ in flat]
    rest = tuple(p for p in parameters if p not in out)
    if named or not rest:
        reasons = "; ".join(f"{p.key}: {reason}; measure {p.sees}" for p, reason in flat)
        raise UsageError(f"under-determined: {reasons}")
    return rest, (*left, *(UnfittedKey(p.key, reason, p.sees) for p, reason in flat))


def _spare(rig: Rig) -> int:
    """One less than the numbers the rows have: a run has two at most, a time and a current, whatever is given."""
    kinds = {(row.experiment, row.quantity in ("latency_ms", "cycles")) for row in rig.rows}
    return len(kinds) - 1


def _named(name: str, known: tuple[Parameter, ...], rig: Rig) -> Parameter:
    named = parameter_of(name, known)
    if named is not None:
        return named
    keys = [parameter.key for parameter in known]
    near = get_close_matches(name[:80], keys, n=1)
    hint = f", did you mean {near[0]}" if near else ""
    what = "is not a fittable figure" if name in rig.machine.figures else f"{rig.machine.name} has no such figure"
    raise UsageError(f"--fit {quoted(name)}: {what}{hint}; these can be: {', '.join(keys)}")


def _require_unset(parameters: Sequence[Parameter], rig: Rig) -> None:
    for row in rig.rows:
        for key, value in row.experiment.set:
            if parameter_of(key, tuple(parameters)):
                raise UsageError(f"{row.where}: set fixes {key} = {value}, which is to be fitted")


def _effects(parameters: tuple[Parameter, ...], rig: Rig) -> Array:
    """Change of every row, relative to the measurement, when a parameter moves by its doubt (rows x parameters)."""
    start = {p.key: p.start for p in parameters}
    measured = np.array([row.value for row in rig.rows])
    at = np.array(rig.simulate(start))
    columns = []
    for p in parameters:
        step = p.doubt if p.start + p.doubt <= p.high else -p.doubt
        step = float(round(step)) if p.whole else step
        moved = np.array(rig.simulate({**start, p.key: p.start + step}))
        columns.append((moved - at) / measured * (p.doubt / step))
    return np.stack(columns, axis=1)


def _unseen(parameters: Sequence[Parameter], effects: Array, least: float = NO_EFFECT) -> str:
    parts = []
    for p, effect in zip(parameters, effects, strict=True):
        much = (
            f"hardly any effect ({100 * effect:.2g} % for {p.doubt:.3g} {p.unit or 'more'})" if effect else "no effect"
        )
        if effect < least:
            parts.append(f"{p.key} has {much} on any row; measure {p.sees}")
    more = f"; and {len(parts) - 6} more" if len(parts) > 6 else ""
    parts = parts[:6]
    return "; ".join(parts) + more


def _alike(groups: Sequence[Sequence[Parameter]], kept: Sequence[str]) -> str:
    parts = []
    for group in groups:
        measure = ", or ".join(dict.fromkeys(f"{p.sees} ({p.key})" for p in group))
        parts.append(f"the rows cannot tell {' and '.join(p.key for p in group)} apart; measure {measure}")
    return f"{'; '.join(parts)}; or fit only {','.join(kept)}"
