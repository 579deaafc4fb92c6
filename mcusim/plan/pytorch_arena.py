"""The arena of a network as a PyTorch export stores it: an explicit PAD before every strided window.

That the networks of the TinyOps tables came that way is inferred, the paper does not say it: TinyOps partitions PAD
like a convolution. ``mcusim compare --table 2`` shows both arenas next to the RAM column of the paper's Table 2. The
errors of its rows in order (ten networks; MnasNet 1.00 at 96 pixels is listed for both boards), with explicit PADs
(symmetric, half the kernel on each side): -0.2, -4.6, +0.3, -9.4, +0.7, +1.1, +0.3, -17, -2.6, +1.1 and +1.5 %; with
SAME padding inside the convolutions: -15.8, -21.7, -28.2, -9.6, -17.3, -19.9, -16.2, -19.4, -8.1, -19.9 and -23.8 %.
The fourth and ninth are the MCUNets. The padded copy and the tensor it is made of are alive together, right where the
tensors are largest. The public firmware agrees: its tile buffers for proxyless-w0.25-r160 and mbv3-w0.40-r096 are
45,360 and 43,200 B, as the networks with PADs need; without, 43,200 and 38,400 B would do.

The zoo has the networks in that form (``proxyless-w0.25-r160-pad``, :mod:`mcusim.model.zoo.explicit_pads`); there the
arena as planned and this one are the same.
"""

from __future__ import annotations

from mcusim.model.geometry import Geometry
from mcusim.model.graph import Graph
from mcusim.plan.allocators.greedy import ArenaBlock, greedy_by_size
from mcusim.plan.placement import ALIGN, MemoryNeeds, memory_needs
from mcusim.runtime.planning_costs import Costs


def exported_arena_bytes(graph: Graph, kernels: Costs, need: MemoryNeeds | None = None) -> int:
    """Bytes of the TFLM-style arena (activations and scratch planned together, plus the interpreter's data) of
    ``graph`` with a PAD inserted before each CONV_2D or DEPTHWISE_CONV_2D of stride 2 or more that pads.

    ``need`` is what :func:`~mcusim.plan.placement.memory_needs` says of the graph, if that is known already. Equals
    ``MemoryParts.arena`` for a graph without such operators. Not modelled: the PADs' own parameters.
    """
    need = need or memory_needs(graph, kernels)
    pads = [_padded_bytes(g) for g in need.geometries]
    step, steps = 0, []
    for size in pads:  # a PAD runs one step before its operator
        step += bool(size)
        steps.append(step)
        step += 1
    blocks = []
    for life in need.lives:
        padded = pads[life.last] and life.tensor == graph.operators[life.last].inputs[0]
        last = steps[life.last] - (1 if padded and life.tensor not in graph.outputs else 0)
        first = 0 if life.tensor in graph.inputs else steps[life.first]
        blocks.append(ArenaBlock(life.bytes, first, last))
    blocks += [ArenaBlock(size, steps[i] - 1, steps[i]) for i, size in enumerate(pads) if size]
    blocks += [ArenaBlock(size, steps[i], steps[i]) for i, size in enumerate(need.scratch) if size]
    nodes = sum(1 for size in pads if size)
    return greedy_by_size(blocks, ALIGN).bytes + need.runtime + nodes * kernels.node


def _padded_bytes(g: Geometry) -> int:
    """Bytes of the input with half a kernel of padding on each side; 0 where there is no PAD."""
    if not (g.traits.parametric and g.traits.windowed) or max(g.stride_h, g.stride_w) < 2:
        return 0
    if not g.pad_top + g.pad_bottom + g.pad_left + g.pad_right:
        return 0
    height, width = g.in_h + g.kernel_h // 2 * 2, g.in_w + g.kernel_w // 2 * 2
    return g.batch * height * width * g.in_c * g.item
