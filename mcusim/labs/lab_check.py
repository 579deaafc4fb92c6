"""Whether what a lab states is true of its runs, for every student: what ``mcusim lab check`` finds.

Each statement is checked with each combination of the parameters' values. Not modelled: whether a text is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import isclose
from pathlib import Path

from mcusim.errors import InputError
from mcusim.labs.figures import Figures, machine_of, setups, shown
from mcusim.labs.grader import Grader, Rules, judged
from mcusim.labs.lab import Arrange, Ask, Choose, Compare, Design, Lab, LabRun, Predict, Question, Watch
from mcusim.labs.lab_file import LabFile
from mcusim.labs.texts import plain_numbers, text_fields
from mcusim.report.html.page import shortened

Place = tuple[str | int, ...]
Problem = tuple[Place, str]
BRACES_NEEDED = (
    "write what it rests on in braces: a figure of a run ({two.cycles}), a key of its machine ({two.core.clock}), or a"
    " constant with its source"
)
ASSUMED = "which is assumed: set it, or say in a text what is assumed"
_TIE = 0.001  # values that are nearer have no order that a student can read off


def findings(
    file: LabFile, progress: Callable[[int, int], object] = lambda done, of: None, draws: int | None = None
) -> list[str]:
    """What is not true, each with its place and the parameters of the first student of whom it is not.

    ``draws``: of so many combinations of the parameters alone, without what may be explored. ``progress`` is called
    with how many runs were made and how many there are. Raises UsageError for a file that is no lab.
    """
    every = file.draws()
    labs = every[:draws]
    several, done = sum(len(setups(lab)) for lab in labs), 0
    texts = {place: file.place(place, rule) for place, rule in _plain_numbers(file)}
    for lab in labs:
        figures = Figures(lab, file.folder)
        for setup in setups(lab) if draws is None else ():
            figures.of(setup)
            done += 1
            progress(done, several)
        who = ", ".join(f"{name} = {value}" for name, value in lab.values.items())
        for place, rule in _of_lab(lab, figures):
            text = file.place(place, rule)
            texts.setdefault(place, f"{text} (with {shortened(who, 120)})" if len(every) > 1 else text)
    return [*texts.values()]


def _of_lab(lab: Lab, figures: Figures) -> Iterator[Problem]:
    grader = Grader(figures)
    predictions = {step.id: step for step in lab.steps if isinstance(step, Predict)}
    yield from _of_texts(lab, figures)
    yield from _of_replacement(lab, figures.folder)
    for number, part in enumerate(lab.part):
        for index, step in enumerate(part.step):
            try:
                for path, rule in _of_step(step, predictions, figures, grader):
                    yield ("part", number, "step", index, *path), rule
                figures.filled(step)
            except ValueError as error:  # an expression without a value
                yield ("part", number, "step", index), str(error)


def _of_texts(lab: Lab, figures: Figures) -> Iterator[Problem]:
    """Expressions in the texts between steps that have no value."""
    parts = [(("part", number, "text"), part.text) for number, part in enumerate(lab.part)]
    after = [(("after", key), text) for key, text in (("text", lab.after.text), ("teacher", lab.after.teacher))]
    for place, text in [(("text",), lab.text), *parts, *after]:
        try:
            figures.text(text)
        except ValueError as error:
            yield place, str(error)


def _of_replacement(lab: Lab, folder: Path | None) -> Iterator[Problem]:
    """Counts of misses that rest on a choice of the victim that nobody has documented, where the lab keeps quiet."""
    if any("assum" in text for _, text in text_fields(lab.model_dump(by_alias=True))):
        return
    shown_of = [cache for cache in ("data", "instruction") if any(f"{cache[0]}cache" in name for name in _rows(lab))]
    for number, part in enumerate(lab.part):
        for index, step in enumerate(part.step):
            if not isinstance(step, LabRun):
                continue
            for key in (f"cache.{cache}.replacement" for cache in shown_of):
                figure = machine_of(step, folder).figures.get(key)
                if figure is not None and figure.basis == "assumed" and key not in step.set:
                    yield ("part", number, "step", index, "run"), f"{step.run}: its misses rest on {key}, {ASSUMED}"


def _rows(lab: Lab) -> set[str]:
    """Figures that tables show."""
    return {name for step in lab.steps for name in (*lab.figures, *getattr(step, "figures", ()))}


def _plain_numbers(file: LabFile) -> Iterator[Problem]:
    """Numbers in texts that neither a run, a parameter nor a source stands behind."""
    for place, text in text_fields(file.raw):
        if numbers := plain_numbers(text):
            yield place, f"{', '.join(dict.fromkeys(numbers))}: {BRACES_NEEDED}"


def _of_step(step: object, predictions: dict[str, Predict], figures: Figures, grader: Grader) -> Iterator[Problem]:
    match step:
        case LabRun():
            if figures.run(step.run)["latency_ms"] is None:
                yield ("run",), f"{step.run}: {'cannot be run' if step.verify else f'does not fit on {step.machine}'}"
        case Watch():
            yield from _of_film(step, figures)
        case Compare():
            asked, value = predictions[step.compare], figures.value(step.value)
            if not asked.low <= value <= asked.high:
                yield ("with",), f"is {shown(value)}, which could not be predicted: {asked.low:g} to {asked.high:g}"
        case Ask() | Choose() | Arrange() | Design():
            yield from _of_question(step, figures, grader)


def _of_film(step: Watch, figures: Figures) -> Iterator[Problem]:
    try:
        film = figures.simulation(step).result(film=step.window).film
    except InputError as error:
        yield ("window",), str(error)
        return
    counts = {} if film is None else film.counts
    for name in step.sees:
        if not counts.get(name):
            kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
            yield ("sees",), f"there are no {name[:40]} in the film; there are {kinds or 'no events'}"


def _of_question(step: Question, figures: Figures, grader: Grader) -> Iterator[Problem]:
    match step:
        case Ask():
            yield from _of_number(step, grader)
        case Choose():
            if figures.asked(step.holds) is not True:
                parts = [part for part in step.holds.split(" and ") if figures.asked(part) is not True]
                worked = "; ".join(f"{part.strip()} ({figures.worked(part.strip())})" for part in parts)
                yield ("holds",), f"is not true: {worked}"
        case Arrange():
            values = [figures.value(item.value) for item in step.items]
            for (i, a), (j, b) in combinations(enumerate(values), 2):
                if isclose(a, b, rel_tol=_TIE):
                    yield ("items",), f"{step.items[i].text} and {step.items[j].text} are as good as equal, {shown(a)}"
        case Design():
            yield from _of_design(grader.rules(step))


def _of_design(rules: Rules) -> Iterator[Problem]:
    good = [setting.goal for setting in rules.settings if setting.goal is not None and not setting.missed]
    if not good:
        yield ("require",), "no setting of the knobs meets it"
    elif min(good) <= 0:
        yield ("goal",), f"is {shown(min(good))} in the best setting: it has to be above 0; 1 / x is what makes x large"
    elif isclose(min(good), max(good)) and len(good) > 1:
        yield ("goal",), f"is {shown(good[0])} whatever is chosen: it has to depend on the knobs"


def _of_number(step: Ask, grader: Grader) -> Iterator[Problem]:
    rules = grader.rules(step)
    for number, (value, _, name) in enumerate(rules.wrong):
        verdict = judged(rules, repr(float(value)), 0)
        if verdict.right:
            yield ("mistakes", number, "value"), f"{shown(value)} {step.unit} is right, too"
        elif verdict.mistake != name:
            yield ("mistakes", number, "value"), f"{shown(value)} {step.unit} is what {verdict.mistake} gives, too"
