/* Operators whose output is some of the input's elements, or where they are: ARG_MAX, REDUCE_MAX, GATHER and relatives. */
#include "kernels.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);

static void put(const struct arg_call *call, int32_t n, int32_t value)
{
    int32_t *output = call->output;
    if (call->wide) {
        output[2 * n] = value;
        output[2 * n + 1] = 0;
    } else
        output[n] = value;
}

#define ARG(name, type, better)                                                                                        \
    int32_t name(const struct arg_call *call)                                                                          \
    {                                                                                                                  \
        int32_t n = 0;                                                                                                 \
        for (int32_t o = 0; o < call->outer; o++)                                                                      \
            for (int32_t i = 0; i < call->inner; i++) {                                                                \
                const type *input = (const type *)call->input + o * call->size * call->inner + i;                      \
                int32_t best = *input, at = 0;                                                                         \
                for (int32_t k = 1; k < call->size; k++) {                                                             \
                    int32_t value = *(input += call->inner);                                                           \
                    if (value better best) {                                                                           \
                        best = value;                                                                                  \
                        at = k;                                                                                        \
                    }                                                                                                  \
                }                                                                                                      \
                put(call, n++, at);                                                                                    \
            }                                                                                                          \
        return 0;                                                                                                      \
    }

ARG(reference_arg_max, int8_t, >)
ARG(reference_arg_max_u8, uint8_t, >)
ARG(reference_arg_min, int8_t, <)
ARG(reference_arg_min_u8, uint8_t, <)

#define REDUCE(name, type, first, better)                                                                              \
    int32_t name(const struct mean_call *call)                                                                         \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        type *output = call->output;                                                                                   \
        int32_t outputs = 1, i[4];                                                                                     \
        for (int d = 0; d < 4; d++)                                                                                    \
            outputs *= call->reduce[d] ? 1 : call->shape[d];                                                           \
        for (int32_t n = 0; n < outputs; n++)                                                                          \
            output[n] = first;                                                                                         \
        for (i[0] = 0; i[0] < call->shape[0]; i[0]++)                                                                  \
            for (i[1] = 0; i[1] < call->shape[1]; i[1]++)                                                              \
                for (i[2] = 0; i[2] < call->shape[2]; i[2]++)                                                          \
                    for (i[3] = 0; i[3] < call->shape[3]; i[3]++, input++) {                                           \
                        int32_t at = 0;                                                                                \
                        for (int d = 0; d < 4; d++)                                                                    \
                            at = call->reduce[d] ? at : at * call->shape[d] + i[d];                                    \
                        if (*input better output[at])                                                                  \
                            output[at] = *input;                                                                       \
                    }                                                                                                  \
        return 0;                                                                                                      \
    }

REDUCE(reference_reduce_max, int8_t, INT8_MIN, >)
REDUCE(reference_reduce_max_u8, uint8_t, 0, >)
REDUCE(reference_reduce_min, int8_t, INT8_MAX, <)
REDUCE(reference_reduce_min_u8, uint8_t, UINT8_MAX, <)

int32_t reference_gather(const struct gather_call *call)
{
    uint8_t *output = call->output;
    for (int32_t b = 0; b < call->batch; b++)
        for (int32_t o = 0; o < call->outer; o++) {
            const uint8_t *input = (const uint8_t *)call->input + (b * call->outer + o) * call->part;
            const int32_t *index = call->indices + b * call->count * call->depth;
            for (int32_t i = 0; i < call->count; i++) {
                int32_t at = 0;
                for (int32_t d = 0; d < call->depth; d++, index++) {
                    if (*index < 0 || *index >= call->limit[d])
                        return 1;
                    at += *index * call->step[d];
                }
                memcpy(output, input + at, (size_t)call->bytes);
                output += call->bytes;
            }
        }
    return 0;
}
