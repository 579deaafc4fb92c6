/* RELU and relatives with another scale behind them, without a branch on the data. Inputs have 9 bits, so that one SMMULR
   gives the product for shifts from 20 to the left to 31 to the right; others go through the plain function. */
#include "tinyengine.h"

int32_t reference_requantize(const struct unary_call *c);

int32_t tinyengine_relu(const struct unary_call *call) {
    const struct unary_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    if (c->shift < -31 || c->shift > 20) return reference_requantize(call);
    const int32_t left = c->shift > 0 ? c->shift + 1 : 1, right = c->shift > 0 ? 0 : -c->shift;
    const int32_t half = right ? (int32_t)(1u << (right - 1)) : 0, rounds = right ? -1 : 0;
    const int8_t *in = c->input;
    int8_t *out = c->output;
    for (int32_t n = c->elements; n > 0; n--) {
        const int32_t value = *in++ + c->input_offset;
        const int32_t high = high_rounded((int32_t)((uint32_t)value << left), c->multiplier);
        const int32_t above = ((high + half + ((high >> 31) & rounds)) >> right) + c->output_offset - c->least;
        *out++ = (int8_t)smaller(c->least + (above & ~(above >> 31)), c->most); /* clamp() branches */
    }
    return 0;
}
