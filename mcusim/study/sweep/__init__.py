"""Studies of many points: :func:`sweep` runs what :func:`read_study` reads."""

from mcusim.study.sweep.estimate import estimate
from mcusim.study.sweep.run import sweep, sweep_table
from mcusim.study.sweep.shipped import study_names
from mcusim.study.sweep.study import Axis, Sampling, Study
from mcusim.study.sweep.study_file import read_study

__all__ = ["Axis", "Sampling", "Study", "estimate", "read_study", "study_names", "sweep", "sweep_table"]
