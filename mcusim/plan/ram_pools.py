"""Which memories hold a network's data: its tensors, what persists between operators, and the kernels' scratch.

TensorFlow Lite Micro takes one arena, or two: a persistent one (interpreter's data, variables) and one for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from mcusim.errors import DoesNotFit, UsageError
from mcusim.machine.description import Machine
from mcusim.plan.arena import ALIGN
from mcusim.plan.options import ARENA, PERSISTENT, SCRATCH, SRAM_BUDGET, PlanOptions
from mcusim.plan.pools import Layout, Pool, data_pools, data_region, sram_pool

PERSISTENT_ARENA = "the persistent arena"


@dataclass(frozen=True, slots=True)
class RamSizes:
    """Bytes of the ``tensors`` alone, of tensors and scratch buffers ``planned`` together, of the largest ``scratch``
    buffer, and of what is ``persistent``: variables and the interpreter's data."""

    tensors: int
    planned: int
    scratch: int
    persistent: int


@dataclass(frozen=True, slots=True)
class RamPools:
    """``arena`` holds the tensors, and what has no pool of its own (None); ``budget`` is for all that is on chip."""

    arena: Pool
    persistent: Pool | None = None
    scratch: Pool | None = None
    budget: int | None = None

    def pool_of(self, part: str) -> Pool:
        """The pool of a part, by its name in :func:`arena_parts`."""
        own = {"scratch": self.scratch, "state": self.persistent, "runtime": self.persistent}
        return own.get(part) or self.arena

    @property
    def separate(self) -> tuple[Pool, ...]:
        """Each memory once, the arena's first; none that is part of another."""
        pools = list(dict.fromkeys(pool for pool in (self.arena, self.scratch, self.persistent) if pool is not None))
        names = {pool: {*pool.name.split("+")} for pool in pools}
        return tuple(pool for pool in pools if not any(names[pool] < names[other] for other in pools))


def chosen_pools(machine: Machine, sizes: RamSizes, options: PlanOptions) -> RamPools:
    """The pools for data of ``sizes`` in on-chip memory, or in the regions that ``options`` name.

    The first of :func:`~mcusim.plan.pools.data_pools` that has room for all; else the first that has room for tensors
    and scratch, beside another that has room for what is persistent; else the largest, which is too small. The SRAM
    budget is for all that is on chip, together. Raises UsageError for a region that is not there or holds no data, and
    for a budget above all on-chip memory.
    """
    apart, budget = pools_apart(machine, options), _budget(machine, options)
    named = sum(
        size for pool, size in ((apart.persistent, sizes.persistent), (apart.scratch, sizes.scratch))
        if pool is not None and pool.on_chip
    )  # fmt: skip
    pools = _arenas(machine, options)
    room = {pool: pool.cut(None if budget is None or not pool.on_chip else budget - named).size for pool in pools}
    own = sizes.planned if apart.scratch is None else sizes.tensors
    whole = own + (sizes.persistent if apart.persistent is None else 0)
    first = next((pool for pool in pools if room[pool] >= whole), None)
    if first is None and whole > own and options[ARENA] is None and (budget is None or whole + named <= budget):
        two = (pair for pair in product(pools, pools) if pair[0] != pair[1])
        split = next((p for p in two if p[0].size >= own and p[1].size >= sizes.persistent), None)
        if split is not None:
            return RamPools(split[0], split[1], apart.scratch, budget)
    return RamPools(first or max(pools, key=room.__getitem__), apart.persistent, apart.scratch, budget)


def arena_parts(activations: int, planned: int, runtime: int, state: int) -> dict[str, int]:
    """The parts of an arena: ``activations`` bytes for tensors alone, ``planned`` with scratch buffers among them."""
    tensors = min(activations, planned)  # a heuristic may need less for more
    kept = {"state": state} if state else {}
    return {"activations": tensors, "scratch": planned - tensors, **kept, "runtime": runtime}


@dataclass(frozen=True, slots=True)
class PartAddresses:
    """The first byte of the ``arena``, of what is ``persistent`` and of the ``scratch`` buffer (None: in the arena)."""

    arena: int
    persistent: int | None
    scratch: int | None


def place_parts(layout: Layout, pools: RamPools, what: str, parts: Mapping[str, int]) -> PartAddresses:
    """Put ``parts``, bytes by their names in :func:`arena_parts`, in ``pools``; those of the arena are ``what``.

    Raises DoesNotFit for a pool that is too small, and where what is on chip is more than the budget.
    """
    on_chip = {name: size for name, size in parts.items() if pools.pool_of(name).on_chip}
    if pools.budget is not None and sum(on_chip.values()) > pools.budget:
        used = [pool for pool in pools.separate if pool.on_chip]
        available = min(pools.budget, sum(pool.size for pool in used))
        name = what if "activations" in on_chip else "what is to be on chip"
        raise DoesNotFit("+".join(pool.name for pool in used), sum(on_chip.values()), available, name, on_chip)

    def put(pool: Pool | None, what: str, *names: str) -> int | None:
        inside = {name: parts[name] for name in names if name in parts}
        return None if pool is None else layout.allocate(pool, sum(inside.values()), ALIGN, what, inside)

    apart = {"scratch"} if pools.scratch is not None else set()
    apart |= {"state", "runtime"} if pools.persistent is not None else set()
    own = {name: size for name, size in parts.items() if name not in apart}
    return PartAddresses(
        layout.allocate(pools.arena, sum(own.values()), ALIGN, what, own),
        scratch=put(pools.scratch, "the scratch buffer", "scratch"),
        persistent=put(pools.persistent, PERSISTENT_ARENA, "state", "runtime"),
    )


def pools_apart(machine: Machine, options: PlanOptions, arena: Pool | None = None) -> RamPools:
    """The regions that ``options`` name for what does not lie in ``arena``. Raises UsageError."""
    persistent, scratch = (
        None if options[option] is None else data_region(machine, option.flag, str(options[option]))
        for option in (PERSISTENT, SCRATCH)
    )
    return RamPools(arena or Pool("", 0, 0), persistent, scratch)


def _arenas(machine: Machine, options: PlanOptions) -> list[Pool]:
    """Where tensors may be, what comes first first. Raises UsageError."""
    region = options[ARENA]
    if region is not None:
        return [data_region(machine, ARENA.flag, region)]
    return data_pools(machine) or [sram_pool(machine)]


def _budget(machine: Machine, options: PlanOptions) -> int | None:
    """The SRAM budget. Raises UsageError for one that limits nothing."""
    budget, pools = options[SRAM_BUDGET], data_pools(machine)
    most = sum(pool.size for pool in pools)
    if budget is not None and budget > most:
        memory = "+".join(pool.name for pool in pools) or "on-chip memory"
        raise UsageError(f"an SRAM budget of {budget:,} B is more than {memory} of {machine.name}: {most:,} B")
    return budget
