/* Operators that only move bytes. */
#include "kernels.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);
void *memset(void *, int, size_t);

int32_t reference_join(const struct join_call *call)
{
    uint8_t *output = call->output;
    for (int32_t piece = 0; piece < call->count; piece++)
        for (int32_t i = 0; i < call->inputs_count; i++) {
            int32_t bytes = call->bytes[i];
            const uint8_t *input = (const uint8_t *)call->inputs[i] + piece * bytes;
            const uint8_t *table = call->tables ? call->tables[i] : 0;
            if (table)
                for (int32_t b = 0; b < bytes; b++)
                    output[b] = table[input[b]];
            else
                memcpy(output, input, (size_t)bytes);
            output += bytes;
        }
    return 0;
}

static void row(const struct move_call *call, uint8_t *output, int32_t from)
{
    const uint8_t *input = (const uint8_t *)call->input + from * call->item;
    int32_t count = call->shape[4], step = call->step[4] * call->item;
    if (call->step[4] == 1) {
        memcpy(output, input, (size_t)(count * call->item));
        return;
    }
    for (int32_t i = 0; i < count; i++, input += step)
        for (int32_t b = 0; b < call->item; b++)
            *output++ = input[b];
}

int32_t reference_move(const struct move_call *call)
{
    uint8_t *output = call->output;
    for (int32_t a = 0; a < call->shape[0]; a++)
        for (int32_t b = 0; b < call->shape[1]; b++)
            for (int32_t c = 0; c < call->shape[2]; c++)
                for (int32_t d = 0; d < call->shape[3]; d++) {
                    const int32_t *step = call->step;
                    row(call, output, call->begin + a * step[0] + b * step[1] + c * step[2] + d * step[3]);
                    output += call->shape[4] * call->item;
                }
    return 0;
}

static int outside(const struct move_call *call, int axis, int32_t index)
{
    return index < call->before[axis] || index >= call->before[axis] + call->inside[axis];
}

int32_t reference_pad(const struct move_call *call)
{
    const uint8_t *input = call->input;
    uint8_t *output = call->output;
    for (int32_t a = 0; a < call->shape[0]; a++)
        for (int32_t b = 0; b < call->shape[1]; b++)
            for (int32_t c = 0; c < call->shape[2]; c++)
                for (int32_t d = 0; d < call->shape[3]; d++)
                    for (int32_t e = 0; e < call->shape[4]; e++) {
                        int is_padding = outside(call, 0, a) || outside(call, 1, b) || outside(call, 2, c)
                                         || outside(call, 3, d) || outside(call, 4, e);
                        for (int32_t i = 0; i < call->item; i++)
                            *output++ = is_padding ? (uint8_t)(call->value >> 8 * i) : *input++;
                    }
    return 0;
}
