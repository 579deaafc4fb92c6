/* BATCH_MATMUL: each row of the left matrix with each column of the right one, which lie one behind another: a side that
   is stored the other way is transposed first. */
#include "fixed_point.h"
#include "kernels.h"
#include "wide.h"

#define BATCH_MATMUL(name, type, total, scaled)                                                                        \
    static void name##_transpose(type *to, const type *from, int32_t matrices, int32_t rows, int32_t columns)          \
    {                                                                                                                  \
        for (int32_t m = 0; m < matrices; m++, to += rows * columns, from += rows * columns)                           \
            for (int32_t i = 0; i < rows; i++)                                                                         \
                for (int32_t j = 0; j < columns; j++)                                                                  \
                    to[j * rows + i] = from[i * columns + j];                                                          \
    }                                                                                                                  \
    static total name##_sum(const struct batch_matmul_call *call, const type *left, const type *right)                 \
    {                                                                                                                  \
        total sum = 0;                                                                                                 \
        for (int32_t k = 0; k < call->depth; k++)                                                                      \
            sum += (right[k] + call->right_offset) * (left[k] + call->left_offset);                                    \
        return sum;                                                                                                    \
    }                                                                                                                  \
    static type *name##_matrix(const struct batch_matmul_call *call, type *output, const type *left,                   \
                               const type *right)                                                                      \
    {                                                                                                                  \
        for (int32_t i = 0; i < call->rows; i++)                                                                       \
            for (int32_t j = 0; j < call->columns; j++) {                                                              \
                total sum = name##_sum(call, left + i * call->depth, right + j * call->depth);                         \
                int32_t value = scaled(sum, call->multiplier, call->shift) + call->output_offset;                      \
                *output++ = (type)clamp(value, call->least, call->most);                                               \
            }                                                                                                          \
        return output;                                                                                                 \
    }                                                                                                                  \
    int32_t name(const struct batch_matmul_call *call)                                                                 \
    {                                                                                                                  \
        const int32_t left = call->rows * call->depth, right = call->columns * call->depth;                            \
        const int32_t *left_step = call->left_step, *right_step = call->right_step;                                    \
        type *output = call->output;                                                                                   \
        if (call->left_stored)                                                                                         \
            name##_transpose((type *)call->left, call->left_stored, call->left_matrices, call->depth, call->rows);     \
        if (call->right_stored)                                                                                        \
            name##_transpose((type *)call->right, call->right_stored, call->right_matrices, call->depth,               \
                             call->columns);                                                                           \
        for (int32_t a = 0; a < call->batch[0]; a++)                                                                   \
            for (int32_t b = 0; b < call->batch[1]; b++)                                                               \
                for (int32_t c = 0; c < call->batch[2]; c++) {                                                         \
                    int32_t l = a * left_step[0] + b * left_step[1] + c * left_step[2];                                \
                    int32_t r = a * right_step[0] + b * right_step[1] + c * right_step[2];                             \
                    const type *rows = (const type *)call->left + l * left;                                            \
                    output = name##_matrix(call, output, rows, (const type *)call->right + r * right);                 \
                }                                                                                                      \
        return 0;                                                                                                      \
    }

BATCH_MATMUL(reference_batch_matmul, int8_t, int32_t, scale)
BATCH_MATMUL(reference_batch_matmul_s16, int16_t, int64_t, scale_sum)
