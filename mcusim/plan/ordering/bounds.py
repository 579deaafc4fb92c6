"""What no order can do without, and where a graph falls into parts that can be ordered by themselves.

Left out: bounds that look at more than one operator at a time.
"""

from __future__ import annotations

from mcusim.plan.ordering.precedence import Precedence

__all__ = ["least_peak", "needed_at", "parts"]


def needed_at(p: Precedence, i: int) -> int:
    """Bytes alive while operator ``i`` runs in any order: its own tensors, and those that are made before it at any
    rate and read after it at any rate."""
    own = set(p.reads[i])
    in_place = any(p.readers[t] & p.descendants[i] == 0 for t in p.hosts[i])  # some order lets it die here
    total = p.resident + p.extra[i] + sum(p.size[t] for t in own) + (0 if in_place else p.results[i])
    made, later = p.ancestors[i], p.descendants[i]
    for t, who in p.readers.items():
        if t in own or p.producer.get(t, -1) == i:
            continue
        exists = t not in p.producer or made >> p.producer[t] & 1
        if exists and (t in p.kept or who & later):
            total += p.size[t]
    return total


def least_peak(p: Precedence) -> int:
    """A bound from below on the peak of every order."""
    return max((needed_at(p, i) for i in range(p.count)), default=0)


def parts(p: Precedence) -> list[int]:
    """Sets of operators that run one after the other in every order: each ends with an operator that all others come
    before or after."""
    everything = (1 << p.count) - 1
    cuts = [i for i in range(p.count) if p.ancestors[i] | p.descendants[i] | 1 << i == everything]
    found, done = [], 0
    for i in cuts:
        upto = p.ancestors[i] | 1 << i
        if upto & ~done:
            found.append(upto & ~done)
            done = upto
    if everything & ~done:
        found.append(everything & ~done)
    return found
