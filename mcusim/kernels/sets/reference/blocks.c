/* Operators that move bytes in another way than move.c's: blocks of pixels, mirrored edges, repeated tensors. */
#include "kernels.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);
void *memset(void *, int, size_t);

int32_t reference_space_to_batch(const struct blocks_call *call)
{
    uint8_t *output = call->output;
    for (int32_t n = 0; n < call->out_batch; n++)
        for (int32_t y = 0; y < call->out_h; y++)
            for (int32_t x = 0; x < call->out_w; x++, output += call->depth) {
                int32_t within = n / call->batch, image = n % call->batch;
                int32_t row = y * call->block_h + within / call->block_w - call->top;
                int32_t column = x * call->block_w + within % call->block_w - call->left;
                if (row < 0 || row >= call->in_h || column < 0 || column >= call->in_w)
                    memset(output, call->value, (size_t)call->depth);
                else
                    memcpy(output,
                           (const uint8_t *)call->input
                               + ((image * call->in_h + row) * call->in_w + column) * call->depth,
                           (size_t)call->depth);
            }
    return 0;
}

int32_t reference_batch_to_space(const struct blocks_call *call)
{
    uint8_t *output = call->output;
    for (int32_t n = 0; n < call->out_batch; n++)
        for (int32_t y = 0; y < call->out_h; y++)
            for (int32_t x = 0; x < call->out_w; x++, output += call->depth) {
                int32_t row = y + call->top, column = x + call->left;
                int32_t within = row % call->block_h * call->block_w + column % call->block_w;
                int32_t image = within * call->out_batch + n;
                row /= call->block_h;
                column /= call->block_w;
                memcpy(output,
                       (const uint8_t *)call->input + ((image * call->in_h + row) * call->in_w + column) * call->depth,
                       (size_t)call->depth);
            }
    return 0;
}

/* Where output index i of an axis comes from. */
static int32_t mirrored(const struct move_call *call, int axis, int32_t i)
{
    i -= call->before[axis];
    if (i < 0)
        return -i - 1 + call->value;
    return i < call->inside[axis] ? i : 2 * call->inside[axis] - 1 - i - call->value;
}

int32_t reference_mirror_pad(const struct move_call *call)
{
    const uint8_t *input = call->input;
    uint8_t *output = call->output;
    const int32_t *shape = call->shape, *inside = call->inside;
    for (int32_t a = 0; a < shape[0]; a++)
        for (int32_t b = 0; b < shape[1]; b++)
            for (int32_t c = 0; c < shape[2]; c++)
                for (int32_t d = 0; d < shape[3]; d++) {
                    int32_t row = mirrored(call, 0, a) * inside[1] + mirrored(call, 1, b);
                    row = (row * inside[2] + mirrored(call, 2, c)) * inside[3] + mirrored(call, 3, d);
                    for (int32_t e = 0; e < shape[4]; e++) {
                        const uint8_t *from = input + (row * inside[4] + mirrored(call, 4, e)) * call->item;
                        for (int32_t i = 0; i < call->item; i++)
                            *output++ = *from++;
                    }
                }
    return 0;
}

int32_t reference_tile(const struct move_call *call)
{
    const uint8_t *input = call->input;
    uint8_t *output = call->output;
    const int32_t *shape = call->shape, *inside = call->inside;
    int32_t bytes = inside[4] * call->item;
    for (int32_t a = 0; a < shape[0]; a++)
        for (int32_t b = 0; b < shape[1]; b++)
            for (int32_t c = 0; c < shape[2]; c++)
                for (int32_t d = 0; d < shape[3]; d++) {
                    int32_t row = (a % inside[0] * inside[1] + b % inside[1]) * inside[2] + c % inside[2];
                    const uint8_t *from = input + (row * inside[3] + d % inside[3]) * bytes;
                    for (int32_t e = 0; e < shape[4]; e += inside[4], output += bytes)
                        memcpy(output, from, (size_t)bytes);
                }
    return 0;
}
