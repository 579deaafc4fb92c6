"""Hashes of an answer file: each try has one of all before it, so that what was cut out or changed is seen.

A page computes the same. Not modelled: somebody who computes them anew, or does the lab again from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcusim.labs.draw import hashed


def chain_begin(lab: str, version: int, seed: int) -> str:
    """Whose answers they are."""
    return f"{lab}/{version}/{seed}"


def chained(begin: str, answers: Iterable[tuple[str, Sequence[str], int]]) -> tuple[list[list[str]], str]:
    """The hashes of all tries, a list for each of the ``answers`` (id, what was typed, how many hints), and the seal of
    the whole. ``begin`` says whose answers they are."""
    last, hashes = _link(begin), list[list[str]]()
    for id, typed, hints in answers:
        hashes.append([])
        for text in typed:
            last = _link(last, id, text)
            hashes[-1].append(last)
        last = _link(last, id, str(hints))
    return hashes, last


def _link(*parts: str) -> str:
    text = "\n".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return f"{hashed(text):08x}"
