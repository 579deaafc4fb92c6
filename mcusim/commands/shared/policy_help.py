"""Options of plans, as they are declared, on the command line; and help texts that name the policies there are.

Policies are loaded when such a command is run or its help is shown, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from functools import cache
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, Self

from typer import Option, Typer
from typer.core import TyperCommand
from typer.main import get_command

from mcusim.commands.shared.defaults import taken
from mcusim.commands.shared.file_endings import require_endings
from mcusim.commands.shared.light_parameters import light
from mcusim.commands.shared.output import note

if TYPE_CHECKING:
    from mcusim.plan.options import Option as Declared

FROM_FILE = "DEFAULT_MAP"  # what click calls it


class PlanFlags(dict[str, Any]):
    """What was given for the options of a plan, by keyword.

    A field of a group, or a parameter of a command (:mod:`mcusim.commands.shared.flat_options`): the command then has
    all these options.
    """

    @staticmethod
    def declared() -> Iterable[Declared[Any]]:
        """The options."""
        from mcusim.plan import declared_options

        return declared_options().values()

    @classmethod
    def now(cls) -> Self:
        """Those of the command that runs."""
        arguments = _given.get({})
        return (
            cls({option.name: arguments[option.name] for option in cls.declared() if option.name in arguments})
            if arguments
            else cls()
        )


class ExecutionFlags(PlanFlags):
    """What was given for the options of how kernels are executed."""

    @staticmethod
    def declared() -> Iterable[Declared[Any]]:
        from mcusim.run_config.run_options import EXECUTION

        return EXECUTION


class GivenPeriod(PlanFlags):
    """What was given for the options of how often a result is wanted."""

    @staticmethod
    def declared() -> Iterable[Declared[Any]]:
        from mcusim.run_config.run_options import REPEATED

        return REPEATED


_given: ContextVar[dict[str, Any]] = ContextVar("given")


class PolicyHelp(TyperCommand):
    """A command in whose options' help ``{policies}`` are all policies with what they do, and which has the declared
    options of each :class:`PlanFlags` that it takes."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The declared options come before the last one, ``--help``."""
        parameters = super().get_params(ctx)
        return light([*parameters[:-1], *_declared(self.callback), *parameters[-1:]])

    def invoke(self, ctx: Any) -> Any:
        """Say which options have defaults from a file, then run."""
        defaults = ctx.obj or {}
        sources = {option: ctx.get_parameter_source(option.replace("-", "_")) for option in defaults}
        in_file = [option for option, source in sources.items() if source and source.name == FROM_FILE]
        own = {option.name: ctx.params[option.name] for option in _declared(self.callback)}
        arguments = {name: value for name, value in own.items() if value is not None}
        for part, whole in _parts(self.callback).items():
            if part in in_file and whole in arguments and whole not in in_file:  # another whole than that of the file
                in_file.remove(part)
                arguments.pop(part.replace("-", "_"))
        require_endings(ctx.info_name or "", self.params, ctx.params)
        for line in taken(defaults, in_file):
            note(line)
        token = _given.set(arguments)
        try:  # typer passes on what the function itself has as parameters
            return ctx.invoke(self.callback, **{name: ctx.params[name] for name in ctx.params if name not in own})
        finally:
            _given.reset(token)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill the names in, then write the help."""
        from mcusim.plan.registry import all_policies

        names = _either([f"{policy.name} ({policy.description})" for policy in all_policies()])
        options: list[Any] = [parameter for parameter in self.params if getattr(parameter, "help", None)]
        templates = [option.help for option in options]
        for option in options:
            option.help = option.help.replace("{policies}", names)
        super().format_help(ctx, formatter)
        for option, template in zip(options, templates, strict=True):
            option.help = template


def _declared(command: Any) -> tuple[Any, ...]:
    """The declared options that ``command`` takes, for the command line."""
    groups: Sequence[type[PlanFlags]] = getattr(command, "takes", ())
    if not groups:
        return ()
    from mcusim.plan import takers

    return _made(tuple((option, ", ".join(takers(option.name))) for group in groups for option in group.declared()))


def _parts(command: Any) -> dict[str, str]:
    """Flags of options that say nothing without another one, by that one's name."""
    groups: Sequence[type[PlanFlags]] = getattr(command, "takes", ())
    return {option.flag: option.part_of for group in groups for option in group.declared() if option.part_of}


@cache
def _made(options: tuple[tuple[Any, str], ...]) -> tuple[Any, ...]:
    """The options, each with those that take it, as typer makes them of a function's parameters."""

    def command(**given: str) -> None: ...

    kinds: dict[str, Any] = {}
    for option, takers in options:
        text = option.help.replace("{takers}", takers)
        kind, metavar = (bool, None) if option.is_flag else (str, option.metavar)
        names = f"--{option.flag}/--no-{option.flag}" if option.is_flag else f"--{option.flag}"
        kinds[option.name] = Annotated[kind | None, Option(names, metavar=metavar, help=text)]
    taken = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in kinds.items()]
    command.__signature__ = Signature(taken)  # type: ignore[attr-defined]
    command.__annotations__ = kinds
    app = Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    return tuple(get_command(app).params)


def _either(texts: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
