"""The fidelity ledger: per core, device, fidelity, kernels and policy what is modelled, what is not, which tests pin
it, and its error where that is known.

The entries are ``ledger.toml`` in this folder; the errors of profiles that were fitted to a compiled set come from
the profiles. Not modelled: the error of a whole run, which is what ``mcusim validate`` is for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from statistics import median
from textwrap import wrap
from typing import Any

from mcusim.evidence.validate.table import coverage_lines
from mcusim.evidence.validate.trials import trials, trials_json, trials_markdown, trials_table
from mcusim.evidence.validate.validate import stored_validation

KINDS = {
    "core": "Cores",
    "device": "Devices",
    "fidelity": "Fidelities",
    "kernels": "Kernel sets",
    "profile": "Kernel cost profiles",
    "policy": "Policies",
}
_INDENT, _WIDTH = 17, 80
_FURTHEST = 12
_HEAD = """<!-- written by scripts/docs from mcusim/evidence/validate/ledger.toml; do not edit -->
# Fidelity ledger

What is modelled, what is not, which tests pin it, and how far off it is where that is known. An error is listed only
if a test fails when it is exceeded; [programs tried](#programs-tried) are at the end. Whole runs are compared in
[published measurements](published.md). Of the kernels of fitted profiles `mcusim validate --ledger` lists those with
the largest errors, with `--json` all.
"""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """``kind`` is one of :data:`KINDS`. ``tests`` and ``error_tests`` are ``file::function`` below ``tests/``.

    The latter fail when ``error`` is exceeded, which is None where none is known. ``modules``: whose docstrings say
    more.
    """

    kind: str
    name: str
    modelled: str
    left_out: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    error: str | None = None
    error_tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelError:
    """One function, or case of one, of a fitted profile on one core: error of its cycles over ``runs`` emulated calls,
    in percent."""

    profile: str
    core: str
    kernel: str
    runs: int
    median: float
    worst: float


@cache
def entries() -> tuple[LedgerEntry, ...]:
    """All entries, by kind in the order of :data:`KINDS`."""
    data = tomllib.loads(files("mcusim.evidence.validate").joinpath("ledger.toml").read_text(encoding="utf-8"))
    return tuple(_entry(kind, name, table) for kind in KINDS for name, table in data[kind].items())


def _entry(kind: str, name: str, table: dict[str, Any]) -> LedgerEntry:
    lists = {key: tuple(table.get(key, ())) for key in ("modules", "tests", "error_tests")}
    error = table.get("error") if kind != "profile" or "error" in table else _fitted(name)
    return LedgerEntry(kind, name, table["modelled"], table["left_out"], error=error, **lists)


def _fitted(profile: str) -> str | None:
    """What the fit of a profile left, over its kernels."""
    errors = kernel_errors(profile)
    if not errors:
        return None
    kernels, medians = {k.kernel for k in errors}, [k.median for k in errors]
    worst = max(errors, key=lambda k: k.worst)
    return (
        f"cycles of {len(kernels)} kernels against the emulated set: median of a kernel {median(medians):.1f} %,"
        f" largest median {max(medians):.1f} %, worst call {worst.worst:.1f} % ({worst.kernel})"
    )


def kernel_errors(profile: str | None = None) -> tuple[KernelError, ...]:
    """Every kernel of one fitted profile, or of all, with its error on each core."""
    from mcusim.kernels import load_profile, profile_names

    return tuple(
        KernelError(name, core, kernel, fitted_costs.runs, fitted_costs.median, fitted_costs.worst)
        for name in ([profile] if profile else profile_names())
        for core, costs in load_profile(name).cores.items()
        if not costs.families  # which say it in their file, by family
        for kernel, fitted_costs in sorted(costs.fitted.items())
    )


def ledger_json() -> dict[str, Any]:
    """``entries``, ``kernels``, ``trials`` and ``coverage`` of the intervals, as plain data."""
    return {
        "entries": [asdict(entry) for entry in entries()],
        "kernels": [asdict(kernel) for kernel in kernel_errors()],
        "trials": trials_json(trials()),
        "coverage": [asdict(coverage) for coverage in stored_validation().coverage],
    }


def ledger_table() -> str:
    """The text that ``mcusim validate --ledger`` prints, 80 columns wide; of the kernels it has those furthest off."""
    lines = []
    for kind, title in KINDS.items():
        lines.append(title)
        for entry in entries():
            if entry.kind == kind:
                lines += ["", f"  {entry.name}", *_lines(entry)]
        lines.append("")
    text = (
        f"Kernels of the fitted profiles: error of the cycles of emulated calls in percent, the {_FURTHEST} furthest"
        f" off of {len(kernel_errors())}; all are in JSON"
    )
    kept = [*coverage_lines(stored_validation().coverage), *trials_table(_WIDTH), ""]
    return "\n".join([*lines, *kept, *wrap(text, _WIDTH), "", *_kernel_lines()]).rstrip()


def _lines(entry: LedgerEntry) -> Iterator[str]:
    pairs = [("modelled", entry.modelled), ("not modelled", entry.left_out), ("error", entry.error or "not known")]
    pairs.append(("tests", ", ".join(_shown(entry.tests))))
    pairs += [("error in", ", ".join(_shown(entry.error_tests)))] if entry.error_tests else []
    for label, text in pairs:
        body = wrap(text, _WIDTH - _INDENT, break_long_words=False, break_on_hyphens=False)
        yield from (f"{('    ' + label if not i else ''):<{_INDENT}}{part}" for i, part in enumerate(body))


def _shown(tests: Sequence[str]) -> list[str]:
    """Tests by file, each file once with how many of its functions are meant."""
    by_file: dict[str, int] = {}
    for test in tests:
        file = test.partition("::")[0]
        by_file[file] = by_file.get(file, 0) + 1
    return [file + (f" ({count})" if count > 1 else "") for file, count in by_file.items()]


def _kernel_lines() -> list[str]:
    from mcusim.text import columns

    rows = [["profile", "kernel", "core", "runs", "median", "worst"]]
    furthest = sorted(kernel_errors(), key=lambda k: -k.worst)[:_FURTHEST]
    rows += [[k.profile, k.kernel, k.core, f"{k.runs}", f"{k.median:.1f}", f"{k.worst:.1f}"] for k in furthest]
    return columns(rows, left=3)


def ledger_markdown() -> str:
    """The ledger as a Markdown document: a section a kind, a list an entry, tests by name."""
    parts = [_HEAD]
    for kind, title in KINDS.items():
        parts += [f"## {title}", ""]
        for entry in entries():
            if entry.kind == kind:
                parts += [f"### `{entry.name}`", "", *_markdown_lines(entry), ""]
    parts += ["## Intervals", "", "```text", *coverage_lines(stored_validation().coverage)[:-1], "```", ""]
    return "\n".join([*parts, *trials_markdown(), ""])


def _markdown_lines(entry: LedgerEntry) -> Iterator[str]:
    yield f"- **Modelled:** {entry.modelled}"
    yield f"- **Not modelled:** {entry.left_out}"
    yield f"- **Error:** {entry.error or 'not known'}"
    tests = dict.fromkeys((*entry.tests, *entry.error_tests))
    yield "- **Tests:** " + ", ".join(f"`{test}`" for test in tests)
