"""Simulate quantised neural networks on Cortex-M boards.

>>> import mcusim
>>> result = mcusim.simulate("ds-cnn", "stm32f746g-disco", policy="internal")
>>> result.run.cycles > result.macs
True

The names below are loaded on first use, so that importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcusim.machine import load_machine
    from mcusim.model import load_model
    from mcusim.study.calibration import calibrate
    from mcusim.study.compare import compare
    from mcusim.study.emulate import emulate
    from mcusim.study.settings import Execution
    from mcusim.study.simulate import simulate
    from mcusim.study.sweep import sweep
    from mcusim.study.validation import validate

__all__ = [
    "Execution",
    "__version__",
    "calibrate",
    "compare",
    "emulate",
    "load_machine",
    "load_model",
    "simulate",
    "sweep",
    "validate",
]

__version__ = "0.1.0"

_HOME = {
    "Execution": "mcusim.study",
    "calibrate": "mcusim.study.calibration",
    "compare": "mcusim.study",
    "emulate": "mcusim.study",
    "load_machine": "mcusim.machine",
    "load_model": "mcusim.model",
    "simulate": "mcusim.study",
    "sweep": "mcusim.study.sweep",
    "validate": "mcusim.study.validation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mcusim' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
