/* Filters of int4: unpacked into scratch memory, then the function for int8. */
#ifndef MCUSIM_INT4_H
#define MCUSIM_INT4_H
#include "kernels.h"

int32_t reference_unpack_s4(const struct unary_call *call);

#define INT4(name, kernel, count)                                                                                      \
    int32_t kernel(const struct conv_call *c);                                                                         \
    int32_t name(const struct conv_call *c)                                                                            \
    {                                                                                                                  \
        struct conv_call whole = *c;                                                                                   \
        const struct unary_call packed = {.input = c->filter, .output = c->scratch, .elements = (count)};              \
        reference_unpack_s4(&packed);                                                                                  \
        whole.filter = c->scratch;                                                                                     \
        whole.scratch = (int8_t *)c->scratch + (packed.elements + 3) / 4 * 4;                                          \
        return kernel(&whole);                                                                                         \
    }
#define CONV_ELEMENTS c->out_c *c->filter_h *c->filter_w *c->in_c
#define DEPTHWISE_ELEMENTS c->out_c *c->filter_h *c->filter_w
#endif
