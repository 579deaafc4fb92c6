"""The command line.

Exit status: 0 it ran (``compare``: at least one row did), 1 valid input with a negative verdict (it does not fit, the
emulated program faulted, ``verify`` has findings), 2 the input cannot be read or used, 130 interrupted. Errors are one
line on standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mcusim.commands.firmware import emulate, kernels
from mcusim.commands.models import export, inspect, memory, reorder
from mcusim.commands.shared.defaults import defaults
from mcusim.commands.shared.output import discard_output, fail
from mcusim.commands.shared.policy_help import PolicyHelp
from mcusim.commands.shared.progress import native_code
from mcusim.commands.simulation import compare, diff, sweep
from mcusim.commands.simulation import run as simulate
from mcusim.commands.teaching import lab
from mcusim.commands.trust import calibrate, validate, verify
from mcusim.errors import McusimError

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """Commands of one word, and of two: the second is no argument of the first."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        two = " ".join(args[:2])
        return super().resolve_command(ctx, [two, *args[2:]] if two in self.commands else args)


app = typer.Typer(
    name="mcusim",
    cls=_Commands,
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


app.command("run", cls=PolicyHelp)(simulate.run)
app.command("compare", cls=PolicyHelp)(compare.compare)
app.command("diff", cls=PolicyHelp)(diff.diff)
app.command("sweep", cls=PolicyHelp)(sweep.sweep)
app.command("machines", cls=PolicyHelp)(inspect.machines)
app.command("models", cls=PolicyHelp)(inspect.models)
app.command("inspect", cls=PolicyHelp)(inspect.inspect)
app.command("export", cls=PolicyHelp)(export.export)
app.command("reorder", cls=PolicyHelp)(reorder.reorder)
app.command("memory", cls=PolicyHelp)(memory.memory)
app.command("plan", cls=PolicyHelp)(simulate.plan)
app.command("replay", cls=PolicyHelp)(simulate.replay)
app.command("verify", cls=PolicyHelp)(verify.verify)
app.command("validate", cls=PolicyHelp)(validate.validate)
app.command("calibrate", cls=PolicyHelp)(calibrate.calibrate)
app.command("emulate", cls=PolicyHelp)(emulate.emulate)
app.command("kernels", cls=PolicyHelp)(kernels.kernels)
app.command("kernels build", cls=PolicyHelp)(kernels.build)
app.command("lab", cls=PolicyHelp)(lab.lab)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; ``arguments`` defaults to those of the process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name need not be text
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


def _invoke(words: list[str]) -> int:
    """Parse and run; a usage error of the parser becomes one line and status 2."""
    try:
        status: Any = app(args=words, prog_name="mcusim", standalone_mode=False)
    except SystemExit:  # typer's answer to a closed pipe, and to nothing else
        raise BrokenPipeError from None
    except Exception as error:
        # typer's usage errors come from click or from the copy of it inside typer, by version
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        fail(message(), words)
        return 2
    return status if isinstance(status, int) else 0
