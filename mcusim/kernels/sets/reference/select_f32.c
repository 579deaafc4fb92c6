/* ARG_MAX, ARG_MIN, REDUCE_MAX, REDUCE_MIN of float32. */
#include "floats.h"
#include "kernels.h"

#define ARG_F32(name, better)                                                                                          \
    int32_t name(const struct arg_call *call)                                                                          \
    {                                                                                                                  \
        int32_t *output = call->output;                                                                                \
        for (int32_t o = 0; o < call->outer; o++)                                                                      \
            for (int32_t i = 0; i < call->inner; i++) {                                                                \
                const float *input = (const float *)call->input + o * call->size * call->inner + i;                    \
                float best = *input;                                                                                   \
                int32_t index = 0;                                                                                     \
                for (int32_t k = 1; k < call->size; k++) {                                                             \
                    float value = *(input += call->inner);                                                             \
                    if (value better best) {                                                                           \
                        best = value;                                                                                  \
                        index = k;                                                                                     \
                    }                                                                                                  \
                }                                                                                                      \
                *output++ = index;                                                                                     \
                if (call->wide)                                                                                        \
                    *output++ = 0;                                                                                     \
            }                                                                                                          \
        return 0;                                                                                                      \
    }

ARG_F32(reference_arg_max_f32, >)
ARG_F32(reference_arg_min_f32, <)

#define REDUCE_F32(name, first, better)                                                                                \
    int32_t name(const struct mean_call *call)                                                                         \
    {                                                                                                                  \
        const float *input = call->input;                                                                              \
        float *output = call->output;                                                                                  \
        int32_t outputs = 1, i[4];                                                                                     \
        for (int d = 0; d < 4; d++)                                                                                    \
            outputs *= call->reduce[d] ? 1 : call->shape[d];                                                           \
        for (int32_t n = 0; n < outputs; n++)                                                                          \
            output[n] = first;                                                                                         \
        for (i[0] = 0; i[0] < call->shape[0]; i[0]++)                                                                  \
            for (i[1] = 0; i[1] < call->shape[1]; i[1]++)                                                              \
                for (i[2] = 0; i[2] < call->shape[2]; i[2]++)                                                          \
                    for (i[3] = 0; i[3] < call->shape[3]; i[3]++, input++) {                                           \
                        int32_t to = 0;                                                                                \
                        for (int d = 0; d < 4; d++)                                                                    \
                            to = call->reduce[d] ? to : to * call->shape[d] + i[d];                                    \
                        if (*input better output[to])                                                                  \
                            output[to] = *input;                                                                       \
                    }                                                                                                  \
        return 0;                                                                                                      \
    }

REDUCE_F32(reference_reduce_max_f32, -__FLT_MAX__, >)
REDUCE_F32(reference_reduce_min_f32, __FLT_MAX__, <)
