"""Ways out of a negative answer: other plans of the same model, simulated by replay, with the command that does it.

What is tried is a handful: other arenas, the other policies with a few SRAM budgets, weights elsewhere, other boards as
they ship. Not modelled: the rest of the space (clocks, caches, kernels, smaller networks), and what a person has to do
for another board.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import process_time

from mcusim.api.advice.candidates import Change, Shortage, Ways, changed_settings
from mcusim.api.advice.limit_checks import check_limits, flash_bytes
from mcusim.api.advice.next_steps import next_steps
from mcusim.api.simulate import simulate_loaded
from mcusim.errors import InputError
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import PATCH_MACS, PATCH_SPLIT, PATCHES
from mcusim.report.run.advice_text import exceeded_text, limit_name, shown
from mcusim.results import Result
from mcusim.results.advice import Advice, Attempt, WayOut
from mcusim.results.result import sram_bytes
from mcusim.run_config.command_line import Options, run_command, settings_options
from mcusim.run_config.kernel_choice import resolve
from mcusim.run_config.run_limits import RunLimits
from mcusim.run_config.run_options import STACK_REGION
from mcusim.run_config.settings import Settings
from mcusim.text import size

MOST_WAYS = 6
MOST_OF_A_KIND = 2
MOST_RUNS = 8
SECONDS, AT_MOST = 4.0, 8.0  # of the processor, after which nothing new is begun: with ENOUGH ways out, and without
ENOUGH = 3


def suggest(
    result: Result,
    max_latency: str | None = None,
    max_energy: str | None = None,
    max_sram: str | None = None,
    max_flash: str | None = None,
    *,
    model: str | None = None,
) -> Advice:
    """The ways out of ``result``, which does not fit or exceeds a limit; none are tried when it meets them all.

    Limits are texts with units. ``model`` is what the commands call the model; by default its name, which is that of a
    zoo network or of a file without its folder. At most six ways, the best of each kind (another arena, a policy,
    weights elsewhere, a board) among them, those on the same board first, each group by latency. What is tried is a
    handful that takes some seconds for a large network, searches of orders and offsets only where they end at once.
    Raises UsageError for a limit that cannot be read.
    """
    limits = RunLimits.of(max_latency, max_energy, max_sram, max_flash)
    if result.request is None:
        return Advice(check_limits(result, limits), note="the result does not say what was asked for")
    named = {"max-latency": max_latency, "max-energy": max_energy, "max-sram": max_sram, "max-flash": max_flash}
    machine = result.machine
    options = settings_options(machine.name, machine.changes, result.request.settings) | named
    return advised(result, limits, model or result.model, options)


def advised(result: Result, limits: RunLimits, model: str, options: Options) -> Advice:
    """:func:`suggest` with the limits as read; ``options`` are those of the command line that made ``result``."""
    checked = check_limits(result, limits)
    request = result.request
    fine = result.fits and all(check.met for check in checked)
    if fine:
        return Advice(checked, next_steps=next_steps(result, model, options))
    if request is None or request.graph is None or request.given or result.fault is not None:
        return Advice(checked)
    try:
        base = _replayed(request.settings)
    except InputError as error:
        return Advice(checked, note=f"no way out was tried: {error}")
    by_replay: Options = {"kernels": base.kernels.name, "fidelity": None, STACK_REGION.flag: None}
    others = by_replay if request.settings.fidelity != "replay" else {}
    search = _Trials(request.graph, result.machine, base, limits, model, {**options, **others})
    return search.run(result, Advice(checked, note=_note(request.settings, base)))


def _replayed(chosen: Settings) -> Settings:
    """``chosen`` by replay, with the profile that goes with its kernels. Raises UsageError when there is none."""
    if chosen.fidelity == "replay":
        return chosen
    name = chosen.kernels.name if chosen.kernels.profile is None else chosen.kernels.profile.name
    return chosen.replayed(replace(resolve(name, "replay"), named=chosen.kernels.named))


def _note(chosen: Settings, base: Settings) -> str:
    emulated = chosen.fidelity != "replay"
    return f"tried by replay{f' of {base.kernels.cost_profile().name}, not emulated' if emulated else ''}"


@dataclass(frozen=True)
class _Tried:
    """What became of one change: ``way`` when it is one; else how far it is from it, relative to what there may be."""

    change: Change
    way: WayOut | None
    short: float
    why: str
    lacks: str = ""
    ran: bool = True


@dataclass
class _Trials:
    graph: Graph
    machine: Machine
    base: Settings
    limits: RunLimits
    model: str
    options: Options

    def run(self, result: Result, advice: Advice) -> Advice:
        """``advice`` with the ways out."""
        ways = Ways(self.graph, self.machine, self.base, Shortage.of(result, advice.exceeded), self.limits.sram)
        began, runs, tried = float("inf"), 0, list[_Tried]()
        for change in self._changes(ways, tried):
            spent, good = process_time() - began, sum(item.way is not None for item in tried)
            if runs >= MOST_RUNS:
                break
            if spent > (SECONDS if good >= ENOUGH else AT_MOST):
                advice = replace(advice, note=f"{advice.note}, as many as a few seconds allow")
                break
            attempt = self._try(change)
            if attempt is not None:
                tried.append(attempt)
                runs += attempt.ran
            if runs == 1:  # the first run, which may compile native code, does not count
                began = process_time()
        closest = min(tried, key=lambda item: item.short, default=None)
        best = self._best(tried)
        nearest = None
        if closest is not None and not best:
            nearest = f"{closest.change.what.removesuffix(' as it ships')}: {closest.why}"
        vain = sorted((item for item in tried if item.way is None), key=lambda item: item.short)
        attempts = tuple(
            Attempt(item.change.what, self._command(item.change.options), item.why, item.lacks) for item in vain
        )
        return replace(advice, ways_out=best, tried=len(tried), closest=nearest, attempts=attempts)

    def _command(self, changed: Options) -> str:
        return run_command(self.model, {**self.options, **changed})

    @staticmethod
    def _changes(ways: Ways, tried: list[_Tried]) -> Iterator[Change]:
        """What to try next, given what was: no more of a kind than are shown."""
        for change in ways.changes():
            same = [attempt for attempt in tried if attempt.change.kind == change.kind]
            enough = sum(attempt.way is not None for attempt in same) >= MOST_OF_A_KIND
            if not enough and not (change.last and any(attempt.way for attempt in same)):
                yield change

    def _try(self, change: Change) -> _Tried | None:
        """None for what cannot be planned at all."""
        named = change.options.get("machine")
        try:
            machine = load_machine(named) if isinstance(named, str) else self.machine
            result = simulate_loaded(self.graph, machine, changed_settings(self.base, change.options))
        except InputError:
            return None
        if result.run is None:
            reason = result.does_not_fit
            short = float("inf") if reason is None else (reason.needed - reason.available) / max(1, reason.available)
            lacks = (
                "a kernel faults"
                if reason is None
                else f"over by {size(reason.needed - reason.available)} of {reason.region}"
            )
            return _Tried(change, None, 1 + short, str(result.negative), lacks, ran=False)
        over = [check for check in check_limits(result, self.limits) if not check.met]
        if over:
            worst = max(over, key=lambda check: (check.over or 0) / max(check.limit, 1e-9))
            why = ", ".join(exceeded_text(check) for check in over)
            lacks = ", ".join(f"{limit_name(check)} +{shown(check.over, check.unit)}" for check in over)
            return _Tried(change, None, (worst.over or 0) / max(worst.limit, 1e-9), why, lacks)
        return _Tried(change, self._way(result, change), 0.0, "")

    def _way(self, result: Result, change: Change) -> WayOut:
        changed: Options = change.options
        if result.request is not None and result.request.settings.options[PATCHES] is None:  # auto finds none
            changed = {**changed, PATCHES.flag: None, PATCH_SPLIT.flag: None, PATCH_MACS.flag: None}
        return WayOut(
            what=change.what,
            command=self._command(changed),
            machine=result.machine.name,
            policy=result.policy,
            latency_ms=result.value("latency_ms") or 0.0,
            energy_mj=None if result.energy is None else result.energy.energy_mj,
            peak_sram_bytes=sram_bytes(result) or 0,
            flash_bytes=flash_bytes(result) or 0,
            interval_ms=None if result.interval is None else result.interval.latency_ms,
            other_board="machine" in change.options,
        )

    @staticmethod
    def _best(tried: list[_Tried]) -> tuple[WayOut, ...]:
        """The best of each kind, then what is best of the rest; sorted as they are shown."""

        def rank(attempt: _Tried) -> tuple[bool, float]:
            return (False, 0.0) if attempt.way is None else (attempt.way.other_board, attempt.way.latency_ms)

        good = sorted((attempt for attempt in tried if attempt.way is not None), key=rank)
        first = {attempt.change.kind.partition(" ")[0]: attempt for attempt in reversed(good)}
        kept = [*first.values(), *(attempt for attempt in good if attempt not in first.values())][:MOST_WAYS]
        return tuple(attempt.way for attempt in sorted(kept, key=rank) if attempt.way is not None)
