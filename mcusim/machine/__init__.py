"""Machines: boards as data, read from TOML and checked; :mod:`mcusim.machine.description` has the fields."""

from mcusim.machine.catalog import machine_names
from mcusim.machine.clock_rules import regulator_scale
from mcusim.machine.description import Machine
from mcusim.machine.loader import load_machine, load_shipped, replace, replace_all
from mcusim.machine.new_file import machine_toml

__all__ = [
    "Machine",
    "load_machine",
    "load_shipped",
    "machine_names",
    "machine_toml",
    "regulator_scale",
    "replace",
    "replace_all",
]
