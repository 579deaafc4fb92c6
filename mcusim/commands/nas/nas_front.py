"""``mcusim nas front``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.nas.nas_options import (
    Generations,
    NasWork,
    NetworkNeeds,
    Points,
    ScorerLimit,
    ScorerText,
    parse_space,
    scorer_seconds,
)
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import write_bytes
from mcusim.commands.shared.progress import bar

if TYPE_CHECKING:
    from mcusim.nas_search.front import BoardFront, FrontPlan
    from mcusim.sweeps.ordered_work import OrderedWork

Spaces = Annotated[
    list[str] | None, argument("SPACE", "Search spaces: w0.5-r144. Default: the best for all, half, a quarter of RAM.")
]


@dataclass(frozen=True)
class FrontOptions:
    """On what fronts are made, and by what."""

    machine: Annotated[str, option("LIST", "Boards, separated by commas.", names="--machine -m")] = "stm32f746g-disco"
    runtime: Annotated[str, option("LIST", "What executes the networks: tinyengine,tflm.")] = "tinyengine"
    scorer: ScorerText = "macs"
    scorer_limit: ScorerLimit = "60 s"
    generations: Generations = 30
    points: Points = 20
    shared: Annotated[bool, flag("--shared", "Replay the networks of all fronts on every board: one set for all.")] = (
        False
    )
    html: Annotated[Path | None, option("FILE", "The fronts with intervals, in a page.")] = None
    out: Annotated[Path | None, option("DIR", "Every network as .json and .tflite.", names="-o --output")] = None

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
        with bar("fronts", "spaces") as step:
            fronts = nas_fronts(plan, work.log, shared, step)
    on.write(plan, fronts, written.force)
    output.emit(lambda: fronts_text(plan, fronts), lambda: fronts_json(plan, fronts))
    return 0 if all(front.networks for front in fronts) else 1


def _front_plan(
    spaces: list[str], on: FrontOptions, needs: NetworkNeeds, work: NasWork, keys: MachineKeys, shared: OrderedWork
) -> FrontPlan:
    """Raises UsageError for what cannot be meant, NegativeResult where no board has a space."""
    from mcusim.api.simulate import changed
    from mcusim.nas_search.evolution import EvolutionSettings
    from mcusim.nas_search.front import FrontBoard, FrontPlan, best_for
    from mcusim.nas_search.latency import ReplayBoard
    from mcusim.nas_search.scorers import scorer_of

    seconds = scorer_seconds(on.scorer_limit)
    scorer_of(on.scorer, shared, seconds)  # wrong ones before the work
    named = tuple(dict.fromkeys(parse_space(text, needs.classes) for text in spaces))
    cases = [(changed(name, keys.overrides), runtime) for name in on.machines for runtime in on.runtimes]
    rules = [needs.rules(machine, runtime, seed=work.seed) for machine, runtime in cases]
    boards = list[FrontBoard]()
    with bar("statistics of all spaces", "boards") as step:
        for own, (machine, runtime) in zip(rules, cases, strict=True):
            chosen = named or best_for(own, needs.classes, shared)
            boards.append(FrontBoard(ReplayBoard(machine, runtime, needs.in_place), own, chosen))
            step(len(boards), len(cases))
    return FrontPlan(
        tuple(boards), on.scorer, EvolutionSettings(generations=on.generations), seconds, on.points, on.shared
    )
