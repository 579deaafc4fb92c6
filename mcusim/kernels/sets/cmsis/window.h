/* The window of an output pixel of a pool. */
#ifndef MCUSIM_CMSIS_WINDOW_H
#define MCUSIM_CMSIS_WINDOW_H
#include "dsp.h"

struct window { /* what of an output pixel's window is inside */
    int32_t top, bottom, left, right;
};

INLINE struct window window_at(const struct pool_call *c, int32_t y, int32_t x) {
    const int32_t y0 = y * c->stride_h - c->pad_top, x0 = x * c->stride_w - c->pad_left;
    return (struct window){
        larger(0, y0), smaller(y0 + c->filter_h, c->in_h), larger(0, x0), smaller(x0 + c->filter_w, c->in_w)};
}
#endif
