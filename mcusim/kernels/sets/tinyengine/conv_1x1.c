/* 1 x 1 convolutions of stride 1: two pixels at a time as columns, under all filters.

   Scratch: two columns of 16 bits, in_c filled up to a multiple of 4. The functions for one depth have its loops
   unrolled. */
#include "columns.h"

INLINE int32_t pointwise(const struct conv_call *call, int32_t depth) {
    const struct conv_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    const struct finish f = finish_of(call, depth);
    const uint32_t offsets = twice(c->input_offset);
    const int8_t *in = c->input;
    int8_t *out = c->output;
    uint32_t *const columns = c->scratch;
    int32_t pixels = c->batch * c->in_h * c->in_w;
    for (; pixels > 0; pixels -= 2, in += 2 * depth, out += 2 * c->out_c) {
        const int32_t more = pixels > 1; /* the last of an odd number: twice */
        widened(in, columns, depth, offsets);
        widened(in + (more ? depth : 0), columns + 2, depth, offsets);
        all_filters(c, &f, columns, depth, out, out + (more ? c->out_c : 0));
    }
    tinyengine_range(call);
    return 0;
}

int32_t tinyengine_conv_1x1(const struct conv_call *c) { return pointwise(c, c->in_c); }
int32_t tinyengine_conv_1x1_8(const struct conv_call *c) { return pointwise(c, 8); }
int32_t tinyengine_conv_1x1_16(const struct conv_call *c) { return pointwise(c, 16); }
int32_t tinyengine_conv_1x1_24(const struct conv_call *c) { return pointwise(c, 24); }
int32_t tinyengine_conv_1x1_48(const struct conv_call *c) { return pointwise(c, 48); }
