#include <kernels.h>

int32_t reference_conv(const struct conv_call *c);
int32_t tuned_0(const struct conv_call *c);
int32_t tuned_1(const struct conv_call *c);
int32_t tuned_2(const struct conv_call *c);
int32_t tuned_conv_2d(const struct conv_call *c) {
    if (c->in_w == 32 && c->in_c == 3 && c->out_w == 32 && c->out_c == 32 && c->filter_h == 5 && c->filter_w == 5 && c->stride_h == 1 && c->stride_w == 1 && c->dilation_h == 1 && c->dilation_w == 1 && c->pad_left == 2 && c->depth_multiplier == 1) return tuned_0(c);
    if (c->in_w == 16 && c->in_c == 32 && c->out_w == 16 && c->out_c == 32 && c->filter_h == 5 && c->filter_w == 5 && c->stride_h == 1 && c->stride_w == 1 && c->dilation_h == 1 && c->dilation_w == 1 && c->pad_left == 2 && c->depth_multiplier == 1) return tuned_1(c);
    if (c->in_w == 8 && c->in_c == 32 && c->out_w == 8 && c->out_c == 64 && c->filter_h == 5 && c->filter_w == 5 && c->stride_h == 1 && c->stride_w == 1 && c->dilation_h == 1 && c->dilation_w == 1 && c->pad_left == 2 && c->depth_multiplier == 1) return tuned_2(c);
    return reference_conv(c);
}

int32_t reference_fully_connected(const struct conv_call *c);
int32_t tuned_3(const struct conv_call *c);
int32_t tuned_fully_connected(const struct conv_call *c) {
    if (c->in_c == 1024 && c->out_c == 10) return tuned_3(c);
    return reference_fully_connected(c);
}
