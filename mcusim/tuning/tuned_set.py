"""A kernel set of the fastest kernels: another set, whose functions for some shapes are tuned ones.

A function in front compares a call's sizes with those of the layers that were tuned and calls theirs, else the other
set's. It costs some tens of cycles a call. A tuned kernel that is not faster than the other set's is left out. Not
modelled: operands that a configuration wants in another memory; such configurations are left out too.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcusim.errors import NegativeResult, UsageError
from mcusim.kernels.building import Compiler, build_sets, manifest_text
from mcusim.kernels.kernel_set import Kernel, KernelSet, load_set
from mcusim.tuning.log import TrialRecord
from mcusim.tuning.template import INCLUDE, KernelTemplate, open_template
from mcusim.tuning.tune import TunedTask

NAME = "tuned"
_COMPARED = {  # members of the call by the names of a shape; those of rows only where a kernel takes them for constants
    "in_w": "in_w", "in_c": "in_c", "out_w": "out_w", "out_c": "out_c", "filter_h": "kernel_h", "filter_w": "kernel_w",
    "stride_h": "stride_h", "stride_w": "stride_w", "dilation_h": "dilation_h", "dilation_w": "dilation_w",
    "pad_left": "pad_left", "depth_multiplier": "depth_multiplier",
}  # fmt: skip
_ROWS = {"batch": "batch", "in_h": "in_h", "out_h": "out_h", "pad_top": "pad_top"}


@dataclass(frozen=True)
class AppliedLayer:
    """A tuned kernel that goes into the set, as ``symbol``."""

    task: TunedTask
    record: TrialRecord
    template: KernelTemplate
    symbol: str


def chosen_kernels(tasks: Sequence[TunedTask], base: str) -> list[AppliedLayer]:
    """The fastest kernel of each layer, where it is faster than the function of the set ``base``."""
    layers: dict[str, list[tuple[TrialRecord, TunedTask]]] = defaultdict(list)
    for task in tasks:
        template = open_template(task.template)
        able = [r for r in task.records if r.cycles is not None and not template.places(r.config)]
        layers[task.layer.name] += [(record, task) for record in able]
    applied_layers: list[AppliedLayer] = []
    for several in layers.values():
        if not several:
            continue
        record, task = min(several, key=lambda pair: pair[0].best_of)
        theirs = task.sets[base].cycles if base in task.sets else None
        if theirs is None or record.best_of < theirs:
            applied_layers.append(
                AppliedLayer(task, record, open_template(task.template), f"{NAME}_{len(applied_layers)}")
            )
    return applied_layers


def apply_to_set(tasks: Sequence[TunedTask], folder: Path, base: str = "cmsis", force: bool = False) -> KernelSet:
    """Write ``folder`` with manifest, C and ELF files of the set ``base`` with the tuned kernels; returns it.

    Raises UsageError for a folder that contains files without ``force``, and where the compiler is missing;
    NegativeResult where no tuned kernel is faster.
    """
    check_set_folder(folder, force)
    layers, other = chosen_kernels(tasks, base), load_set(base)
    if not layers:
        raise NegativeResult(f"no tuned kernel is faster than that of {base!r}; there is nothing to apply")
    folder = folder.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kernels = _written(layers, folder, other)
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror}") from None
    return build_sets([kernels], folder.parent, Compiler(), force=True)[0]


def check_set_folder(folder: Path, force: bool) -> None:
    """Raise UsageError for a folder that a set cannot be written into: one that cannot be made, is a file, or is not
    empty without ``force``."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        for path in made:
            path.rmdir()
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror}") from None
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise UsageError(f"{folder} is there already and not empty; --force writes into it")


def _written(layers: Sequence[AppliedLayer], folder: Path, other: KernelSet) -> KernelSet:
    """The sources and the manifest."""
    sources, flags = {}, {}
    for layer in layers:
        name = f"{layer.symbol}.c"
        task, template = layer.task, layer.template
        g = task.layer.geometry
        head = f"/* {task.name}, trial {layer.record.trial} of `mcusim tune` */\n"
        head += f"#define {template.symbol} {layer.symbol}\n"
        sources[name] = head + template.source(g, template.space(g), layer.record.config)
        flags[name] = template.all_flags(layer.record.config)
        for place in template.include[2:]:
            flags[name] += f" -I{place}"
    sources |= {path.name: path.read_text() for path in sorted(INCLUDE.glob("*.h"))}
    kernels, sources["in_front.c"] = _in_front(layers, other)
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    own = [name for name in sources if name.endswith(".c")]
    kernel_set = replace(
        other,
        name=folder.name,
        title=f"{other.name}, and {len(layers)} kernels that `mcusim tune` made",
        manifest=folder / "manifest.toml",
        sources=(*(str((other.manifest.parent / s).resolve()) for s in other.sources), *own),
        include=(*(str((other.manifest.parent / s).resolve()) for s in other.include), "."),
        kernels=kernels,
        source_flags={**other.source_flags, **flags},
    )
    text = manifest_text(kernel_set, head="written by mcusim tune --apply")
    kernel_set.manifest.write_text(text, encoding="utf-8")
    return load_set(kernel_set.manifest)


def _in_front(layers: Sequence[AppliedLayer], other: KernelSet) -> tuple[Mapping[tuple[str, str], Kernel], str]:
    """The set's kernels with a function in front of some, and the C of these functions."""
    kernels, lines = dict(other.kernels), ["#include <kernels.h>", ""]
    by_operator: dict[str, list[AppliedLayer]] = defaultdict(list)
    for layer in layers:
        by_operator[layer.template.operator].append(layer)
    for operator, several in by_operator.items():
        key = operator, "int8"
        kernel, symbol = kernels[key], f"{NAME}_{operator.lower()}"
        lines += [f"int32_t {kernel.symbol}(const struct {kernel.layout} *c);"]
        lines += [f"int32_t {layer.symbol}(const struct {kernel.layout} *c);" for layer in several]
        lines += [f"int32_t {symbol}(const struct {kernel.layout} *c) {{"]
        lines += [f"    if ({_condition(layer)}) return {layer.symbol}(c);" for layer in several]
        lines += [f"    return {kernel.symbol}(c);", "}", ""]
        scratch = [kernel.scratch, *(_scratch(layer) for layer in several)]
        kernels[key] = replace(kernel, symbol=symbol, scratch=f"max({', '.join(scratch)})", in_place="0", direct=())
    return kernels, "\n".join(lines)


def _compared(layer: AppliedLayer) -> Mapping[str, str]:
    windowed = layer.task.layer.geometry.traits.windowed
    names = _COMPARED if windowed else {"in_c": "in_c", "out_c": "out_c"}
    return names if layer.template.table.tiles else {**names, **_ROWS}


def _condition(layer: AppliedLayer) -> str:
    g = layer.task.layer.geometry
    return " && ".join(f"c->{member} == {getattr(g, name)}" for member, name in _compared(layer).items())


def _scratch(layer: AppliedLayer) -> str:
    g = layer.task.layer.geometry
    template = layer.template
    size = template.scratch_bytes(g, template.space(g), layer.record.config)
    names = {name for name in _compared(layer).values() if name not in _ROWS}
    return " * ".join([f"({name} == {getattr(g, name)})" for name in sorted(names)] + [str(size)])
