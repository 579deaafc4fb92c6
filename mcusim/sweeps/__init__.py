"""Sweeps: studies of many points, read by :func:`read_study` and run by :func:`sweep`."""

from mcusim.sweeps.estimate import estimate
from mcusim.sweeps.saved import column_units, made_by, numeric_columns, read_table
from mcusim.sweeps.study import Axis, Sampling, Study, study_names
from mcusim.sweeps.study_file import read_study
from mcusim.sweeps.sweep import finished, kept_points, sweep, sweep_table

__all__ = [
    "Axis",
    "Sampling",
    "Study",
    "column_units",
    "estimate",
    "finished",
    "kept_points",
    "made_by",
    "numeric_columns",
    "read_study",
    "read_table",
    "study_names",
    "sweep",
    "sweep_table",
]
