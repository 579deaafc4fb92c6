/* TRANSPOSE_CONV of float32: every input element is added to the outputs that it reaches. */
#include "floats.h"
#include "kernels.h"

static void add(const struct conv_call *call, float *sums, float value, int32_t from, int32_t y, int32_t x)
{
    const float *filter = (const float *)call->filter + from;
    int32_t next = call->filter_h * call->filter_w * call->in_c;
    for (int32_t i = 0; i < call->filter_h; i++)
        for (int32_t j = 0; j < call->filter_w; j++, filter += call->in_c) {
            if (y + i < 0 || y + i >= call->out_h || x + j < 0 || x + j >= call->out_w)
                continue;
            float *sum = sums + ((y + i) * call->out_w + x + j) * call->out_c;
            const float *weight = filter;
            for (int32_t c = 0; c < call->out_c; c++, weight += next)
                sum[c] += value * *weight;
        }
}

int32_t reference_transpose_conv_f32(const struct conv_call *call)
{
    const float *input = call->input;
    float *output = call->output;
    const int32_t image = call->out_h * call->out_w * call->out_c;
    for (int32_t n = 0; n < call->batch * image; n++)
        output[n] = 0.0f;
    for (int32_t b = 0; b < call->batch; b++)
        for (int32_t y = 0; y < call->in_h; y++)
            for (int32_t x = 0; x < call->in_w; x++)
                for (int32_t c = 0; c < call->in_c; c++)
                    add(call, output + b * image, *input++, c, y * call->stride_h - call->pad_top,
                        x * call->stride_w - call->pad_left);
    for (int32_t n = 0; n < call->batch * image; n += call->out_c)
        for (int32_t c = 0; c < call->out_c; c++, output++) {
            float sum = *output + (call->bias ? ((const float *)(const void *)call->bias)[c] : 0.0f);
            *output = limited(sum, as_float(call->least), as_float(call->most));
        }
    return 0;
}
