"""``--kernels`` names two things: the cost profile that ``replay`` plays, the compiled set that ``emulate`` runs.

A profile that was fitted to a set names it, so either name gives both. A name is resolved once, when a run's settings
are made. Not modelled: profiles of sets given by path.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from mcusim.errors import ProgramError, UsageError
from mcusim.kernels import Profile, load_profile, profile_names
from mcusim.kernels.kernel_set import KernelSet, load_set, set_names
from mcusim.runtime.runtime import Runtime, find_runtime, owner_of

CHANGED = " (changed)"  # behind the name of shipped kernels whose costs are others
DEFAULT_KERNELS, DEFAULT_SET = find_runtime().kernels
FIDELITIES = ("replay", "emulate")


@dataclass(frozen=True, slots=True)
class Kernels:
    """What ``--kernels`` chose. ``name`` is as chosen: a name, or a path unless ``shipped``; the default where it is
    not ``named``.

    Two are equal when they were chosen alike; the files of a path may have changed between them.
    """

    name: str
    set: KernelSet | None = field(default=None, repr=False, compare=False)
    profile: Profile | None = field(default=None, repr=False, compare=False)
    shipped: bool = True
    named: bool = True

    @property
    def stands_for(self) -> str:
        """The shipped kernels that these are a build or a change of: of a profile by path those of the same set, of the
        same accesses by family, or counted of the same technique; else its own name."""
        if self.shipped or self.profile is None:
            return self.name
        kind = _kind(self.profile)
        alike = (known for known in profile_names() if _kind(load_profile(known)) == kind)
        return next(alike, self.profile.technique)

    @property
    def changed(self) -> bool:
        """Whether a profile by path has other costs than the shipped one that it stands for."""
        return self.profile is not None and not self.shipped and _differs(self.profile, self.stands_for)

    def cost_profile(self) -> Profile:
        """What ``replay`` plays. Raises UsageError for a set that no profile was fitted to."""
        if self.profile is not None:
            return self.profile
        if not self.shipped:
            raise UsageError(
                f"{self.name[:200]}: a kernel set given by path has no cost profile to replay; use --fidelity emulate"
            )
        raise UsageError(
            f"no cost profile was fitted to kernel set {self.name!r}: emulate it (--fidelity emulate), or replay one of"
            f" {', '.join(profile_names())}"
        )

    def compiled(self) -> KernelSet:
        """What ``emulate`` runs. Raises UsageError for a profile of code that is not here."""
        if self.set is not None:
            return self.set
        raise UsageError(
            f"kernels {self.name!r} are a cost profile of code that is not here: fidelity emulate runs a kernel set"
            f" ({', '.join(set_names())}, or the path of one)"
        )

    def for_planning(self, fidelity: str | None = None) -> Profile | KernelSet:
        """What a plan is made for: what ``fidelity`` plays; without one, the profile or the set that was named.

        Raises UsageError when that is not there.
        """
        if fidelity is not None:
            return self.cost_profile() if fidelity == "replay" else self.compiled()
        if self.profile is not None and (self.set is None or self.profile.name == self.name):
            return self.profile
        return self.compiled()

    def label(self, ran: str) -> str:
        """The name ``ran`` of the profile or set that was used; the path as chosen when it is not a shipped one."""
        return ran if self.shipped else self.name


def default_kernels(fidelity: str, runtime: Runtime | None = None) -> str:
    """The default of ``--kernels`` with ``runtime``, itself by default the default one."""
    profile, compiled = (runtime or find_runtime()).kernels
    return profile if fidelity in ("replay", "plan") and profile in profile_names() else compiled


def _kind(profile: Profile) -> tuple[str | None, ...]:
    """What profiles of the same code have in common."""
    return profile.set, profile.accesses, profile.technique


@lru_cache(maxsize=16)
def _differs(profile: Profile, shipped: str) -> bool:
    return shipped not in profile_names() or _costs_alone(profile) != _costs_alone(load_profile(shipped))


def _costs_alone(profile: Profile) -> Profile:
    """Without texts."""
    cores = {isa: replace(costs, basis={}) for isa, costs in profile.cores.items()}
    return replace(profile, name="", title="", code_basis=("", ""), cores=cores)


def stands_for(name: str) -> str:
    """:attr:`Kernels.stands_for` of kernels of that name or path. Raises UsageError for a profile that cannot be
    read."""
    shipped = name in shipped_names() or not _is_profile(name)
    return name if shipped else Kernels(name, profile=load_profile(name), shipped=False).stands_for


def require_callable(kernels: Kernels, runtime: Runtime) -> None:
    """Raise UsageError for kernels that ``runtime`` does not take."""
    if runtime.takes(kernels.stands_for):
        return
    name, owner = kernels.name[-80:], owner_of(kernels.stands_for)
    if owner is not None:
        instead = "leave out --without" if runtime.name == owner.name else f"add --runtime {owner.name}"
        raise UsageError(f"kernels {name} are costs of all of another's code for runtime {owner.name}: {instead}")
    raise UsageError(
        f"runtime {runtime.name} has kernels of its own, {' and '.join(runtime.kernels)}: leave out --kernels {name}"
    )


def resolve(name: str | None, fidelity: str, runtime: Runtime | None = None) -> Kernels:
    """The kernels of that name or path, with what ``fidelity`` needs: ``replay`` a cost profile, ``emulate`` a set,
    ``both`` the two, ``plan`` either; None is the default of that fidelity with ``runtime``.

    Raises UsageError for a name that is neither, or lacks what is needed; InputError for a file that cannot be used.
    """
    if name is None:
        return replace(resolve(default_kernels(fidelity, runtime), fidelity, runtime), named=False)
    if name in profile_names():
        profile = load_profile(name)
        kernels = Kernels(name, None if profile.set is None else load_set(profile.set), profile)
    elif name in set_names():
        kernels = Kernels(name, load_set(name), _fitted_to(name) if fidelity in ("replay", "both") else None)
    else:
        kernels = _by_path(name, fidelity)
    if fidelity in ("replay", "both"):
        kernels.cost_profile()
    if fidelity in ("emulate", "both"):
        kernels.compiled()
    return kernels


def shipped_names() -> list[str]:
    """Names of the profiles and sets that ship with mcusim."""
    return [*profile_names(), *set_names()]


def kernels_title(name: str) -> str:
    """Whose kernels the shipped ones of that name are, in words; empty for those of a path."""
    if name in profile_names():
        return load_profile(name).title
    return load_set(name).title if name in set_names() else ""


def shipped_kernels(name: str) -> str:
    """``name``, the kernels of a program, if they are shipped. Raises ProgramError."""
    known = shipped_names()
    if name not in known:
        raise ProgramError(
            f"the program was written for kernels {name[:80]!r}, which are none of {', '.join(known)}; "
            "name their file with --kernels"
        )
    return name


def _fitted_to(name: str) -> Profile | None:
    """The profile that was fitted to the shipped set of that name."""
    profiles = (load_profile(known) for known in profile_names())
    return next((profile for profile in profiles if profile.set == name), None)


def _by_path(path: str, fidelity: str) -> Kernels:
    """Kernels that are not shipped ones; errors of a name that is no path are those of profiles, or of sets."""
    if fidelity in ("replay", "both") and not _is_profile(path) and "\0" not in path and Path(path[:4000]).exists():
        return Kernels(path, shipped=False)
    profile = None
    if fidelity in ("replay", "both") or (fidelity == "plan" and _is_profile(path)):
        profile = load_profile(path)
    compiled = load_set(path) if profile is None or fidelity == "both" else None
    return Kernels(path, compiled, profile, shipped=False)


def _is_profile(path: str) -> bool:
    """Whether it is the path of a profile rather than of a set."""
    return path.endswith(".toml") and Path(path).name != "manifest.toml"
