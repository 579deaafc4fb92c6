/* RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR. */
#include "kernels.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);

static int32_t nearest(const struct resize_call *call, int32_t at, int32_t in, int32_t out)
{
    float step = call->align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    float place = ((float)at + (call->half_pixel_centers ? 0.5f : 0.0f)) * step;
    int32_t index = (int32_t)place; /* place >= 0 */
    if (call->align_corners && place - (float)index >= 0.5f)
        index++;
    return index < in ? index : in - 1;
}

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

struct place { /* in 1/1024 of an input element */
    int32_t at, low, high;
};

static struct place place(const struct resize_call *call, int32_t index, int32_t in, int32_t out)
{
    int32_t step = (1024 * in + out / 2) / out;
    if (call->align_corners && out > 1)
        step = (1024 * (in - 1) + (out - 1) / 2) / (out - 1);
    int32_t at = index * step + (call->half_pixel_centers ? step / 2 - 512 : 0);
    int32_t low = at / 1024, high = (at + 1023) / 1024;
    return (struct place){at, low > 0 ? low : 0, high < in ? high : in - 1};
}

int32_t reference_resize_bilinear(const struct resize_call *call)
{
    int8_t *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t row = 0; row < call->out_h; row++) {
            struct place y = place(call, row, call->in_h, call->out_h);
            for (int32_t column = 0; column < call->out_w; column++) {
                struct place x = place(call, column, call->in_w, call->out_w);
                for (int32_t c = 0; c < call->channels; c++) {
                    const int8_t *input = (const int8_t *)call->input + c;
                    const int32_t lines[2] = {image * call->in_h + y.low, image * call->in_h + y.high};
                    const int32_t down[2] = {1024 - (y.at - 1024 * y.low), y.at - 1024 * y.low};
                    int64_t sum = 0;
                    for (int i = 0; i < 2; i++) {
                        const int8_t *line = input + lines[i] * call->in_w * call->channels;
                        sum += (int64_t)line[x.low * call->channels] * down[i] * (1024 - (x.at - 1024 * x.low));
                        sum += (int64_t)line[x.high * call->channels] * down[i] * (x.at - 1024 * x.low);
                    }
                    *output++ = (int8_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
                }
            }
        }
    return 0;
}

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
