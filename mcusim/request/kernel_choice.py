"""``--kernels`` names two things: the cost profile that ``replay`` plays, the compiled set that ``emulate`` runs.

A profile that was fitted to a set names it, so either name gives both. Not modelled: profiles of sets given by path.
"""

from __future__ import annotations

from pathlib import Path

from mcusim.errors import UsageError
from mcusim.kernels import Profile, load_profile, profile_names
from mcusim.kernels.kernel_set import KernelSet, load_set, set_names

__all__ = [
    "DEFAULT_KERNELS",
    "DEFAULT_SET",
    "FIDELITIES",
    "costs_alone",
    "default_kernels",
    "planned_for",
    "profile_for",
    "set_for",
]

DEFAULT_KERNELS = "cmsis-2021-gcc9"
DEFAULT_SET = "cmsis"
FIDELITIES = ("replay", "emulate")


def default_kernels(fidelity: str) -> str:
    """The default of ``--kernels``."""
    return DEFAULT_KERNELS if fidelity == "replay" else DEFAULT_SET


def profile_for(kernels: str) -> Profile:
    """The cost profile of that name or path, or the one fitted to the kernel set of that name. Raises UsageError."""
    if kernels in profile_names():
        return load_profile(kernels)
    if kernels not in set_names():
        if not _is_profile(kernels) and "\0" not in kernels and Path(kernels[:4000]).exists():
            raise UsageError(
                f"{kernels[:200]}: a kernel set given by path has no cost profile to replay; use --fidelity emulate"
            )
        return load_profile(kernels)  # which names what there is
    for name in profile_names():
        if load_profile(name).set == kernels:
            return load_profile(name)
    raise UsageError(
        f"no cost profile was fitted to kernel set {kernels!r}: emulate it (--fidelity emulate), or replay one of"
        f" {', '.join(profile_names())}"
    )


def planned_for(kernels: str) -> Profile | KernelSet:
    """What a plan is made for: the set of that name or path, else the profile. Raises UsageError."""
    if kernels in set_names() or (kernels not in profile_names() and not _is_profile(kernels)):
        return load_set(kernels)
    return load_profile(kernels)


def _is_profile(kernels: str) -> bool:
    """Whether it is the path of a profile rather than of a set."""
    return kernels.endswith(".toml") and Path(kernels).name != "manifest.toml"


def costs_alone(kernels: str) -> bool:
    """Is that the name of a shipped cost profile of code that is not here."""
    return kernels in profile_names() and load_profile(kernels).set is None


def set_for(kernels: str) -> KernelSet:
    """The kernel set of that name or path, or the one the profile of that name was fitted to. Raises UsageError."""
    if kernels in profile_names():
        profile = load_profile(kernels)
        if profile.set is None:
            sets = ", ".join(set_names())
            raise UsageError(
                f"kernels {kernels!r} are a cost profile of code that is not here: fidelity emulate runs a kernel set"
                f" ({sets}, or the path of one)"
            )
        return load_set(profile.set)
    return load_set(kernels)


def shipped_name(chosen: str, ran: str) -> str:
    """The name ``ran`` of the kernels that were chosen as ``chosen``; that path when they are not shipped ones."""
    return ran if chosen in (*profile_names(), *set_names()) else chosen
