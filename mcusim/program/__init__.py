"""Programs: the task list that a planner writes and the engine runs, its file format and checks."""

from __future__ import annotations

from mcusim.program.check import check_program
from mcusim.program.order import program_graph
from mcusim.program.program import Program
from mcusim.program.reader import read_program
from mcusim.program.writer import program_lines, write_program

__all__ = ["Program", "check_program", "program_graph", "program_lines", "read_program", "write_program"]
