"""What a kernel's output channels are rescaled by, and which of them its quick way does not take.

A set whose functions have a quick way, one product and a shift to the right (``sets/tinyengine/tinyengine.h``), names
in its manifest what decides over it (``quick``): ``filters``, all of a convolution's channels or none; ``channels``,
each by itself; ``sum`` and ``product``, the scales of ADD and MUL. An output channel whose value no input can change,
as that of weights that training has left at zero, gets a bias, a multiplier and a shift which that way takes; results
are LiteRT's.

Not modelled: channels of filters that are not constants, and of a bias that operators with other scales share: they
have LiteRT's figures, and the plain way where they need it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mcusim.errors import ModelError
from mcusim.kernels.calls import quantize as Q
from mcusim.kernels.calls.call_bytes import Places, call_bytes, channel_arrays, words
from mcusim.kernels.calls.structs import LAYOUTS
from mcusim.kernels.kernel_set import CHANNELS, FILTERS, PRODUCT, SUM, Kernel
from mcusim.model.geometry import Geometry, geometry
from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.operators import FUSED

WORD = 4  # bytes
LARGEST_BIAS = (1 << 29) - 1  # the quick way's: products of at most 2^28 are added to it, and it is doubled
MOST_PRODUCTS = 1 << 13  # of 2^15 each
MOST_PAIRS = 128  # of taps of a depthwise window
_FURTHEST = 255  # from the output's zero point: beyond that a byte is at its end


class Parameters(NamedTuple):
    """Of a convolution or FULLY_CONNECTED, as they lie in memory; ``slow``: how many output channels take the plain
    way of a kernel that has a quick one."""

    bias: bytes | None
    multiplier: bytes
    shift: bytes
    slow: int = 0


def parameters(graph: Graph, op: Operator, kernel: Kernel) -> Parameters | None:
    """Those of ``op`` for ``kernel``, of floats a bias alone; None for operators without. Raises ModelError as
    :func:`mcusim.kernels.calls.call_bytes.channel_arrays`, and for a bias that is not one value a channel."""
    arrays = channel_arrays(graph, op)
    if arrays is None and not op.traits.parametric:
        return None
    bias, channels = _bias(graph, op), graph.tensors[op.outputs[0]].shape[-1]
    if bias is not None and bias.elements != channels:
        raise ModelError(f"bias '{bias.name}' has {bias.elements} elements for {channels} output channels")
    own = None if bias is None or bias.data is None else bias.data.tobytes()
    weights = graph.tensors[op.inputs[1]]
    data = None if bias is None else bias.data
    if arrays is None:
        return Parameters(own, b"", b"")
    if kernel.quick not in (FILTERS, CHANNELS) or weights.data is None or (bias is not None and data is None):
        return Parameters(own, *arrays)
    source = graph.tensors[op.inputs[op.traits.data_input]]
    layer = _Convolution(*arrays, op.traits.depthwise, _ends(source), id(weights.data), id(data), weights.data, data)
    settled = _settled(layer, kernel.quick, True)
    if settled.bias == own or _alike(graph, op, bias):
        return settled
    return _settled(layer, kernel.quick, False)


def slow_channels(graph: Graph, op: Operator, kernel: Kernel, g: Geometry) -> int:
    """How many output channels of a call for ``g`` take the plain way of a kernel that has a quick one; of ADD and MUL
    all or none."""
    if kernel.quick in (SUM, PRODUCT):
        return 0 if _is_quick(graph, op, kernel) else g.out_c
    if kernel.quick == FILTERS and g.kernel_h * g.kernel_w * g.in_c >= MOST_PRODUCTS:
        return g.out_c
    if kernel.quick == CHANNELS and g.kernel_h * (g.kernel_w + 1 >> 1) > MOST_PAIRS:
        return g.out_c
    own = parameters(graph, op, kernel) if kernel.quick else None
    return own.slow if own else 0


def geometry_for(graph: Graph, op: Operator, kernel: Kernel) -> Geometry:
    """That of ``op``, with the channels that take the plain way of ``kernel``, and whether it clamps outputs in a pass
    of their own: a quick way of convolutions knows the range of a byte alone. A network whose scales are not there, or
    cannot be computed with, is taken to have none of both; to execute it is refused elsewhere."""
    g = geometry(graph, op)
    try:
        slow = slow_channels(graph, op, kernel, g)
        clamped = int(kernel.quick in (FILTERS, CHANNELS) and _is_clamped(graph, op))
    except ModelError:
        return g
    return replace(g, slow_channels=slow, clamped=clamped) if slow or clamped else g


def _is_clamped(graph: Graph, op: Operator) -> bool:
    activation, output = op.options.get("activation", "NONE"), graph.tensors[op.outputs[0]]
    return activation in FUSED and Q.activation_range(activation, output) != Q.limits(output.dtype)


def _is_quick(graph: Graph, op: Operator, kernel: Kernel) -> bool:
    data = call_bytes(graph, op, Places(0, (0, 0), (0,)))
    words, first = np.frombuffer(data, "<i4"), 0
    shifts = {}
    for name, count in LAYOUTS[kernel.layout].items():
        shifts[name], first = int(words[first]), first + count
    names = ("output_shift",) if kernel.quick == PRODUCT else ("input1_shift", "input2_shift", "output_shift")
    return all(-31 < shifts[name] <= 0 for name in names)


def _bias(graph: Graph, op: Operator) -> Tensor | None:
    index = op.inputs[op.traits.bias_input] if len(op.inputs) > op.traits.bias_input else -1
    return graph.tensors[index] if index >= 0 else None


def _alike(graph: Graph, op: Operator, bias: Tensor | None) -> bool:
    """Whether all who read that bias have the same filter and scales, as patches of one operator."""

    def scales(user: Operator) -> tuple[object, ...]:
        if not user.traits.parametric:
            return (user.index,)
        source, output = user.inputs[user.traits.data_input], user.outputs[0]
        return user.type, user.inputs[1], graph.tensors[source].quantization, graph.tensors[output].quantization

    users = [user for user in graph.operators if bias is not None and bias.index in user.inputs]
    return len({scales(user) for user in users}) == 1


def _ends(source: Tensor) -> tuple[int, int]:
    """The least and the largest input, its zero point taken away."""
    least, most = Q.limits(source.dtype)
    return least - Q.zero_point(source), most - Q.zero_point(source)


@dataclass(frozen=True)
class _Convolution:
    """What the figures of a convolution's channels follow from; arrays by their identity."""

    multiplier: bytes
    shift: bytes
    depthwise: bool
    ends: tuple[int, int]
    weights_id: int
    bias_id: int
    weights: Any = field(compare=False)
    bias: Any = field(compare=False)

    def sums(self, channel: int) -> tuple[int, int]:
        """The least and the largest sum of a channel, with its bias, whatever the input."""
        weights = self.weights[..., channel] if self.depthwise else self.weights[channel]
        products = np.multiply.outer(np.array(self.ends), weights.astype(np.int64).ravel())
        bias = 0 if self.bias is None else int(self.bias.ravel()[channel])
        return bias + int(products.min(axis=0).sum()), bias + int(products.max(axis=0).sum())


@lru_cache(maxsize=512)
def _settled(layer: _Convolution, rule: str, may_change: bool) -> Parameters:
    """The figures of all channels, constant ones in the quick way where they may be changed."""
    multiplier, shift = (np.frombuffer(part, "<i4").copy() for part in (layer.multiplier, layer.shift))
    bias = None if layer.bias is None else layer.bias.ravel().astype(np.int64)
    slow = (shift >= 0) | (shift <= -31)
    if bias is not None:
        slow |= np.abs(bias) > LARGEST_BIAS
    for channel in np.flatnonzero(slow).tolist() if may_change else ():
        constant = _constant(layer.sums(channel), int(multiplier[channel]), int(shift[channel]))
        figures = None if constant is None else _figures(constant, layer.sums(channel), bias, channel)
        if figures is not None:
            multiplier[channel], shift[channel], slow[channel] = *figures, False
    if rule == FILTERS and (slow.any() or bias is None):
        slow[:] = True
    own = None if bias is None else words(bias.tolist())
    return Parameters(own, words(multiplier.tolist()), words(shift.tolist()), int(slow.sum()))


def _constant(sums: tuple[int, int], multiplier: int, shift: int) -> int | None:
    """What is added to the output's zero point for all sums in that range; None where it depends on them."""
    low, high = (value << max(shift, 0) for value in sums)
    if low < -(1 << 31) or high >= 1 << 31:
        return None
    first, last = (_near(Q.rescaled(value, multiplier, shift)) for value in sums)
    return first if first == last else None


def _near(value: int) -> int:
    return max(-_FURTHEST, min(_FURTHEST, value))


def _figures(constant: int, sums: tuple[int, int], bias: Any, channel: int) -> tuple[int, int] | None:
    """A multiplier and a shift for which the quick way gives ``constant``, with a bias that is put in place; None where
    there are none."""
    if constant == 0:
        if bias is not None:
            bias[channel] = 0
        return 0, -1
    if bias is None:
        return None
    instead = LARGEST_BIAS if constant > 0 else -LARGEST_BIAS
    moved = [value - int(bias[channel]) + instead for value in sums]
    multiplier, exponent = Q.quantize_multiplier(max(0.0, constant / sum(moved) * 2))
    if not -31 < exponent < 0 or {_near(_quick(value, multiplier, exponent)) for value in moved} != {constant}:
        return None
    bias[channel] = instead
    return multiplier, exponent


def _quick(value: int, multiplier: int, shift: int) -> int:
    """The quick way: one product to the nearest, halves up, then to the right, halves away from zero."""
    product = (2 * value * multiplier + (1 << 31)) >> 32
    return (((product - (product < 0)) >> ~shift) + 1) >> 1
