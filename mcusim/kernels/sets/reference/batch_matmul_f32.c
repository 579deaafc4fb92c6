/* BATCH_MATMUL of float32: as that of integers. */
#include "kernels.h"

static void transpose(float *to, const float *from, int32_t matrices, int32_t rows, int32_t columns)
{
    for (int32_t m = 0; m < matrices; m++, to += rows * columns, from += rows * columns)
        for (int32_t i = 0; i < rows; i++)
            for (int32_t j = 0; j < columns; j++)
                to[j * rows + i] = from[i * columns + j];
}

static float dot(const float *left, const float *right, int32_t depth)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < depth; k++)
        sum += left[k] * right[k];
    return sum;
}

int32_t reference_batch_matmul_f32(const struct batch_matmul_call *call)
{
    const int32_t left = call->rows * call->depth, right = call->columns * call->depth;
    const int32_t *left_step = call->left_step, *right_step = call->right_step;
    float *output = call->output;
    if (call->left_stored)
        transpose((float *)call->left, call->left_stored, call->left_matrices, call->depth, call->rows);
    if (call->right_stored)
        transpose((float *)call->right, call->right_stored, call->right_matrices, call->depth, call->columns);
    for (int32_t a = 0; a < call->batch[0]; a++)
        for (int32_t b = 0; b < call->batch[1]; b++)
            for (int32_t c = 0; c < call->batch[2]; c++) {
                int32_t l = a * left_step[0] + b * left_step[1] + c * left_step[2];
                int32_t r = a * right_step[0] + b * right_step[1] + c * right_step[2];
                const float *rows = (const float *)call->left + l * left;
                const float *columns = (const float *)call->right + r * right;
                for (int32_t i = 0; i < call->rows; i++)
                    for (int32_t j = 0; j < call->columns; j++)
                        *output++ = dot(rows + i * call->depth, columns + j * call->depth, call->depth);
            }
    return 0;
}
