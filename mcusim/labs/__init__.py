"""Labs: guided exercises in which students predict, run, compare and explain."""

from mcusim.labs.lab_file import lab_names, open_file, read_lab
from mcusim.labs.notebook_export import Book, open_lab
from mcusim.labs.terminal import LEAVE, Session

__all__ = ["LEAVE", "Book", "Session", "lab_names", "open_file", "open_lab", "read_lab"]
