"""``mcusim reorder``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import CountedBytes, Written
from mcusim.commands.shared.output import check_outputs, write_bytes
from mcusim.commands.shared.progress import spinner


@grouped
def reorder(
    model: options.Model,
    out: Annotated[Path, option("FILE", "The .tflite in the new order.", names="-o --output")],
    *,
    accounting: CountedBytes,
    seconds: options.Seconds = 60.0,
    operators: Annotated[bool, flag("--operators", "Show the bytes alive at every step of both orders.")] = False,
    written: Written,
) -> int:
    """Write a model with its operators in the order that needs the least memory at its peak.

    The peak is that of the activations alive together (Liberis and Lane, 2019). The search is exact; after --seconds
    the best order found is written, with a proven bound. Of a file every byte but the order is kept; it runs in LiteRT
    and TensorFlow Lite Micro with equal outputs. Never worse than the order as stored.

    \b
    Examples:
      mcusim reorder swiftnet.tflite -o swiftnet-least.tflite
      mcusim reorder figure-1 -o figure-1.tflite --operators --json -
    """
    output = written.to(model)
    check_outputs([out], written.json, [model], written.force, rewritten=out)
    with spinner(f"ordering {model}"):
        from mcusim.api.reorder import reorder as find

        result = find(model, in_place=bool(accounting.in_place), weights=accounting.weights, seconds=seconds)
    write_bytes(out, result.data, written.force)
    from mcusim.report.reorder_table import reorder_json, reorder_table

    output.emit(lambda: reorder_table(result, str(out), operators), lambda: reorder_json(result, str(out)))
    return 0
