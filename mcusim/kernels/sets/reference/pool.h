/* Pools of elements of any type; what is outside the input counts for nothing. */
#ifndef MCUSIM_POOL_H
#define MCUSIM_POOL_H
#include "fixed_point.h"
#include "kernels.h"

struct window {
    int32_t top, bottom, left, right; /* rows and columns of the input, ends excluded */
};

static inline struct window window(const struct pool_call *call, int32_t y, int32_t x)
{
    int32_t top = y * call->stride_h - call->pad_top, left = x * call->stride_w - call->pad_left;
    return (struct window){
        .top = top < 0 ? 0 : top,
        .bottom = top + call->filter_h < call->in_h ? top + call->filter_h : call->in_h,
        .left = left < 0 ? 0 : left,
        .right = left + call->filter_w < call->in_w ? left + call->filter_w : call->in_w,
    };
}

static inline int32_t mean(int32_t sum, int32_t count)
{
    return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

#define POOL(name, type, first, step, last)                                                                            \
    static int32_t name##_of(const struct pool_call *call, struct window at, int32_t image, int32_t channel)           \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        int32_t result = first;                                                                                        \
        for (int32_t y = at.top; y < at.bottom; y++)                                                                   \
            for (int32_t x = at.left; x < at.right; x++) {                                                             \
                int32_t value = input[((image * call->in_h + y) * call->in_w + x) * call->channels + channel];         \
                result = step;                                                                                         \
            }                                                                                                          \
        int32_t count = (at.bottom - at.top) * (at.right - at.left);                                                   \
        (void)count;                                                                                                   \
        return clamp(last, call->least, call->most);                                                                   \
    }                                                                                                                  \
    int32_t name(const struct pool_call *call)                                                                         \
    {                                                                                                                  \
        type *output = call->output;                                                                                   \
        for (int32_t image = 0; image < call->batch; image++)                                                          \
            for (int32_t y = 0; y < call->out_h; y++)                                                                  \
                for (int32_t x = 0; x < call->out_w; x++)                                                              \
                    for (int32_t c = 0; c < call->channels; c++)                                                       \
                        *output++ = (type)name##_of(call, window(call, y, x), image, c);                               \
        return 0;                                                                                                      \
    }
#endif
