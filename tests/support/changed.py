"""Which test files to run for what differs from ``main``: those of its folders, and those that import it.

A changed file of the package concerns the tests of its folder, the test files that import it or a file that imports it,
and the runs from end to end; native code is compiled into its callers, whose tests count however far away they are. A
changed file of ``tests/support`` concerns the test files that need it. Not seen: what a test reads without importing
it (a machine file, a page: the tests of their folders are run), and what reaches it by the public functions alone.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.paths import REPOSITORY

FOLDERS = {"machine_configs": "tests/machine", "traces": "tests/program", "docs": "tests/docs", "scripts": "tests/docs"}
ROOT_FILES = "tests/docs"  # README, CHANGELOG, pyproject.toml
ALWAYS = ("tests/architecture", "tests/test_end_to_end.py")  # for any change of the package
FACE = "mcusim/__init__.py"  # what imports the public functions would be every test
NATIVE = ("@native", "@inlined", "@shared")


def changed_files() -> list[str]:
    """Paths from the top of the repository: committed on this branch, changed, or new."""
    base = _git("merge-base", "main", "HEAD")[0]
    return sorted({*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")})


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def imports(path: Path) -> set[str]:
    """Files of the repository that a file imports, wherever it does so."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = set()
    for name in named:
        if name.startswith(("mcusim", "tests")):
            plain = Path(*name.split("."))
            files |= {f"{plain}.py", f"{plain}/__init__.py"}
    return files


def importers(names: Iterable[str], edges: Mapping[str, set[str]]) -> set[str]:
    """Files one step above ``names``; a package's ``__init__`` is no step, for it only hands names on."""
    above = {file for file, imported in edges.items() if imported & set(names)}
    handed = {file for file in above if file.endswith("__init__.py") and file != FACE}
    return above | ({file for file, imported in edges.items() if imported & handed} if handed else set())


def everything_above(names: set[str], edges: Mapping[str, set[str]]) -> set[str]:
    """``names`` and all that import them, in however many steps."""
    reached, frontier = set(names), set(names)
    while frontier:
        frontier = {file for file, imported in edges.items() if imported & frontier} - reached
        reached |= frontier
    return reached


def concerned(changed: Iterable[str], edges: Mapping[str, set[str]], native: set[str]) -> list[str]:
    """Test files and folders of tests, for the ``changed`` files. ``edges``: what each file imports."""
    found: set[str] = set()
    package = {file: imported for file, imported in edges.items() if file.startswith("mcusim/")}
    for name in changed:
        top, _, rest = name.partition("/")
        if top == "tests":
            found |= everything_above({name}, {file: of for file, of in edges.items() if file.startswith("tests/")})
        elif top == "mcusim":
            touched = {name}
            if name in native:
                callers = {file: of for file, of in package.items() if file in native}
                touched = everything_above({name}, callers)
            found |= importers(touched | importers(touched, package), edges)
            found |= {*ALWAYS, str(Path("tests", rest).parent) if "/" in rest else f"tests/test_{rest}"}
        else:
            found.add(FOLDERS.get(top, ROOT_FILES) if rest else ROOT_FILES)
    chosen = {file for file in found if Path(file).name.startswith("test_") or not file.endswith(".py")}
    folders = {file for file in chosen if not file.endswith(".py")}
    return sorted(file for file in chosen if not _below(file, folders - {file}))


def _below(file: str, folders: set[str]) -> bool:
    return any(file.startswith(f"{folder}/") for folder in folders)


def tests_of_changes() -> list[str]:
    """What ``scripts/test --changed`` runs, as it is in the working tree; tests that were deleted are left out."""
    files = [path for top in ("mcusim", "tests") for path in (REPOSITORY / top).rglob("*.py")]
    texts = {path.relative_to(REPOSITORY).as_posix(): path for path in files}
    native = {name for name, path in texts.items() if name.startswith("mcusim/")
              and any(mark in path.read_text(encoding="utf-8") for mark in NATIVE)}  # fmt: skip
    edges = {name: imports(path) for name, path in texts.items()}
    found = concerned(changed_files(), edges, native)
    benchmarks = "tests/benchmarks"
    return [name for name in found if (REPOSITORY / name).exists() and not name.startswith(benchmarks)]
