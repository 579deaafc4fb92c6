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

static int is_inside(const struct move_call *call, int axis, int32_t index)
{
    return index >= call->before[axis] && index < call->before[axis] + call->inside[axis];
}

/* Behind `count` elements of padding. */
static uint8_t *filled(uint8_t *output, int32_t count, int32_t item, int32_t value)
{
    if (item == 1) {
        memset(output, value, (size_t)count);
    } else if (item == 4) {
        for (int32_t i = 0; i < count; i++)
            ((int32_t *)(void *)output)[i] = value;
    } else if (item == 2) {
        for (int32_t i = 0; i < count; i++)
            ((int16_t *)(void *)output)[i] = (int16_t)value;
    } else {
        for (int32_t i = 0; i < count * item; i++)
            output[i] = (uint8_t)(value >> 8 * (i % item));
    }
    return output + count * item;
}

/* Rows filled and copied whole: of the last axis, or of the last two where the last one is not padded. */
int32_t reference_pad(const struct move_call *call)
{
    const int32_t item = call->item, value = call->value, last = call->inside[4] == call->shape[4] ? 3 : 4;
    const int32_t unit = last == 3 ? call->shape[4] : 1, rows = last == 3 ? 1 : call->shape[3];
    const int32_t before = call->before[last] * unit, row = call->inside[last] * unit;
    const int32_t behind = call->shape[last] * unit - before - row;
    const uint8_t *input = call->input;
    uint8_t *output = call->output;
    for (int32_t a = 0; a < call->shape[0]; a++)
        for (int32_t b = 0; b < call->shape[1]; b++)
            for (int32_t c = 0; c < call->shape[2]; c++)
                for (int32_t d = 0; d < rows; d++) {
                    const int is_row = is_inside(call, 0, a) && is_inside(call, 1, b) && is_inside(call, 2, c)
                                       && (last == 3 || is_inside(call, 3, d));
                    if (!is_row) {
                        output = filled(output, before + row + behind, item, value);
                        continue;
                    }
                    output = filled(output, before, item, value);
                    memcpy(output, input, (size_t)(row * item));
                    output = filled(output + row * item, behind, item, value);
                    input += row * item;
                }
    return 0;
}
