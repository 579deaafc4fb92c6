/* CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED of float32, one product after another. */
#include "floats.h"
#include "kernels.h"

static inline float finish(const struct conv_call *call, float sum, int32_t channel)
{
    float bias = call->bias ? ((const float *)(const void *)call->bias)[channel] : 0.0f;
    return limited(sum + bias, as_float(call->least), as_float(call->most));
}

static float window(const struct conv_call *call, int32_t image, int32_t top, int32_t left, int32_t channel)
{
    const int32_t depth = call->in_c / call->depth_multiplier;
    const float *input = (const float *)call->input + channel / (call->out_c / call->depth_multiplier) * depth;
    const float *filter = call->filter;
    float sum = 0.0f;
    for (int32_t y = 0; y < call->filter_h; y++) {
        int32_t in_y = top + call->dilation_h * y;
        for (int32_t x = 0; x < call->filter_w; x++) {
            int32_t in_x = left + call->dilation_w * x;
            if (in_x < 0 || in_x >= call->in_w || in_y < 0 || in_y >= call->in_h)
                continue;
            const float *values = input + ((image * call->in_h + in_y) * call->in_w + in_x) * call->in_c;
            const float *weights = filter + ((channel * call->filter_h + y) * call->filter_w + x) * depth;
            for (int32_t c = 0; c < depth; c++)
                sum += weights[c] * values[c];
        }
    }
    return sum;
}

int32_t reference_conv_f32(const struct conv_call *call)
{
    float *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t y = 0; y < call->out_h; y++)
            for (int32_t x = 0; x < call->out_w; x++)
                for (int32_t c = 0; c < call->out_c; c++) {
                    int32_t top = y * call->stride_h - call->pad_top, left = x * call->stride_w - call->pad_left;
                    *output++ = finish(call, window(call, image, top, left, c), c);
                }
    return 0;
}

static float taps(const struct conv_call *call, int32_t image, int32_t top, int32_t left, int32_t from, int32_t channel)
{
    const float *input = call->input, *filter = call->filter;
    float sum = 0.0f;
    for (int32_t y = 0; y < call->filter_h; y++)
        for (int32_t x = 0; x < call->filter_w; x++) {
            int32_t in_y = top + call->dilation_h * y, in_x = left + call->dilation_w * x;
            if (in_x < 0 || in_x >= call->in_w || in_y < 0 || in_y >= call->in_h)
                continue;
            float value = input[((image * call->in_h + in_y) * call->in_w + in_x) * call->in_c + from];
            sum += value * filter[(y * call->filter_w + x) * call->out_c + channel];
        }
    return sum;
}

int32_t reference_depthwise_f32(const struct conv_call *call)
{
    float *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t y = 0; y < call->out_h; y++)
            for (int32_t x = 0; x < call->out_w; x++)
                for (int32_t from = 0, c = 0; from < call->in_c; from++)
                    for (int32_t m = 0; m < call->depth_multiplier; m++, c++) {
                        int32_t top = y * call->stride_h - call->pad_top, left = x * call->stride_w - call->pad_left;
                        *output++ = finish(call, taps(call, image, top, left, from, c), c);
                    }
    return 0;
}

int32_t reference_fully_connected_f32(const struct conv_call *call)
{
    float *output = call->output;
    for (int32_t row = 0; row < call->batch; row++)
        for (int32_t c = 0; c < call->out_c; c++) {
            const float *input = (const float *)call->input + row * call->in_c;
            const float *filter = (const float *)call->filter + c * call->in_c;
            float sum = 0.0f;
            for (int32_t i = 0; i < call->in_c; i++)
                sum += input[i] * filter[i];
            *output++ = finish(call, sum, c);
        }
    return 0;
}
