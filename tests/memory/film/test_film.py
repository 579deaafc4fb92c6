"""Films: a run is the same with one, it has all that the run counted, and its page is right at any moment."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim import plan_program, replay, simulate
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import load_machine
from mcusim.machine.description import Sdram
from mcusim.memory.film import events
from mcusim.program.program import Maintain
from mcusim.report.html.film_page import film_page
from mcusim.results import Result
from mcusim.results.film import Film
from tests.memory.cache.test_cache_reference import LINE, Reference
from tests.support.cases import few, sample_size
from tests.support.other_processes import LONGEST_WAIT
from tests.support.pages.browser import opened

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
LRU = {"cache.data.replacement": "lru"}


def filmed(fidelity: str, policy: str, machine: str = F746, film: str = "begin", **keys: str) -> tuple[Result, Film]:
    found = simulate("figure-1", machine, policy, fidelity=fidelity, film=film, overrides=keys)
    assert found.film is not None
    return found, found.film


@few(3)
@pytest.mark.parametrize("machine", [F746, F469])
@pytest.mark.parametrize("policy", ["tinyops", "external", "internal"])
@pytest.mark.parametrize("fidelity", ["replay", "emulate"])
def test_a_run_is_the_same_and_its_film_has_what_it_counted(fidelity: str, policy: str, machine: str) -> None:
    plain = simulate("figure-1", machine, policy, fidelity=fidelity)
    found, film = filmed(fidelity, policy, machine)
    run = found.run
    assert run == plain.run and run is not None
    if film.lost is not None:
        return  # no room for all of it
    kinds, counters = Counter(film.columns["kind"].tolist()), run.counters
    lines = sum(cache.sets * cache.ways for cache in film.caches if cache.name == "data")
    fills = film.columns["a"][film.columns["kind"] == events.FILL]
    assert (fills < lines).sum() == counters["dcache_misses"] or policy == "internal"  # which may be of write-through
    assert kinds[events.WRITE_BACK] == counters["dcache_writebacks"]
    if fidelity == "emulate":
        assert kinds[events.ROW] == counters["sdram_row_misses"]
    written = film.columns["b"][film.columns["kind"] == events.BEAT_WRITE].sum()
    assert written == sum(traffic.dma_write for traffic in run.traffic.values())
    beats = film.columns["kind"] >= events.BEAT_READ
    assert (film.columns["c"][beats] > 0).all(), "each beat is of a stream"


def states(film: Film, browser: Any, folder: Path, moments: list[int]) -> list[dict[str, Any]]:
    """What the page says after so many events, in any order."""
    with opened(browser, film_page(film), folder) as page:
        page.page.wait_for_selector(".film.ready", timeout=1000 * LONGEST_WAIT)
        script = (
            "(at) => { const {state} = document.querySelector('.film').player; state.seek(at); return state.plain(); }"
        )
        found = [page.page.evaluate(script, moment) for moment in moments]
        assert not page.printed
        assert all(address.startswith(("file:", "data:", "blob:")) for address in page.asked)
    return found


def test_lines_are_those_of_a_textbook_cache_at_any_moment(browser: Any, tmp_path: Path) -> None:
    """Recomputed from the core's loads and stores to SDRAM alone, from the reset on."""
    _, film = filmed("emulate", "external", **LRU)
    cache = film.caches[0]
    moments = sorted(random.Random(3).sample(range(len(film.columns["tick"])), sample_size(1000, 40)))
    dice, reference, at = random.Random(4), Reference(cache.sets * cache.ways * LINE, cache.ways), 0
    order = dice.sample(moments, len(moments))
    shown = dict(zip(order, states(film, browser, tmp_path, order), strict=True))
    regions = [one for one in load_machine(F746).memory.values() if one.kind in ("sram", "sdram", "flash")]
    cached = [(one.base, one.base + one.size) for one in regions if one.attribute.startswith("write")]
    assert len(cached) > 1
    columns = [film.columns[name].tolist() for name in ("kind", "a", "b")]
    for moment in moments:
        for kind, a, b in zip(*(column[at:moment] for column in columns), strict=True):
            if kind in (events.LOAD, events.STORE) and any(low <= a < high for low, high in cached):
                for tag in range(a // LINE, (a + (b & 255) - 1) // LINE + 1):
                    reference.access(tag * LINE, kind == events.STORE)
        at = moment
        found = shown[moment]
        if columns[0][moment - 1] not in (events.LOAD, events.STORE):
            continue  # in the middle of an access
        lines = cache.sets * cache.ways
        tags, dirty = np.array(found["tags"][:lines]), np.array(found["dirty"][:lines])
        held = {int(tag): bool(mark) for tag, mark in zip(tags, dirty, strict=True) if tag >= 0}
        assert held == {tag: mark for one in reference.sets for tag, mark in one.items()}, moment


def test_rows_and_beats_are_right_at_any_moment(browser: Any, tmp_path: Path) -> None:
    """Of a board without a data cache: the last access to a bank since the last refresh says its open row."""
    _, film = filmed("emulate", "tinyops", F469)
    region = load_machine(F469).memory["sdram"]
    device = region.device
    assert isinstance(device, Sdram) and device.mapping == "bank-row-column"
    row_bytes = device.columns * device.width // 8
    moments = sorted(random.Random(5).sample(range(len(film.columns["tick"])), sample_size(1000, 30)))
    columns, at, beats = [film.columns[name].tolist() for name in ("kind", "a", "b", "c")], 0, 0
    rows, reached = [-1] * device.banks, (events.LOAD, events.STORE, events.BEAT_READ, events.BEAT_WRITE)
    for moment, found in zip(moments, states(film, browser, tmp_path, moments), strict=True):
        for kind, a, _, _ in zip(*(column[at:moment] for column in columns), strict=True):
            beats += kind >= events.BEAT_READ
            if kind == events.REFRESH:
                rows = [-1] * device.banks
            elif kind in reached and region.base <= a < region.base + region.size:
                number = (a - region.base) // row_bytes
                rows[number // device.rows] = number % device.rows
        at = moment
        assert found["counts"]["beats"] == beats
        if columns[0][moment - 1] in reached and columns[0][moment] not in (events.ROW, events.REFRESH):
            assert found["rows"]["sdram"] == rows, moment


def test_what_is_stale_is_seen(browser: Any, tmp_path: Path) -> None:
    """A program without its cache maintenance: the DMA reads memory behind dirty lines. With it there is nothing."""
    good = plan_program("figure-1", F746, "tinyops", kernels="cmsis")
    gone = {task.id for task in good.tasks if isinstance(task, Maintain)}
    before = {task.id: task.after for task in good.tasks}

    def kept(ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(n for one in ids for n in (kept(before[one]) if one in gone else (one,))))

    bad = replace(good, tasks=tuple(replace(t, after=kept(t.after)) for t in good.tasks if t.id not in gone))
    for program, wrong in ((good, False), (bad, True)):
        found = replay(program, fidelity="emulate", kernels="cmsis", model="figure-1", film="0 ms to 1 ms")
        assert gone and found.film is not None
        read = np.flatnonzero(found.film.columns["kind"] == events.BEAT_READ) + 1
        moments = [*read[:: max(1, len(read) // 40)].tolist(), len(read), len(found.film.columns["tick"])]
        *marked, last = states(found.film, browser, tmp_path, moments)
        assert any(state["behind"] for state in marked) is wrong, "the lines that the DMA read behind"
        assert (last["counts"]["stale reads"] > 0) is wrong


@pytest.mark.parametrize("fidelity", ["replay", "emulate"])
def test_a_miss_comes_before_the_rows_that_it_opens(fidelity: str) -> None:
    """And a write-back before its own: everything that reaches this SDRAM is a line."""
    kinds = filmed(fidelity, "external", film="0 ms to 2 ms")[1].columns["kind"].tolist()
    rows = [place for place, kind in enumerate(kinds) if kind == events.ROW]
    causes = {events.FILL, events.WRITE_BACK, events.ROW, events.REFRESH}
    assert len(rows) > 50 and all(kinds[place - 1] in causes for place in rows)


def test_a_window_is_what_was_asked_for() -> None:
    whole_run, film = filmed("replay", "external", film="0 ms to 50 ms")
    assert whole_run.run is not None and film.until == whole_run.run.cycles
    part = filmed("replay", "external", film="1000 cycles to 3000 cycles")[1]
    assert (part.since, part.until) == (1000, 3000)
    own = {
        name: column[(film.columns["tick"] >= 256_000) & (film.columns["tick"] < 768_000)]
        for name, column in film.columns.items()
    }
    for name in ("kind", "a", "b", "c"):
        assert part.columns[name].tolist() == own[name].tolist(), name
    assert part.caches[0].tags != film.caches[0].tags, "what the caches held when it begins"


def test_windows_that_cannot_be_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, says in (
        (["--film-window", "1 ms to 2 ms"], "--film-window has no effect without --film"),
        (["--film", "f.html", "--film-window", "1 ms"], 'must be two times, such as "2 ms to 3 ms"'),
        (["--film", "f.html", "--film-window", "2 ms to 1 ms"], "the second time must be later"),
        (["--film", "f.html", "--film-window", "1 ms to 2 parsec"], "wrong unit parsec"),
        (["--film", "f.html", "--film-window", "9000 ms to 9001 ms"], "it begins after the run, which ends at"),
        (["--film", "f.html", "--film-window", "0 s to 100 s"], 'too many for a film; "0 ms to 77.'),
    ):
        paths = [str(tmp_path / one) if one == "f.html" else one for one in arguments]
        assert main(["run", "figure-1", *paths]) == 2
        error = capsys.readouterr().err
        assert says in error and error.count("\n") == 1, error
    assert not (tmp_path / "f.html").exists()


def test_a_window_with_too_much_names_one_that_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r'events at most; "0 ms to [0-9.]+ ms" fits') as error:
        simulate("figure-1", F746, "external", fidelity="emulate", film="0 ms to 7 ms")
    path, window = tmp_path / "film.html", str(error.value).split('"')[1]
    assert (
        main(
            [
                "run",
                "figure-1",
                "--policy",
                "external",
                "--fidelity",
                "emulate",
                "--film",
                str(path),
                "--film-window",
                window,
            ]
        )
        == 0
    )
    assert 500_000 < path.stat().st_size < 5_000_000
    assert (
        json.loads(path.read_text().split('<script type="application/json">')[1].split("</script>")[0])["count"]
        > 300_000
    )
