/* Filters of int4 with the functions of this set, and what unpacks them: two a byte, the first in the lower half. */
#include "int4.h"

__attribute__((noinline)) int32_t reference_unpack_s4(const struct unary_call *call)
{
    const int8_t *input = call->input;
    int8_t *output = call->output;
    const int32_t pairs = call->elements / 2;
    for (int32_t i = 0; i < pairs; i++) {
        int32_t both = input[i];
        output[2 * i] = (int8_t)((int32_t)((uint32_t)both << 28) >> 28);
        output[2 * i + 1] = (int8_t)(both >> 4);
    }
    if (call->elements & 1)
        output[2 * pairs] = (int8_t)((int32_t)((uint32_t)input[pairs] << 28) >> 28);
    return 0;
}

INT4(reference_conv_s4, reference_conv, CONV_ELEMENTS)
INT4(reference_conv_grouped_s4, reference_conv_grouped, CONV_ELEMENTS / c->depth_multiplier)
INT4(reference_depthwise_s4, reference_depthwise, DEPTHWISE_ELEMENTS)
INT4(reference_fully_connected_s4, reference_fully_connected, c->out_c *c->in_c)
