"""What of a plan may be decided otherwise: single changes of one option, those that promise most first.

Not modelled: combinations (the search makes them), options of a run, and the network itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mcusim.machine.description import Machine
from mcusim.plan import SRAM_BUDGET, declared_options, takers
from mcusim.plan.options import (
    ALLOCATOR,
    ARENA,
    IN_PLACE,
    ORDER,
    PATCHES,
    PERSISTENT,
    RUNTIME,
    SCRATCH,
    TENSOR_REGIONS,
    WEIGHTS,
)
from mcusim.plan.overlay.on_chip import ON_CHIP
from mcusim.plan.policies.tinyops import BUFFER_SIZES, BUFFERING
from mcusim.plan.pools import largest_region, sram_pool
from mcusim.plan.registry import all_policies
from mcusim.results.plan_advice import Decisions, TriedPlan
from mcusim.runtime.runtime import Runtime, find_runtime, runtime_names

KIB = 1024
_EXTERNAL = ("qspi", "sdram")
_TILES = (1024, 2048, 4096, 8192)  # bytes of a tile buffer, at most


def seeds(runtimes: Sequence[str] | None = None) -> Iterator[Decisions]:
    """Every policy that ships with every runtime, by default with all there are, without options."""
    for runtime in runtimes or runtime_names():
        for policy in all_policies():
            if policy.plug_in is None:
                yield {"policy": policy.name, **({} if runtime == RUNTIME.default else {RUNTIME.flag: runtime})}


def moves(machine: Machine, plan: Decisions, most_sram: int | None = None) -> Iterator[Decisions]:
    """``plan`` with one decision otherwise, or with one more; ``most_sram``: the limit on on-chip RAM in bytes."""
    runtime = find_runtime(str(plan.get(RUNTIME.flag) or RUNTIME.default))
    policy = str(plan["policy"])
    for flag, values in (
        *_placing(machine, policy),
        *_of_arena(policy, runtime),
        *_of_overlay(machine, plan, runtime, most_sram),
    ):
        if policy not in _takers(flag):
            continue
        for value in (*values, None):
            if value != plan.get(flag):
                yield {**{name: old for name, old in plan.items() if name != flag}, **({flag: value} if value else {})}


def with_fixed_buffers(plan: TriedPlan) -> TriedPlan:
    """``plan`` with the buffers that its policy chose by replays as an option: another plan near it is one replay."""
    policy, result = plan.decisions["policy"], plan.result
    if policy not in takers(BUFFER_SIZES.name) or plan.decisions.get(BUFFER_SIZES.flag) or result is None:
        return plan
    assert result.run is not None
    chosen = result.run.header.options.get("planned_budget")
    budget = {} if chosen is None else {SRAM_BUDGET.flag: f"{chosen} B"}
    return replace(plan, decisions={**plan.decisions, **budget, BUFFER_SIZES.flag: "largest"})


def _takers(flag: str) -> tuple[str, ...]:
    """The policies that take the option of that flag."""
    (option,) = (option for option in declared_options().values() if option.flag == flag)
    return tuple(takers(option.name)) or tuple(policy.name for policy in all_policies())


def _placing(machine: Machine, policy: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Regions of weights, of the tensors, of the interpreter's data and of the kernels' scratch buffer."""
    external = tuple(region.name for region in machine.memory.values() if region.kind in _EXTERNAL)
    if policy != all_policies()[0].name and (flash := largest_region(machine, "flash")) is not None:
        external = (flash.name, *external)
    inside = tuple(
        region.name for region in machine.memory.values() if region.writable and region.kind in ("sram", "tcm")
    )
    if external:
        yield WEIGHTS.flag, external
    for option in (ARENA, PERSISTENT, SCRATCH):
        yield option.flag, inside


def _of_arena(policy: str, runtime: Runtime) -> Iterator[tuple[str, tuple[str | bool, ...]]]:
    """How tensors that are in one memory lie in it."""
    if runtime.array is not None:
        if runtime.cut is not None:
            yield PATCHES.flag, ("auto",)
    elif policy not in takers("overlay"):
        yield IN_PLACE.flag, (True,)
        yield ORDER.flag, ("optimal",)
        yield ALLOCATOR.flag, ("optimal",)


def _of_overlay(
    machine: Machine, plan: Decisions, runtime: Runtime, most_sram: int | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is copied, and how large its buffers are."""
    if plan["policy"] not in takers("overlay"):
        return
    room = sram_pool(machine).size
    yield "overlay", ("input", "filter", "input,filter")
    yield BUFFERING.flag, ("single",)
    if runtime.array is None and TENSOR_REGIONS.flag not in plan:
        yield ON_CHIP.flag, tuple(f"{size} KiB" for size in (4, 16, 32) if size * KIB < room)
    yield "tile-buffer", tuple(f"{size // KIB} KiB" for size in _TILES)
    most = room if most_sram is None else min(room, most_sram)
    yield SRAM_BUDGET.flag, tuple(f"{most * share // 16} B" for share in ((16, 12, 8) if most < room else (12, 8)))
