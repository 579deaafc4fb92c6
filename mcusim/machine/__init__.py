"""Machines: boards as data. See :mod:`mcusim.machine.description` for what a machine holds."""

from mcusim.machine.catalog import machine_names
from mcusim.machine.description import Machine
from mcusim.machine.loader import load_machine, replace, replace_all

__all__ = ["Machine", "load_machine", "machine_names", "replace", "replace_all"]
