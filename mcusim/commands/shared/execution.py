"""Options of a run on real data: what goes in, what comes out, and where the result is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcusim.commands.shared.output import check_writable, write_bytes
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.request.settings import Execution
    from mcusim.results import Output

__all__ = ["asked_execution", "check_output", "check_outputs", "write_outputs"]


def asked_execution(
    code: str | None,
    overhead: int | None,
    inputs: Sequence[str] | None,
    most: int | None,
    progress: Callable[[int, int], object] | None,
) -> Execution:
    """The options as :func:`~mcusim.api.simulate.simulate` takes them."""
    from mcusim.request.settings import Execution

    return Execution(code, overhead, list(inputs) if inputs else None, most, progress)


def check_output(path: Path | None, fidelity: str, taken: Sequence[str | Path | None], force: bool) -> None:
    """Refuse before the run an output file that could not be written, or would overwrite one of ``taken``."""
    if path is None:
        return
    if fidelity == "replay":
        raise UsageError("--output has no effect with --fidelity replay, which computes no values; it is for emulate")
    if str(path) == "-":
        raise UsageError("--output - : standard output is for the table; name a file")
    if path.suffix not in (".npy", ".npz"):
        raise UsageError(f"--output {path}: must end in .npy (one output) or .npz (all outputs)")
    if any(path.resolve() == Path(other).resolve() for other in taken if other is not None):
        raise UsageError(f"--output {path}: is another file of this run; name a new one")
    check_writable(path, force)


def check_outputs(path: Path | None, count: int) -> None:
    """Raise UsageError when ``count`` outputs do not go into ``path``."""
    if path is not None and path.suffix == ".npy" and count > 1:
        raise UsageError(f"--output {path}: the network has {count} outputs; name a .npz")


def write_outputs(path: Path | None, outputs: Sequence[Output], force: bool) -> None:
    """Write what a run computed; nothing when it did not end well."""
    if path is None or not outputs:
        return
    from mcusim.request.tensors import npy_bytes

    named = [(f"output{i}", output.values) for i, output in enumerate(outputs)]
    write_bytes(path, npy_bytes(named, path.suffix == ".npz"), force)
