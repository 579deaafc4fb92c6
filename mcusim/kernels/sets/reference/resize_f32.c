/* RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR of float32. */
#include "resize.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);

int32_t reference_resize_nearest_f32(const struct resize_call *call)
{
    const float *input = call->input;
    float *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t y = 0; y < call->out_h; y++) {
            int32_t row = image * call->in_h + nearest(call, y, call->in_h, call->out_h);
            for (int32_t x = 0; x < call->out_w; x++, output += call->channels) {
                int32_t column = nearest(call, x, call->in_w, call->out_w);
                memcpy(output, input + (row * call->in_w + column) * call->channels, 4 * (size_t)call->channels);
            }
        }
    return 0;
}

struct position {
    float exact;
    int32_t low, high;
};

static struct position position(const struct resize_call *call, int32_t index, int32_t in, int32_t out)
{
    float step = call->align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    float exact = call->half_pixel_centers ? ((float)index + 0.5f) * step - 0.5f : (float)index * step;
    int32_t floor = (int32_t)exact, ceil;
    floor -= (float)floor > exact;
    ceil = floor + ((float)floor < exact);
    return (struct position){exact, floor > 0 ? floor : 0, ceil < in ? ceil : in - 1};
}

int32_t reference_resize_bilinear_f32(const struct resize_call *call)
{
    float *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t row = 0; row < call->out_h; row++) {
            struct position y = position(call, row, call->in_h, call->out_h);
            for (int32_t column = 0; column < call->out_w; column++) {
                struct position x = position(call, column, call->in_w, call->out_w);
                for (int32_t c = 0; c < call->channels; c++) {
                    const float *input = (const float *)call->input + c;
                    const float *top = input + (image * call->in_h + y.low) * call->in_w * call->channels;
                    const float *bottom = input + (image * call->in_h + y.high) * call->in_w * call->channels;
                    float down = y.exact - (float)y.low, across = x.exact - (float)x.low;
                    float sum = top[x.low * call->channels] * (1 - down) * (1 - across);
                    sum += bottom[x.low * call->channels] * down * (1 - across);
                    sum += top[x.high * call->channels] * (1 - down) * across;
                    sum += bottom[x.high * call->channels] * down * across;
                    *output++ = sum;
                }
            }
        }
    return 0;
}
