/* SVDF: a filter over features, and one over time of what came out of it, which is kept as state. */
#include "fixed_point.h"
#include "kernels.h"

static int32_t in_state(const struct svdf_call *call, int32_t i)
{
    return call->state_item == 1 ? ((const int8_t *)call->state)[i] : ((const int16_t *)call->state)[i];
}

static void put_state(const struct svdf_call *call, int32_t i, int32_t value)
{
    if (call->state_item == 1)
        ((int8_t *)call->state)[i] = (int8_t)value;
    else
        ((int16_t *)call->state)[i] = (int16_t)value;
}

/* The state moves by one step; the newest of each filter is what the features give now. */
static void features(const struct svdf_call *call, int32_t filters)
{
    const int8_t *input = call->input, *weights;
    int32_t most = call->state_item == 1 ? INT8_MAX : INT16_MAX, all = call->batch * filters * call->memory;
    for (int32_t i = 0; i + 1 < all; i++)
        put_state(call, i, in_state(call, i + 1));
    for (int32_t b = 0; b < call->batch; b++, input += call->inputs) {
        weights = call->features;
        for (int32_t f = 0; f < filters; f++, weights += call->inputs) {
            int32_t sum = 0;
            for (int32_t i = 0; i < call->inputs; i++)
                sum += weights[i] * (input[i] + call->input_offset);
            sum = clamp(scale(sum, call->multiplier, call->shift), -most - 1, most);
            put_state(call, (b * filters + f + 1) * call->memory - 1, sum - call->state_offset);
        }
    }
}

static int32_t over_time_8(const struct svdf_call *call, int32_t at, int32_t filter)
{
    const int8_t *state = (const int8_t *)call->state + at, *time = (const int8_t *)call->time + filter * call->memory;
    int32_t sum = 0;
    for (int32_t i = 0; i < call->memory; i++)
        sum += time[i] * (state[i] + call->state_offset);
    return sum;
}

static int32_t over_time_16(const struct svdf_call *call, int32_t at, int32_t filter)
{
    const int16_t *state = (const int16_t *)call->state + at;
    const int16_t *time = (const int16_t *)call->time + filter * call->memory;
    int32_t sum = 0;
    for (int32_t i = 0; i < call->memory; i++)
        sum += time[i] * (state[i] + call->state_offset);
    return sum;
}

int32_t reference_svdf(const struct svdf_call *call)
{
    int32_t filters = call->units * call->rank, *sums = call->scratch, *units = sums + call->batch * filters;
    int8_t *output = call->output;
    features(call, filters);
    for (int32_t i = 0; i < call->batch * filters; i++)
        sums[i] = call->state_item == 1 ? over_time_8(call, i * call->memory, i % filters)
                                        : over_time_16(call, i * call->memory, i % filters);
    for (int32_t i = 0; i < call->batch * call->units; i++) {
        units[i] = call->bias[i % call->units];
        for (int32_t r = 0; r < call->rank; r++)
            units[i] += sums[i * call->rank + r];
    }
    for (int32_t i = 0; i < call->batch * call->units; i++) {
        int32_t value = scale(units[i], call->second_multiplier, call->second_shift) + call->output_offset;
        output[i] = (int8_t)clamp(value, INT8_MIN, INT8_MAX);
    }
    return 0;
}
