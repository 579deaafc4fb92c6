"""Kernels: compiled kernel sets, how operators call them, and the cost profiles that a replay uses."""

from mcusim.kernels.cost.profile import Profile, load_profile, profile_names

__all__ = ["Profile", "load_profile", "profile_names"]
