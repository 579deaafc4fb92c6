"""The options of `mcusim tune`: what is tuned, how it is searched, where trials are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import check_outputs, write_bytes
from mcusim.commands.shared.policy_help import PlanFlags
from mcusim.commands.shared.progress import spinner
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.machine.description import Machine as MachineDescription
    from mcusim.tuning.layer import Layer
    from mcusim.tuning.tune import TunedTask, TuningPlan


@dataclass(frozen=True)
class TunerOptions:
    """How configurations are searched."""

    tuner: Annotated[
        str | None, flag("--tuner", "model (of the cycles), replay (default of --memories), genetic, random or grid.")
    ] = None
    trials: Annotated[int, option("N", "Trials for each layer.", min=1, max=1_000_000)] = 64
    budget: Annotated[str | None, option("TIME", 'No batch is begun after this time: "10 min".')] = None
    seed: Annotated[int, option("N", "Another seed, other proposals.", min=0)] = 0
    kernels: Annotated[str, option("SET", "Compared with, and of what is not tuned; --memories runs it.")] = "cmsis"
    warm: Annotated[
        list[Path] | None, option("LOG", "Learn from this log of other layers or boards; may be repeated.")
    ] = None

    def plan(self, what: str, machine: MachineDescription, subject: TunedOptions) -> TuningPlan:
        """The tuning that is asked for."""
        from mcusim.tuning.tune import tuning_plan

        if subject.memories:
            return self.of_memories(what, machine, subject)
        layers, known = _layers(what, machine, subject)
        templates = [*known, *(subject.template or ())]
        seconds = _seconds(self.budget) if self.budget is not None else None
        how = self.tuner or "model", self.trials, self.seed, seconds, self.kernels, self.warm or ()
        return tuning_plan(layers, machine, templates, *how)

    def of_memories(self, model: str, machine: MachineDescription, subject: TunedOptions) -> TuningPlan:
        """The tuning of a network's plan. Raises UsageError for options of kernels."""
        from mcusim.model import load_model
        from mcusim.tuning.plan_task import plan_task, plan_tuning

        arguments = {"--shape": subject.shape, "--template": subject.template, "--layers": subject.layers}
        wrong = next((name for name, value in {**arguments, "--warm": self.warm}.items() if value is not None), None)
        if wrong is not None:
            raise UsageError(f"{wrong} is for kernels; --memories tunes a network's plan")
        seconds = _seconds(self.budget) if self.budget is not None else None
        task = plan_task(load_model(model), machine, subject.policy or "tinyops", self.kernels, subject.given)
        return plan_tuning(task, self.tuner or "replay", self.trials, self.seed, seconds)


@dataclass(frozen=True)
class TunedOptions:
    """What is tuned."""

    memories: Annotated[bool, flag("--memories", "Tune how a policy's plan uses the memories, instead of kernels.")] = (
        False
    )
    shape: Annotated[str | None, option("SIZES", "Of a template's layer: in=16x16x32,kernel=5x5,out=32,stride=1.")] = (
        None
    )
    template: Annotated[
        list[str] | None, option("NAME|DIR", "Only this one; may be repeated. Default: all that ship.")
    ] = None
    layers: Annotated[str | None, option("LIST", "Only these of the network's operators: 0,2,4.")] = None
    policy: Annotated[
        str | None, flag("--policy -p", "Whose plan says where operands lie: internal; of --memories tinyops.")
    ] = None
    given: PlanFlags = field(default_factory=PlanFlags)


@dataclass(frozen=True)
class TrialOptions:
    """Where trials are made and written down."""

    log: Annotated[Path | None, option("FILE", "A line for each trial; what is there is not tried again.")] = None
    apply: Annotated[
        Path | None,
        option("PATH", "Write the fastest: a kernel set, for run --kernels; of --memories a program."),
    ] = None
    html: Annotated[Path | None, option("FILE", "Plots of the tuning in one file.")] = None
    jobs: Annotated[int | None, option("N", "Processes. Default: one a core.", names="--jobs -j", min=1, max=32)] = None
    dask: Annotated[str | None, option("ADDRESS", "A Dask cluster's scheduler: tcp://host:8786.")] = None

    def check(self, inputs: Sequence[str], written: Written, program: bool) -> None:
        """Refuse before the work what could not be written after it."""
        files = [path for path in (self.html, self.apply if program else None) if path is not None]
        check_outputs(files, written.json, inputs, written.force, self.log)
        if self.apply is not None and not program:
            from mcusim.tuning.tuned_set import check_set_folder

            check_set_folder(self.apply, written.force)

    def applied(self, plan: TuningPlan, tuned: Sequence[TunedTask], force: bool) -> None:
        """Write the page and the kernel set."""
        if self.html is not None:
            from mcusim.tuning.page import tuning_page

            write_bytes(self.html, tuning_page(plan, tuned).encode(), force)
        if self.apply is None:
            return
        from mcusim.tuning.plan_task import best_program
        from mcusim.tuning.tuned_set import apply_to_set

        if (program := best_program(tuned)) is not None:
            write_bytes(self.apply, program, force)
            return
        with spinner("building the set"):
            apply_to_set(tuned, self.apply, plan.kernels, force)


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
    from mcusim.tuning.shape_text import parse_shape
    from mcusim.tuning.template import open_template, template_names
    from mcusim.tuning.tuning_result import chosen_layers

    shape, chosen, policy = subject.shape, subject.layers, subject.policy or "internal"
    if what in template_names() or (Path(what) / "template.toml").is_file():
        if shape is None or chosen is not None:
            raise UsageError(f"{what} is a template: its layer is said by --shape; --layers is for networks")
        graph = graph_of_shape(open_template(what).operator, *parse_shape(shape))
        return layers_of(graph, machine, policy, **subject.given), [what]
    if shape is not None:
        raise UsageError(f"--shape is for a template; {what} is a network, whose layers have shapes")
    layers = layers_of(load_model(what), machine, policy, **subject.given)
    if chosen is None:
        return layers, []
    numbers = [part.strip() for part in chosen.split(",")]
    if not all(number.isdecimal() for number in numbers):
        raise UsageError(f"--layers {chosen[:80]}: must be numbers of operators, as 0,2,4")
    return chosen_layers(layers, [int(number) for number in numbers]), []
