"""Small operators of shapes beyond those that kernel costs are fitted to: what their error is says by how much a run
that has such shapes may be off. The same every time."""

from __future__ import annotations

from collections.abc import Iterator

from micro_cases import MOST, Maker, convolution, plainly, unclamped

from mcusim.model import Graph

WIDE = (400, 512, 640, 960, 1280)
FAR = ((11, 11), (13, 13), (1, 15), (15, 1), (12, 3), (17, 17))


def wide_pointwise(m: Maker) -> Graph:
    if m.pick(0, 1):
        depth, out = m.pick(*WIDE), m.pick(16, 24, 32)
    else:
        depth, out = m.pick(8, 16, 24, 48, 40, 96, 160), m.pick(*WIDE)
    return convolution(m, (1, 1), (m.pick(1, 2, 4), m.pick(1, 3, 4), depth), out)


def far_window(m: Maker) -> Graph:
    size, depth, out = m.pick(*FAR), m.pick(1, 3, 4, 8), m.pick(1, 2, 4, 8)
    source = (size[0] + m.pick(0, 1, 3), size[1] + m.pick(0, 2, 3), depth)
    return convolution(m, size, source, out, padding=m.pick("SAME", "VALID"))


def far_stride(m: Maker) -> Graph:
    stride, depth = m.pick(3, 4, 5), m.pick(3, 8, 16)
    return convolution(m, m.pick((3, 3), (5, 5)), (16, 15, depth), m.pick(8, 16), stride)


def far_depthwise(m: Maker) -> Graph:
    size, depth = m.pick(*FAR), m.pick(3, 8, 16)
    return convolution(m, size, (size[0] + 2, size[1] + 3, depth), depth, m.pick(1, 2, 4), multiplier=1)


def wide_depthwise(m: Maker) -> Graph:
    depth, size = m.pick(*WIDE), m.pick((3, 3), (5, 5), (7, 7))
    return convolution(m, size, (m.pick(3, 5, 7), m.pick(4, 6, 7), depth), depth, m.pick(1, 2), multiplier=1)


def far_pool(m: Maker) -> Graph:
    size, depth = m.pick(*FAR), m.pick(3, 8, 16)
    options = {"padding": "VALID", "stride_h": m.pick(1, 3), "stride_w": m.pick(1, 4), "activation": "NONE"}
    options |= {"filter_h": size[0], "filter_w": size[1]}
    return m.graph([m.add((1, size[0] + 3, size[1] + 4, depth))], options)


def wide_vector(m: Maker) -> Graph:
    depth, out = m.pick((2048, 10), (3136, 64), (4000, 3), (8192, 2), (40, 640), (256, 1000), (1280, 100))
    inputs = [m.add((1, depth)), *m.weights((out, depth), out)]
    return m.graph(inputs, {"activation": "NONE", "weights_format": 0, "keep_num_dims": False}, 0.5)


def wide_pool(m: Maker) -> Graph:
    size, depth = m.pick((2, 2), (3, 3), (4, 5)), m.pick(*WIDE)
    options = {"padding": "VALID", "stride_h": 1, "stride_w": 2, "activation": "NONE"}
    return m.graph([m.add((1, 4, 5, depth))], options | {"filter_h": size[0], "filter_w": size[1]})


def wide_mean(m: Maker) -> Graph:
    shape = (1, m.pick(3, 4, 7), m.pick(3, 4, 6), m.pick(*WIDE))
    return m.graph([m.add(shape), m.add((2,), 1.0, "int32", [1, 2])], {"keep_dims": True})


FAR_CASES = (
    ("CONV_2D", wide_pointwise, 32), ("CONV_2D", plainly(wide_pointwise), 20),
    ("CONV_2D", far_window, 16), ("CONV_2D", far_stride, 10),
    ("DEPTHWISE_CONV_2D", far_depthwise, 16), ("DEPTHWISE_CONV_2D", wide_depthwise, 32),
    ("DEPTHWISE_CONV_2D", plainly(wide_depthwise), 24),
    ("AVERAGE_POOL_2D", far_pool, 8), ("MAX_POOL_2D", far_pool, 8), ("FULLY_CONNECTED", wide_vector, 16),
    ("AVERAGE_POOL_2D", wide_pool, 8), ("MAX_POOL_2D", wide_pool, 8), ("MEAN", wide_mean, 6),
)  # fmt: skip
FAR_UINT8 = (
    ("CONV_2D", wide_pointwise, 12), ("CONV_2D", far_window, 10), ("DEPTHWISE_CONV_2D", wide_depthwise, 12),
    ("AVERAGE_POOL_2D", wide_pool, 6), ("FULLY_CONNECTED", wide_vector, 10), ("MEAN", wide_mean, 6),
)  # fmt: skip


def cases() -> Iterator[Graph]:
    """Every operator to run."""
    for dtype, far in (("int8", FAR_CASES), ("uint8", FAR_UINT8)):
        for kind, shapes, count in far:
            for seed in range(count):
                graph = shapes(Maker(kind, dtype, seed, MOST))
                yield unclamped(graph) if "CONV" in kind else graph
