"""Simulate quantised neural networks on Cortex-M boards.

>>> import mcusim
>>> result = mcusim.simulate("ds-cnn", "stm32f746g-disco", policy="internal")
>>> result.run.cycles > result.macs
True

The names below are loaded on first use, so that importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from mcusim._version import __version__
from mcusim.display import Presenter as _Presenter
from mcusim.display import present_with as _present_with

if TYPE_CHECKING:
    from mcusim.advisor.advise import advise
    from mcusim.api.advice.suggestions import suggest
    from mcusim.api.compare import compare
    from mcusim.api.diff import diff
    from mcusim.api.engines import engines
    from mcusim.api.firmware.emulate import emulate
    from mcusim.api.firmware.verify import verify_firmware
    from mcusim.api.functions import inspect, plan_memory, plan_program
    from mcusim.api.generate import generate
    from mcusim.api.reorder import reorder
    from mcusim.api.simulate import replay, simulate
    from mcusim.api.verify import verify
    from mcusim.evidence.calibrate.calibrate import calibrate
    from mcusim.evidence.validate.validate import validate
    from mcusim.machine import load_machine
    from mcusim.model import load_model
    from mcusim.presentation import figure, table
    from mcusim.sessions.session import SessionFault, session
    from mcusim.sweeps.sweep import sweep
    from mcusim.tuning.tuning_result import tune

__all__ = [
    "SessionFault",
    "__version__",
    "advise",
    "calibrate",
    "compare",
    "diff",
    "emulate",
    "engines",
    "figure",
    "generate",
    "inspect",
    "load_machine",
    "load_model",
    "plan_memory",
    "plan_program",
    "reorder",
    "replay",
    "session",
    "simulate",
    "suggest",
    "sweep",
    "table",
    "tune",
    "validate",
    "verify",
    "verify_firmware",
]

_HOME = {
    "SessionFault": "mcusim.sessions.session",
    "advise": "mcusim.advisor.advise",
    "calibrate": "mcusim.evidence.calibrate.calibrate",
    "compare": "mcusim.api.compare",
    "diff": "mcusim.api.diff",
    "emulate": "mcusim.api.firmware.emulate",
    "engines": "mcusim.api.engines",
    "figure": "mcusim.presentation",
    "generate": "mcusim.api.generate",
    "inspect": "mcusim.api.functions",
    "load_machine": "mcusim.machine",
    "load_model": "mcusim.model",
    "plan_memory": "mcusim.api.functions",
    "plan_program": "mcusim.api.functions",
    "reorder": "mcusim.api.reorder",
    "replay": "mcusim.api.simulate",
    "session": "mcusim.sessions.session",
    "simulate": "mcusim.api.simulate",
    "suggest": "mcusim.api.advice.suggestions",
    "sweep": "mcusim.sweeps",
    "table": "mcusim.presentation",
    "tune": "mcusim.tuning.tuning_result",
    "validate": "mcusim.evidence.validate.validate",
    "verify": "mcusim.api.verify",
    "verify_firmware": "mcusim.api.firmware.verify",
}

_present_with(lambda: cast(_Presenter, import_module("mcusim.presentation")))


_RENAMED = {"ways_out": "suggest"}  # names of the release before, by what they are now


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        from warnings import warn

        warn(f"mcusim.{name} is mcusim.{_RENAMED[name]} now", DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    if name not in _HOME:
        raise AttributeError(f"module 'mcusim' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
