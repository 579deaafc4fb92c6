/* CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED of int16 activations and int8 filters, both symmetric: sums of 64
   bits. */
#include "fixed_point.h"
#include "kernels.h"
#include "wide.h"

/* With all 31 bits of the multiplier, halves away from zero: what FULLY_CONNECTED gets from a product in
   float64. shift is 14 at most. */
static inline int32_t scale_exactly(int64_t sum, int32_t multiplier, int32_t shift)
{
    int64_t size = sum < 0 ? -sum : sum, low = ((size & 0xFFFF) * multiplier) >> 16;
    int32_t value = (int32_t)(((size >> 16) * multiplier + low + (1ll << (14 - shift))) >> (15 - shift));
    return sum < 0 ? -value : value;
}

/* A bias of 64 bits keeps the sum's 64; one of 32 bits makes it a sum of 32 bits, which is rounded twice. */
static inline int32_t finish(const struct conv_call *call, int64_t sum, int32_t channel,
                             int32_t scaled(int64_t sum, int32_t multiplier, int32_t shift))
{
    int32_t multiplier = call->multiplier[channel], shift = call->shift[channel], value;
    if (call->bias_bytes == 8)
        sum += ((const int64_t *)(const void *)call->bias)[channel];
    if (call->bias_bytes == 4)
        value = scale((int32_t)sum + call->bias[channel], multiplier, shift);
    else
        value = scaled(sum, multiplier, shift);
    return clamp(value, call->least, call->most);
}

static int64_t window(const struct conv_call *call, int32_t image, int32_t top, int32_t left, int32_t channel)
{
    const int16_t *input = call->input;
    const int8_t *filter = call->filter;
    int64_t sum = 0;
    for (int32_t y = 0; y < call->filter_h; y++) {
        int32_t in_y = top + call->dilation_h * y;
        for (int32_t x = 0; x < call->filter_w; x++) {
            int32_t in_x = left + call->dilation_w * x;
            if (in_x < 0 || in_x >= call->in_w || in_y < 0 || in_y >= call->in_h)
                continue;
            const int16_t *values = input + ((image * call->in_h + in_y) * call->in_w + in_x) * call->in_c;
            const int8_t *weights = filter + ((channel * call->filter_h + y) * call->filter_w + x) * call->in_c;
            for (int32_t c = 0; c < call->in_c; c++)
                sum += (int32_t)weights[c] * values[c];
        }
    }
    return sum;
}

int32_t reference_conv_s16(const struct conv_call *call)
{
    int16_t *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t y = 0; y < call->out_h; y++)
            for (int32_t x = 0; x < call->out_w; x++)
                for (int32_t c = 0; c < call->out_c; c++) {
                    int32_t top = y * call->stride_h - call->pad_top, left = x * call->stride_w - call->pad_left;
                    *output++ = (int16_t)finish(call, window(call, image, top, left, c), c, scale_sum);
                }
    return 0;
}

static int64_t taps(const struct conv_call *call, int32_t image, int32_t top, int32_t left, int32_t from,
                    int32_t channel)
{
    const int16_t *input = call->input;
    const int8_t *filter = call->filter;
    int64_t sum = 0;
    for (int32_t y = 0; y < call->filter_h; y++)
        for (int32_t x = 0; x < call->filter_w; x++) {
            int32_t in_y = top + call->dilation_h * y, in_x = left + call->dilation_w * x;
            if (in_x < 0 || in_x >= call->in_w || in_y < 0 || in_y >= call->in_h)
                continue;
            int32_t value = input[((image * call->in_h + in_y) * call->in_w + in_x) * call->in_c + from];
            sum += filter[(y * call->filter_w + x) * call->out_c + channel] * value;
        }
    return sum;
}

int32_t reference_depthwise_s16(const struct conv_call *call)
{
    int16_t *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t y = 0; y < call->out_h; y++)
            for (int32_t x = 0; x < call->out_w; x++)
                for (int32_t from = 0, c = 0; from < call->in_c; from++)
                    for (int32_t m = 0; m < call->depth_multiplier; m++, c++) {
                        int32_t top = y * call->stride_h - call->pad_top, left = x * call->stride_w - call->pad_left;
                        *output++ = (int16_t)finish(call, taps(call, image, top, left, from, c), c, scale_sum);
                    }
    return 0;
}

int32_t reference_fully_connected_s16(const struct conv_call *call)
{
    int16_t *output = call->output;
    for (int32_t row = 0; row < call->batch; row++)
        for (int32_t c = 0; c < call->out_c; c++) {
            const int16_t *input = (const int16_t *)call->input + row * call->in_c;
            const int8_t *filter = (const int8_t *)call->filter + c * call->in_c;
            int64_t sum = 0;
            for (int32_t i = 0; i < call->in_c; i++)
                sum += (int32_t)filter[i] * input[i];
            *output++ = (int16_t)finish(call, sum, c, scale_exactly);
        }
    return 0;
}
