"""The command scripts/docs."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from documentation import PAGES, TOP
from documentation.generated import GENERATED
from documentation.notebook import notebook
from documentation.session import PageError, run_page
from documentation.site import build, missing_links, named_files

SITE = TOP / "build" / "docs"
TUTORIAL = PAGES / "tutorial.md"
_SLOW = ("README", "emulate", "validate", "verify", "sweep")  # begun first: the others fill what is left of the time


def main(arguments: Sequence[str]) -> int:
    """Write what is not current and build the site, or with ``--check`` only say what is wrong."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 when a page is not current")
    parser.add_argument("--only", metavar="PART", action="append", help="only pages with PART in their path; no site")
    parser.add_argument("--jobs", type=int, default=2, help="pages that are run at once (default: 2)")
    parser.add_argument("--site", type=Path, default=SITE, help="folder of the site (default: build/docs)")
    parser.add_argument("--pictures", action="store_true", help="take the pictures of the gallery anew and end")
    parser.add_argument("--times", action="store_true", help="say how long each page took")
    asked = parser.parse_args(arguments)
    if asked.pictures:
        from documentation.pictures import take

        take(PAGES / "pictures")
        return 0
    problems = list(_renew(asked.only or [""], asked.check, asked.jobs, asked.times))
    if not asked.only:
        problems += _site(asked.site, asked.check)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _site(folder: Path, check: bool) -> list[str]:
    texts = [*sorted(PAGES.rglob("*.md")), *sorted(TOP.glob("*.md"))]
    problems = [problem for page in texts if page.name != "CHANGELOG.md" for problem in named_files(page)]
    problems += [problem for page in sorted(TOP.glob("*.md")) for problem in missing_links(page)]
    if not check:
        return problems + build(folder)
    with tempfile.TemporaryDirectory(prefix="mcusim-docs-") as aside:
        return problems + build(Path(aside))


def _renew(only: Sequence[str], check: bool, jobs: int, times: bool) -> Iterator[str]:
    """Run and generate pages with a text of ``only`` in their path; what went wrong or, with ``check``, is stale."""
    pages = [path for path in sorted(PAGES.rglob("*.md")) if str(path.relative_to(PAGES)) not in GENERATED]
    wanted = [path for path in (TOP / "README.md", *pages) if any(part in str(path.relative_to(TOP)) for part in only)]
    wanted.sort(key=lambda path: not any(word in path.name for word in _SLOW))
    with ProcessPoolExecutor(jobs, get_context("spawn")) as processes:
        running: dict[Path, Future[tuple[str, float]]] = {path: processes.submit(current, path) for path in wanted}
        for name in GENERATED:
            if any(part in f"docs/pages/{name}" for part in only):
                running[PAGES / name] = processes.submit(generated, name)
        for path, future in running.items():
            try:
                text, seconds = future.result()
            except PageError as error:
                yield str(error)
                continue
            if times:
                print(f"{seconds:6.1f} s  {path.relative_to(TOP)}", file=sys.stderr)
            yield from _keep(path, text, check)
            if path == TUTORIAL:
                yield from _keep(path.with_suffix(".ipynb"), notebook(text), check)


def _keep(path: Path, text: str, check: bool) -> Iterator[str]:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    if check:
        yield f"{path.relative_to(TOP)} is not current; run scripts/docs"
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def current(path: Path) -> tuple[str, float]:
    """A page with its outputs as they are now, and the seconds that took."""
    start = time.monotonic()
    text = run_page(str(path.relative_to(TOP)), path.read_text(encoding="utf-8"))
    return text, time.monotonic() - start


def generated(name: str) -> tuple[str, float]:
    """A generated page, and the seconds that took."""
    start = time.monotonic()
    return GENERATED[name](), time.monotonic() - start
