"""What the advisor says: the answer in five lines, what there is to choose from, what each decision is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mcusim.plan.options import TENSOR_REGIONS
from mcusim.report.run.advice_text import command_lines
from mcusim.report.run.interval_text import ends_text
from mcusim.results.plan_advice import NEVER, DecisionWorth, PlanAdvice, TriedPlan
from mcusim.text import columns, counted, cut, hanging_indent, pick_unit, quantity, size, wrapped

FRONT, REFUSED, LABEL = 6, 4, 12


def advise_table(advice: PlanAdvice, every: bool = False) -> str:
    """At most 80 columns but for long names; ``every``: all plans that were tried."""
    closest = advice.tried[0] if advice.tried else None
    if advice.best is None:
        lines = [f"nothing meets it: {counted(len(advice.tried), 'plan')} tried for {advice.model}"]
        lines += _labelled("closest", f"{_decided(closest)}: {closest.reason}") if closest else []
    else:
        lines = _answer(advice, advice.best)
    lines += _front(advice.front) + _worth(advice.worth)
    lines += _tried(advice.tried, len(advice.tried) if every else REFUSED)
    return "\n".join([*lines, *(line for note in advice.notes for line in _labelled("note", note))])


def _answer(advice: PlanAdvice, best: TriedPlan) -> list[str]:
    lines = hanging_indent(f"fits: {advice.model} on {best.machine}: {_decided(best)}")
    lines += _labelled("latency", _latency(best))
    energy = "not known" if best.energy_mj is None else quantity(best.energy_mj, "mJ")
    memory = f"SRAM {size(best.sram_bytes or 0)}, flash {size(best.flash_bytes or 0)}"
    lines += _labelled("energy", f"{energy}; {memory}")
    lines += _labelled("checked", _checked(best))
    return [*lines, *_labelled("run", ""), *command_lines(best.command, " " * LABEL)]


def _latency(plan: TriedPlan) -> str:
    scale = pick_unit("ms", [plan.latency_ms])
    ends = f" ({ends_text(plan.interval_ms, scale)})" if plan.interval_ms else ""
    replayed = f"; replayed {plan.replayed_cycles:,}" if plan.fidelity == "emulate" else ""
    return f"{scale.text(plan.latency_ms)}{ends}; {plan.cycles or 0:,} cycles{replayed}"


def _checked(plan: TriedPlan) -> str:
    if plan.fidelity != "emulate":
        return "by replay alone (--finalists 0, or kernels without code)"
    return f"emulated; outputs are {plan.verified}'s, byte for byte" if plan.verified else "emulated, not compared"


def _decided(plan: TriedPlan) -> str:
    """``"policy tinyops, weights qspi, in-place"``."""
    return ", ".join(_option(name, value) for name, value in plan.decisions.items() if value)


def _option(name: str, value: str | bool | None) -> str:
    """An option with its value; of regions of tensors how many are in each."""
    if name != TENSOR_REGIONS.flag:
        return name if value is True else f"{name} {value}"
    counts = Counter(region for _, region in TENSOR_REGIONS.parse(value))
    return f"{name} ({', '.join(f'{count} in {region}' for region, count in counts.most_common())})"


def _labelled(label: str, text: str) -> list[str]:
    return hanging_indent(text, f"  {label}".ljust(LABEL), " " * LABEL) if text else [f"  {label}"]


def _front(front: Iterable[TriedPlan]) -> list[str]:
    plans = list(front)
    if len(plans) < 2:
        return []
    several = len({plan.machine for plan in plans}) > 1
    head = ["latency", "SRAM", *["board"] * several, "plan"]
    rows = [
        [_ms(plan), size(plan.sram_bytes or 0), *[plan.machine] * several, cut(_decided(plan), 36 if several else 54)]
        for plan in plans[:FRONT]
    ]
    return ["", "no other plan that was tried is better in both, by replay", *columns([head, *rows], left=2)]


def _ms(plan: TriedPlan) -> str:
    return pick_unit("ms", [plan.replayed_ms]).text(plan.replayed_ms)


def _worth(worth: Iterable[DecisionWorth]) -> list[str]:
    texts = (f"{_option(item.option, item.value or True)}: {_without(item)}" for item in worth)
    lines = [line for text in texts for line in wrapped(text)]
    return ["", "without it", *lines] if lines else []


def _without(item: DecisionWorth) -> str:
    if item.latency is None:
        return item.reason or "cannot be planned"
    more = f"{item.latency:.2f} times the time"
    return f"{more}, {item.sram:.2f} times the SRAM" if item.sram is not None else more


def _tried(tried: Iterable[TriedPlan], most: int) -> list[str]:
    """Those that do not meet what is asked, each with what it lacks; the closest first."""
    every = [plan for plan in tried if not plan.meets]
    refused = every if most > REFUSED else [plan for plan in every if plan.short < NEVER]
    if not refused:
        return []
    lines = [line for plan in refused[:most] for line in wrapped(f"{_decided(plan)}: {cut(plan.reason, 150)}")]
    head = f"{counted(len(refused), 'plan')} that {'do' if refused[1:] else 'does'} not do"
    return ["", head, *lines, *(["  more with --all"] if len(refused) > most else [])]
