/* RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR of integers of any size. */
#ifndef MCUSIM_RESIZE_H
#define MCUSIM_RESIZE_H
#include "kernels.h"

static inline int32_t nearest(const struct resize_call *call, int32_t at, int32_t in, int32_t out)
{
    float step = call->align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    float place = ((float)at + (call->half_pixel_centers ? 0.5f : 0.0f)) * step;
    int32_t index = (int32_t)place; /* place >= 0 */
    if (call->align_corners && place - (float)index >= 0.5f)
        index++;
    return index < in ? index : in - 1;
}

struct place { /* in 1/1024 of an input element */
    int32_t at, low, high;
};

static inline struct place place(const struct resize_call *call, int32_t index, int32_t in, int32_t out)
{
    int32_t step = (1024 * in + out / 2) / out;
    if (call->align_corners && out > 1)
        step = (1024 * (in - 1) + (out - 1) / 2) / (out - 1);
    int32_t at = index * step + (call->half_pixel_centers ? step / 2 - 512 : 0);
    int32_t low = at / 1024, high = (at + 1023) / 1024;
    return (struct place){at, low > 0 ? low : 0, high < in ? high : in - 1};
}

#define BILINEAR(name, type)                                                                                           \
    int32_t name(const struct resize_call *call)                                                                       \
    {                                                                                                                  \
        type *output = call->output;                                                                                   \
        for (int32_t image = 0; image < call->batch; image++)                                                          \
            for (int32_t row = 0; row < call->out_h; row++) {                                                          \
                struct place y = place(call, row, call->in_h, call->out_h);                                            \
                for (int32_t column = 0; column < call->out_w; column++) {                                             \
                    struct place x = place(call, column, call->in_w, call->out_w);                                     \
                    for (int32_t c = 0; c < call->channels; c++) {                                                     \
                        const type *input = (const type *)call->input + c;                                             \
                        const int32_t lines[2] = {image * call->in_h + y.low, image * call->in_h + y.high};            \
                        const int32_t down[2] = {1024 - (y.at - 1024 * y.low), y.at - 1024 * y.low};                   \
                        int64_t sum = 0;                                                                               \
                        for (int i = 0; i < 2; i++) {                                                                  \
                            const type *line = input + lines[i] * call->in_w * call->channels;                         \
                            sum += (int64_t)line[x.low * call->channels] * down[i] * (1024 - (x.at - 1024 * x.low));   \
                            sum += (int64_t)line[x.high * call->channels] * down[i] * (x.at - 1024 * x.low);           \
                        }                                                                                              \
                        *output++ = (type)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));                      \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        return 0;                                                                                                      \
    }
#endif
