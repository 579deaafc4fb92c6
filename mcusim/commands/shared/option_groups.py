"""Groups of options that several commands share (:func:`~mcusim.commands.shared.flat_options.grouped`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.output import Output
from mcusim.commands.shared.policy_help import PlanFlags
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.run_config.kernel_choice import Kernels
    from mcusim.run_config.settings import Settings


@dataclass(frozen=True)
class MachineKeys:
    """The machine keys to change."""

    set_: Annotated[
        list[str] | None, option("KEY=VALUE", 'Change a machine key: core.clock="200 MHz". Repeatable.', names="--set")
    ] = None
    clock: Annotated[
        str | None,
        option(
            "CLOCK",
            'The core clock: "108 MHz"; wait states, memory clocks and the regulator follow. As --set core.clock.',
        ),
    ] = None
    force_clock: Annotated[
        bool, flag("--force-clock", "Allow a core clock that the part is not specified for, as a what-if.")
    ] = False

    @property
    def overrides(self) -> dict[str, str]:
        """As keys and texts. Raises UsageError."""
        overrides = options.overrides(self.set_)
        short = {"core.clock": self.clock, "core.force_clock": "true" if self.force_clock else None}
        for key, value in short.items():
            if value is None:
                continue
            if key in overrides:
                option = "--clock" if key == "core.clock" else "--force-clock"
                raise UsageError(f"{option} is --set {key}, which is given too: {overrides[key][:80]!r}")
            overrides[key] = value.strip()
        return overrides


@dataclass(frozen=True)
class Planning:
    """How a model is planned, under any policy."""

    keys: MachineKeys = field(default_factory=MachineKeys)
    given: PlanFlags = field(default_factory=PlanFlags)
    allow_unknown: options.AllowUnknown = False
    cost: options.Cost = None

    @property
    def costs(self) -> dict[str, str]:
        """What unknown operators cost. Raises UsageError."""
        return options.costs(self.cost)

    @property
    def overrides(self) -> dict[str, str]:
        """The machine keys to change. Raises UsageError."""
        return self.keys.overrides

    def settings(
        self, policy: str, kernels: str | Kernels | None, run: Mapping[str, object] | None = None, **others: Any
    ) -> Settings:
        """Of a run, with what else :func:`mcusim.run_config.settings.base_settings` takes. Raises UnitError or
        UsageError, also for an option without effect."""
        from mcusim.run_config.settings import settings

        return settings(policy, kernels, self.given, run, costs=self.costs, **others)


@dataclass(frozen=True)
class Values:
    """Data that goes in and comes out of an emulated network."""

    input: options.Input = None
    output: Annotated[
        Path | None, option("FILE", "Write the network's outputs: .npy, or .npz with all of them.", names="--output -o")
    ] = None
    max_instructions: Annotated[int | None, option("N", "Stop a kernel call that takes more instructions.", min=1)] = (
        None
    )

    @property
    def inputs(self) -> list[str] | None:
        """Files, if any."""
        return list(self.input) if self.input else None


@dataclass(frozen=True)
class CountedBytes:
    """Which bytes count as alive."""

    in_place: Annotated[
        bool | None,
        flag(
            "--in-place/--no-in-place",
            "ADD and the like write over an input that dies; RESHAPE is a view."
            " A compiled runtime: depthwise convolutions do, by default.",
        ),
    ] = None
    weights: Annotated[
        str, option("WHERE", "flash, streamed (in RAM while their operator runs) or resident in RAM.")
    ] = "flash"


@dataclass(frozen=True)
class Written:
    """Where the JSON goes, and whether existing files are overwritten."""

    json: options.Json = None
    force: options.Force = False

    def to(self, *inputs: str | Path | None) -> Output:
        """The output, refused where it could not be written or is one of the ``inputs``."""
        return Output(self.json, self.force, inputs)
