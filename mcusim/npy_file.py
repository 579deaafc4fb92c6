"""One array from a ``.npy`` file that a user names."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.files import read_guarded

if TYPE_CHECKING:
    import numpy as np

_MAGIC = (b"\x93NUMPY", b"PK\x03\x04")  # of .npy and .npz


def read_npy(
    path: Path, most: int, problem: Callable[[str], Exception], *, shown: str, too_large: str, several: str
) -> np.ndarray[Any, Any]:
    """The array in the file at ``path``, of at most ``most`` bytes; what is no regular file is not even opened.

    Raises what ``problem`` makes of ``shown``, the file as texts name it, and the reason; ``too_large`` ends that of a
    larger file, ``several`` is that of a file with more than one array.
    """
    import numpy as np

    data = read_guarded(path, most, problem, shown=shown, too_large=too_large, missing="No such file or directory")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            values = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # numpy's reader of headers lets through whatever its tokenizer and parser raise
        reason = " ".join((str(error) or type(error).__name__).split())
        if not data.startswith(_MAGIC):
            reason = "it is not one (numpy.save writes them)"
        raise problem(f"{shown}: cannot be read as .npy: {reason[:200]}") from None
    if not isinstance(values, np.ndarray):
        raise problem(f"{shown}: is an archive of arrays (.npz); {several}")
    return values
