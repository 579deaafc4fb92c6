"""Both fidelities of one experiment side by side: the same plan, replayed and emulated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mcusim.api.simulate import simulate_loaded
from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.errors import DoesNotFit
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.report.compare.fidelities import both_table, differences, summary
from mcusim.results import Result, to_json
from mcusim.results.provenance import result_made
from mcusim.run_config.settings import Settings


@dataclass(frozen=True)
class FidelityComparison(Displayed, SavedAsJson, SavedAsPage):
    """One experiment under both fidelities."""

    replay: Result
    emulate: Result

    @property
    def negative(self) -> Exception | None:
        """Why one of them did not run."""
        return self.replay.negative or self.emulate.negative

    def table(self, slowest: int = 10) -> str:
        """The two side by side, operator by operator."""
        return both_table(self.replay, self.emulate, slowest)

    def to_json(self) -> dict[str, Any]:
        """Both as :func:`~mcusim.results.to_json` gives them, ``operators`` with the differences."""
        rows = {"replay": to_json(self.replay), "emulate": to_json(self.emulate)}
        operator_differences = differences(self.replay, self.emulate)
        return rows | {
            "operators": [difference.to_json() for difference in operator_differences],
            "difference_percent": summary(operator_differences),
            "made": result_made(self.emulate).to_json(),
        }

    def _line(self) -> str:
        return f"{self.replay._line()}; {self.emulate._line()}"


def simulate_both(graph: Graph, machine: Machine, chosen: Settings) -> FidelityComparison:
    """Replay the profile that was fitted to the kernel set of ``chosen`` (kernels resolved for ``both``), and emulate
    the set.

    Raises UsageError for a set without a profile. Not modelled: what :func:`~mcusim.api.simulate.simulate` does not.
    """
    kernels = chosen.kernels
    profile, compiled = kernels.cost_profile(), kernels.compiled()
    first = chosen.replayed(replace(kernels, name=profile.name))
    replayed = simulate_loaded(graph, machine, first)
    if isinstance(replayed.negative, DoesNotFit):
        assert replayed.request is not None  # it was simulated here
        request = replace(replayed.request, settings=replace(chosen, fidelity="emulate"))
        emulated = replace(replayed, kernels=compiled.name, fidelity="emulate", request=request)
        return FidelityComparison(replayed, emulated)
    return FidelityComparison(replayed, simulate_loaded(graph, machine, replace(chosen, fidelity="emulate")))
