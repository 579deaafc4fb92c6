"""``mcusim export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Written
from mcusim.commands.shared.output import check_outputs, write_bytes
from mcusim.errors import ModelError, UsageError

if TYPE_CHECKING:
    from mcusim.model import Graph


@grouped
def export(
    model: options.Model,
    out: Annotated[Path, option("FILE", "The .tflite; - is standard output.", names="-o --output")],
    written: Written,
    batch: Annotated[
        int | None, option("N", "Of a .tflite whose batch is left open: fix it, change nothing else.")
    ] = None,
) -> int:
    """Write a network as a .tflite that LiteRT and TensorFlow Lite Micro run.

    A network of `mcusim models` gets its seeded random weights: equal bytes every
    time. A .tflite is read and written again: what mcusim does not read (metadata,
    min/max, signatures) is lost.

    \b
    Examples:
      mcusim export proxyless-w0.25-r160 -o proxyless.tflite
      mcusim export ds-cnn -o - | sha256sum
      mcusim export open.tflite --batch 1 -o fixed.tflite
    """
    to_stdout = str(out) == "-"
    _check(out, to_stdout, written)
    output = written.to()
    from mcusim.report.inspection_tables import export_json, export_table

    graph, data = _written(model) if batch is None else _with_batch(model, batch)
    if to_stdout:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        write_bytes(out, data, written.force)
    text = None if to_stdout else lambda: export_table(graph, data, str(out))
    output.emit(text, lambda: export_json(graph, data, str(out)))
    return 0


def _written(model: str) -> tuple[Graph, bytes]:
    from mcusim.model import load_model
    from mcusim.model.tflite.tflite_writer import write_tflite

    graph = load_model(model, allow_unknown=True)  # the writer refuses them, without the reader's hint at an option
    if graph.constant_outputs:
        raise ModelError(f"{model}: has outputs that are constants, which mcusim does not write: take them out")
    return graph, write_tflite(graph)


def _with_batch(model: str, batch: int) -> tuple[Graph, bytes]:
    from mcusim.model.tflite.fixed_batch import with_batch
    from mcusim.model.tflite.flatbuffer import read_bytes
    from mcusim.model.tflite.tflite_reader import graph_of

    if not Path(model).is_file():
        raise UsageError(f"--batch {batch}: {model[:200]} is no .tflite file; networks of the zoo have a batch")
    data = with_batch(read_bytes(Path(model)), model, batch)
    return graph_of(data, Path(model), strict=False), data


def _check(out: Path, to_stdout: bool, written: Written) -> None:
    """Refuse before the work what could not be written after it."""
    if not to_stdout:
        check_outputs([out], written.json, [], written.force)
        return
    if str(written.json) == "-":
        raise UsageError("-o - and --json - both want standard output")
    if sys.stdout.isatty():
        raise UsageError("-o -: a .tflite is not text for a terminal; name a file or redirect standard output")
