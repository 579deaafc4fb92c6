"""Sample programs by name, where there is no file of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.program.samples import sample_file, samples_directory


def test_samples_by_name_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = samples_directory()
    assert sample_file("cached-filters.jsonl") == folder / "cached-filters.jsonl"
    assert sample_file("broken-17.jsonl") == folder / "broken-17-missing-clean.jsonl"
    for other in ("broken.jsonl", "broken-1.jsonl", "cached.jsonl", "./cached-filters.jsonl", "README.md", "-.jsonl"):
        assert sample_file(other) == Path(other)
    Path("cached-filters.jsonl").write_text("mine")
    assert sample_file("cached-filters.jsonl") == Path("cached-filters.jsonl"), "a file of one's own comes first"
