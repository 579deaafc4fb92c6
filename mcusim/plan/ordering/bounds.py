"""Lower bounds on the memory of any order, and the parts of a graph that can be ordered by themselves.

Not modelled: bounds that look at more than one operator at a time.
"""

from __future__ import annotations

import math
import time

from mcusim.plan.ordering.precedence import Precedence, members


def needs(p: Precedence, deadline: float = math.inf) -> list[int]:
    """Bytes alive while each operator runs in any order: its own tensors, and those that every order makes before it
    and reads after it.

    At ``deadline`` (of ``time.monotonic``) what is known by then, which may be less.
    """
    result = []
    for i in range(p.count):
        # some order lets it die here
        in_place = any(p.readers[t] & p.descendants[i] == 0 for t in p.in_place_candidates[i])
        own = sum(p.size[t] for t in p.reads[i]) + (0 if in_place else p.results[i])
        result.append(p.resident + p.extra[i] + own)
    everything = (1 << p.count) - 1
    for t, who in p.readers.items():
        if time.monotonic() > deadline:
            break
        after = p.descendants[p.producer[t]] if t in p.producer else everything
        before = everything if t in p.kept else 0
        for i in members(who):
            before |= p.ancestors[i]
        if p.size[t]:
            for i in members(after & before & ~who):
                result[i] += p.size[t]
    return result


def parts(p: Precedence) -> list[int]:
    """Sets of operators that run one after the other in every order: each ends with an operator that all others come
    before or after."""
    everything = (1 << p.count) - 1
    cuts = [i for i in range(p.count) if p.ancestors[i] | p.descendants[i] | 1 << i == everything]
    result, done = [], 0
    for i in cuts:
        upto = p.ancestors[i] | 1 << i
        if upto & ~done:
            result.append(upto & ~done)
            done = upto
    if everything & ~done:
        result.append(everything & ~done)
    return result
