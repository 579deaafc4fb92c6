/* Element-wise operators of int32 that are not in arithmetic.c, and CAST between int32 and uint32. */
#include "binary.h"

static int32_t quotient(const struct binary_call *call, int32_t a, int32_t b)
{
    (void)call;
    return b == 0 ? 0 : a / b; /* LiteRT refuses 0; hardware gives 0 */
}

BINARY(reference_maximum_s32, int32_t, larger)
BINARY(reference_minimum_s32, int32_t, smaller)
BINARY(reference_div_s32, int32_t, quotient)

int32_t reference_cast_words(const struct cast_call *call)
{
    const int32_t *input = call->input;
    int32_t *output = call->output;
    for (int32_t i = 0; i < call->elements; i++)
        output[i] = input[i];
    return 0;
}
