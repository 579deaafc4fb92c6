"""Kernel sets as text and as JSON: what ``mcusim kernels`` prints."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from mcusim.errors import InputError
from mcusim.kernels.building import BuildRecord, read_record
from mcusim.kernels.cost.profile import load_profile, profile_names
from mcusim.kernels.kernel_set import FOLDER, Kernel, KernelSet
from mcusim.machine.cores import CORES
from mcusim.text import columns, wrapped


def sets_json(sets: Sequence[KernelSet]) -> dict[str, Any]:
    """``sets``: for each ``name title operators`` (names), ``kernels`` (lines of the manifest), ``code_bytes`` by core
    (code and constants; null where it is not built), ``compiler`` and ``flags`` (as BUILD.toml says, else null),
    ``profiles`` (cost profiles measured on it) and ``warnings``.

    Not modelled: what :func:`set_json` has of one set.
    """
    return {"sets": [_summary(kernels) for kernels in sets]}


def _summary(kernels: KernelSet) -> dict[str, Any]:
    record = read_record(kernels)
    missing = [isa for isa in CORES if not _is_built(kernels, isa)]
    return {
        "name": kernels.name,
        "title": kernels.title,
        "operators": sorted({operator for operator, _ in kernels.kernels}),
        "kernels": len(kernels.kernels),
        "code_bytes": {isa: None if isa in missing else kernels.loaded_bytes(isa) for isa in CORES},
        "compiler": record and record.compiler,
        "flags": record and record.flags,
        "profiles": _profiles(kernels),
        "warnings": _warnings(kernels, record, missing),
    }


def _profiles(kernels: KernelSet) -> list[str]:
    """Profiles are of the sets that ship; one of the same name elsewhere may be built in another way."""
    if kernels.manifest.parent.parent != FOLDER:
        return []
    return [name for name in profile_names() if load_profile(name).set == kernels.name]


def _is_built(kernels: KernelSet, isa: str) -> bool:
    try:
        return kernels.elf(isa).is_file()
    except InputError:
        return False


def _warnings(kernels: KernelSet, record: BuildRecord | None, missing: Sequence[str]) -> list[str]:
    warnings = [f"{kernels.name} is not built for {isa}: mcusim kernels build" for isa in missing]
    if record is not None:
        warnings += [f"{name} is not the file that its BUILD.toml was written for" for name in record.changed]
    return warnings


def sets_table(sets: Sequence[KernelSet]) -> str:
    """One line for each set, then titles, compilers and flags."""
    shown = sets_json(sets)["sets"]
    rows = [["set", "cost profile", "operators", "kernels", *CORES]]
    for row in shown:
        sizes = [_bytes(size) for size in row["code_bytes"].values()]
        profiles = ", ".join(row["profiles"]) or "-"
        rows.append([row["name"], profiles, str(len(row["operators"])), str(row["kernels"]), *sizes])
    lines = [*columns(rows, left=2, indent=0), ""]
    for row in shown:
        lines += wrapped(_plain(f"{row['name']}: {row['title'] or 'no title'}"))
    names: dict[tuple[str | None, str | None], list[str]] = {}
    for row in shown:
        names.setdefault((row["compiler"], row["flags"]), []).append(row["name"])
    for built, same in names.items():
        lines += ["", *_built(", ".join(same), *built)]
    lines += [f"warning: {warning}" for row in shown for warning in row["warnings"]]
    return "\n".join(lines)


def _built(names: str, compiler: str | None, flags: str | None) -> list[str]:
    if compiler is None:
        return [f"{names}: no BUILD.toml says what built it"]
    rows = textwrap.wrap(_plain(flags or ""), 76, break_long_words=False, break_on_hyphens=False)
    return [f"{names}: built by", f"  {_plain(compiler)}", *(f"    {row}" for row in rows)]


def _plain(text: str) -> str:
    """A text from a file, without what a terminal would act on."""
    return "".join(c if c.isprintable() else " " for c in text)


def _bytes(size: int | None) -> str:
    return "-" if size is None else f"{size:,} B"


def set_json(kernels: KernelSet) -> dict[str, Any]:
    """As one of :func:`sets_json`, with ``manifest``, ``sources`` and, in ``kernels``, each line of the manifest:
    ``operator types symbol layout scratch`` (bytes, a formula of the operator's shape) and ``code_bytes`` by core (the
    function itself, without what it calls).
    """
    row = _summary(kernels)
    row["manifest"], row["sources"] = str(kernels.manifest), list(kernels.sources)
    row["kernels"] = [_line(kernels, kernel, row["code_bytes"]) for kernel in kernels.kernels.values()]
    return row


def _line(kernels: KernelSet, kernel: Kernel, built: dict[str, int | None]) -> dict[str, Any]:
    return {
        "operator": kernel.operator,
        "types": kernel.types,
        "symbol": kernel.symbol,
        "layout": kernel.layout,
        "scratch": kernel.scratch,
        "code_bytes": {isa: size and kernels.code_bytes(isa, kernel) for isa, size in built.items()},
    }


def set_table(kernels: KernelSet) -> str:
    """What is known of the set, then operator by operator the function of each type."""
    row = set_json(kernels)
    lines = [kernels.name, *wrapped(_plain(kernels.title or "no title")), ""]
    facts = [[f"code, {isa}", _bytes(size)] for isa, size in row["code_bytes"].items()]
    facts.append(["cost profile", ", ".join(row["profiles"]) or "-"])
    lines += [*columns(facts, left=2), "", *_built(kernels.name, row["compiler"], row["flags"]), ""]
    lines += _kernel_lines(row["kernels"])
    for line in row["kernels"]:
        if line["scratch"] != "0":
            lines += ["", f"scratch of {line['symbol']}, bytes", *wrapped(line["scratch"])]
    lines += ["", "sizes are the function's own, without what it calls"]
    lines += [f"warning: {warning}" for warning in row["warnings"]]
    return "\n".join(lines)


def _kernel_lines(kernels: Sequence[dict[str, Any]]) -> list[str]:
    """The functions by types, below the name of their operator and that of the structure that they take."""
    rows = [["operator, types", "function", *CORES]]
    rows += [[f"  {k['types']}", f"  {k['symbol']}", *map(_bytes, k["code_bytes"].values())] for k in kernels]
    head, *body = columns(rows, left=2, indent=0)
    lines, left = [head], iter(body)
    for (operator, layout), group in groupby(kernels, lambda line: (line["operator"], line["layout"])):
        lines += [f"{operator}, {layout}", *(next(left) for _ in group)]
    return lines
