/* AVERAGE_POOL_2D, MAX_POOL_2D and MEAN of float32. */
#include "floats.h"
#include "pool.h"

#define POOL_F32(name, first, next, last)                                                                              \
    int32_t name(const struct pool_call *call)                                                                         \
    {                                                                                                                  \
        float *output = call->output;                                                                                  \
        const float least = as_float(call->least), most = as_float(call->most);                                        \
        for (int32_t image = 0; image < call->batch; image++)                                                          \
            for (int32_t y = 0; y < call->out_h; y++)                                                                  \
                for (int32_t x = 0; x < call->out_w; x++) {                                                            \
                    const struct window w = window(call, y, x);                                                        \
                    const int32_t count = (w.bottom - w.top) * (w.right - w.left);                                     \
                    for (int32_t c = 0; c < call->channels; c++) {                                                     \
                        float result = first;                                                                          \
                        for (int32_t row = w.top; row < w.bottom; row++)                                               \
                            for (int32_t column = w.left; column < w.right; column++) {                                \
                                const int32_t at = ((image * call->in_h + row) * call->in_w + column) * call->channels; \
                                const float value = ((const float *)call->input)[at + c];                              \
                                result = next;                                                                         \
                            }                                                                                          \
                        (void)count;                                                                                   \
                        *output++ = limited(last, least, most);                                                        \
                    }                                                                                                  \
                }                                                                                                      \
        return 0;                                                                                                      \
    }

POOL_F32(reference_average_pool_f32, 0.0f, result + value, result / (float)count)
POOL_F32(reference_max_pool_f32, -__FLT_MAX__, value > result ? value : result, result)

/* Sums over the axes that are reduced, in the output. */
static void sums(const struct mean_call *call, int32_t outputs)
{
    const float *input = call->input;
    float *output = call->output;
    int32_t i[4];
    for (int32_t n = 0; n < outputs; n++)
        output[n] = 0.0f;
    for (i[0] = 0; i[0] < call->shape[0]; i[0]++)
        for (i[1] = 0; i[1] < call->shape[1]; i[1]++)
            for (i[2] = 0; i[2] < call->shape[2]; i[2]++)
                for (i[3] = 0; i[3] < call->shape[3]; i[3]++) {
                    int32_t at = 0;
                    for (int d = 0; d < 4; d++)
                        at = call->reduce[d] ? at : at * call->shape[d] + i[d];
                    output[at] += *input++;
                }
}

static int32_t elements(const struct mean_call *call, int reduced)
{
    int32_t count = 1;
    for (int d = 0; d < 4; d++)
        count *= !call->reduce[d] == !reduced ? call->shape[d] : 1;
    return count;
}

int32_t reference_sum_f32(const struct mean_call *call)
{
    sums(call, elements(call, 0));
    return 0;
}

int32_t reference_mean_f32(const struct mean_call *call)
{
    const int32_t outputs = elements(call, 0), reduced = elements(call, 1);
    float *output = call->output;
    sums(call, outputs);
    for (int32_t n = 0; n < outputs; n++)
        output[n] /= (float)reduced;
    return 0;
}
