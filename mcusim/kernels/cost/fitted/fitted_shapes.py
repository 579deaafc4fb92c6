"""Which shapes a kernel's costs were fitted to, and what of a call lies outside of them.

A cost is of each time a loop goes round, so that it holds for any number of pixels. What a compiled loop takes beyond
that, as its first round or a branch that a predictor misses, depends on the shapes that are its bounds: on channels, on
the window, its stride and its dilation. A profile has of each kind the least and the largest that its runs had, and
those beyond for which it was found to hold.

Not modelled: shapes in between that no run had, and the values of the data: runs have random bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcusim.model.geometry import Geometry

GROUPS = {
    "channels": ("in_c", "out_c", "depth_multiplier"),
    "window": ("kernel_h", "kernel_w", "stride_h", "stride_w", "dilation_h", "dilation_w"),
}
SHAPES = tuple(name for names in GROUPS.values() for name in names)
Ranges = Mapping[str, tuple[int, int]]  # by shape, least and largest


def has_shapes(g: Geometry) -> bool:
    """Whether an operator's loops are bound by channels and a window; others go from byte to byte."""
    return g.traits.parametric or g.kernel_h * g.kernel_w > 1


def fitted_ranges(geometries: Iterable[Geometry]) -> Ranges:
    """Of the runs of one kind."""
    shapes = [g for g in geometries if has_shapes(g)]
    pairs = {name: [_shape(g, name) for g in shapes] for name in SHAPES if shapes}
    return {name: (min(values), max(values)) for name, values in pairs.items()}


def outside(g: Geometry, ranges: Ranges) -> Mapping[str, str]:
    """What of ``g`` no run had, by the name of the shape, as ``"kernel_h 13 (1 to 10)"``; nothing of a kind whose loops
    no shape bounds."""
    if not has_shapes(g):
        return {}
    return {
        name: f"{name} {_shape(g, name)} ({low} to {high})"
        for name, (low, high) in ranges.items()
        if not low <= _shape(g, name) <= high
    }


def _shape(g: Geometry, name: str) -> int:
    """A stride is 1 where the window does not go on; channels are those of a group."""
    alone = (name == "stride_h" and g.out_h == 1) or (name == "stride_w" and g.out_w == 1)
    return 1 if alone else g.filter_c if name == "in_c" else int(getattr(g, name))


def group(shapes: Iterable[str]) -> str:
    """The group of shapes that are outside: ``window`` where one of it is among them."""
    return "window" if set(GROUPS["window"]) & set(shapes) else "channels"
