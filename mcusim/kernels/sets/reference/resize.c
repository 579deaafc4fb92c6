/* RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR. */
#include "resize.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);

int32_t reference_resize_nearest(const struct resize_call *call)
{
    const int8_t *input = call->input;
    int8_t *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t y = 0; y < call->out_h; y++) {
            int32_t row = image * call->in_h + nearest(call, y, call->in_h, call->out_h);
            for (int32_t x = 0; x < call->out_w; x++, output += call->channels) {
                int32_t column = nearest(call, x, call->in_w, call->out_w);
                memcpy(output, input + (row * call->in_w + column) * call->channels, (size_t)call->channels);
            }
        }
    return 0;
}

BILINEAR(reference_resize_bilinear, int8_t)

struct position {
    float at;
    int32_t low, high;
};

static struct position position(const struct resize_call *call, int32_t index, int32_t in, int32_t out)
{
    float step = call->align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    float at = call->half_pixel_centers ? ((float)index + 0.5f) * step - 0.5f : (float)index * step;
    int32_t floor = (int32_t)at, ceil;
    floor -= (float)floor > at;
    ceil = floor + ((float)floor < at);
    return (struct position){at, floor > 0 ? floor : 0, ceil < in ? ceil : in - 1};
}

int32_t reference_resize_bilinear_u8(const struct resize_call *call) /* TFLite takes float32 for uint8 */
{
    uint8_t *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t row = 0; row < call->out_h; row++) {
            struct position y = position(call, row, call->in_h, call->out_h);
            for (int32_t column = 0; column < call->out_w; column++) {
                struct position x = position(call, column, call->in_w, call->out_w);
                for (int32_t c = 0; c < call->channels; c++) {
                    const uint8_t *input = (const uint8_t *)call->input + c;
                    const uint8_t *top = input + (image * call->in_h + y.low) * call->in_w * call->channels;
                    const uint8_t *bottom = input + (image * call->in_h + y.high) * call->in_w * call->channels;
                    float down = y.at - (float)y.low, across = x.at - (float)x.low;
                    float sum = (float)top[x.low * call->channels] * (1 - down) * (1 - across);
                    sum += (float)bottom[x.low * call->channels] * down * (1 - across);
                    sum += (float)top[x.high * call->channels] * (1 - down) * across;
                    sum += (float)bottom[x.high * call->channels] * down * across;
                    *output++ = (uint8_t)(sum + 0.5f);
                }
            }
        }
    return 0;
}
