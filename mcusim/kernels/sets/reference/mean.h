/* MEAN of elements of any type: a sum for each output, then one multiplication that also divides. */
#ifndef MCUSIM_MEAN_H
#define MCUSIM_MEAN_H
#include "fixed_point.h"
#include "kernels.h"

#define MEAN(name, type)                                                                                               \
    int32_t name(const struct mean_call *call)                                                                         \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        type *output = call->output;                                                                                   \
        int32_t *sums = call->scratch, outputs = 1, reduced = 1, i[4];                                                 \
        for (int d = 0; d < 4; d++)                                                                                    \
            *(call->reduce[d] ? &reduced : &outputs) *= call->shape[d];                                                \
        for (int32_t n = 0; n < outputs; n++)                                                                          \
            sums[n] = 0;                                                                                               \
        for (i[0] = 0; i[0] < call->shape[0]; i[0]++)                                                                  \
            for (i[1] = 0; i[1] < call->shape[1]; i[1]++)                                                              \
                for (i[2] = 0; i[2] < call->shape[2]; i[2]++)                                                          \
                    for (i[3] = 0; i[3] < call->shape[3]; i[3]++) {                                                    \
                        int32_t at = 0;                                                                                \
                        for (int d = 0; d < 4; d++)                                                                    \
                            at = call->reduce[d] ? at : at * call->shape[d] + i[d];                                    \
                        sums[at] += *input++;                                                                          \
                    }                                                                                                  \
        for (int32_t n = 0; n < outputs; n++) {                                                                        \
            int32_t value = scale(sums[n] + call->input_offset * reduced, call->multiplier, call->shift);              \
            output[n] = (type)clamp(value + call->output_offset, call->least, call->most);                             \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
#endif
