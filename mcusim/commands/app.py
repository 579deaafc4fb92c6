"""The command line.

Exit status: 0 it ran (``compare``: at least one row did), 1 valid input with a negative verdict (it does not fit, the
emulated program faulted, ``verify`` has findings), 2 the input cannot be read or used, 130 interrupted. Errors are one
line on standard error.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from functools import cache
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from mcusim.commands.command_table import COMMANDS, Commands
from mcusim.commands.shared.defaults import defaults
from mcusim.commands.shared.light_parameters import light
from mcusim.commands.shared.output import discard_output, fail
from mcusim.commands.shared.progress import native_code
from mcusim.errors import McusimError, UsageError
from mcusim.plug_ins import raised_by
from mcusim.provenance import run_by


class _CommandGroup(TyperGroup):
    """Commands of one word, and of two: the second is no argument of the first. Each is made when it is asked for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = Commands()

    def get_params(self, ctx: Any) -> list[Any]:
        """Those of typer, without what makes them slow."""
        return light(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        two = " ".join(args[:2])
        parts = [name for name in self.commands if name.startswith(f"{args[0]} ")]
        if parts and args[0] not in self.commands and two not in self.commands:
            return _parts_of(args, parts)
        return super().resolve_command(ctx, [two, *args[2:]] if two in self.commands else args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """In groups, each with what its user wants."""
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl([(f"{name:13}", short) for name, _, short in commands])


def _parts_of(args: list[str], parts: list[str]) -> Any:
    """The list of two-word commands with the same first word, where it was asked for; else it is an error."""
    if {"-h", "--help"} & {*args[1:2]}:
        shorts = {name: short for commands in COMMANDS.values() for name, _, short in commands}
        print("\n".join(f"mcusim {name:12} {shorts[name]}" for name in parts))
        raise typer.Exit
    raise UsageError(f"mcusim {args[0]} is {', '.join(parts)}: take one")


app = typer.Typer(
    name="mcusim",
    cls=_CommandGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from mcusim._version import __version__

        print(f"mcusim {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    no_config: Annotated[bool, typer.Option("--no-config", help="Take no defaults from a mcusim.toml.")] = False,
) -> None:
    """Simulate quantised neural networks on Cortex-M boards.

    \b
    Examples:
      mcusim compare
      mcusim run ds-cnn --machine stm32f746g-disco --policy internal
    """
    command = context.invoked_subcommand or ""
    context.obj = {} if no_config else defaults(command)
    context.default_map = {command: {option.replace("-", "_"): value for option, (value, _) in context.obj.items()}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; ``arguments`` defaults to those of the process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name need not be text
    run_by(shlex.join(["mcusim", *words]))
    try:
        with native_code():
            status = _invoke(words or ["--help"])
        sys.stdout.flush()
        return status
    except McusimError as error:
        fail(error.headline or str(error), words, error.lines)
        return error.exit_status
    except OSError as error:
        discard_output()
        if isinstance(error, BrokenPipeError):  # the reader has seen enough
            return 0
        fail(f"{error.filename or 'standard output'}: {error.strerror or error}", words)
        return 2
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        fail("not enough memory for this input")
        return 2
    except Exception as error:
        text = raised_by(error)  # code of a user's
        if text is None:
            raise
        fail(text, words)
        return 2
    finally:
        run_by(None)


def _invoke(words: list[str]) -> int:
    """Parse and run; a usage error of the parser becomes one line and status 2."""
    try:
        status: Any = _commands()(args=words, prog_name="mcusim", standalone_mode=False)
    except SystemExit:  # typer's answer to a closed pipe, and to nothing else
        raise BrokenPipeError from None
    except Exception as error:
        # typer's usage errors come from click or from the copy of it inside typer, by version
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        usage = _usage(error)
        fail(message().removesuffix("." * bool(usage)), words, usage)
        return 2
    return status if isinstance(status, int) else 0


@cache
def _commands() -> Any:
    """The group of all commands, made once."""
    return get_command(app)


def _usage(error: Any) -> list[str]:
    """How the command is used, with its first example, where an argument is missing."""
    context = getattr(error, "ctx", None)
    if context is None or not str(error.format_message()).startswith("Missing "):
        return []
    examples = re.split(r"Examples?:", context.command.help or "")[-1]
    example = next((line.strip() for line in examples.splitlines() if line.strip().startswith("mcusim ")), "")
    known = [f"example: {example}"] if example else []
    usage = " ".join(context.get_usage().split())
    return [usage.replace("Usage:", "usage:"), *known, f"all options: {context.command_path} --help"]
