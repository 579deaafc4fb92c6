/* TRANSPOSE_CONV: every input element is added to the outputs that it reaches, in sums of 32 bits. */
#include "fixed_point.h"
#include "kernels.h"

#define TRANSPOSE_CONV(name, type)                                                                                     \
    static void name##_add(const struct conv_call *call, int32_t *sums, int32_t value, int32_t from, int32_t y,        \
                           int32_t x)                                                                                  \
    {                                                                                                                  \
        const type *filter = (const type *)call->filter + from;                                                        \
        int32_t next = call->filter_h * call->filter_w * call->in_c, offset = call->filter_offset;                     \
        for (int32_t i = 0; i < call->filter_h; i++)                                                                   \
            for (int32_t j = 0; j < call->filter_w; j++, filter += call->in_c) {                                       \
                if (y + i < 0 || y + i >= call->out_h || x + j < 0 || x + j >= call->out_w)                            \
                    continue;                                                                                          \
                int32_t *sum = sums + ((y + i) * call->out_w + x + j) * call->out_c;                                   \
                const type *weight = filter;                                                                           \
                for (int32_t c = 0; c < call->out_c; c++, weight += next)                                              \
                    sum[c] += value * (*weight + offset);                                                              \
            }                                                                                                          \
    }                                                                                                                  \
    int32_t name(const struct conv_call *call)                                                                         \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        type *output = call->output;                                                                                   \
        int32_t *sums = call->scratch, image = call->out_h * call->out_w * call->out_c;                                \
        for (int32_t n = 0; n < call->batch * image; n++)                                                              \
            sums[n] = 0;                                                                                               \
        for (int32_t b = 0; b < call->batch; b++)                                                                      \
            for (int32_t y = 0; y < call->in_h; y++)                                                                   \
                for (int32_t x = 0; x < call->in_w; x++)                                                               \
                    for (int32_t c = 0; c < call->in_c; c++)                                                           \
                        name##_add(call, sums + b * image, *input++ + call->input_offset, c,                           \
                                   y * call->stride_h - call->pad_top, x * call->stride_w - call->pad_left);           \
        for (int32_t n = 0; n < call->batch * image; n += call->out_c)                                                 \
            for (int32_t c = 0; c < call->out_c; c++) {                                                                \
                int32_t sum = sums[n + c] + (call->bias ? call->bias[c] : 0);                                          \
                sum = scale(sum, call->multiplier[c], call->shift[c]) + call->output_offset;                           \
                *output++ = (type)clamp(sum, call->least, call->most);                                                 \
            }                                                                                                          \
        return 0;                                                                                                      \
    }

TRANSPOSE_CONV(reference_transpose_conv, int8_t)
TRANSPOSE_CONV(reference_transpose_conv_u8, uint8_t)
