"""Files into a folder: all of them or none.

Not modelled: another program that writes there at the same time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mcusim.errors import UsageError


def check_folder(folder: Path, force: bool) -> None:
    """Raise UsageError for what is no folder, and for one that contains files without ``force``."""
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"cannot write into {folder}: it is not a directory")
        if folder.is_dir() and any(folder.iterdir()) and not force:
            raise UsageError(f"{folder} holds files; --force writes over those of the same name")
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write into {folder}: {getattr(error, 'strerror', None) or error}") from None


def write_folder(folder: Path, files: Mapping[str, bytes], force: bool = False) -> None:
    """Write ``files`` (bytes by their place) below ``folder``, through a folder inside it that is removed again.

    A failure leaves nothing of them there, and no folder that was not there before. Raises UsageError.
    """
    check_folder(folder, force)
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".generate-", dir=folder) as name:
            for file, data in files.items():
                (Path(name) / file).parent.mkdir(parents=True, exist_ok=True)
                (Path(name) / file).write_bytes(data)
            for file in files:
                if (folder / file).is_dir():
                    raise UsageError(f"cannot write into {folder}: {file} is a directory there")
            for file in files:
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (Path(name) / file).replace(folder / file)
    except BaseException as error:
        for path in created:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError | ValueError):
            text = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot write into {folder}: {text}") from None
        raise
