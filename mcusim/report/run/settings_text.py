"""What ran where, and how it was planned, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcusim.plan.options import RUNTIME
from mcusim.plan.registry import policy_options
from mcusim.results.result import Result
from mcusim.text import size, wrapped


def title_lines(result: Result) -> list[str]:
    """Model and machine, then policy, kernels and fidelity, with whatever is not the default."""
    runtime = result.planning["runtime"]
    executed = "" if runtime in (None, RUNTIME.default) else f", runtime {runtime}"
    settings = f"policy {result.planner}{executed}, kernels {result.kernels}, fidelity {result.fidelity}"
    if result.run is not None and "buffering" in result.run.header.options:
        settings += f", {result.run.header.options['buffering']} buffering"
    types = "" if result.data_types in ("", "int8") else f" ({result.data_types})"
    return [f"{result.model}{types} on {result.machine.name}", *wrapped(settings + _planning(result))]


def _planning(result: Result) -> str:
    """How the arena was planned, where that is not the default."""
    asked, words = result.planning, ""
    if asked["order"] not in (None, "default"):
        words += f", {asked['order']} order"
    if asked["allocator"] == "offline":
        words += ", offsets of the file's memory plan"
    elif asked["allocator"] not in (None, "greedy"):
        words += f", {asked['allocator']} allocator"
    words += f", without {asked['without']}" if asked["without"] else ""
    if asked["patches"]:
        words += f", {asked['patches']['grid']} patches of {asked['patches']['split']} operators{_halos(asked, result)}"
    recorded = {} if result.run is None else result.run.header.options
    for option in policy_options().values():
        if option.spelled and option.name in recorded:
            text = str(recorded[option.name])
            words += f", {option.flag} {text if len(text) <= 60 else f'{text[:57]}...'}"
    return words + ", in place" * bool(asked["in_place"])


def _halos(asked: Mapping[str, Any], result: Result) -> str:
    """What patches compute twice, of what the network is without them, and the RAM that it needs then."""
    more, whole = asked["patches"]["halo_macs"], result.macs
    uncut = asked["patches"].get("arena_without")
    share = f"+{100 * more / (whole - more):.1f} % MACs" if more and whole and whole > more else ""
    words = [*([share] if share else []), *([f"without patches {size(uncut)} of RAM"] if uncut else [])]
    return f" ({'; '.join(words)})" if words else ""
