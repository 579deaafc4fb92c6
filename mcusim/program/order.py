"""The graph that a program means: its operators in the order that the header records."""

from __future__ import annotations

from mcusim.errors import ProgramError, UsageError
from mcusim.model.channel_tiles import channel_tiled, parse_counts
from mcusim.model.graph import Graph
from mcusim.program.program import Header, Program
from mcusim.runtime.runtime import recorded_runtime


def program_graph(program: Program, graph: Graph) -> Graph:
    """``graph`` as the runtime of ``program`` executes it, operators in parts where the program has them so, in the
    program's order: its numbers of operators are positions in it.

    A graph that is in that order already is returned as it is. Raises ProgramError for an order that is none of the
    graph's operators. Not modelled: whether the order works, which the checks of a program find out.
    """
    try:
        graph = recorded_runtime(program.header.options).executed(graph)
        tiles = program.header.options.get("channel_tiles")
        graph = graph if tiles is None else channel_tiled(graph, parse_counts(str(tiles)))
    except UsageError as error:
        raise ProgramError(f"the program's header: {error}") from None
    order = program.header.options.get("operator_order")
    if order is None or graph.order is not None:
        return graph
    from mcusim.model.reordered import reordered

    try:
        return reordered(graph, order)
    except UsageError:
        raise ProgramError(
            f"the header's operator_order is no order of the {len(graph.operators)} operators of {graph.name}"
        ) from None


def stored_index(header: Header, operator: int) -> int:
    """The place in the model of a program's operator."""
    order = header.options.get("operator_order")
    return operator if order is None or operator >= len(order) else int(order[operator])
