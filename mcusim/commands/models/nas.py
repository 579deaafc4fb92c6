"""``mcusim nas``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcusim.commands.shared import options
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import check_outputs, write_bytes
from mcusim.commands.shared.progress import bar_with_eta
from mcusim.errors import UsageError
from mcusim.units import parse_duration, parse_size, quoted

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.nas_search.evolution import EvolutionSettings
    from mcusim.nas_search.front import BoardFront, FrontPlan
    from mcusim.nas_search.search import NasSearch
    from mcusim.nas_search.space import NasSpace
    from mcusim.nas_search.stats import NasRules
    from mcusim.sweeps.ordered_work import OrderedWork

Runtime = Annotated[str, typer.Option("--runtime", metavar="NAME", help="What executes the networks, as in `run`.")]
Ram = Annotated[str | None, typer.Option("--ram", metavar="SIZE", help="RAM to fit. Default: the board's.")]
Flash = Annotated[str | None, typer.Option("--flash", metavar="SIZE", help="Flash to fit. Default: the board's.")]
Widths = Annotated[
    str | None, typer.Option("--widths", metavar="LIST", help="Multiples of channels: 0.3,0.5. Default: 0.2 to 1.")
]
Resolutions = Annotated[
    str | None, typer.Option("--resolutions", metavar="LIST", help="Of the input: 96,144. Default: 48 to 224.")
]
Classes = Annotated[int, typer.Option("--classes", metavar="N", min=1, max=100_000, help="Outputs of a network.")]
Networks = Annotated[int, typer.Option("--networks", metavar="N", min=1, max=1_000_000, help="Drawn of each space.")]
Share = Annotated[
    float,
    typer.Option("--min-fitting", metavar="SHARE", min=0.0, max=1.0, help="Least share that fits, of the best space."),
]
InPlace = Annotated[
    bool, typer.Option("--in-place/--not-in-place", help="Compiled depthwise convolutions write over their input.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Another seed, other networks.")]
Log = Annotated[Path | None, typer.Option("--log", metavar="FILE", help="What was done is not done again.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Distributions and the map, in a page.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", metavar="N", min=1, max=32, help="Default: one a core.")]
Dask = Annotated[str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask cluster's scheduler.")]


@dataclass(frozen=True)
class NetworkNeeds:
    """What networks have to fit."""

    ram: Ram = None
    flash: Flash = None
    classes: Classes = 100
    in_place: InPlace = True

    def rules(self, machine: Machine, runtime: str, **others: Any) -> NasRules:
        """Raises UsageError for what is no size or no runtime."""
        from mcusim.nas_search.stats import NasRules
        from mcusim.runtime.runtime import find_runtime

        find_runtime(runtime)
        given = (("ram", self.ram), ("flash", self.flash))
        limits = {name: None if text is None else _size(name, text) for name, text in given}
        return NasRules.of(machine, runtime, **limits, in_place=self.in_place, **others)


@dataclass(frozen=True)
class SpaceOptions:
    """Which spaces, and how many networks of each."""

    widths: Widths = None
    resolutions: Resolutions = None
    networks: Networks = 1000
    min_fitting: Share = 0.5

    def spaces(self, classes: int) -> list[NasSpace]:
        """Raises UsageError for a list that is none."""
        from mcusim.nas_search.space import RESOLUTIONS, WIDTHS, all_spaces

        given = (("widths", self.widths), ("resolutions", self.resolutions))
        wide, tall = (
            [_number(name, part) for part in text.split(",")] if text is not None else None for name, text in given
        )
        widths, sides = wide or WIDTHS, tall
        wrong = next((w for w in widths if not Fraction(1, 20) <= w <= 2), None)
        if wrong is not None:
            raise UsageError(f"--widths: {float(wrong):g} is no width; there are 0.05 to 2")
        wrong = next((s for s in sides or () if s.denominator > 1 or not 32 <= s <= 512), None)
        if wrong is not None:
            raise UsageError(f"--resolutions: {float(wrong):g} is no resolution; there are whole ones from 32 to 512")
        whole = RESOLUTIONS if sides is None else [int(side) for side in sides]
        return all_spaces([*dict.fromkeys(widths)], [*dict.fromkeys(whole)], classes)


@dataclass(frozen=True)
class NasWork:
    """Where it is computed and written down."""

    seed: Seed = 0
    log: Log = None
    jobs: Jobs = None
    dask: Dask = None

    def check(self, inputs: Sequence[str | Path | None], files: list[Path], written: Written) -> None:
        """Refuse before the work what could not be written after it."""
        check_outputs(files, written.json, inputs, written.force, self.log)

    def opened(self, what: str) -> OrderedWork:
        """The processes or the cluster of ``what``."""
        from mcusim.sweeps.ordered_work import OrderedWork

        return OrderedWork(self.jobs, self.dask, what)


@grouped
def stats(
    machine: options.Machine = "stm32f746g-disco",
    *,
    runtime: Runtime = "tinyengine",
    needs: NetworkNeeds,
    subject: SpaceOptions,
    html: Html = None,
    work: NasWork,
    keys: MachineKeys,
    written: Written,
) -> int:
    """Which MobileNet-like search space is the best for a board: TinyNAS's statistics.

    Networks are drawn at random from each space (a width and a resolution), planned by the
    runtime's own rules, and those that fit counted: the best space is that whose networks
    compute most on average, nothing is trained. FLOPs are multiply-accumulates. Exit
    status 1: no space has enough networks that fit.

    \b
    Examples:
      mcusim nas stats --machine stm32f746g-disco
      mcusim nas stats -m nucleo-f411re --widths 0.2,0.3,0.4 --networks 300
      mcusim nas stats --runtime tflm --ram "256 KiB" --html spaces.html
    """
    output = written.to(machine, work.log)
    from mcusim.api.simulate import changed
    from mcusim.nas_search.page import stats_page
    from mcusim.nas_search.stats import best_spaces, nas_stats
    from mcusim.nas_search.tables import stats_json, stats_text

    work.check([machine], [html] if html else [], written)
    spaces, share = subject.spaces(needs.classes), subject.min_fitting
    rules = needs.rules(changed(machine, keys.overrides), runtime, networks=subject.networks, seed=work.seed)
    with bar_with_eta("statistics", "spaces") as step, work.opened("the statistics") as shared:
        statistics = nas_stats(spaces, rules, work.log, shared, step)
    if html is not None:
        write_bytes(html, stats_page(rules, statistics, share).encode(), written.force)
    output.emit(lambda: stats_text(rules, statistics, share), lambda: stats_json(rules, statistics, share))
    return 0 if best_spaces(statistics, share)[0].share >= max(share, 1 / rules.networks) else 1


Space = Annotated[str, typer.Argument(metavar="SPACE", help="A width and a resolution: w0.5-r144.")]
ScorerText = Annotated[
    str, typer.Option("--scorer", metavar="WHAT", help="macs (default), TABLE.csv, or FILE.py:FUNCTION.")
]
ScorerLimit = Annotated[
    str, typer.Option("--scorer-limit", metavar="TIME", help="What a function has for each network. Default: 60 s.")
]
Outputs = Annotated[
    list[Path] | None, typer.Option("-o", "--output", metavar="FILE", help="The best as .json or .tflite; repeatable.")
]
Generations = Annotated[int, typer.Option("--generations", metavar="N", min=0, max=10_000, help="Of the evolution.")]
Points = Annotated[
    int, typer.Option("--points", metavar="N", min=1, max=100, help="Most networks of a result, of each space.")
]
MostLatency = Annotated[
    str | None,
    typer.Option("--max-latency", metavar="TIME", help="Slower networks do not live: 100 ms, by replay on the board."),
]
Certain = Annotated[
    bool, typer.Option("--certain", help="--max-latency holds at the upper end of where measurements are expected.")
]
Objectives = Annotated[
    str,
    typer.Option("--objectives", metavar="LIST", help="score (default), latency, macs, ram, flash; several: a front."),
]


@dataclass(frozen=True)
class SearchOptions:
    """What networks are worth, and how they are searched."""

    scorer: ScorerText = "macs"
    scorer_limit: ScorerLimit = "60 s"
    objectives: Objectives = "score"
    max_latency: MostLatency = None
    certain: Certain = False
    generations: Generations = 30
    points: Points = 20

    def inputs(self, machine: str) -> list[str | Path | None]:
        """What is read."""
        from mcusim.nas_search.scorers import scorer_file

        return [machine, scorer_file(self.scorer)]

    def settings(self, machine: Machine) -> EvolutionSettings:
        """Raises UsageError for what cannot be meant."""
        from mcusim.nas_search.evolution import EvolutionSettings
        from mcusim.nas_search.selection import OBJECTIVES

        names = tuple(dict.fromkeys(name.strip() for name in self.objectives.split(",")))
        wrong = next((name for name in names if name not in OBJECTIVES), None)
        if wrong is not None:
            raise UsageError(f"--objectives: {quoted(wrong[:40])} is none of {', '.join(OBJECTIVES)}")
        most = None if self.max_latency is None else int(parse_duration(self.max_latency).cycles(machine.core.clock))
        if most is not None and most < 1:
            raise UsageError(f"--max-latency {self.max_latency}: must be a cycle of the core at least")
        if self.certain and most is None:
            raise UsageError("--certain has no effect without --max-latency")
        return EvolutionSettings(generations=self.generations, objectives=names, most_cycles=most, certain=self.certain)

    def search(self, space: str, machine: Machine, rules: NasRules, classes: int) -> NasSearch:
        """Raises UsageError for what cannot be meant."""
        from mcusim.nas_search.latency import ReplayBoard
        from mcusim.nas_search.search import NasSearch

        settings = self.settings(machine)
        board = ReplayBoard(machine, rules.runtime, rules.in_place) if settings.timed else None
        return NasSearch(_space(space, classes), rules, self.scorer, settings, board, self.points)


@grouped
def search(
    space: Space,
    machine: options.Machine = "stm32f746g-disco",
    *,
    runtime: Runtime = "tinyengine",
    needs: NetworkNeeds,
    how: SearchOptions,
    out: Outputs = None,
    work: NasWork,
    keys: MachineKeys,
    written: Written,
) -> int:
    """The best networks of a search space for a board, by evolution: TinyNAS's second step.

    A hundred networks that fit, then 50 crossovers and 50 mutations of the best 20 in each
    generation. A scorer says what a network is worth: its multiply-accumulates, a table of
    macs and score, or a Python function of the network. By several objectives the result is
    a front (NSGA-II). Latency is by replay. Exit status 1: too few networks fit.

    \b
    Examples:
      mcusim nas search w0.5-r144 -o net.json -o net.tflite
      mcusim nas search w0.4-r128 --scorer mine.py:accuracy --max-latency "150 ms"
      mcusim nas search w0.3-r96 --objectives score,latency --log search.jsonl
    """
    output = written.to(*how.inputs(machine), work.log)
    from mcusim.api.simulate import changed
    from mcusim.nas_search.scorers import scorer_of
    from mcusim.nas_search.tables import search_json, search_text

    work.check(how.inputs(machine), _network_files(out), written)
    board = changed(machine, keys.overrides)
    wanted = how.search(space, board, needs.rules(board, runtime, seed=work.seed), needs.classes)
    with bar_with_eta("search", "steps") as step, work.opened(f"the search by {how.scorer}") as shared:
        result = wanted.run(scorer_of(how.scorer, shared, _seconds(how.scorer_limit)), work.log, shared, step)
    for path in out or () if result.networks else ():
        write_bytes(path, result.networks[0].file(path.suffix), written.force)
    output.emit(lambda: search_text(wanted, result), lambda: search_json(wanted, result))
    return 0 if result.networks else 1


def _network_files(files: list[Path] | None) -> list[Path]:
    """For the best network. Raises UsageError for one of another kind."""
    wrong = next((path for path in files or () if path.suffix not in (".json", ".tflite")), None)
    if wrong is not None:
        raise UsageError(f"{wrong}: a network is written as .json or .tflite")
    return files or []


Spaces = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SPACE", help="Search spaces: w0.5-r144. Default: the best for all, half, a quarter of RAM."
    ),
]
Machines = Annotated[str, typer.Option("--machine", "-m", metavar="LIST", help="Boards, separated by commas.")]
Runtimes = Annotated[
    str, typer.Option("--runtime", metavar="LIST", help="What executes the networks: tinyengine,tflm.")
]
OutFolder = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Every network as .json and .tflite.")
]
FrontHtml = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="The fronts with intervals, in a page.")]


Shared = Annotated[
    bool, typer.Option("--shared", help="Replay the networks of all fronts on every board: one set for all.")
]


@dataclass(frozen=True)
class FrontOptions:
    """On what fronts are made, and by what."""

    machine: Machines = "stm32f746g-disco"
    runtime: Runtimes = "tinyengine"
    scorer: ScorerText = "macs"
    scorer_limit: ScorerLimit = "60 s"
    generations: Generations = 30
    points: Points = 20
    shared: Shared = False
    html: FrontHtml = None
    out: OutFolder = None

    def check(self, work: NasWork, written: Written) -> None:
        """Refuse before the work what could not be written after it."""
        from mcusim.codegen.folder import check_folder
        from mcusim.nas_search.scorers import scorer_file

        work.check([*self.machines, scorer_file(self.scorer)], [self.html] if self.html else [], written)
        if self.out is not None:
            check_folder(self.out, written.force)

    def write(self, plan: FrontPlan, fronts: list[BoardFront], force: bool) -> None:
        """The page and the networks."""
        from mcusim.codegen.folder import write_folder
        from mcusim.nas_search.front import front_files
        from mcusim.nas_search.page import front_page

        if self.html is not None:
            write_bytes(self.html, front_page(plan, fronts).encode(), force)
        if self.out is not None:
            write_folder(self.out, front_files(fronts), force)

    @property
    def machines(self) -> list[str]:
        """Names or paths."""
        return [*dict.fromkeys(name.strip() for name in self.machine.split(","))]

    @property
    def runtimes(self) -> list[str]:
        """Names."""
        return [*dict.fromkeys(name.strip() for name in self.runtime.split(","))]


@grouped
def front(
    spaces: Spaces = None,
    *,
    on: FrontOptions,
    needs: NetworkNeeds,
    work: NasWork,
    keys: MachineKeys,
    written: Written,
) -> int:
    """Score against latency, on several boards under several runtimes: which networks are the best.

    Each search space is searched for each board and runtime by score and latency (NSGA-II);
    a front has what none is better than by both, replayed whole, with the interval in which
    nine measurements of ten are expected. Without spaces they are those that `nas stats` has
    as the best for all, half and a quarter of the board's memories. Exit status 1: a board
    has no network.

    \b
    Examples:
      mcusim nas front -m stm32f746g-disco,nucleo-h743zi --html fronts.html
      mcusim nas front w0.3-r96 w0.2-r64 -m nucleo-l4r5zi --runtime tinyengine,tflm
      mcusim nas front --scorer accuracy.csv --log fronts.jsonl -o networks
    """
    from mcusim.nas_search.scorers import scorer_file

    output = written.to(*on.machines, scorer_file(on.scorer), work.log)
    from mcusim.nas_search.front import nas_fronts
    from mcusim.nas_search.tables import fronts_json, fronts_text

    on.check(work, written)
    with work.opened(f"the fronts by {on.scorer}") as shared:
        plan = _front_plan(spaces or [], on, needs, work, keys, shared)
        with bar_with_eta("fronts", "spaces") as step:
            fronts = nas_fronts(plan, work.log, shared, step)
    on.write(plan, fronts, written.force)
    output.emit(lambda: fronts_text(plan, fronts), lambda: fronts_json(plan, fronts))
    return 0 if all(front.networks for front in fronts) else 1


def _front_plan(
    spaces: list[str], on: FrontOptions, needs: NetworkNeeds, work: NasWork, keys: MachineKeys, shared: OrderedWork
) -> FrontPlan:
    """Raises UsageError for what cannot be meant, Verdict where no board has a space."""
    from mcusim.api.simulate import changed
    from mcusim.nas_search.evolution import EvolutionSettings
    from mcusim.nas_search.front import FrontBoard, FrontPlan, best_for
    from mcusim.nas_search.latency import ReplayBoard
    from mcusim.nas_search.scorers import scorer_of

    seconds = _seconds(on.scorer_limit)
    scorer_of(on.scorer, shared, seconds)  # wrong ones before the work
    named = tuple(dict.fromkeys(_space(text, needs.classes) for text in spaces))
    cases = [(changed(name, keys.overrides), runtime) for name in on.machines for runtime in on.runtimes]
    rules = [needs.rules(machine, runtime, seed=work.seed) for machine, runtime in cases]
    boards = list[FrontBoard]()
    with bar_with_eta("statistics of all spaces", "boards") as step:
        for own, (machine, runtime) in zip(rules, cases, strict=True):
            chosen = named or best_for(own, needs.classes, shared)
            boards.append(FrontBoard(ReplayBoard(machine, runtime, needs.in_place), own, chosen))
            step(len(boards), len(cases))
    return FrontPlan(
        tuple(boards), on.scorer, EvolutionSettings(generations=on.generations), seconds, on.points, on.shared
    )


def _number(name: str, text: str) -> Fraction:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?", text.strip(), re.ASCII):
        raise UsageError(f"--{name}: {quoted(text[:40])} is no number")
    return Fraction(text.strip())


def _space(text: str, classes: int) -> NasSpace:
    """From ``w0.5-r144``. Raises UsageError."""
    from mcusim.nas_search.space import NasSpace

    parts = re.fullmatch(r"w(\d{1,3}(?:\.\d{1,9})?)-r(\d{1,4})", text, re.ASCII)
    if parts is None:
        raise UsageError(f"{quoted(text[:40])} is no search space; an example: w0.5-r144")
    space = NasSpace(Fraction(parts[1]), int(parts[2]), classes)
    if not Fraction(1, 20) <= space.width <= 2 or not 32 <= space.resolution <= 512:
        raise UsageError(f"{space}: widths are 0.05 to 2, resolutions 32 to 512")
    return space


def _seconds(text: str) -> float:
    """Of ``--scorer-limit``. Raises UsageError."""
    duration = parse_duration(text)
    if duration.unit != "s" or not 0 < duration.value < 1e6:
        raise UsageError(f"--scorer-limit {text[:40]}: must be a time above 0, at most 11 days")
    return float(duration.value)


def _size(name: str, text: str) -> int:
    size = parse_size(text)
    if size < 1:
        raise UsageError(f"--{name} {text[:40]}: must be at least 1 B")
    return size
