"""The page of public model files, written from what scripts/evidence/model_files found."""

from __future__ import annotations

from collections import Counter
from typing import Any

Row = dict[str, Any]
HEAD = """# Public model files

<!-- written by scripts/evidence/model_files; do not edit -->
What mcusim makes of the `.tflite` files that public repositories contain. None of them is part of this project: to
repeat it, put one folder for each repository, `owner+name`, into a folder and run
`scripts/evidence/model_files FOLDER`. Files with the same bytes count once.

- **run**: replayed on the STM32F746G-DISCO under policy `internal` where it fits, else `external`, else `external` with
  an SDRAM of 256 MiB (*larger SDRAM*).
- **emulated**: every operator's output on the emulated core, with seeded random inputs, against that of LiteRT's
  reference kernels (or the file's outputs against those of TensorFlow Lite Micro, where LiteRT refuses it): *exact* is
  byte for byte.
- **cycles**: replayed with the default kernel profile, divided by emulated with kernel set `cmsis`.
- **TFLM head**: bytes at the head of TensorFlow Lite Micro's arena as `mcusim memory` says, where TFLM's wheel takes
  the file; *equal* is the wheel's own figure.
"""
COLUMNS = ["file", "sha256", "M MACs", "run", "emulated", "cycles", "TFLM head, B"]
NEAR = 1.5


def page(rows: dict[str, Row], places: dict[str, list[str]]) -> str:
    """``rows``: by hash, what was found; ``places``: by hash, where the file is."""
    models = {digest: rows[digest] for digest in places if rows[digest]["kind"] == "quantised"}
    kinds = Counter(rows[digest]["kind"] for digest in places)
    parts = [HEAD, *_summary(list(models.values()), kinds, len(places))]
    for repository in sorted({names[0].split("/")[0] for names in places.values()}):
        chosen = {d: names for d, names in places.items() if names[0].split("/")[0] == repository and d in models}
        if chosen:
            lines = [_line(names, digest, models[digest]) for digest, names in chosen.items()]
            head = [_cells(COLUMNS), "|" + "---|" * len(COLUMNS)]
            parts += [f"\n## {repository.replace('+', '/')}\n", *head, *lines]
    return "\n".join(parts) + "\n"


def _summary(models: list[Row], kinds: Counter[str], files: int) -> list[str]:
    run = sum("run" in row for row in models)
    tried = [row for row in models if "with" in row]
    exact = sum(row["emulated"] == "exact" for row in tried)
    near = sum(1 / NEAR < row["cycles"] / row["cycles_emulated"] < NEAR for row in tried)
    heads = [row["head"] for row in models if row.get("head")]
    equal = sum(head["ours"] == head["theirs"] for head in heads)
    share = f"{100 * run / max(1, len(models)):.0f} %"
    return [
        f"{files} distinct files: {len(models)} quantised, {kinds['float']} float, {kinds['accelerator']} compiled for",
        f"an accelerator, {kinds['no model']} that are no model. Of the quantised ones **{run} run ({share})**;",
        f"{len(tried)} were emulated, **{exact} byte-exact**, {near} within a factor of {NEAR} of their replay. TFLM's",
        f"wheel takes {len(heads)}; the head of its arena is equal for {equal}.",
    ]


def _line(names: list[str], digest: str, row: Row) -> str:
    more = f" (and {len(names) - 1} more)" * (len(names) > 1)
    reason = f"no: {_clean(row.get('reason', ''))}"
    emulated = row.get("emulated", reason if "run" in row else "")
    if "with" in row:
        emulated += f" ({_clean(row['with'])})"
    ratio = f"{row['cycles'] / row['cycles_emulated']:.2f}" if "cycles_emulated" in row else ""
    macs = f"{row['macs'] / 1e6:,.2f}" if "macs" in row else ""
    path = f"`{names[0].partition('/')[2]}`{more}"
    return _cells([path, f"`{digest[:12]}`", macs, row.get("run", reason), emulated, ratio, _heads(row)])


def _cells(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _heads(row: Row) -> str:
    head = row.get("head")
    if not head:
        return ""
    if head["ours"] == head["theirs"]:
        return f"{head['ours']:,} equal"
    return f"{_clean(str(head['ours']))}, TFLM {head['theirs']:,}"


def _clean(text: str) -> str:
    return text.replace("|", "/").replace("<", "&lt;")[:160]
