"""One hostile model and cost through the command line, and what is wrong with the answer."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from pathlib import Path

from mcusim.commands.app import main
from tests.support.hostile_models import hostile_cost, hostile_model

COMPILING = "compiling native code"  # said once after installation


def warm_up() -> None:
    """Native code is compiled when it is first used; that is not the input's doing."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(["run", "ds-cnn"])


def wrong_answer(folder: Path, seed: int, statuses: Counter[str]) -> str | None:
    """What rule the answer to seed ``seed`` breaks; ``statuses`` counts how commands ended."""
    model, kept = folder / "model.tflite", folder / "kept.json"
    model.write_bytes(hostile_model(seed))
    kept.write_text("kept")
    cost = ["--cost", hostile_cost(seed)] if seed % 2 else []
    commands = (
        ["inspect", str(model)],
        ["run", str(model), "--allow-unknown", *cost],
        ["plan", str(model), "--allow-unknown", *cost, "-o", str(kept)],
    )
    for command in commands:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            status = main(command)
        error = "".join(line for line in err.getvalue().splitlines(True) if not line.startswith(COMPILING))
        statuses[f"{command[0]}: status {status}"] += 1
        if status not in (0, 1, 2) or len(error.splitlines()) != (status > 0) or len(error) > 2000:
            return f"{command[0]}, status {status}: {error[:400]!r}"
        if not set(out.getvalue() + error).isdisjoint("\x1b\x00\u202e"):
            return f"{command[0]}: a control character was printed"
    return None if kept.read_text() == "kept" else "a file was overwritten"
