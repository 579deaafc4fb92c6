"""What a cost model knows of a configuration before it is tried: its knobs, its loop nest, and the replay's estimate.

The estimate is instructions at one a cycle, and for each operand as many passes over it as its bytes are read, each
with the stalls that the replay's memory system has for a pass in the operand's region: a first one with cold caches,
the others with what the first has left there. Not modelled: dual issue, registers that do not suffice, operands that
drive each other out of a cache; these are what the model learns from trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.memory import state_layout as L
from mcusim.memory.ports.replay import stream_of, walk
from mcusim.memory.system import MemorySystem

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.model.geometry import Geometry
    from mcusim.tuning.config_space import Config, ConfigSpace
    from mcusim.tuning.template import KernelTemplate

Array = np.ndarray[Any, np.dtype[np.float64]]
WORD = 4  # bytes of a load
POOL = 1500  # configurations that a model ranks


class ConfigFeatures:
    """Features of a layer's configurations, each a vector of floats of the same length for one template; amounts are
    against those of the plain configuration, so that other layers and boards are comparable."""

    def __init__(
        self, g: Geometry, places: Mapping[str, str], machine: Machine, template: KernelTemplate, space: ConfigSpace
    ) -> None:
        self.geometry, self.machine, self.template, self.space = g, machine, template, space
        self.pool = POOL
        channels = 1 if g.traits.depthwise else g.in_c
        self._sizes = {"input": g.in_bytes, "filter": g.kernel_h * g.kernel_w * channels * g.out_c}
        self._places = {operand: places[operand] for operand in ("input", "filter", "scratch")}
        self._held: dict[int, Array] = {}
        self._passes: dict[tuple[str, int], tuple[float, float]] = {}
        self._plain = self._amounts(space.default)

    def of(self, number: int) -> Array:
        """The features of a configuration's number."""
        if number not in self._held:
            self._held[number] = np.array(self._features(self.space.config(number)))
        return self._held[number]

    def estimate(self, config: Config) -> float:
        """Cycles by the loop nest and the replay; 0 for a template that does not say what its loops do."""
        nest = self.template.nest(self.space, config)
        cycles = float(nest.get("instructions", 0))
        sizes = {**self._sizes, "scratch": self.template.scratch_bytes(self.geometry, self.space, config)}
        for operand, size in sizes.items():
            passes = nest.get(operand, 0) / max(size, 1)
            first, again = self._stalls(operand, size)
            cycles += first * min(passes, 1) + again * max(0, passes - 1)
        return cycles

    def _amounts(self, config: Config) -> list[float]:
        nest = self.template.nest(self.space, config)
        return [log2(1 + self.estimate(config)), *(log2(1 + nest[name]) for name in sorted(nest))]

    def _features(self, config: Config) -> list[float]:
        features = [amount - plain for amount, plain in zip(self._amounts(config), self._plain, strict=True)]
        for knob in self.space.knobs:
            value = config[knob.name]
            texts = self.template.texts(knob.name)
            if texts:  # no order among them
                features += [float(value == text) for text in texts]
            else:
                features.append(log2(1 + abs(float(value))))
        return features

    def _stalls(self, operand: str, size: int) -> tuple[float, float]:
        """Stall cycles of a pass over ``size`` bytes of an operand, and of one more."""
        region = self.machine.memory[self._places[operand]]
        key = region.name, min(size, region.size)
        if key not in self._passes:
            system = MemorySystem(self.machine)

            def stalls() -> float:
                demand = system.measure(
                    lambda state: walk(state, stream_of(state, WORD, 0, L.TICK, 1), region.base, key[1])
                )
                return sum(asked.stall for asked in demand.values()) / L.TICK

            self._passes[key] = stalls(), stalls()
        return self._passes[key]
