/* UNIDIRECTIONAL_SEQUENCE_LSTM of float32. */
#include "curves_f32.h"
#include "kernels.h"

enum { INPUT, FORGET, CELL, OUTPUT };

struct lines { /* what a step reads and changes */
    const float *input;
    float *hidden, *cell, *gates[4];
};

/* Products of one matrix with a vector, with a bias or without. */
static void products(int32_t units, int32_t depth, const float *vector, const float *weights, const float *bias,
                     float *output)
{
    for (int32_t u = 0; u < units; u++, weights += depth) {
        float sum = 0.0f;
        for (int32_t i = 0; i < depth; i++)
            sum += vector[i] * weights[i];
        output[u] = bias ? sum + bias[u] : sum;
    }
}

static void gate_f32(const struct lstm_call *call, int32_t g, const struct lines *l, float *output)
{
    float *recurrent = l->gates[3];
    products(call->units, call->inputs, l->input, (const float *)(const void *)call->weights[g],
             (const float *)(const void *)call->bias[g], output);
    products(call->units, call->units, l->hidden, (const float *)(const void *)call->recurrent[g], 0, recurrent);
    for (int32_t u = 0; u < call->units; u++) {
        float sum = output[u] + recurrent[u];
        output[u] = g == CELL ? tangent(sum) : logistic(sum);
    }
}

static void step(const struct lstm_call *call, const struct lines *l, float *output)
{
    const float clip = as_float(call->clip);
    gate_f32(call, FORGET, l, l->gates[0]);
    gate_f32(call, INPUT, l, l->gates[1]);
    gate_f32(call, CELL, l, l->gates[2]);
    for (int32_t u = 0; u < call->units; u++) {
        float sum = l->gates[0][u] * l->cell[u] + l->gates[1][u] * l->gates[2][u];
        l->cell[u] = clip > 0.0f ? limited(sum, -clip, clip) : sum;
    }
    gate_f32(call, OUTPUT, l, l->gates[1]);
    for (int32_t u = 0; u < call->units; u++)
        l->hidden[u] = tangent(l->cell[u]) * l->gates[1][u];
    for (int32_t u = 0; u < call->units; u++)
        output[u] = l->hidden[u];
}

int32_t reference_lstm_f32(const struct lstm_call *call)
{
    const int32_t units = call->units;
    for (int32_t b = 0; b < call->batch; b++)
        for (int32_t t = 0; t < call->steps; t++) {
            int32_t row = call->time_major ? t * call->batch + b : b * call->steps + t;
            struct lines l = {(const float *)(const void *)call->input + row * call->inputs,
                              (float *)(void *)call->hidden + b * units, (float *)(void *)call->cell + b * units, {0}};
            for (int32_t i = 0; i < 4; i++)
                l.gates[i] = (float *)call->scratch + i * call->batch * units;
            step(call, &l, (float *)call->output + row * units);
        }
    return 0;
}
