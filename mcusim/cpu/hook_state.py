"""What each function that Unicorn calls gets: where the structs and arrays are that the hooks share."""

from __future__ import annotations

from typing import Annotated

from mcusim.cpu.pipeline.branch_predictor import BranchState
from mcusim.cpu.state_layout import AccessTable, BlockHash, BlockTable, CallEdges, CoreState
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.memory.state_layout import MemoryState
from mcusim.native.structs import POINTER, Struct, Words


class HookState(Struct):
    """Python keeps alive what is pointed at, and points anew at what has moved."""

    core: Annotated[CoreState, POINTER]
    memory: Annotated[MemoryState, POINTER]
    exceptions: Annotated[ExceptionState, POINTER]
    block_hash: Annotated[BlockHash, POINTER]
    blocks: Annotated[BlockTable, POINTER]
    accesses: Annotated[AccessTable, POINTER]
    branches: Annotated[BranchState, POINTER]
    call_edges: Annotated[CallEdges, POINTER]
    ppb: Annotated[Words, POINTER]  # the private peripheral bus
    console: Annotated[Words, POINTER]
    peripherals: Annotated[Words, POINTER]  # first address and end of each block
    code_pages: Annotated[Words, POINTER]  # a word for each page of 4 KiB, a bit for each 64 bytes that have code
    engine: int  # Unicorn's handle
    skip_flag: int  # address of the byte that says whether accesses restore the core's state
    register: int  # what is moved to or from a register
    # of a divide that is watched: registers of dividend and divisor (Unicorn's numbers), signed, its access record
    divide: Annotated[Words, 4]
