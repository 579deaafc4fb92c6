"""Sliding-window arithmetic of convolutions and pools, as TFLite's ``padding.h`` has it."""

from __future__ import annotations


def output_size(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Outputs along one axis; 0 or less when a VALID window is larger than the input."""
    if padding == "SAME":
        return -(-size // stride)
    return (size + stride - ((kernel - 1) * dilation + 1)) // stride


def padding_split(size: int, kernel: int, stride: int, dilation: int, out: int) -> tuple[int, int]:
    """Padding (before, after) that makes ``out`` windows fit; the odd element goes after, as in TFLite."""
    total = max(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - size)
    return total // 2, total - total // 2
