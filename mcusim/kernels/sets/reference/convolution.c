/* CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED: one multiplication after another, as the mathematics writes it. */
#include "fixed_point.h"
#include "kernels.h"

static int32_t finish(const struct conv_call *call, int32_t sum, int32_t channel)
{
    if (call->bias)
        sum += call->bias[channel];
    sum = scale(sum, call->multiplier[channel], call->shift[channel]) + call->output_offset;
    return clamp(sum, call->least, call->most);
}

#define CONV(name, type)                                                                                               \
    static int32_t name##_sum(const struct conv_call *call, int32_t image, int32_t top, int32_t left, int32_t channel) \
    {                                                                                                                  \
        const type *input = call->input, *filter = call->filter;                                                       \
        int32_t sum = 0;                                                                                               \
        for (int32_t y = 0; y < call->filter_h; y++) {                                                                 \
            int32_t in_y = top + call->dilation_h * y;                                                                 \
            for (int32_t x = 0; x < call->filter_w; x++) {                                                             \
                int32_t in_x = left + call->dilation_w * x;                                                            \
                if (in_x < 0 || in_x >= call->in_w || in_y < 0 || in_y >= call->in_h)                                  \
                    continue;                                                                                          \
                for (int32_t c = 0; c < call->in_c; c++) {                                                             \
                    int32_t value = input[((image * call->in_h + in_y) * call->in_w + in_x) * call->in_c + c];         \
                    int32_t at = ((channel * call->filter_h + y) * call->filter_w + x) * call->in_c + c;               \
                    sum += (filter[at] + call->filter_offset) * (value + call->input_offset);                          \
                }                                                                                                      \
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
                        *output++ = (type)finish(call, name##_sum(call, image, top, left, c), c);                      \
                    }                                                                                                  \
        return 0;                                                                                                      \
    }

#define DEPTHWISE(name, type)                                                                                          \
    static int32_t name##_sum(const struct conv_call *call, int32_t image, int32_t top, int32_t left, int32_t from,    \
                              int32_t channel)                                                                         \
    {                                                                                                                  \
        const type *input = call->input, *filter = call->filter;                                                       \
        int32_t sum = 0;                                                                                               \
        for (int32_t y = 0; y < call->filter_h; y++)                                                                   \
            for (int32_t x = 0; x < call->filter_w; x++) {                                                             \
                int32_t in_y = top + call->dilation_h * y, in_x = left + call->dilation_w * x;                         \
                if (in_x < 0 || in_x >= call->in_w || in_y < 0 || in_y >= call->in_h)                                  \
                    continue;                                                                                          \
                int32_t value = input[((image * call->in_h + in_y) * call->in_w + in_x) * call->in_c + from];          \
                int32_t weight = filter[(y * call->filter_w + x) * call->out_c + channel];                             \
                sum += (weight + call->filter_offset) * (value + call->input_offset);                                  \
            }                                                                                                          \
        return sum;                                                                                                    \
    }                                                                                                                  \
    int32_t name(const struct conv_call *call)                                                                         \
    {                                                                                                                  \
        type *output = call->output;                                                                                   \
        for (int32_t image = 0; image < call->batch; image++)                                                          \
            for (int32_t y = 0; y < call->out_h; y++)                                                                  \
                for (int32_t x = 0; x < call->out_w; x++)                                                              \
                    for (int32_t from = 0, c = 0; from < call->in_c; from++)                                           \
                        for (int32_t m = 0; m < call->depth_multiplier; m++, c++) {                                    \
                            int32_t top = y * call->stride_h - call->pad_top;                                          \
                            int32_t left = x * call->stride_w - call->pad_left;                                        \
                            *output++ = (type)finish(call, name##_sum(call, image, top, left, from, c), c);            \
                        }                                                                                              \
        return 0;                                                                                                      \
    }

#define FULLY_CONNECTED(name, type)                                                                                    \
    int32_t name(const struct conv_call *call)                                                                         \
    {                                                                                                                  \
        const type *input = call->input, *filter = call->filter;                                                       \
        type *output = call->output;                                                                                   \
        for (int32_t row = 0; row < call->batch; row++)                                                                \
            for (int32_t c = 0; c < call->out_c; c++) {                                                                \
                int32_t sum = 0;                                                                                       \
                for (int32_t i = 0; i < call->in_c; i++)                                                               \
                    sum += (filter[c * call->in_c + i] + call->filter_offset)                                          \
                           * (input[row * call->in_c + i] + call->input_offset);                                       \
                if (call->bias)                                                                                        \
                    sum += call->bias[c];                                                                              \
                sum = scale_once(sum, call->multiplier[c], call->shift[c]) + call->output_offset;                      \
                *output++ = (type)clamp(sum, call->least, call->most);                                                 \
            }                                                                                                          \
        return 0;                                                                                                      \
    }

CONV(reference_conv, int8_t)
CONV(reference_conv_u8, uint8_t)
DEPTHWISE(reference_depthwise, int8_t)
DEPTHWISE(reference_depthwise_u8, uint8_t)
FULLY_CONNECTED(reference_fully_connected, int8_t)
FULLY_CONNECTED(reference_fully_connected_u8, uint8_t)
