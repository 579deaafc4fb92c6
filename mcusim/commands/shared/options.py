"""Options that several commands share: how their texts are read, a run's inputs, its outputs, the files it writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared.declare import argument, flag, option
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


Model = Annotated[str, argument("MODEL", "Path to a .tflite, or a name of `mcusim models`.")]
Machine = Annotated[str, option("NAME|FILE", "A name of `mcusim machines`, or a TOML file.", names="--machine -m")]
Kernels = Annotated[
    str | None,
    option(
        "NAME|PATH",
        "A kernel cost profile (replay) or a kernel set of `mcusim kernels` (emulate),"
        " by name or path. Default: cmsis-2021-gcc9, cmsis.",
        names="--kernels",
    ),
]
Fidelity = Annotated[
    str, option("NAME", "replay: the kernels' cost model; emulate: their code on an emulated core.", names="--fidelity")
]
Input = Annotated[
    list[str] | None,
    option("FILE", "A .npy with the input's values; one for each input. Default: random.", names="--input"),
]
Seconds = Annotated[
    float, option("S", "Longest search of an order or of offsets.", names="--seconds", min=0, max=86_400)
]
AllowUnknown = Annotated[
    bool,
    flag(
        "--allow-unknown",
        "Run a model with operators that mcusim does not know; the totals leave out those without a --cost.",
    ),
]
Cost = Annotated[
    list[str] | None,
    option(
        "NAME=COST",
        'What an unknown operator costs: "12 cycles/B" (bytes of its inputs and outputs together, constants not'
        ' counted), "9 cycles/B of input0" (or input1, output0: of one alone), "5000 cycles" (a call), or a sum of'
        " these with + between. Repeatable.",
        names="--cost",
    ),
]
Json = Annotated[
    Path | None,
    option("FILE", "Write JSON to FILE; - is standard output, then nothing else goes there.", names="--json"),
]
Force = Annotated[bool, flag("--force", "Overwrite an existing output file.")]


def overrides(texts: Iterable[str] | None) -> dict[str, str]:
    """``--set`` texts as a mapping; raises UsageError for one without ``=`` or a key given twice."""
    return _pairs(texts, "--set", 'KEY=VALUE, as in --set core.clock="200 MHz"')


def reserved(texts: Iterable[str] | None) -> dict[str, str]:
    """``--reserve`` texts as a mapping; raises UsageError for one without ``=`` or a region named twice."""
    return _pairs(texts, "--reserve", 'REGION=SIZE, as in --reserve dtcm="16 KiB"')


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


def machine_list(text: str | None) -> list[str] | None:
    """``--machine``: a list as :func:`comma_list` has it, or ``all``, which is every machine that ships, and alone."""
    names = comma_list(text, "--machine")
    if names is None or "all" not in names:
        return names
    if len(names) > 1:
        raise UsageError(f"--machine {','.join(names)[:80]}: all stands for every machine that ships, and alone")
    from mcusim.machine import machine_names

    return list(machine_names())


PatchGrid = Annotated[
    str | None,
    option("RxC", "Compiled code: the first operators run on patches (2x2); auto: of least RAM.", names="--patches"),
]
PatchSplit = Annotated[
    str | None, option("N", 'How many operators run on --patches: 13, or "5 blocks".', names="--patch-split")
]
PatchMacs = Annotated[
    str | None, option("PERCENT", "The most that --patches auto may compute more: +20%.", names="--patch-macs")
]
