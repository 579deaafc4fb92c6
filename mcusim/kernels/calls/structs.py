"""The call structures of ``sets/include/kernels.h`` as Python sees them; every member is a 32-bit word.

Not modelled: nothing of the header; a test compares offsets and sizes with the debug information of the built sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcusim.errors import ProgramError
from mcusim.model.operators import OPERATORS

_TEXT = {
    "conv_call": "input filter bias output scratch multiplier shift batch in_h in_w in_c out_h out_w out_c filter_h"
    " filter_w stride_h stride_w dilation_h dilation_w pad_top pad_left depth_multiplier input_offset filter_offset"
    " output_offset least most bias_bytes",
    "pool_call": "input output scratch batch in_h in_w channels out_h out_w filter_h filter_w stride_h stride_w pad_top"
    " pad_left least most",
    "binary_call": "input1 input2 output shape1*4 shape2*4 shape*4 input1_offset input2_offset output_offset left_shift"
    " input1_multiplier input1_shift input2_multiplier input2_shift output_multiplier output_shift least most",
    "unary_call": "input output elements input_offset output_offset multiplier shift second_multiplier second_shift"
    " radius left_shift least most table",
    "softmax_call": "input output rows depth multiplier shift least_difference tables",
    "normalize_call": "input output rows depth offset multiplier shift reverse_multiplier reverse_shift"
    " least_difference",
    "join_call": "inputs bytes output inputs_count count tables",
    "move_call": "input output shape*5 step*5 begin before*5 inside*5 item value",
    "resize_call": "input output batch in_h in_w channels out_h out_w align_corners half_pixel_centers",
    "mean_call": "input output scratch shape*4 reduce*4 input_offset output_offset multiplier shift least most",
    "svdf_call": "input features time bias state output scratch batch inputs units rank memory state_item input_offset"
    " state_offset output_offset multiplier shift second_multiplier second_shift",
    "lstm_call": "input output hidden cell scratch weights*4 recurrent*4 bias*4 batch steps inputs units time_major"
    " input_offset hidden_offset multiplier*4 shift*4 recurrent_multiplier*4 recurrent_shift*4 forget_multiplier"
    " forget_shift update_multiplier update_shift hidden_multiplier hidden_shift tanh_multiplier tanh_shift clip",
    "arg_call": "input output outer size inner wide",
    "gather_call": "input indices output batch outer count bytes part depth step*5 limit*5",
    "blocks_call": "input output batch in_h in_w depth out_batch out_h out_w block_h block_w top left value",
    "batch_matmul_call": "left_stored right_stored left right output left_matrices right_matrices batch*3 left_step*3"
    " right_step*3 rows depth columns left_offset right_offset output_offset multiplier shift least most",
    "cast_call": "input output elements from to",
}


def _members(text: str) -> dict[str, int]:
    parts = [member.partition("*") for member in text.split()]
    return {name: int(count or 1) for name, _, count in parts}


LAYOUTS: Mapping[str, Mapping[str, int]] = {name: _members(text) for name, text in _TEXT.items()}
"""Structure -> member -> words, in the header's order."""


def layout_of(operator: str) -> str:
    """The structure that the kernel of a known operator is called with."""
    return f"{OPERATORS[operator].call}_call"


def size_of(layout: str) -> int:
    """Bytes of a structure."""
    return 4 * sum(LAYOUTS[layout].values())


def pack(layout: str, values: Mapping[str, int | Sequence[int]]) -> bytes:
    """The structure in guest memory; members that ``values`` lacks are 0.

    Raises ProgramError for a member the structure has not, an array of another length, a value of more than 32 bits.
    """
    members, data = LAYOUTS[layout], bytearray()
    unknown = sorted(set(values) - set(members))
    if unknown:
        raise ProgramError(f"{layout} has no member {unknown[0]!r}; it has {', '.join(members)}")
    for name, count in members.items():
        given = values.get(name, 0)
        words = [given] if isinstance(given, int) else list(given)
        if words == [0]:
            words *= count
        if len(words) != count:
            raise ProgramError(f"{layout}.{name} has {count} words, not {len(words)}")
        for word in words:
            if not -(1 << 31) <= word < 1 << 32:
                raise ProgramError(f"{layout}.{name} = {word}: does not fit 32 bits")
            data += (word & 0xFFFF_FFFF).to_bytes(4, "little")
    return bytes(data)
