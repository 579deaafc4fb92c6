"""The MobileNet-like search spaces of TinyNAS: a width and a resolution each, and the networks that they have.

Sources: Lin et al. 2020 (MCUNet), appendix D: 9 widths, 12 resolutions, kernels, expansions and depths by block, stage
and strides of the once-for-all network that it searches. Not modelled: the input block's own expansion, squeeze and
excitation, training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from mcusim.errors import UsageError
from mcusim.model.zoo.architectures import Architecture, Layer
from mcusim.model.zoo.builder import scale_channels

WIDTHS = tuple(Fraction(n, 10) for n in range(2, 11))
RESOLUTIONS = tuple(range(48, 225, 16))
STAGES = ((24, 2), (40, 2), (80, 2), (96, 1), (192, 2), (320, 1))  # channels at width 1, stride of the first block
DEPTHS = (2, 3, 4)  # blocks of a stage; the last one has one
KERNELS, EXPANSIONS = (3, 5, 7), (3, 4, 6)
FIRST, SECOND, HEAD = 32, 16, 1280  # channels of the first convolution, the block behind it, the last convolution
ROUNDING = "near-8"
SLOTS = 5 * max(DEPTHS) + 1  # blocks of the deepest network
GENES = 5 + 2 * SLOTS  # of a network: depths, then kernel and expansion of each slot

Array = np.ndarray[Any, np.dtype[np.int64]]
Genes = Annotated[tuple[Annotated[int, Field(ge=0, le=2)], ...], Field(min_length=GENES, max_length=GENES)]  # in a log


@dataclass(frozen=True, order=True)
class NasSpace:
    """``width`` multiplies channels, ``resolution`` is the input's height and width. Raises UsageError for a width of
    more than three decimals, which its name does not have."""

    width: Fraction
    resolution: int
    classes: int = 100

    def __post_init__(self) -> None:
        if self.width * 1000 % 1:
            raise UsageError(f"width {float(self.width):.10g}: has more than three decimals")

    def __str__(self) -> str:
        return f"w{float(self.width):g}-r{self.resolution}"

    def channels(self, unscaled: int) -> int:
        """Channels of a layer that has ``unscaled`` ones at width 1."""
        return scale_channels(unscaled, self.width, ROUNDING)


@dataclass(frozen=True)
class NasNetwork:
    """A network of ``space``: blocks of each stage as pairs of kernel and expansion."""

    space: NasSpace
    stages: tuple[tuple[tuple[int, int], ...], ...]

    @classmethod
    def of(cls, space: NasSpace, choice: Array) -> NasNetwork:
        """From a row of :func:`drawn`."""
        depths = [DEPTHS[i] for i in choice[:5]] + [1]
        pairs = choice[5:].reshape(SLOTS, 2)
        stages = []
        for stage, depth in enumerate(depths):
            first = stage * max(DEPTHS)
            entries = [(KERNELS[k], EXPANSIONS[e]) for k, e in pairs[first : first + depth].tolist()]
            stages.append(tuple(entries))
        return cls(space, tuple(stages))

    def to_json(self) -> dict[str, Any]:
        """``width``, ``resolution``, ``classes``, and of each block ``kernel expand in out stride residual``."""
        space, blocks, source = self.space, list[dict[str, Any]](), self.space.channels(SECOND)
        for (unscaled, stride), pairs in zip(STAGES, self.stages, strict=True):
            for number, (kernel, expansion) in enumerate(pairs):
                step, made = 1 if number else stride, space.channels(unscaled)
                blocks.append(
                    {
                        "kernel": kernel, "expand": expansion, "in": source, "out": made, "stride": step,
                        "residual": step == 1 and source == made,
                    }
                )  # fmt: skip
                source = made
        own = {"width": float(space.width), "resolution": space.resolution, "classes": space.classes}
        return {**own, "first": space.channels(FIRST), "second": space.channels(SECOND), "head": HEAD, "blocks": blocks}

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """As :mod:`mcusim.model.zoo.architectures` has them."""
        blocks: list[Layer] = [("conv", 3, 2, FIRST), ("block", "1", 3, SECOND, 1, 1)]
        for (channels, stride), pairs in zip(STAGES, self.stages, strict=True):
            for number, (kernel, expansion) in enumerate(pairs):
                blocks.append(("block", str(expansion), kernel, channels, 1 if number else stride, 1))
        return (*blocks, *tail(self.space.classes))

    @property
    def architecture(self) -> Architecture:
        """What the zoo builds."""
        return Architecture(str(self.space), self.layers, rounding=ROUNDING, fixed_head=True)


def tail(classes: int) -> tuple[Layer, ...]:
    """What follows the blocks."""
    return (("conv", 1, 1, HEAD), ("global_pool",), ("classes", classes), ("flatten",))


def all_spaces(
    widths: Sequence[Fraction] = WIDTHS, resolutions: Sequence[int] = RESOLUTIONS, classes: int = 100
) -> list[NasSpace]:
    """Every width with every resolution. Raises UsageError for none."""
    if not widths or not resolutions:
        raise UsageError("there is no search space without a width and a resolution")
    return [NasSpace(width, resolution, classes) for width in widths for resolution in resolutions]


def drawn(count: int, dice: np.random.Generator) -> Array:
    """``count`` networks at random, a row each: places of five depths, then of kernel and expansion of every slot."""
    depths = dice.integers(len(DEPTHS), size=(count, 5))
    pairs = dice.integers(len(KERNELS), size=(count, SLOTS * 2))
    return normalised(np.concatenate([depths, pairs], axis=1).astype(np.int64))


def normalised(choices: Array) -> Array:
    """Equal networks as equal rows: what slots without a block have is 0."""
    most, slots = max(DEPTHS), np.arange(SLOTS)
    depths = np.array(DEPTHS)[choices[:, :5]]
    depths = np.concatenate([depths, np.ones((len(choices), 1), np.int64)], axis=1)
    there = (slots % most)[None, :] < depths[:, slots // most]
    pairs = np.where(np.repeat(there, 2, axis=1), choices[:, 5:], 0)
    return np.ascontiguousarray(np.concatenate([choices[:, :5], pairs], axis=1))
