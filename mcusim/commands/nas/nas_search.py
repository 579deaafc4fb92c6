"""``mcusim nas search``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.nas.nas_options import (
    Generations,
    NasWork,
    NetworkNeeds,
    Points,
    Runtime,
    ScorerLimit,
    ScorerText,
    parse_space,
    scorer_seconds,
)
from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import write_bytes
from mcusim.commands.shared.progress import bar
from mcusim.errors import UsageError
from mcusim.units import parse_duration, quoted

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.nas_search.evolution import EvolutionSettings
    from mcusim.nas_search.search import NasSearch
    from mcusim.nas_search.stats import NasRules

Outputs = Annotated[list[Path] | None, option("FILE", "The best as .json or .tflite; repeatable.", names="-o --output")]


@dataclass(frozen=True)
class SearchOptions:
    """What networks are worth, and how they are searched."""

    scorer: ScorerText = "macs"
    scorer_limit: ScorerLimit = "60 s"
    objectives: Annotated[str, option("LIST", "score (default), latency, macs, ram, flash; several: a front.")] = (
        "score"
    )
    max_latency: Annotated[
        str | None, option("TIME", "Slower networks do not live: 100 ms, by replay on the board.")
    ] = None
    certain: Annotated[
        bool, flag("--certain", "--max-latency holds at the upper end of where measurements are expected.")
    ] = False
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
        return NasSearch(parse_space(space, classes), rules, self.scorer, settings, board, self.points)


@grouped
def search(
    space: Annotated[str, argument("SPACE", "A width and a resolution: w0.5-r144.")],
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
    with bar("search", "steps") as step, work.opened(f"the search by {how.scorer}") as shared:
        result = wanted.run(scorer_of(how.scorer, shared, scorer_seconds(how.scorer_limit)), work.log, shared, step)
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
