/* UNIDIRECTIONAL_SEQUENCE_LSTM: four gates over a step's inputs and the outputs of the step before, int8; cell in int16. */
#include "fixed_point.h"
#include "kernels.h"
#include "sigmoid.h"

enum { INPUT, FORGET, CELL, OUTPUT };

/* Products of one matrix with a vector, with a bias or without, as Q3.12. */
static void products(const struct lstm_call *call, const int8_t *vector, int32_t depth, int32_t offset,
                     const int8_t *weights, const int32_t *bias, int32_t multiplier, int32_t shift, int16_t *output)
{
    for (int32_t u = 0; u < call->units; u++, weights += depth) {
        int32_t sum = 0;
        for (int32_t i = 0; i < depth; i++)
            sum += weights[i] * (vector[i] + offset);
        if (bias)
            sum += bias[u];
        output[u] = (int16_t)clamp(scale(sum, multiplier, shift), INT16_MIN, INT16_MAX);
    }
}

static void gate(const struct lstm_call *call, int32_t g, const int8_t *input, const int8_t *hidden, int16_t *output,
                 int16_t *recurrent)
{
    products(call, input, call->inputs, call->input_offset, call->weights[g], call->bias[g], call->multiplier[g],
             call->shift[g], output);
    products(call, hidden, call->units, call->hidden_offset, call->recurrent[g], 0, call->recurrent_multiplier[g],
             call->recurrent_shift[g], recurrent);
    for (int32_t u = 0; u < call->units; u++) {
        int32_t sum = clamp(output[u] + recurrent[u], INT16_MIN, INT16_MAX);
        output[u] = (int16_t)(g == CELL ? tanh_of(3 * sum) : logistic_of(3 * sum));
    }
}

static int32_t rescaled(int32_t a, int32_t b, int32_t multiplier, int32_t shift)
{
    return clamp(scale(a * b, multiplier, shift), INT16_MIN, INT16_MAX);
}

static void update_cell(const struct lstm_call *call, int16_t *cell, const int16_t *forget, const int16_t *input,
                        const int16_t *fresh)
{
    for (int32_t u = 0; u < call->units; u++) {
        int32_t kept = rescaled(forget[u], cell[u], call->forget_multiplier, call->forget_shift);
        int32_t more = rescaled(input[u], fresh[u], call->update_multiplier, call->update_shift);
        int32_t sum = clamp(kept + more, INT16_MIN, INT16_MAX);
        cell[u] = (int16_t)(call->clip > 0 ? clamp(sum, -call->clip, call->clip) : sum);
    }
}

static void step(const struct lstm_call *call, const int8_t *input, int8_t *hidden, int16_t *cell, int8_t *output)
{
    int16_t *scratch = call->scratch, *gates[4];
    for (int32_t i = 0; i < 4; i++)
        gates[i] = scratch + i * call->batch * call->units;
    gate(call, FORGET, input, hidden, gates[0], gates[3]);
    gate(call, INPUT, input, hidden, gates[1], gates[3]);
    gate(call, CELL, input, hidden, gates[2], gates[3]);
    update_cell(call, cell, gates[0], gates[1], gates[2]);
    gate(call, OUTPUT, input, hidden, gates[1], gates[3]);
    int32_t half = call->tanh_shift > 0 ? 1 << (call->tanh_shift - 1) : 0;
    for (int32_t u = 0; u < call->units; u++) {
        int32_t curve = tanh_of((cell[u] * call->tanh_multiplier + half) >> call->tanh_shift);
        int32_t value = scale(curve * gates[1][u], call->hidden_multiplier, call->hidden_shift) - call->hidden_offset;
        hidden[u] = (int8_t)clamp(value, INT8_MIN, INT8_MAX);
    }
    for (int32_t u = 0; u < call->units; u++)
        output[u] = hidden[u];
}

int32_t reference_lstm(const struct lstm_call *call)
{
    const int8_t *input = call->input;
    int8_t *output = call->output, *hidden = call->hidden;
    for (int32_t b = 0; b < call->batch; b++)
        for (int32_t t = 0; t < call->steps; t++) {
            int32_t row = call->time_major ? t * call->batch + b : b * call->steps + t;
            step(call, input + row * call->inputs, hidden + b * call->units, call->cell + b * call->units,
                 output + row * call->units);
        }
    return 0;
}
