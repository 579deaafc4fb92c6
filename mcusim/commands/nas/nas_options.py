"""What the commands of `mcusim nas` share: what networks have to fit, where the work is done, names of spaces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import check_outputs
from mcusim.errors import UsageError
from mcusim.units import parse_duration, parse_size, quoted

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.nas_search.space import NasSpace
    from mcusim.nas_search.stats import NasRules
    from mcusim.sweeps.ordered_work import OrderedWork

Runtime = Annotated[str, option("NAME", "What executes the networks, as in `run`.", names="--runtime")]
ScorerText = Annotated[str, option("WHAT", "macs (default), TABLE.csv, or FILE.py:FUNCTION.", names="--scorer")]
ScorerLimit = Annotated[
    str, option("TIME", "What a function has for each network. Default: 60 s.", names="--scorer-limit")
]
Generations = Annotated[int, option("N", "Of the evolution.", names="--generations", min=0, max=10_000)]
Points = Annotated[int, option("N", "Most networks of a result, of each space.", names="--points", min=1, max=100)]


@dataclass(frozen=True)
class NetworkNeeds:
    """What networks have to fit."""

    ram: Annotated[str | None, option("SIZE", "RAM to fit. Default: the board's.")] = None
    flash: Annotated[str | None, option("SIZE", "Flash to fit. Default: the board's.")] = None
    classes: Annotated[int, option("N", "Outputs of a network.", min=1, max=100_000)] = 100
    in_place: Annotated[
        bool, flag("--in-place/--not-in-place", "Compiled depthwise convolutions write over their input.")
    ] = True

    def rules(self, machine: Machine, runtime: str, **others: Any) -> NasRules:
        """Raises UsageError for what is no size or no runtime."""
        from mcusim.nas_search.stats import NasRules
        from mcusim.runtime.runtime import find_runtime

        find_runtime(runtime)
        given = (("ram", self.ram), ("flash", self.flash))
        limits = {name: None if text is None else parse_bytes(name, text) for name, text in given}
        return NasRules.of(machine, runtime, **limits, in_place=self.in_place, **others)


@dataclass(frozen=True)
class NasWork:
    """Where it is computed and written down."""

    seed: Annotated[int, option("N", "Another seed, other networks.", min=0)] = 0
    log: Annotated[Path | None, option("FILE", "What was done is not done again.")] = None
    jobs: Annotated[int | None, option("N", "Default: one a core.", names="--jobs -j", min=1, max=32)] = None
    dask: Annotated[str | None, option("ADDRESS", "A Dask cluster's scheduler.")] = None

    def check(self, inputs: Sequence[str | Path | None], files: list[Path], written: Written) -> None:
        """Refuse before the work what could not be written after it."""
        check_outputs(files, written.json, inputs, written.force, self.log)

    def opened(self, what: str) -> OrderedWork:
        """The processes or the cluster of ``what``."""
        from mcusim.sweeps.ordered_work import OrderedWork

        return OrderedWork(self.jobs, self.dask, what)


def parse_space(text: str, classes: int) -> NasSpace:
    """From ``w0.5-r144``. Raises UsageError."""
    from mcusim.nas_search.space import NasSpace

    parts = re.fullmatch(r"w(\d{1,3}(?:\.\d{1,9})?)-r(\d{1,4})", text, re.ASCII)
    if parts is None:
        raise UsageError(f"{quoted(text[:40])} is no search space; an example: w0.5-r144")
    space = NasSpace(Fraction(parts[1]), int(parts[2]), classes)
    if not Fraction(1, 20) <= space.width <= 2 or not 32 <= space.resolution <= 512:
        raise UsageError(f"{space}: widths are 0.05 to 2, resolutions 32 to 512")
    return space


def scorer_seconds(text: str) -> float:
    """Of ``--scorer-limit``. Raises UsageError."""
    duration = parse_duration(text)
    if duration.unit != "s" or not 0 < duration.value < 1e6:
        raise UsageError(f"--scorer-limit {text[:40]}: must be a time above 0, at most 11 days")
    return float(duration.value)


def parse_bytes(name: str, text: str) -> int:
    size = parse_size(text)
    if size < 1:
        raise UsageError(f"--{name} {text[:40]}: must be at least 1 B")
    return size
