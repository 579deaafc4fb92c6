/* TRANSPOSE_CONV of int16 activations and int8 filters: every input element is added to the outputs that it reaches. */
#include "fixed_point.h"
#include "kernels.h"
#include "wide.h"

static void add(const struct conv_call *call, int64_t *sums, int32_t value, int32_t from, int32_t y, int32_t x)
{
    const int8_t *filter = (const int8_t *)call->filter + from;
    int32_t next = call->filter_h * call->filter_w * call->in_c;
    for (int32_t i = 0; i < call->filter_h; i++)
        for (int32_t j = 0; j < call->filter_w; j++, filter += call->in_c) {
            if (y + i < 0 || y + i >= call->out_h || x + j < 0 || x + j >= call->out_w)
                continue;
            int64_t *sum = sums + ((y + i) * call->out_w + x + j) * call->out_c;
            const int8_t *weight = filter;
            for (int32_t c = 0; c < call->out_c; c++, weight += next)
                sum[c] += value * *weight;
        }
}

int32_t reference_transpose_conv_s16(const struct conv_call *call)
{
    const int16_t *input = call->input;
    const int64_t *bias = (const void *)call->bias;
    int16_t *output = call->output;
    int64_t *sums = call->scratch;
    int32_t image = call->out_h * call->out_w * call->out_c;
    for (int32_t n = 0; n < call->batch * image; n++)
        sums[n] = 0;
    for (int32_t b = 0; b < call->batch; b++)
        for (int32_t y = 0; y < call->in_h; y++)
            for (int32_t x = 0; x < call->in_w; x++)
                for (int32_t c = 0; c < call->in_c; c++)
                    add(call, sums + b * image, *input++, c, y * call->stride_h - call->pad_top,
                        x * call->stride_w - call->pad_left);
    for (int32_t n = 0; n < call->batch * image; n += call->out_c)
        for (int32_t c = 0; c < call->out_c; c++) {
            int64_t sum = sums[n + c] + (bias ? bias[c] : 0);
            *output++ = (int16_t)clamp(scale_sum(sum, call->multiplier[c], call->shift[c]), call->least, call->most);
        }
    return 0;
}
