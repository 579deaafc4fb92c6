"""Into how many patches the first operators of a network are cut, and how many operators that are.

Lin et al. 2021 (MCUNetV2): the operators at the beginning, whose maps are large, run on one patch of the map after the
other. Not modelled: patches of several stages, one within the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from numbers import Integral

from mcusim.errors import UsageError

AUTO = "auto"
MOST = 16  # patches along an axis
MOST_SPLIT = 1_000_000
_FORM = re.compile(r"([0-9]{1,4})x([0-9]{1,4})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Patches:
    """``rows`` times ``columns`` patches of the output of the first ``split`` operators that a runtime executes."""

    rows: int
    columns: int
    split: int

    @property
    def grid(self) -> str:
        return f"{self.rows}x{self.columns}"

    def __str__(self) -> str:
        return f"--patches {self.grid} --patch-split {self.split}"


def parse_grid(given: object) -> str | None:
    """``2x2`` or ``auto`` as it is, None for ``none``. Raises UsageError for others."""
    if given == "none":
        return None
    if given == AUTO:
        return AUTO
    form = _FORM.fullmatch(given) if isinstance(given, str) else None
    if form is None:
        raise UsageError(f"patches = {repr(given)[:80]}: must be ROWSxCOLUMNS as 2x2, {AUTO} or none")
    rows, columns = (int(part) for part in form.groups())
    if not (1 <= rows <= MOST and 1 <= columns <= MOST) or rows * columns == 1:
        raise UsageError(f"patches = {form[0]!r}: 2 patches at least, {MOST} at most along an axis; none cuts nothing")
    return f"{rows}x{columns}"


def parse_split(given: object) -> int | str | None:
    """A number of operators, a text of a number of blocks (``5 blocks``), None for ``none``. Raises UsageError for
    others."""
    if given == "none":
        return None
    form = re.fullmatch(r"([0-9]{1,7})( blocks?)?", given.strip(), re.ASCII) if isinstance(given, str) else None
    number = int(form[1]) if form else given
    if isinstance(number, bool) or not isinstance(number, Integral) or not 1 <= int(number) <= MOST_SPLIT:
        wanted = f'a whole number from 1 to {MOST_SPLIT:,}, so many blocks ("5 blocks") or "none"'
        raise UsageError(f"patch_split = {repr(given)[:80]}: must be {wanted}")
    return f"{int(number)} blocks" if form and form[2] else int(number)


def patches_of(grid: str | None, split: int | str | None) -> Patches | None:
    """The patches of a grid and a split; None without a grid, for ``auto``, which is searched for, and for a split in
    blocks, which a graph says.

    Raises UsageError for one without the other.
    """
    if grid is None or grid == AUTO:
        if split is not None:
            raise UsageError("--patch-split has no effect without --patches ROWSxCOLUMNS")
        return None
    if split is None:
        raise UsageError(f"--patches {grid} needs --patch-split: how many operators run on patches; auto finds both")
    if isinstance(split, str):
        return None
    rows, columns = (int(part) for part in grid.split("x"))
    return Patches(rows, columns, split)
