/* CONV_2D in groups: an output channel sums over its group's part of the input's channels alone. */
#include "fixed_point.h"
#include "kernels.h"
#include "wide.h"

static int32_t scaled(const struct conv_call *call, int32_t sum, int32_t channel)
{
    if (call->bias)
        sum += call->bias[channel];
    return scale(sum, call->multiplier[channel], call->shift[channel]) + call->output_offset;
}

/* A bias of 64 bits keeps the sum's 64; one of 32 bits makes it a sum of 32 bits, which is rounded twice. */
static int32_t scaled_wide(const struct conv_call *call, int64_t sum, int32_t channel)
{
    int32_t multiplier = call->multiplier[channel], shift = call->shift[channel];
    if (call->bias_bytes == 4)
        return scale((int32_t)sum + call->bias[channel], multiplier, shift);
    if (call->bias_bytes == 8)
        sum += ((const int64_t *)(const void *)call->bias)[channel];
    return scale_sum(sum, multiplier, shift);
}

#define GROUPED(name, type, weight, total, scaled_sum)                                                                 \
    static total name##_sum(const struct conv_call *call, int32_t image, int32_t top, int32_t left, int32_t channel)   \
    {                                                                                                                  \
        const int32_t depth = call->in_c / call->depth_multiplier;                                                     \
        const int32_t first = channel / (call->out_c / call->depth_multiplier) * depth;                                \
        const type *input = (const type *)call->input + first;                                                         \
        const weight *filter = call->filter;                                                                           \
        total sum = 0;                                                                                                 \
        for (int32_t y = 0; y < call->filter_h; y++) {                                                                 \
            int32_t in_y = top + call->dilation_h * y;                                                                 \
            for (int32_t x = 0; x < call->filter_w; x++) {                                                             \
                int32_t in_x = left + call->dilation_w * x;                                                            \
                if (in_x < 0 || in_x >= call->in_w || in_y < 0 || in_y >= call->in_h)                                  \
                    continue;                                                                                          \
                const type *values = input + ((image * call->in_h + in_y) * call->in_w + in_x) * call->in_c;           \
                const weight *weights = filter + ((channel * call->filter_h + y) * call->filter_w + x) * depth;        \
                for (int32_t c = 0; c < depth; c++)                                                                    \
                    sum += (weights[c] + call->filter_offset) * (values[c] + call->input_offset);                      \
            }                                                                                                          \
        }                                                                                                              \
        return sum;                                                                                                    \
    }                                                                                                                  \
    int32_t name(const struct conv_call *call)                                                                         \
    {                                                                                                                  \
        type *output = call->output;                                                                                   \
        for (int32_t image = 0; image < call->batch; image++)                                                          \
            for (int32_t y = 0; y < call->out_h; y++)                                                                  \
                for (int32_t x = 0; x < call->out_w; x++)                                                              \
                    for (int32_t c = 0; c < call->out_c; c++) {                                                        \
                        int32_t top = y * call->stride_h - call->pad_top, left = x * call->stride_w - call->pad_left;  \
                        int32_t value = scaled_sum(call, name##_sum(call, image, top, left, c), c);                    \
                        *output++ = (type)clamp(value, call->least, call->most);                                       \
                    }                                                                                                  \
        return 0;                                                                                                      \
    }

GROUPED(reference_conv_grouped, int8_t, int8_t, int32_t, scaled)
GROUPED(reference_conv_grouped_u8, uint8_t, uint8_t, int32_t, scaled)
GROUPED(reference_conv_grouped_s16, int16_t, int8_t, int64_t, scaled_wide)
