/* SOFTMAX of int16: exp and 1 / (1 + x) from tables of 513 values with straight lines between. */
#include "fixed_point.h"
#include "kernels.h"

static int32_t look_up(const int16_t *table, int32_t x) /* x: -32768 .. 32767 */
{
    const int16_t *at = table + 256 + (x >> 7);
    return at[0] + (((at[1] - at[0]) * (x & 127) + 64) >> 7);
}

static void row(const struct softmax_call *call, const int16_t *input, int16_t *output)
{
    const int16_t *exponentials = call->tables, *reciprocals = exponentials + 513;
    int32_t largest = INT16_MIN, sum = 0;
    for (int32_t i = 0; i < call->depth; i++)
        largest = input[i] > largest ? input[i] : largest;
    for (int32_t i = 0; i < call->depth; i++) { /* 10 / 65535 each */
        int32_t difference = scale(input[i] - largest, call->multiplier, call->shift);
        output[i] = (int16_t)look_up(exponentials, clamp(difference + INT16_MAX, INT16_MIN, INT16_MAX));
        sum += output[i];
    }
    int32_t zeros = __builtin_clz((uint32_t)sum), shift = 31 - zeros;
    int32_t fraction = (int32_t)((((int64_t)sum << (zeros - 1)) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16);
    int32_t factor = look_up(reciprocals, clamp(fraction, INT16_MIN, INT16_MAX));
    for (int32_t i = 0; i < call->depth; i++) {
        int32_t value = (int32_t)(((int64_t)output[i] * factor + (1 << (shift - 1))) >> shift);
        output[i] = (int16_t)clamp(value, 0, INT16_MAX);
    }
}

int32_t reference_softmax_s16(const struct softmax_call *call)
{
    for (int32_t i = 0; i < call->rows; i++)
        row(call, (const int16_t *)call->input + i * call->depth, (int16_t *)call->output + i * call->depth);
    return 0;
}
