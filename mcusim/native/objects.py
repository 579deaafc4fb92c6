"""The objects of the library of native functions: which there are, what is in each, and all that they depend on.

Not modelled: other processors than the one they are built on.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
SOURCES = ("native", "memory", "cpu", "kernels", "engine/compiled", "nas_search/placement")
_OBJECTS = {  # the first that has a symbol which begins so
    "emulation": ("mcusim.cpu.", "mcusim.memory.ports.core_data."),
    "nests": ("mcusim.kernels.cost.fitted.", "mcusim.memory.ports.core_code."),
    "search": ("mcusim.nas_search.",),
    "replay": ("mcusim.",),
}
OBJECTS = tuple(_OBJECTS)


def object_of(symbol: str) -> str:
    """The object that has a function; empty for a function from outside the package."""
    return next((name for name, begins in _OBJECTS.items() if symbol.startswith(begins)), "")


@cache
def key() -> str:
    """Of all that the machine code depends on: every source below the folders of native code, versions of the
    compilers, the processor."""
    import llvmlite.binding as llvm

    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    features = llvm.get_host_cpu_features().flatten()
    digest.update(f"{version('numba')} {version('llvmlite')} {llvm.get_host_cpu_name()} {features}".encode())
    return digest.hexdigest()[:16]


def target_machine() -> Any:
    """LLVM's target for this processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        jit=True,
        codemodel="jitdefault",
    )
