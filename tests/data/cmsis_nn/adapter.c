/* CMSIS-NN's own functions under this package's calls, so that a checkout of it is a kernel set: see manifest.toml. */
#include "arm_nnfunctions.h"
#include "kernels.h"

#define SHAPES                                                                                                         \
    const cmsis_nn_dims in = {c->batch, c->in_h, c->in_w, c->in_c}, out = {c->batch, c->out_h, c->out_w, c->out_c};    \
    const cmsis_nn_dims bias = {1, 1, 1, c->out_c};                                                                    \
    const cmsis_nn_per_channel_quant_params quant = {(int32_t *)c->multiplier, (int32_t *)c->shift};                   \
    const cmsis_nn_context context = {c->scratch, 0};

int32_t adapted_conv(const struct conv_call *c) {
    SHAPES
    const cmsis_nn_dims filter = {c->out_c, c->filter_h, c->filter_w, c->in_c};
    const cmsis_nn_conv_params p = {c->input_offset, c->output_offset, {c->stride_w, c->stride_h},
                                    {c->pad_left, c->pad_top}, {1, 1}, {c->least, c->most}};
    return arm_convolve_wrapper_s8(&context, &p, &quant, &in, c->input, &filter, c->filter, &bias, c->bias, &out,
                                   c->output);
}

int32_t adapted_depthwise(const struct conv_call *c) {
    SHAPES
    const cmsis_nn_dims filter = {1, c->filter_h, c->filter_w, c->out_c};
    const cmsis_nn_dw_conv_params p = {c->input_offset, c->output_offset, c->depth_multiplier,
                                       {c->stride_w, c->stride_h}, {c->pad_left, c->pad_top}, {1, 1},
                                       {c->least, c->most}};
    return arm_depthwise_conv_wrapper_s8(&context, &p, &quant, &in, c->input, &filter, c->filter, &bias, c->bias, &out,
                                         c->output);
}

int32_t adapted_add(const struct binary_call *c) { /* same shapes only */
    const uint32_t count = (uint32_t)(c->shape[0] * c->shape[1] * c->shape[2] * c->shape[3]);
    return arm_elementwise_add_s8(c->input1, c->input2, c->input1_offset, c->input1_multiplier, c->input1_shift,
                                  c->input2_offset, c->input2_multiplier, c->input2_shift, c->left_shift, c->output,
                                  c->output_offset, c->output_multiplier, c->output_shift, c->least, c->most, count);
}

int32_t adapted_average_pool(const struct pool_call *c) {
    const cmsis_nn_dims in = {c->batch, c->in_h, c->in_w, c->channels}, out = {c->batch, c->out_h, c->out_w, c->channels};
    const cmsis_nn_dims filter = {1, c->filter_h, c->filter_w, 1};
    const cmsis_nn_context context = {c->scratch, 0};
    const cmsis_nn_pool_params p = {{c->stride_w, c->stride_h}, {c->pad_left, c->pad_top}, {c->least, c->most}};
    return arm_avgpool_s8(&context, &p, &in, c->input, &filter, &out, c->output);
}

int32_t adapted_max_pool(const struct pool_call *c) {
    const cmsis_nn_dims in = {c->batch, c->in_h, c->in_w, c->channels}, out = {c->batch, c->out_h, c->out_w, c->channels};
    const cmsis_nn_dims filter = {1, c->filter_h, c->filter_w, 1};
    const cmsis_nn_context context = {c->scratch, 0};
    const cmsis_nn_pool_params p = {{c->stride_w, c->stride_h}, {c->pad_left, c->pad_top}, {c->least, c->most}};
    return arm_max_pool_s8(&context, &p, &in, c->input, &filter, &out, c->output);
}

int32_t adapted_fully_connected(const struct conv_call *c) { /* one scale; rounds twice, LiteRT once */
    SHAPES
    const cmsis_nn_dims filter = {c->in_c, 1, 1, c->out_c};
    const cmsis_nn_per_tensor_quant_params one = {c->multiplier[0], c->shift[0]};
    const cmsis_nn_fc_params p = {c->input_offset, c->filter_offset, c->output_offset, {c->least, c->most}};
    (void)quant;
    return arm_fully_connected_s8(&context, &p, &one, &in, c->input, &filter, c->filter, &bias, c->bias, &out, c->output);
}

int32_t adapted_softmax(const struct softmax_call *c) {
    arm_softmax_s8(c->input, c->rows, c->depth, c->multiplier, c->shift, c->least_difference, c->output);
    return 0;
}
