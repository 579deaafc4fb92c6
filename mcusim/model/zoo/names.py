"""Zoo names: ``FAMILY`` or ``FAMILY-w<width>-r<resolution>``, and either with the suffix ``-pad``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from mcusim.errors import ModelError
from mcusim.model.zoo.architectures import ARCHITECTURES, Architecture

WIDTHS = (Fraction(1, 20), Fraction(2))
RESOLUTIONS = (16, 512)
PADS = "-pad"


@dataclass(frozen=True)
class ZooName:
    """A name taken apart; ``width`` is 1 and ``resolution`` None for networks without such parameters.

    ``pads``: the form with an explicit PAD before each padded strided window (:mod:`mcusim.model.zoo.explicit_pads`).
    """

    family: str
    width: Fraction = Fraction(1)
    resolution: int | None = None
    pads: bool = False

    @property
    def architecture(self) -> Architecture:
        return ARCHITECTURES[self.family]

    def __str__(self) -> str:
        end = PADS if self.pads else ""
        if self.resolution is None:
            return self.family + end
        digits = f"{float(self.width):.2f}" if 100 % self.width.denominator == 0 else f"{float(self.width):g}"
        return f"{self.family}-w{digits}-r{self.resolution:03d}{end}"


def zoo_names() -> dict[str, str]:
    """Patterns of the built-in networks, each with an example: ``{"proxyless-w*-r*": "proxyless-w0.25-r160", ...}``."""
    return {f"{name}-w*-r*" if a.scalable else name: a.example for name, a in ARCHITECTURES.items()}


def parse_name(text: str) -> ZooName | None:
    """The zoo network that ``text`` names; None when it starts like none of them.

    Raises ModelError for a known family with a width outside 0.05 to 2 or a resolution outside 16 to 512, or without
    one of them, and for ``-pad`` where the network has its PADs anyway.
    """
    if text.endswith(PADS):
        plain = parse_name(text.removesuffix(PADS))
        if plain is not None and plain.architecture.exported:
            raise ModelError(f"zoo network '{text}': {plain} has its PADs already")
        return None if plain is None else replace(plain, pads=True)
    if text in ARCHITECTURES and not ARCHITECTURES[text].scalable:
        return ZooName(text)
    family = next((f for f in sorted(ARCHITECTURES, key=len, reverse=True) if re.match(rf"{f}(-[wr]|$)", text)), None)
    if family is None:
        return None
    architecture = ARCHITECTURES[family]
    if not architecture.scalable:
        raise ModelError(f"zoo network '{text}': {family} has neither width nor resolution; its name is '{family}'")
    match = re.fullmatch(r"-w(\d{1,2}(?:\.\d{1,4})?)-r(\d{1,5})", text[len(family) :], re.ASCII)
    if match is None:
        raise ModelError(
            f"zoo network '{text}': {family} takes a width and a resolution, {family}-w<width>-r<resolution>,"
            f" for example {architecture.example}"
        )
    return _in_range(text, ZooName(family, Fraction(match[1]), int(match[2])))


def _in_range(text: str, name: ZooName) -> ZooName:
    if not WIDTHS[0] <= name.width <= WIDTHS[1]:
        low, high = (float(w) for w in WIDTHS)
        raise ModelError(f"zoo network '{text}': width {float(name.width):g} is not within {low:g} to {high:g}")
    if name.resolution is None or not RESOLUTIONS[0] <= name.resolution <= RESOLUTIONS[1]:
        low, high = RESOLUTIONS
        raise ModelError(f"zoo network '{text}': resolution {name.resolution} is not within {low} to {high} pixels")
    return name
