"""``mcusim session``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from mcusim.commands.shared.declare import argument, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.output import note
from mcusim.text import printable

Files = Annotated[list[Path] | None, argument("[FILE]...", "Object, C, C++ or assembly files, loaded one by one.")]


@grouped
def session(
    machine: Annotated[str, argument("MACHINE", "A name of `mcusim machines`, or a TOML file.")],
    files: Files = None,
    command: Annotated[
        list[str] | None, option("TEXT", "Do this and end; may be repeated.", names="--command -c")
    ] = None,
    *,
    keys: MachineKeys,
    written: Written,
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
