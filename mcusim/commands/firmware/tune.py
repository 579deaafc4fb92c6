"""``mcusim tune``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.grouped import grouped
from mcusim.commands.shared.groups import MachineKeys, Written
from mcusim.commands.shared.output import check_apart, check_outputs, write_bytes
from mcusim.commands.shared.progress import bar_with_eta, spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.machine.description import Machine as MachineDescription
    from mcusim.tuning.layer import Layer
    from mcusim.tuning.tune import TunedTask, TuningPlan

What = Annotated[str, typer.Argument(metavar="MODEL|TEMPLATE", help="A network, or a template with --shape.")]
Shape = Annotated[
    str | None,
    typer.Option("--shape", metavar="SIZES", help="Of a template's layer: in=16x16x32,kernel=5x5,out=32,stride=1."),
]
Template = Annotated[
    list[str] | None,
    typer.Option("--template", metavar="NAME|DIR", help="Only this one; may be repeated. Default: all that ship."),
]
Layers = Annotated[
    str | None, typer.Option("--layers", metavar="LIST", help="Only these of the network's operators: 0,2,4.")
]
Policy = Annotated[str, typer.Option("--policy", "-p", help="Whose plan says in which memory operands lie.")]
Tuner = Annotated[str, typer.Option("--tuner", help="model (of the cycles), genetic, random or grid.")]
Trials = Annotated[int, typer.Option("--trials", metavar="N", min=1, max=1_000_000, help="Trials for each layer.")]
Budget = Annotated[
    str | None, typer.Option("--budget", metavar="TIME", help='No batch is begun after this time: "10 min".')
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Another seed, other proposals.")]
Warm = Annotated[
    list[Path] | None,
    typer.Option("--warm", metavar="LOG", help="Learn from this log of other layers or boards; may be repeated."),
]
Log = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="A line for each trial; what is there is not tried again.")
]
Apply = Annotated[
    Path | None,
    typer.Option("--apply", metavar="DIR", help="Write the fastest as a kernel set, for run --kernels DIR."),
]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Plots of the tuning in one file.")]
Kernels = Annotated[
    str, typer.Option("--kernels", metavar="SET", help="The set to compare with, and of what was not tuned.")
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", min=1, max=32, help="Processes. Default: one a core.")
]
Dask = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask cluster's scheduler: tcp://host:8786.")
]


@dataclass(frozen=True)
class TunerOptions:
    """How configurations are searched."""

    tuner: Tuner = "model"
    trials: Trials = 64
    budget: Budget = None
    seed: Seed = 0
    kernels: Kernels = "cmsis"
    warm: Warm = None

    def plan(self, layers: Sequence[Layer], machine: MachineDescription, templates: Sequence[str]) -> TuningPlan:
        """The tuning of ``layers``."""
        from mcusim.tuning.tune import tuning_plan

        seconds = _seconds(self.budget) if self.budget is not None else None
        how = self.tuner, self.trials, self.seed, seconds, self.kernels, self.warm or ()
        return tuning_plan(layers, machine, templates, *how)


@dataclass(frozen=True)
class TunedOptions:
    """What is tuned."""

    shape: Shape = None
    template: Template = None
    layers: Layers = None
    policy: Policy = "internal"


@dataclass(frozen=True)
class TrialOptions:
    """Where trials are made and written down."""

    log: Log = None
    apply: Apply = None
    html: Html = None
    jobs: Jobs = None
    dask: Dask = None

    def check(self, inputs: Sequence[str], written: Written) -> None:
        """Refuse before the work what could not be written after it."""
        if self.log is not None:
            check_apart(self.log, inputs)
        if self.html is not None:
            check_outputs([self.html], written.json, [*inputs, self.log], written.force)
        if self.apply is not None:
            from mcusim.tuning.kernel_set import check_set_folder

            check_set_folder(self.apply, written.force)

    def applied(self, plan: TuningPlan, tuned: Sequence[TunedTask], force: bool) -> None:
        """Write the page and the kernel set."""
        if self.html is not None:
            from mcusim.tuning.page import tuning_page

            write_bytes(self.html, tuning_page(plan, tuned).encode(), force)
        if self.apply is None:
            return
        from mcusim.tuning.kernel_set import apply_to_set

        with spinner("building the set"):
            apply_to_set(tuned, self.apply, plan.kernels, force)


@grouped
def tune(
    what: What,
    machine: options.Machine = "stm32f746g-disco",
    *,
    subject: TunedOptions,
    search: TunerOptions,
    work: TrialOptions,
    keys: MachineKeys,
    written: Written,
) -> int:
    """Tune compiled kernels to a network's layers and a board, every trial on the emulated core.

    A template is C with a space of configurations: loop orders, blocks, unrolling, copies,
    compiler flags. A trial is compiled, run and compared with LiteRT byte by byte; its
    cycles have causes. The same seed gives the same trials with any number of processes,
    and --log goes on where a killed tuning ended. Exit status 1: no right kernel.

    \b
    Examples:
      mcusim tune cifar10-arm --machine nucleo-f746zg --layers 2 --trials 32
      mcusim tune cifar10-arm --trials 200 --log cifar10.jsonl
      mcusim tune conv2d-direct --shape in=16x16x32,kernel=5x5,out=32
    """
    output = written.to(what, machine, work.log)
    from mcusim.api.simulate import changed
    from mcusim.tuning.tables import tuning_json, tuning_text
    from mcusim.tuning.tune import tune_tasks

    work.check([what, machine], written)
    board = changed(machine, keys.overrides)
    with spinner("reading the layers"):
        own, known = _layers(what, board, subject)
        plan = search.plan(own, board, [*known, *(subject.template or ())])
    with bar_with_eta("tuning", "trials") as step:
        tuned = tune_tasks(plan, work.log, work.jobs, work.dask, step)
    output.emit(lambda: tuning_text(plan, tuned), lambda: tuning_json(plan, tuned))
    work.applied(plan, tuned, written.force)
    return 0 if all(task.best is not None for task in tuned) else 1


def _seconds(text: str) -> float:
    from mcusim.units import parse_duration

    duration = parse_duration(text)
    if duration.unit != "s":
        raise UsageError(f'--budget {text[:40]!r}: a time of this computer, as "10 min"')
    return float(duration.value)


def _layers(what: str, machine: MachineDescription, subject: TunedOptions) -> tuple[list[Layer], list[str]]:
    """What is to be tuned, and the template that was named instead of a network."""
    from mcusim.model import load_model
    from mcusim.tuning.layer import graph_of_shape, layers_of
    from mcusim.tuning.result import chosen_layers
    from mcusim.tuning.shape_text import parse_shape
    from mcusim.tuning.template import open_template, template_names

    shape, chosen, policy = subject.shape, subject.layers, subject.policy
    if what in template_names() or (Path(what) / "template.toml").is_file():
        if shape is None or chosen is not None:
            raise UsageError(f"{what} is a template: its layer is said by --shape; --layers is for networks")
        graph = graph_of_shape(open_template(what).operator, *parse_shape(shape))
        return layers_of(graph, machine, policy), [what]
    if shape is not None:
        raise UsageError(f"--shape is for a template; {what} is a network, whose layers have shapes")
    found = layers_of(load_model(what), machine, policy)
    if chosen is None:
        return found, []
    numbers = [part.strip() for part in chosen.split(",")]
    if not all(number.isdecimal() for number in numbers):
        raise UsageError(f"--layers {chosen[:80]}: must be numbers of operators, as 0,2,4")
    return chosen_layers(found, [int(number) for number in numbers]), []
