"""The cache of ``mcusim validate``: what an outcome depends on, and files that are broken or cannot be written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcusim.evidence.validate import cache as validation_cache
from mcusim.evidence.validate.cache import OutcomeCache, cache_folder
from mcusim.measurements.published.runs import published
from mcusim.measurements.published.stored import FIGURES, StoredOutcome

SOME = StoredOutcome({name: 1234.5 for name, _ in FIGURES.values()})


def test_code_is_hashed_by_content_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest() -> str:
        validation_cache.code_sha256.cache_clear()
        return validation_cache.code_sha256()

    (tmp_path / "kernels").mkdir()
    (tmp_path / "commands").mkdir()
    (tmp_path / "_data" / "machine_configs").mkdir(parents=True)
    monkeypatch.setattr(validation_cache, "files", lambda _: tmp_path)
    found = [digest()]
    for name, text in (
        ("kernels/a.py", "a"), ("kernels/a.py", "b"), ("kernels/x.elf", "a"), ("kernels/p.toml", ""), ("b.py", "b"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        found.append(digest())
    assert len({*found}) == 6
    # machines have hashes of their own; here an installed package has what a source tree has elsewhere
    left_out = ("commands/c.py", "cli.py", "kernels/notes.md", "some_html.py", "published_runs.toml")
    for name in (*left_out, "_data/machine_configs/m.toml"):
        (tmp_path / name).write_text("does not compute")
        assert digest() == found[-1]
    validation_cache.code_sha256.cache_clear()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"figures": 1}', "\udcff", "[" * 60_000, '{"rests_on": "?", "figures": {}}'],
)
def test_a_broken_entry_is_as_good_as_none(text: str, tmp_path: Path) -> None:
    run = next(one.run for one in published() if one.run.model == "figure-1")
    kept = OutcomeCache(tmp_path / "cache")
    assert kept.get(run, "sha") is None
    kept.put(run, "sha", SOME)
    assert kept.get(run, "sha") == SOME and kept.get(run, "other") is None
    (path,) = (tmp_path / "cache").iterdir()
    document = json.loads(path.read_text())
    for figures in ([1], {"latency_ms": "1"}, {"latency_ms": True}, {"unknown": 1.0}, {"latency_ms": float("nan")}):
        path.write_text(json.dumps(document | {"figures": figures}))
        assert kept.get(run, "sha") is None
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert kept.get(run, "sha") is None
    kept.put(run, "sha", StoredOutcome(reason="it does not fit"))
    assert kept.get(run, "sha") is None
    kept.put(run, "sha", SOME)
    assert kept.get(run, "sha") == SOME
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run = published()[0].run
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        kept = OutcomeCache(folder)
        kept.put(run, "sha", SOME)
        assert kept.get(run, "sha") is None
    (tmp_path / "pipes").mkdir()
    os.mkfifo(OutcomeCache(tmp_path / "pipes")._path(run))
    assert OutcomeCache(tmp_path / "pipes").get(run, "sha") is None


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for named, folder in (("/a/b", "/a/b"), ("relative", f"{tmp_path}/home/.cache"), ("", f"{tmp_path}/home/.cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert cache_folder() == Path(folder) / "mcusim" / "validation"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / "home" / ".cache" / "mcusim" / "validation"

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    assert cache_folder() is None
