"""Which kernel of a set runs an operator, and the scratch it asks for: CMSIS-NN's own dispatch rules.

Source: ``arm_convolve_wrapper_s8``, ``arm_depthwise_conv_wrapper_s8`` and the ``*_get_buffer_size`` functions of CMSIS
5.8.0. What that library has no function of its own for (uint8 and int16 operators, a depthwise convolution with a
multiplier, most element-wise operators) goes through TFLM's reference kernels on a board: a profile takes its cost from
another one (:meth:`mcusim.kernels.cost.profile.Profile.of_call`).
"""

from __future__ import annotations

from collections.abc import Collection

from mcusim.model.geometry import Geometry

VARIANTS = (
    "pointwise", "conv", "depthwise", "depthwise_3x3", "depthwise_basic", "fully_connected",
    "add", "pool", "elementwise", "lookup", "copy", "pad",
)  # fmt: skip


def variant(g: Geometry) -> str:
    """Name of the kernel variant for an operator; anything without a kernel of its own is a ``copy``."""
    kind = g.traits.costed_as
    if kind == "conv":
        padded = g.pad_top or g.pad_bottom or g.pad_left or g.pad_right
        single = g.kernel_h == g.kernel_w == g.stride_h == g.stride_w == 1
        return "pointwise" if single and not padded and g.in_c % 4 == 0 else "conv"
    if kind == "depthwise":
        if g.depth_multiplier != 1 or g.batch != 1 or g.dilation_h * g.dilation_w != 1:
            return "depthwise_basic"
        small = g.kernel_h == g.kernel_w == 3 and g.pad_top <= 1 and g.pad_left <= 1
        return "depthwise_3x3" if small else "depthwise"
    return kind


def is_counted(g: Geometry, uncounted: Collection[str]) -> bool:
    """Whether a counted profile has the cost of an operator itself: an int8 one of a variant not in ``uncounted``.

    ``copy`` was counted for views alone (RESHAPE), which are one ``memcpy``; ``pool`` for pools, not for MEAN.
    """
    kind = variant(g)
    if g.traits.stateful:
        return False
    return g.types == "int8" and kind not in uncounted and not g.traits.reduces and (kind != "copy" or g.traits.view)


def scratch_bytes(g: Geometry) -> int:
    """Bytes of scratch (im2col columns in q15, pooling sums in q31) that the kernel asks of the arena."""
    kind = variant(g)
    window = g.kernel_h * g.kernel_w * g.in_c
    if kind == "conv":
        return 2 * window * 2
    if kind in ("depthwise", "depthwise_3x3"):
        return window * 2  # the wrapper asks for the generic kernel's buffer, the 3x3 one leaves it unused
    if kind == "pool" and g.traits.sums:
        return g.in_c * 4
    return 0
