/* What a kernel is called with: one structure for each kind of operator, its address in r0; the result in r0 is 0 or an
   error. Every member is a 32-bit word. Activations are NHWC, int8 unless the symbol ends in _u8 or _s16; per-channel
   multipliers and shifts as TensorFlow Lite's QuantizeMultiplier makes them (shift > 0: left). Offsets are added:
   input_offset is minus the zero point of the input, output_offset plus that of the output. A tile is a call of its own:
   fewer rows, pad_top of the tile, pointers to its rows. */
#ifndef MCUSIM_KERNELS_H
#define MCUSIM_KERNELS_H
#include <stdint.h>

/* CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, FULLY_CONNECTED (1 x 1, in_c inputs). FULLY_CONNECTED rounds once, the others
   twice: see fixed_point.h. TRANSPOSE_CONV: padding is cut off the output, scratch an int32 for each output element. */
struct conv_call {
    const void *input, *filter;
    const int32_t *bias; /* 0: none */
    void *output, *scratch;
    const int32_t *multiplier, *shift; /* one for each output channel */
    int32_t batch, in_h, in_w, in_c, out_h, out_w, out_c;
    int32_t filter_h, filter_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    int32_t depth_multiplier; /* of a CONV_2D: its groups */
    int32_t input_offset, filter_offset, output_offset, least, most;
    int32_t bias_bytes; /* of an element of the bias: 4, or 8 with 16-bit activations; 0: none */
};

struct pool_call { /* AVERAGE_POOL_2D, MAX_POOL_2D */
    const void *input;
    void *output, *scratch;
    int32_t batch, in_h, in_w, channels, out_h, out_w;
    int32_t filter_h, filter_w, stride_h, stride_w, pad_top, pad_left, least, most;
};

/* ADD, SUB, MUL, MAXIMUM, MINIMUM, SQUARED_DIFFERENCE, DIV, FLOOR_DIV; shapes of four, broadcast where 1. PRELU: input2 is
   alpha, input1_* rescales what is not negative, output_* the products. float32: least and most are bits */
struct binary_call {
    const void *input1, *input2;
    void *output;
    int32_t shape1[4], shape2[4], shape[4];
    int32_t input1_offset, input2_offset, output_offset;
    int32_t left_shift; /* of both inputs; 0 in ADD, SUB of int16: shifts alone, no multipliers */
    int32_t input1_multiplier, input1_shift, input2_multiplier, input2_shift, output_multiplier, output_shift;
    int32_t least, most;
};

struct unary_call { /* RELU and relatives, LEAKY_RELU, LOGISTIC, TANH, HARD_SWISH, QUANTIZE, DEQUANTIZE */
    /* float32 in or out: multiplier is the scale's bits. LEAKY_RELU: second_* below zero. HARD_SWISH: multiplier, shift of
       the output, second_* of the gate, both Q0.15 */
    const void *input;
    void *output;
    int32_t elements, input_offset, output_offset, multiplier, shift, second_multiplier, second_shift;
    int32_t radius, left_shift, least, most;
    const void *table; /* LOGISTIC, TANH of 8 bits: output of each input, from -128 or 0 on */
};

struct softmax_call {
    const void *input;
    void *output;
    int32_t rows, depth, multiplier, shift, least_difference;
    const void *tables; /* int16: 513 of exp, then 513 of 1 / (1 + x) */
};

struct normalize_call { /* LOG_SOFTMAX, L2_NORMALIZATION; offset: minus the zero point of the input */
    const void *input;
    void *output;
    int32_t rows, depth, offset, multiplier, shift, reverse_multiplier, reverse_shift, least_difference;
};

struct join_call { /* CONCATENATION: inputs one after another, count pieces of bytes[i] of input i each */
    const void *const *inputs;
    const int32_t *bytes;
    void *output;
    int32_t inputs_count, count;
    const void *const *tables; /* uint8 whose scales differ: output of each value of input i, 0 where it is a copy */
};

/* Operators that move bytes: output[i] = input[at(i)]. MIRROR_PAD: value is 1 where the edge is not repeated; TILE: inside is
   the shape of the input */
struct move_call {
    const void *input;
    void *output;
    int32_t shape[5];                  /* of the output, ones in front */
    int32_t step[5], begin;            /* elements of the input from one output element to the next; the first */
    int32_t before[5], inside[5];      /* PAD: output rows before the input's, and the input's */
    int32_t item, value;               /* bytes of an element; what PAD fills with */
};

struct resize_call { /* RESIZE_NEAREST_NEIGHBOR, RESIZE_BILINEAR */
    const void *input;
    void *output;
    int32_t batch, in_h, in_w, channels, out_h, out_w, align_corners, half_pixel_centers;
};

struct mean_call { /* MEAN, SUM, REDUCE_MAX, REDUCE_MIN over the axes that reduce marks */
    const void *input;
    void *output, *scratch; /* scratch: one int32 for each output element; not for REDUCE_MAX, REDUCE_MIN */
    int32_t shape[4], reduce[4], input_offset, output_offset, multiplier, shift, least, most;
};

struct svdf_call { /* SVDF: units x rank filters of inputs features, over the last memory of them in state */
    const int8_t *input, *features;
    const void *time; /* as wide as state */
    const int32_t *bias;
    void *state, *output, *scratch; /* scratch: an int32 a filter and one a unit */
    int32_t batch, inputs, units, rank, memory, state_item; /* state_item: bytes of an element of state */
    int32_t input_offset, state_offset, output_offset, multiplier, shift, second_multiplier, second_shift;
};

struct lstm_call { /* UNIDIRECTIONAL_SEQUENCE_LSTM; by gate: input, forget, cell, output */
    const int8_t *input;
    void *output;
    int8_t *hidden; /* state */
    int16_t *cell;  /* state */
    void *scratch;  /* four int16 a unit */
    const int8_t *weights[4], *recurrent[4];
    const int32_t *bias[4];
    int32_t batch, steps, inputs, units, time_major, input_offset, hidden_offset;
    int32_t multiplier[4], shift[4], recurrent_multiplier[4], recurrent_shift[4];
    int32_t forget_multiplier, forget_shift, update_multiplier, update_shift, hidden_multiplier, hidden_shift;
    int32_t tanh_multiplier, tanh_shift, clip;
};

struct arg_call { /* ARG_MAX, ARG_MIN along an axis of size elements, inner elements apart */
    const void *input;
    void *output; /* int32; int64 where wide is 1 */
    int32_t outer, size, inner, wide;
};

struct gather_call { /* GATHER, GATHER_ND: count slices of bytes, in each of outer parts of each of batch parts */
    /* depth indices say where a slice begins: their sum, each times its step in bytes, each below its limit */
    const void *input;
    const int32_t *indices;
    void *output;
    int32_t batch, outer, count, bytes, part, depth, step[5], limit[5]; /* part: bytes of the input's */
};

struct blocks_call { /* SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND; depth in bytes */
    const void *input;
    void *output;
    int32_t batch, in_h, in_w, depth, out_batch, out_h, out_w, block_h, block_w, top, left, value;
};

struct batch_matmul_call { /* BATCH_MATMUL; a side that is stored the other way is transposed from *_stored (else 0) first */
    const void *left_stored, *right_stored, *left, *right;
    void *output;
    int32_t left_matrices, right_matrices, batch[3], left_step[3], right_step[3]; /* steps in matrices; 0: the same one */
    int32_t rows, depth, columns;
    int32_t left_offset, right_offset, output_offset, multiplier, shift, least, most;
};

struct cast_call { /* CAST; from and to: 0 int8, 1 uint8, 2 int16, 3 int32, 4 float32 */
    const void *input;
    void *output;
    int32_t elements, from, to;
};
#endif
