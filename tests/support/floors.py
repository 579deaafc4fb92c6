"""The floors of the house: a file imports from its own or a lower one."""

from __future__ import annotations

ORDER = """
    errors finding_rules units text files npy_file validation_errors record_log display processes user_code _version
    provenance plug_ins
    | native | machine | model | memory | image | cpu | soc | emulator
    | kernels | runtime
    | program | plan | codegen | engine | run_config | results | measurements | report | verification | api | evidence
    | sweeps | labs sessions nas_search advisor | tuning | presentation | commands __main__
"""
FLOORS = {name: floor for floor, names in enumerate(ORDER.split("|")) for name in names.split()}
