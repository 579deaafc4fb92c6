"""``scripts/test --changed`` names the tests that a change concerns."""

from __future__ import annotations

from tests.support.changed import ALWAYS, concerned

EDGES = {
    "mcusim/__init__.py": {"mcusim/api/run.py"},
    "mcusim/api/run.py": {"mcusim/plan/__init__.py"},
    "mcusim/plan/__init__.py": {"mcusim/plan/arena.py"},
    "mcusim/plan/arena.py": {"mcusim/memory/walk.py"},
    "mcusim/memory/walk.py": {"mcusim/memory/find.py"},
    "mcusim/memory/find.py": set[str](),
    "tests/support/arenas.py": {"mcusim/plan/__init__.py"},
    "tests/plan/test_arena.py": {"tests/support/arenas.py"},
    "tests/api/test_run.py": {"mcusim/__init__.py"},
    "tests/sweeps/test_pace.py": {"mcusim/plan/__init__.py"},
    "tests/memory/test_walk.py": {"mcusim/memory/walk.py"},
    "tests/cpu/test_arenas.py": {"mcusim/plan/arena.py"},
}
NATIVE = {"mcusim/memory/find.py", "mcusim/memory/walk.py"}


def test_the_tests_of_the_folder_and_of_the_importers() -> None:
    found = {"tests/plan", "tests/sweeps/test_pace.py", "tests/cpu/test_arenas.py", *ALWAYS}
    assert concerned(["mcusim/plan/arena.py"], EDGES, NATIVE) == sorted(found)


def test_callers_of_native_code_however_far_away() -> None:
    found = concerned(["mcusim/memory/find.py"], EDGES, NATIVE)
    assert {"tests/memory", "tests/cpu/test_arenas.py"} <= set(found) and "tests/api/test_run.py" not in found
    assert "tests/cpu/test_arenas.py" not in concerned(["mcusim/memory/find.py"], EDGES, {"mcusim/memory/find.py"})


def test_helpers_pages_and_files_of_the_top() -> None:
    assert concerned(["tests/support/arenas.py"], EDGES, NATIVE) == ["tests/plan/test_arena.py"]
    assert concerned(["README.md", "docs/pages/index.md"], EDGES, NATIVE) == ["tests/docs"]
    assert concerned([], EDGES, NATIVE) == []
