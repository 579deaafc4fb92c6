"""``mcusim nas stats``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.nas.nas_options import NasWork, NetworkNeeds, Runtime
from mcusim.commands.shared import options
from mcusim.commands.shared.declare import option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import write_bytes
from mcusim.commands.shared.progress import bar
from mcusim.errors import UsageError
from mcusim.units import quoted

if TYPE_CHECKING:
    from mcusim.nas_search.space import NasSpace


@dataclass(frozen=True)
class SpaceOptions:
    """Which spaces, and how many networks of each."""

    widths: Annotated[str | None, option("LIST", "Multiples of channels: 0.3,0.5. Default: 0.2 to 1.")] = None
    resolutions: Annotated[str | None, option("LIST", "Of the input: 96,144. Default: 48 to 224.")] = None
    networks: Annotated[int, option("N", "Drawn of each space.", min=1, max=1_000_000)] = 1000
    min_fitting: Annotated[float, option("SHARE", "Least share that fits, of the best space.", min=0.0, max=1.0)] = 0.5

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


@grouped
def stats(
    machine: options.Machine = "stm32f746g-disco",
    *,
    runtime: Runtime = "tinyengine",
    needs: NetworkNeeds,
    subject: SpaceOptions,
    html: Annotated[Path | None, option("FILE", "Distributions and the map, in a page.")] = None,
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
    with bar("statistics", "spaces") as step, work.opened("the statistics") as shared:
        statistics = nas_stats(spaces, rules, work.log, shared, step)
    if html is not None:
        write_bytes(html, stats_page(rules, statistics, share).encode(), written.force)
    output.emit(lambda: stats_text(rules, statistics, share), lambda: stats_json(rules, statistics, share))
    return 0 if best_spaces(statistics, share)[0].share >= max(share, 1 / rules.networks) else 1


def _number(name: str, text: str) -> Fraction:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?", text.strip(), re.ASCII):
        raise UsageError(f"--{name}: {quoted(text[:40])} is no number")
    return Fraction(text.strip())
