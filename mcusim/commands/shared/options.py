"""Options that several commands share: how their texts are read, a run's inputs, its outputs, the files it writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared.output import check_writable, real, write_bytes
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.results import KernelOutput


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
    if any(real(path) == real(other) for other in taken if other is not None):
        raise UsageError(f"--output {path}: is another file of this run; name a new one")
    check_writable(path, force)


def check_outputs(path: Path | None, count: int) -> None:
    """Raise UsageError when ``count`` outputs do not go into ``path``."""
    if path is not None and path.suffix == ".npy" and count > 1:
        raise UsageError(f"--output {path}: the network has {count} outputs; name a .npz")


def write_outputs(path: Path | None, outputs: Sequence[KernelOutput], force: bool) -> None:
    """Write what a run computed; nothing when it did not end well."""
    if path is None or not outputs:
        return
    from mcusim.run_config.input_tensors import npy_bytes

    named = [(f"output{i}", output.values) for i, output in enumerate(outputs)]
    write_bytes(path, npy_bytes(named, path.suffix == ".npz"), force)


Model = Annotated[str, typer.Argument(metavar="MODEL", help="Path to a .tflite, or a name of `mcusim models`.")]
Machine = Annotated[
    str, typer.Option("--machine", "-m", metavar="NAME|FILE", help="A name of `mcusim machines`, or a TOML file.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help='Change a machine key: core.clock="200 MHz". Repeatable.'),
]
Clock = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="CLOCK",
        help='The core clock: "108 MHz"; wait states, memory clocks and the regulator follow. As --set core.clock.',
    ),
]
ForceClock = Annotated[
    bool, typer.Option("--force-clock", help="Allow a core clock that the part is not specified for, as a what-if.")
]
Kernels = Annotated[
    str | None,
    typer.Option(
        "--kernels",
        metavar="NAME|PATH",
        help="A kernel cost profile (replay) or a kernel set of `mcusim kernels` (emulate), by name or path."
        " Default: cmsis-2021-gcc9, cmsis.",
    ),
]
Fidelity = Annotated[
    str,
    typer.Option(
        "--fidelity", metavar="NAME", help="replay: the kernels' cost model; emulate: their code on an emulated core."
    ),
]
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="FILE", help="A .npy with the input's values; one for each input. Default: random."
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the network's outputs: .npy, or .npz with all of them."),
]
Instructions = Annotated[
    int | None,
    typer.Option("--max-instructions", metavar="N", min=1, help="Stop a kernel call that takes more instructions."),
]
InPlace = Annotated[
    bool | None,
    typer.Option(
        "--in-place/--no-in-place",
        help="ADD and the like write over an input that dies; RESHAPE is a view. A compiled runtime: depthwise"
        " convolutions do, by default.",
    ),
]
WeightsIn = Annotated[
    str,
    typer.Option(
        "--weights", metavar="WHERE", help="flash, streamed (in RAM while their operator runs) or resident in RAM."
    ),
]
Seconds = Annotated[
    float, typer.Option("--seconds", metavar="S", min=0, max=86_400, help="Longest search of an order or of offsets.")
]
AllowUnknown = Annotated[
    bool,
    typer.Option(
        "--allow-unknown",
        help="Run a model with operators that mcusim does not know; the totals leave out those without a --cost.",
    ),
]
Cost = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="NAME=COST",
        help='What an unknown operator costs: "12 cycles/B" (bytes of its inputs and outputs together, constants not'
        ' counted) or "5000 cycles" (a call). Repeatable.',
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write JSON to FILE; - is standard output, then nothing else goes there."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing output file.")]


def overrides(texts: Iterable[str] | None) -> dict[str, str]:
    """``--set`` texts as a mapping; raises UsageError for one without ``=`` or a key given twice."""
    return _pairs(texts, "--set", 'KEY=VALUE, as in --set core.clock="200 MHz"')


def costs(texts: Iterable[str] | None) -> dict[str, str]:
    """``--cost`` texts as a mapping; raises UsageError for one without ``=`` or an operator named twice."""
    return _pairs(texts, "--cost", 'NAME=COST, as in --cost GATHER="12 cycles/B"')


def _pairs(texts: Iterable[str] | None, option: str, wanted: str) -> dict[str, str]:
    by_key: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.rpartition("=") if option == "--cost" else text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"{option} needs {wanted}; got {text[:200]!r}")
        if key in by_key:
            raise UsageError(f"{option} {key[:200]} is given twice: {by_key[key][:80]!r} and {value.strip()[:80]!r}")
        by_key[key] = value.strip()
    return by_key


def comma_list(text: str | None, option: str) -> list[str] | None:
    """``a,b`` as a list without repetitions; None stays None; raises UsageError when nothing is named."""
    if text is None:
        return None
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError(f"{option} has no names in it: {text!r}")
    return names


PatchGrid = Annotated[
    str | None,
    typer.Option(
        "--patches", metavar="RxC", help="Compiled code: the first operators run on patches (2x2); auto: of least RAM."
    ),
]
PatchSplit = Annotated[
    str | None,
    typer.Option("--patch-split", metavar="N", help='How many operators run on --patches: 13, or "5 blocks".'),
]
PatchMacs = Annotated[
    str | None,
    typer.Option("--patch-macs", metavar="PERCENT", help="The most that --patches auto may compute more: +20%."),
]
