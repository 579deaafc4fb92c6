/* LOG_SOFTMAX and L2_NORMALIZATION in fixed point as TensorFlow Lite computes them. */
#include "exponential.h"
#include "kernels.h"

static int32_t shifted(int32_t x, int32_t bits) { return bits >= 0 ? saturating_left(x, bits) : divide_by_power(x, -bits); }

static int32_t saturated_sum(int32_t a, int32_t b)
{
    int64_t sum = (int64_t)a + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int32_t)sum;
}

/* log(x) in Q5.26 for x >= 1 in Q12.19: a power of two that leaves a rest near sqrt(sqrt(1/2)), a quotient of polynomials of
   that rest. Sums have 6 integer bits. */
static int32_t logarithm(int32_t x)
{
    const int32_t log_of_2 = 1488522236, fourth_root = 1805811301, square_root = 1518500250; /* of 1/2 */
    int32_t zeros = __builtin_clz((uint32_t)x);
    int32_t a = shifted(doubling_high(shifted(x, zeros - 1), square_root), 1);
    int32_t power_a = saturated_sum(saturating_left(12 - zeros, 25), 1 << 23);
    int32_t b_zeros = __builtin_clz((uint32_t)doubling_high(x, square_root)) - 1;
    int32_t b = shifted(x, b_zeros);
    int32_t power_b = saturated_sum(saturating_left(12 - b_zeros, 25), -(1 << 23));
    int32_t r = a < b ? a : b, power = power_a > power_b ? power_a : power_b;
    int64_t both = (int64_t)r + fourth_root;
    int32_t p = (int32_t)((both + (both >= 0 ? 1 : -1)) / 2), q = 2 * (r - fourth_root), q2 = doubling_high(q, q);
    int32_t top = doubling_high(q, r) + doubling_high(doubling_high(q, q2), 117049297);
    int32_t below = doubling_high(p, 1057819769 + q + doubling_high(127690142, q2)) + doubling_high(638450708, q);
    int32_t quotient = doubling_high(divide_by_power(top, 6), reciprocal_of_one_plus(below));
    return shifted(doubling_high(power, log_of_2) + quotient, 1);
}

static int32_t fine(const struct normalize_call *call, int32_t difference)
{
    return scale(difference, call->multiplier, call->shift);
}

#define LOG_SOFTMAX(name, type, least, most)                                                                           \
    static void name##_row(const struct normalize_call *call, const type *input, type *output)                         \
    {                                                                                                                  \
        int32_t largest = least, sum = 0;                                                                              \
        for (int32_t i = 0; i < call->depth; i++)                                                                      \
            largest = input[i] > largest ? input[i] : largest;                                                         \
        for (int32_t i = 0; i < call->depth; i++)                                                                      \
            if (input[i] - largest >= call->least_difference)                                                          \
                sum += divide_by_power(exp_of_negative(fine(call, input[i] - largest)), 12);                           \
        int32_t log_of_sum = logarithm(sum);                                                                           \
        int32_t lowest = scale(log_of_sum + INT32_MIN, call->reverse_multiplier, -call->reverse_shift);                \
        lowest = lowest < call->least_difference - 1 ? call->least_difference - 1 : lowest;                            \
        for (int32_t i = 0; i < call->depth; i++) {                                                                    \
            int32_t value = least;                                                                                     \
            if (input[i] - largest > lowest)                                                                           \
                value = divide_by_power(fine(call, input[i] - largest) - log_of_sum, 31 - 5 - 4) + most;               \
            output[i] = (type)clamp(value, least, most);                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    int32_t name(const struct normalize_call *call)                                                                    \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        type *output = call->output;                                                                                   \
        for (int32_t row = 0; row < call->rows; row++)                                                                 \
            name##_row(call, input + row * call->depth, output + row * call->depth);                                   \
        return 0;                                                                                                      \
    }

LOG_SOFTMAX(reference_log_softmax, int8_t, INT8_MIN, INT8_MAX)
LOG_SOFTMAX(reference_log_softmax_u8, uint8_t, 0, UINT8_MAX)

struct root {
    int32_t multiplier, shift; /* to the right */
};

/* 1 / sqrt(x): Newton's iteration from 1 on, three integer bits. */
static struct root inverse_root(int32_t x)
{
    struct root found = {INT32_MAX, 0};
    if (x <= 1)
        return found;
    for (found.shift = 11; x >= 1 << 29; found.shift++)
        x /= 4;
    int32_t pairs = (__builtin_clz((uint32_t)x) - 1) / 2 - 1;
    found.shift -= pairs;
    int32_t half = divide_by_power(shift_left(x, 2 * pairs) >> 1, 1), guess = 1 << 28;
    for (int i = 0; i < 5; i++) {
        int32_t cube = saturating_left(doubling_high(doubling_high(guess, guess), guess), 6);
        guess = saturating_left(doubling_high((1 << 28) + (1 << 27), guess) - doubling_high(half, cube), 3);
    }
    found.multiplier = doubling_high(guess, 1518500250);
    if (found.shift < 0) {
        found.multiplier = shift_left(found.multiplier, -found.shift);
        found.shift = 0;
    }
    return found;
}

#define L2(name, type, middle, least, most)                                                                            \
    int32_t name(const struct normalize_call *call)                                                                    \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        type *output = call->output;                                                                                   \
        for (int32_t row = 0; row < call->rows; row++, input += call->depth) {                                         \
            int32_t sum = 0;                                                                                           \
            for (int32_t i = 0; i < call->depth; i++)                                                                  \
                sum += (input[i] + call->offset) * (input[i] + call->offset);                                          \
            struct root root = inverse_root(sum);                                                                      \
            for (int32_t i = 0; i < call->depth; i++) {                                                                \
                int32_t value = input[i] + call->offset;                                                               \
                *output++ = (type)clamp(middle + name##_scaled(value, root), least, most);                             \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

static int32_t reference_l2_scaled(int32_t value, struct root root)
{
    return scale(value, root.multiplier, 7 - root.shift);
}

static int32_t reference_l2_u8_scaled(int32_t value, struct root root)
{
    return scale(128 * value, root.multiplier, -root.shift);
}

L2(reference_l2, int8_t, 0, INT8_MIN, INT8_MAX)
L2(reference_l2_u8, uint8_t, 128, 0, UINT8_MAX)
