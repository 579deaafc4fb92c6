"""A study as checked data: its points and what is computed of them; and the studies that ship with mcusim."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.kernels import profile_names
from mcusim.kernels.kernel_set import set_names
from mcusim.machine import machine_names
from mcusim.plan.options import RUNTIME, WITHOUT, runtime_of
from mcusim.program.unknown_operators import Costs
from mcusim.run_config.kernel_choice import default_kernels, stands_for
from mcusim.runtime.runtime import find_runtime
from mcusim.sweeps.axis_values import in_base_unit
from mcusim.sweeps.expressions import Expression, Value

BASE = ("model", "machine", "policy", "kernels", "fidelity")
METHODS = ("grid", "list", "latin-hypercube")
CAUSES = ("compute", "runtime", "flash", "sram", "sdram", "qspi", "dma_wait", "bus", "maintenance")
PERIOD = ("period_energy_mj", "mean_power_mw", "sleep_current_ma")
INTERVAL = ("latency_low_ms", "latency_high_ms", "energy_low_mj", "energy_high_mj")
OUTPUTS = (
    "status",
    "error",
    "cycles",
    "latency_ms",
    "energy_mj",
    "supply_current_ma",
    *INTERVAL,
    "macs",
    "peak_sram_bytes",
    *(f"cycles_{cause}" for cause in CAUSES),
)
TAIL = ("version", "key")


@dataclass(frozen=True, slots=True)
class Axis:
    """A column of inputs: a machine key or an option of ``mcusim run``, and the values it takes."""

    key: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How points are taken from the axes: ``grid`` all combinations, ``list`` one value of each axis at a time,
    ``latin-hypercube`` ``points`` of them drawn with ``seed``."""

    method: str = "grid"
    points: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Study:
    """``models``, ``machines``, ``policies``, ``kernels`` and ``fidelities`` are crossed with the sampled ``axes``.

    Models are named by their file's name alone, ``files`` has it as the study does; machines are as the study names
    them; ``folder`` is what their paths are relative to. Without ``kernels``
    each runtime has its default ones; a runtime with kernels of its own has those. ``where`` keeps the
    points for which all hold; ``derived`` are columns, each over inputs, outputs and the derived ones before it.
    ``allow_unknown`` and ``costs`` are those of ``mcusim run``.
    """

    name: str
    models: tuple[str, ...]
    machines: tuple[str, ...]
    policies: tuple[str, ...]
    kernels: tuple[str, ...]
    fidelities: tuple[str, ...]
    axes: tuple[Axis, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    where: tuple[Expression, ...] = ()
    derived: Mapping[str, Expression] = field(default_factory=dict)
    title: str = ""
    question: str = ""
    folder: Path | None = None
    allow_unknown: bool = False
    costs: Costs = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of inputs, in order."""
        return (*BASE, *(axis.key for axis in self.axes))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns of outputs that are numbers, but for those that depend on the machines: bytes of a region, clocks."""
        return (*(name for name in OUTPUTS if name not in ("status", "error")), *PERIOD, *self.derived)

    @property
    def units(self) -> dict[str, str]:
        """The base unit of each axis whose values are quantities."""
        units = {axis.key: in_base_unit(axis.key, axis.values)[1] for axis in self.axes}
        return {key: unit for key, unit in units.items() if unit}

    @property
    def all_kernels(self) -> tuple[str, ...]:
        """Those that its points have, each once."""
        axes = [axis for axis in self.axes if axis.key in (RUNTIME.name, WITHOUT.name)]
        points = [dict(zip((a.key for a in axes), pair, strict=True)) for pair in product(*(a.values for a in axes))]
        return tuple(
            dict.fromkeys(self.kernels_of(name, point) for name in self.kernels or (None,) for point in points)
        )

    def kernels_of(self, named: str | None, values: Mapping[str, Value]) -> str:
        """The kernels of a point whose study has them as ``named``, None for none, and whose axes have these values;
        those named, where its runtime can leave out nothing of what it is to be without."""
        try:
            executes = runtime_of(values)
        except UsageError:  # the point's row has it
            executes = find_runtime(RUNTIME.parse_or_default(values.get(RUNTIME.name)))
        if named is None or not executes.takes(stands_for(self.kernels_path(named))):
            return default_kernels("both" if len(self.fidelities) > 1 else self.fidelities[0], executes)
        return named

    def model_path(self, name: str) -> str:
        """A model as it is opened: a file in the study's folder goes before a network of the zoo."""
        return self._path(self.files.get(name, name), ())

    def machine_path(self, name: str) -> str:
        """A machine as it is opened: a shipped one goes before a file in the study's folder."""
        return self._path(name, machine_names())

    def kernels_path(self, name: str) -> str:
        """Kernels as they are opened: shipped ones go before a file or folder in the study's folder."""
        return self._path(name, (*profile_names(), *set_names()))

    def _path(self, name: str, shipped: Collection[str]) -> str:
        if self.folder is None or name in shipped:
            return name
        path = self.folder / name
        return str(path) if exists(path) else name


def exists(path: Path) -> bool:
    """Is there anything of that name?"""
    try:
        return path.exists()
    except (OSError, ValueError):  # no text for a file name
        return False


def study_folder() -> Path:
    """Where they are."""
    return Path(__file__).with_name("studies")


def study_names() -> tuple[str, ...]:
    """Their names, sorted."""
    return tuple(sorted(path.stem for path in study_folder().glob("*.toml")))
