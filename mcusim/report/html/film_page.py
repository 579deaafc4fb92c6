"""A film as one HTML file: a player for what caches, rows, transfers and the core did, event by event."""

from __future__ import annotations

from mcusim.errors import UsageError
from mcusim.report.html.page import page, plain, shortened
from mcusim.results.film import MOST_BYTES, Film
from mcusim.run_config.film_window import window_text

FILM_SCRIPTS: tuple[str, ...] = ("film_state.js", "film.js")
FILM_STYLES: tuple[str, ...] = ("film.css",)


def film_section(film: Film) -> str:
    """The player as a part of a page that has :data:`FILM_SCRIPTS` and :data:`FILM_STYLES`."""
    data = film.text()
    for character in "<>&":  # they occur inside strings only
        data = data.replace(character, f"\\u{ord(character):04x}")
    return f'<section class="film" aria-label="film"><script type="application/json">{data}</script></section>'


def film_page(film: Film) -> str:
    """The page. Raises UsageError, naming a window that fits, for a film of more than 5 MB."""
    begin, end = (f"{cycle * 1000 / film.clock:.4g}" for cycle in (film.since, film.until))
    text = f"{film.machine}, fidelity {film.fidelity}, {begin} ms to {end} ms, {len(film.columns['tick']):,} events."
    text += " A column of a cache is a set; the pointer on a line says what it has. Space plays, arrows step."
    if film.lost is not None:
        text += " There was no room for more."
    title = f"{shortened(film.model or 'a model without a name', 80)}, filmed"
    result = page(title, [f'<p class="dim">{plain(text)}</p>', film_section(film)], FILM_SCRIPTS, FILM_STYLES)
    if len(result) > MOST_BYTES:
        share = 0.9 * MOST_BYTES / len(result)
        fits = window_text(film.since, film.since + int(share * (film.until - film.since)), film.clock)
        raise UsageError(f"film window: the file would have {len(result) / 1e6:.1f} MB, at most 5; {fits} fits")
    return result
