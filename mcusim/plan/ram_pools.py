"""Which memories hold a network's data: its tensors, what persists between operators, and the kernels' scratch.

TensorFlow Lite Micro takes one arena, or two: a persistent one (interpreter's data, variables) and one for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.plan.options import ARENA, PERSISTENT, SCRATCH, SRAM_BUDGET, PlanOptions
from mcusim.plan.pools import Pool, data_pools, data_region, sram_pool

__all__ = ["RamPools", "RamSizes", "chosen_pools", "pools_apart"]


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
    """``arena`` holds the tensors, and what has no pool of its own (None)."""

    arena: Pool
    persistent: Pool | None = None
    scratch: Pool | None = None

    def pool_of(self, part: str) -> Pool:
        """The pool of a part, by its name in :func:`mcusim.plan.verdict.arena_parts`."""
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
    budget is for all of them together. Raises UsageError for a region that is not there or holds no data, and for a
    budget above the first pool.
    """
    apart = pools_apart(machine, options)
    budget = options[SRAM_BUDGET]
    beside = sum(
        size for pool, size in ((apart.persistent, sizes.persistent), (apart.scratch, sizes.scratch))
        if pool is not None and machine.memory[pool.name].kind != "sdram"
    )  # fmt: skip
    pools = [pool.cut(None if budget is None else max(0, budget - beside)) for pool in _arenas(machine, options)]
    own = sizes.planned if apart.scratch is None else sizes.tensors
    whole = own + (sizes.persistent if apart.persistent is None else 0)
    first = next((pool for pool in pools if pool.size >= whole), None)
    if first is None and whole > own and options[ARENA] is None and (budget is None or whole + beside <= budget):
        two = (pair for pair in product(pools, pools) if pair[0] != pair[1])
        split = next((p for p in two if p[0].size >= own and p[1].size >= sizes.persistent), None)
        if split is not None:
            return RamPools(split[0], split[1], apart.scratch)
    return RamPools(first or max(pools, key=lambda pool: pool.size), apart.persistent, apart.scratch)


def pools_apart(machine: Machine, options: PlanOptions, arena: Pool | None = None) -> RamPools:
    """The regions that ``options`` name for what does not lie in ``arena``. Raises UsageError."""
    persistent, scratch = (
        None if options[option] is None else data_region(machine, option.flag, str(options[option]))
        for option in (PERSISTENT, SCRATCH)
    )
    return RamPools(arena or Pool("", 0, 0), persistent, scratch)


def _arenas(machine: Machine, options: PlanOptions) -> list[Pool]:
    """Where tensors may be, what comes first first. Raises UsageError."""
    asked, budget = options[ARENA], options[SRAM_BUDGET]
    if asked is None:
        first = sram_pool(machine, budget)
        return [first, *(pool.cut(budget) for pool in data_pools(machine) if pool.name != first.name)]
    pool = data_region(machine, ARENA.flag, asked)
    if budget is not None and budget > pool.size:
        raise UsageError(f"an SRAM budget of {budget:,} B is more than {asked} of {machine.name}: {pool.size:,} B")
    return [pool]
