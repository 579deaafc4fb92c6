"""Sweeps on a Dask cluster, whose workers are processes: the same file, also when workers or the cluster die."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.sweeps import executors as cluster
from mcusim.sweeps import read_study, sweep, sweep_table
from mcusim.sweeps.executors import DIED
from tests.support.boards.sweep_studies import LONG, finished_rows, names, write
from tests.support.cases import only_with_all_cases
from tests.support.other_processes import kill

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
SHORTER = LONG.replace('high = "200 MHz"', 'high = "140 MHz"')


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Any]:
    """A cluster of two workers with one thread each, as `dask worker --nworkers 2 --nthreads 1` starts them."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(local_directory=str(tmp_path / "dask"), **options) as found:
        yield found


def pids(found: Any) -> list[int]:
    """The processes of the workers."""
    from distributed import Client

    with Client(found.scheduler_address, set_as_default=False) as client:
        return sorted(client.run(os.getpid).values())


@only_with_all_cases
def test_the_same_file_though_a_worker_is_killed(tmp_path: Path, workers: Any) -> None:
    study = write(tmp_path, SHORTER)
    sweep(study, tmp_path / "alone.parquet", jobs=1)
    victims = pids(workers)
    output = tmp_path / "dask.parquet"

    def step(done: int, _: int) -> None:
        if done >= 8 and victims:
            kill(victims.pop())
            victims.clear()

    table = sweep_table(read_study(study), output, dask=workers.scheduler_address, progress=step)
    assert table.num_rows == 30
    assert not victims
    assert output.read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    assert not Path(f"{output}.journal").exists()
    # and by the command
    again = tmp_path / "again.parquet"
    assert main(["sweep", str(study), "-o", str(again), "--dask", workers.scheduler_address]) == 0
    assert again.read_bytes() == output.read_bytes()


@only_with_all_cases
def test_a_cluster_that_goes_away(tmp_path: Path, workers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    study, output = write(tmp_path, SHORTER), tmp_path / "out.parquet"
    monkeypatch.setattr(cluster, "PATIENCE", 1)

    def step(done: int, _: int) -> None:
        if done >= 4:
            workers.close()

    with pytest.raises(UsageError, match="went away"):
        sweep_table(read_study(study), output, dask=workers.scheduler_address, progress=step)
    assert finished_rows(output) >= 4
    sweep(study, output, jobs=1)
    assert [name for name in names(tmp_path) if name != "dask"] == ["out.parquet", "study.toml"]


def test_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    study, output = write(tmp_path, SHORTER), tmp_path / "out.parquet"
    for address in ("tcp://127.0.0.1:1", "nowhere", "", "tcp://127.0.0.1:99999999", "http://x"):
        assert main(["sweep", str(study), "-o", str(output), "--dask", address]) == 2
        printed = capsys.readouterr().err
        assert printed.startswith("error: no Dask scheduler at "), printed
        assert len(printed.splitlines()) == 1
    assert names(tmp_path) == ["study.toml"]  # nor the journal of no point


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)  # as if it were not installed
    study, output = write(tmp_path, SHORTER), tmp_path / "out.parquet"
    assert main(["sweep", str(study), "-o", str(output), "--dask", "tcp://127.0.0.1:8786"]) == 2
    printed = 'error: --dask needs the package "distributed": pip install "mcusim[dask]"\n'
    assert capsys.readouterr().err == printed and names(tmp_path) == ["study.toml"]


class Deadly:
    """A cluster whose workers die of one point, as the client sees it: Dask has given up the task."""

    def __init__(self) -> None:
        self.queue: list[Any] = []
        self.sizes: list[int] = []

    def nthreads(self) -> dict[str, int]:
        return {"a": 1, "b": 1}

    def submit(self, _function: Any, _work: Any, batch: Any, *, pure: bool) -> Any:
        assert not pure
        self.sizes.append(len(batch))
        return Task([key for key, _ in batch])

    add = property(lambda self: self.queue.append)

    def __next__(self) -> Any:
        return self.queue.pop(0)


class Task:
    def __init__(self, keys: list[str]) -> None:
        self.keys = keys

    def result(self) -> Any:
        if "deadly" in self.keys:
            from distributed import KilledWorker

            raise KilledWorker("task", None, 3)
        return [(key, {"status": "ok"}) for key in self.keys]


def test_a_point_that_ends_every_worker_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    found = Deadly()
    monkeypatch.setattr(cluster, "_finished", lambda client: client)
    batches: Any = [(("1", ()), ("deadly", ()), ("2", ())), (("3", ()), ("4", ()))]
    done = dict(row for rows in cluster._as_they_end(found, Any, list(batches)) for row in rows)
    assert done.pop("deadly")["error"] == DIED
    assert done == {key: {"status": "ok"} for key in "1234"}
    assert found.sizes == [3, 2, 1, 1, 1]
