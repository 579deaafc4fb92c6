/* RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR of int16. */
#include "resize.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);

int32_t reference_resize_nearest_s16(const struct resize_call *call)
{
    const int16_t *input = call->input;
    int16_t *output = call->output;
    for (int32_t image = 0; image < call->batch; image++)
        for (int32_t y = 0; y < call->out_h; y++) {
            int32_t row = image * call->in_h + nearest(call, y, call->in_h, call->out_h);
            for (int32_t x = 0; x < call->out_w; x++, output += call->channels) {
                int32_t column = nearest(call, x, call->in_w, call->out_w);
                memcpy(output, input + (row * call->in_w + column) * call->channels, 2 * (size_t)call->channels);
            }
        }
    return 0;
}

BILINEAR(reference_resize_bilinear_s16, int16_t)
