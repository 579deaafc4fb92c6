"""What a firmware set up by registers, as plain data for ``json.dumps``."""

from __future__ import annotations

from typing import Any

from mcusim.emulator.register_config import SetUpRow
from mcusim.report.firmware.set_up_table import used
from mcusim.results.emulation import EmulationResult, place


def set_up_json(result: EmulationResult) -> dict[str, Any]:
    """``figures[{key, value, machine, differs, used, cost, register, word, address, function, file, line, cycle,
    note}]`` and ``refused{key: text}``.

    ``value`` is the firmware's, ``machine`` the machine's, both as a machine file has it; null: no such key. ``used``:
    the run has the figure of the ``machine`` or of the ``firmware``, it is ``followed`` at run time, or ``nothing``
    models it. ``cost``: cycles with the firmware's value less those with the machine's, null where that was not asked
    for. ``address`` to ``line`` are of the store, in core cycle ``cycle``; null for none that is known. ``refused``:
    what the machine cannot take.
    """
    return {
        "figures": [_figure(row, result) for row in result.set_up.rows],
        "refused": dict(result.set_up.refused),
    }


def _figure(row: SetUpRow, result: EmulationResult) -> dict[str, Any]:
    line = None if row.pc is None else result.image.line_at(row.pc)
    return {
        "key": row.key,
        "value": None if row.value == "unknown" else row.value,
        "machine": row.machine,
        "differs": row.differs,
        "used": used(row, result.set_up),
        "cost": result.set_up.costs.get(row.key),
        "register": row.register,
        "word": row.word,
        "address": row.pc,
        "function": None if row.pc is None else place(result.image, row.pc),
        "file": line[0] if line else None,
        "line": line[1] if line else None,
        "cycle": row.cycle,
        "note": row.note,
    }
