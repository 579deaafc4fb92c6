/* TensorFlow Lite's requantisation as the library of 2020 has it: a saturating doubling product whose rounding goes by the
   sign, a division for the shift, and a rounding division by a power of two. */
#ifndef MCUSIM_CMSIS_2020_REQUANTISE_H
#define MCUSIM_CMSIS_2020_REQUANTISE_H

INLINE int32_t high_product(int32_t a, int32_t b) { /* of 2 * a * b, rounded, halves away from 0; saturated */
    int64_t product = 1 << 30;
    if ((a < 0) ^ (b < 0)) product = 1 - product;
    product += (int64_t)a * b;
    const int32_t result = (int32_t)(product / (1ll << 31));
    return a == b && a == INT32_MIN ? INT32_MAX : result;
}
INLINE int32_t rounded_shift(int32_t value, int32_t right) { /* halves away from 0; right 0 to 31 */
    const int32_t mask = (int32_t)((1u << right) - 1), rest = mask & value;
    int32_t result = value >> right, threshold = mask >> 1;
    if (result < 0) threshold++;
    if (rest > threshold) result++;
    return result;
}
INLINE int32_t requantised(int32_t sum, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    return rounded_shift(high_product(sum * (1 << left), multiplier), right);
}
#endif
