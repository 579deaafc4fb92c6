"""``mcusim session``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import note
from mcusim.text import printable

Machine = Annotated[str, typer.Argument(metavar="MACHINE", help="A name of `mcusim machines`, or a TOML file.")]
Files = Annotated[
    list[Path] | None, typer.Argument(metavar="[FILE]...", help="Object, C, C++ or assembly files, loaded one by one.")
]
Command = Annotated[
    list[str] | None, typer.Option("--command", "-c", metavar="TEXT", help="Do this and end; may be repeated.")
]


@grouped
def session(
    machine: Machine, files: Files = None, command: Command = None, *, keys: MachineKeys, written: Written
) -> int:
    """Load modules into an emulated device, call functions, see what each call takes and why.

    Commands are typed, with completion by Tab, or come from --command or standard input,
    where the first error ends the session; `help` lists them. Python: mcusim.session.

    \b
    Examples:
      mcusim session stm32f746g-disco kernel.c
      mcusim session stm32f746g-disco dot.c -c "tensor a 9 int8 2" -c "call dot a a 9"
      mcusim session stm32f469i-disco < commands.txt
    """
    from mcusim.sessions.session import session as opened
    from mcusim.sessions.shell import HELP, SessionShell

    output = written.to(machine, *(files or ()))
    interactive = not command and sys.stdin.isatty()
    device = opened(machine, keys.overrides)
    say = (lambda text: None) if output.to_stdout else (lambda text: print(printable(text), flush=True))
    shell = SessionShell(device, say, interactive)
    for path in files or ():
        device.load(path)
    if interactive:
        note(f"{device.machine.name}; {len(HELP)} commands, `help` lists them")
        shell.cmdloop()
    for line in command or ([] if interactive else sys.stdin):
        if shell.onecmd(line):
            break
    shell.close()
    output.emit(None, lambda: {"machine": device.machine.name, "answers": shell.answers})
    return 0
