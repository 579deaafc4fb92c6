/* TensorFlow Lite's requantisation with two roundings, without a branch. */
#ifndef MCUSIM_CMSIS_REQUANTISE_H
#define MCUSIM_CMSIS_REQUANTISE_H

INLINE int32_t high_product(int32_t a, int32_t b) { /* of 2 * a * b, rounded; not for a = b = INT32_MIN */
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}
INLINE int32_t rounded_shift(int32_t value, int32_t right) { /* halves away from 0; right 0 to 31 */
    const int32_t mask = (int32_t)((1u << right) - 1), rest = value & mask;
    const int32_t result = value >> right;
    return result + (rest > (mask >> 1) + (result < 0));
}
INLINE int32_t requantised(int32_t sum, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0, right = left - shift; /* one of them is 0; no branch */
    return rounded_shift(high_product((int32_t)((uint32_t)sum << left), multiplier), right);
}
#endif
