"""Folders say what they are for and have their tests; no module hides a public name; native code is renewed."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import mcusim
from tests.support.imports import FILES, MODULES, PACKAGE, imported
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import REPOSITORY

FOLDERS = sorted({path.parent for path in FILES})


def test_a_folder_says_its_purpose_in_one_line() -> None:
    docs = {f: ast.get_docstring(ast.parse((f / "__init__.py").read_text(encoding="utf-8"))) or "" for f in FOLDERS}
    assert len(docs) > 60
    for folder, doc in docs.items():
        first, *more = doc.splitlines() or [""]
        assert first.endswith(".") and len(first) > 10, f"{folder}: {first}"
        assert not more or more[0] == "", f"{folder}: more than one line before the first blank: {doc}"


def test_a_folder_has_its_tests() -> None:
    own = {folder for folder in FOLDERS if folder.parent.name != "families"} - {PACKAGE}  # those have theirs together
    tests = {REPOSITORY / "tests" / folder.relative_to(PACKAGE) for folder in own}
    assert {str(folder.relative_to(REPOSITORY)) for folder in tests if not list(folder.rglob("test_*.py"))} == set()


def test_tests_lie_where_their_package_is() -> None:
    known = {Path(), *(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_dir())}
    others = {"architecture", "benchmarks", "data", "docs", "how_to", "scripts", "support"}
    strange = {
        str(path.relative_to(REPOSITORY))
        for path in (REPOSITORY / "tests").rglob("test_*.py")
        if path.relative_to(REPOSITORY / "tests").parts[0] not in others
        and path.parent.relative_to(REPOSITORY / "tests") not in known
    }
    assert strange == set()


def test_no_module_has_the_name_of_a_public_function() -> None:
    """A loaded module is an attribute of its package: it would hide the function."""
    top = {name.split(".")[1] for name in MODULES if name.count(".") == 1}
    assert top & set(mcusim.__all__) == set()


def test_every_public_name_is_there_after_every_module_is_loaded() -> None:
    names = sorted(name for name in MODULES if not name.endswith("__main__"))
    code = (
        "import importlib, mcusim\n"
        f"for name in {names}: importlib.import_module(name)\n"
        "for name in mcusim.__all__:\n"
        "    value = getattr(mcusim, name)\n"
        "    assert type(value).__name__ != 'module', name\n"
        "    assert isinstance(value, str) or callable(value), name\n"
        "print(len(mcusim.__all__))"
    )
    environment = {**os.environ, "MCUSIM_NATIVE": "0"}  # only loaded, not compiled
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_WAIT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) >= 10


def test_the_key_of_native_code_sees_all_its_sources() -> None:
    """Or a caller would keep the old code of a callee that was edited."""
    from mcusim.native import objects

    texts = {path: path.read_text(encoding="utf-8") for path in FILES}
    native = {path for path, text in texts.items() if re.search(r"@(native|shared|inlined|callback)|inlined\(", text)}
    seen = {path for folder in objects.SOURCES for path in (PACKAGE / folder).rglob("*.py")}
    assert len(native) > 20 and native <= seen
    values = {MODULES[name] for path in native for name in imported(path)} - seen  # constants are compiled in
    python_alone = {"cores.py", "description.py"}  # what system/ppb.py prepares registers by
    assert {path.name for path in values} == python_alone
