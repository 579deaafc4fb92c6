"""The sample programs that ship with mcusim (``traces/``), by name.

Not modelled: what is wrong with the broken ones; ``docs/pages/reference/broken-overlays.md`` says so.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def samples_directory() -> Path:
    """The folder of the samples: inside the installed package, else in the checkout."""
    package = Path(str(resources.files("mcusim")))
    installed = package / "_data" / "traces"
    return installed if installed.is_dir() else package.parent / "traces"


def sample_file(path: str | Path) -> Path:
    """``path`` as it is, but where there is no such file the sample of that name, or of that number
    (``broken-17.jsonl``)."""
    result = Path(path)
    if result.name != str(path) or result.suffix not in (".jsonl", ".tflite") or result.exists():
        return result
    folder = samples_directory()
    exact = folder / result.name
    numbered = sorted(folder.glob(f"{result.stem}-*{result.suffix}")) if result.stem.startswith("broken-") else []
    return exact if exact.is_file() else numbered[0] if len(numbered) == 1 else result
