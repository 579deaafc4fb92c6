"""Kernel sets: which kernel runs an operator, its scratch, its cycles per loop level, its access streams."""

from mcusim.kernels.cost.profile import Profile, load_profile, profile_names

__all__ = ["Profile", "load_profile", "profile_names"]
