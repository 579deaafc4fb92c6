"""What a user can choose about a run besides its plan: options declared once, as those of plans are.

Flag, key in ``mcusim.toml``, keyword in Python, axis of a sweep and the word in printed commands are read from here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, ParamSpec, TypedDict, TypeVar, get_type_hints

from mcusim.errors import UsageError
from mcusim.plan.options import NONE, Option, OptionValues, choice, region, whole
from mcusim.plan.policy_keywords import PolicyOptions
from mcusim.plan.registry import declared_options, takers
from mcusim.run_config.period import BOARD, DOMAINS, SLEEPS, WFI, Battery, Period
from mcusim.units import quoted

P = ParamSpec("P")
R = TypeVar("R")
MOST_CYCLES = 10**12
MOST_INVOCATIONS = 1000


def _text(name: str, metavar: str, help: str, check: Callable[[str], object]) -> Option[str | None]:
    """A text that ``check`` accepts, kept as it was given."""

    def parse(given: object) -> str | None:
        if not isinstance(given, str):
            raise UsageError(f"--{name} {quoted(given)}: must be a text")
        if given == NONE:
            return None
        check(given)
        return given.strip()

    return Option(name, None, metavar, help, parse, lambda value: value, str)


CODE = region("code", help="Where the kernels' code is: a flash (default: the first), itcm.")
STACK_REGION = region(
    "stack_region", help="Where the kernels' stack is, with --fidelity emulate. Default: on-chip RAM that is free."
)
OPERATOR_OVERHEAD = whole(
    "operator_overhead", 0, MOST_CYCLES, metavar="CYCLES",
    help="Cycles of the runtime around each operator. Default: the runtime's own.",
)  # fmt: skip
INVOCATIONS = whole(
    "invocations",
    1,
    MOST_INVOCATIONS,
    1,
    help="Inferences, one after the other: 1 (default) to 1,000; state and caches stay.",
)
PERIOD = _text("period", "TIME", 'An inference this often, asleep in the rest: "1 s". Energy for each.', Period.of)
BATTERY = _text("battery", "CELL", 'How long it lasts, with --period: CR2032 ..., or "1000 mAh 3.7 V".', Battery.of)
SLEEP = choice(
    "sleep", SLEEPS, WFI, metavar="MODE",
    help="How it sleeps, with --period: wfi (default; clocks on), stop, or standby, which loses the RAM.",
)  # fmt: skip
DOMAIN = choice(
    "domain", DOMAINS, BOARD, metavar="NAME",
    help="Whose energy a period is of: board (default), or mcu: the microcontroller alone.",
)  # fmt: skip
EXECUTION: tuple[Option[Any], ...] = (CODE, STACK_REGION, OPERATOR_OVERHEAD, INVOCATIONS)
"""How kernels are executed: what a saved program leaves open."""
REPEATED: tuple[Option[Any], ...] = (PERIOD, BATTERY, SLEEP, DOMAIN)
"""How often a result is wanted; no cycle depends on it."""
RUN = (*EXECUTION, *REPEATED)


class ExecutionKeywords(TypedDict, total=False):
    """The options of :data:`EXECUTION`; None is the default."""

    code: str | None
    stack_region: str | None
    operator_overhead: int | None
    invocations: int | None


class RunKeywords(PolicyOptions, ExecutionKeywords, total=False):
    """Options of a plan and a run as keyword arguments; each may be left out, and None is its default."""

    period: str | None
    battery: str | None
    sleep: str | None
    domain: str | None


class RunOptions(OptionValues):
    """What is chosen of :data:`RUN`."""

    __slots__ = ()

    @property
    def period(self) -> Period | None:
        """How often an inference is wanted, and the cell. Raises UsageError for a cell without a period."""
        return Period.of(self[PERIOD], self[BATTERY], self[SLEEP], self[DOMAIN])


def documented(*options: Option[Any], plans: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function that takes ``options``, and those of plans, as keywords: its signature names them, its
    docstring says what each is, in a line as the command line does."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        taken = [*(declared_options().values() if plans else ()), *options]
        own = signature(function)
        kept = [parameter for parameter in own.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
        kinds = get_type_hints(RunKeywords)
        keywords = [
            Parameter(o.name, Parameter.KEYWORD_ONLY, default=None, annotation=kinds.get(o.name, Any)) for o in taken
        ]

        @wraps(function)
        def called(*arguments: P.args, **keyword: P.kwargs) -> R:
            return function(*arguments, **keyword)

        lines = [f"    {item.name}: {item.help.replace('{takers}', ', '.join(takers(item.name)))}" for item in taken]
        called.__signature__ = Signature([*kept, *keywords], return_annotation=own.return_annotation)  # type: ignore[attr-defined]
        called.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), "", "    Options:", "", *lines, "    "])
        return called

    return decorate
