/* gemmlowp's fixed point: exp by a polynomial and a product of constants, 1 / x by Newton. */
#ifndef MCUSIM_EXPONENTIAL_H
#define MCUSIM_EXPONENTIAL_H
#include "fixed_point.h"

static int32_t saturating_left(int32_t x, int32_t bits)
{
    int32_t most = INT32_MAX >> bits, least = INT32_MIN >> bits;
    return x > most ? INT32_MAX : x < least ? INT32_MIN : shift_left(x, bits);
}

/* exp(a) in Q0.31 for a in -1/4 .. 0, Q0.31: the Taylor series about -1/8. */
static int32_t exp_of_quarter(int32_t a)
{
    const int32_t exp_of_eighth = 1895147668, third = 715827883;
    int32_t x = a + (1 << 28), x2 = doubling_high(x, x);
    int32_t x3 = doubling_high(x2, x), x4 = doubling_high(x2, x2);
    int32_t tail = divide_by_power(doubling_high(divide_by_power(x4, 2) + x3, third) + x2, 1);
    return exp_of_eighth + doubling_high(exp_of_eighth, x + tail);
}

/* exp(a) in Q0.31 for a <= 0 in Q5.26 */
static int32_t exp_of_negative(int32_t a)
{
    static const int32_t powers[7] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    int32_t quarter = 1 << 24, rest = (a & (quarter - 1)) - quarter;
    int32_t result = exp_of_quarter(saturating_left(rest, 5)), whole = rest - a;
    for (int i = 0; i < 7; i++)
        if (whole & (1 << (24 + i)))
            result = doubling_high(result, powers[i]);
    return a == 0 ? INT32_MAX : result;
}

/* 1 / (1 + a) in Q0.31 for a in 0 .. 1, Q0.31 */
static int32_t reciprocal_of_one_plus(int32_t a)
{
    int32_t half = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2); /* of the denominator */
    int32_t x = 1515870810 + doubling_high(half, -1010580540);  /* 48/17 - 32/17 half, Q2.29 */
    for (int i = 0; i < 3; i++)
        x += saturating_left(doubling_high(x, (1 << 29) - doubling_high(half, x)), 2);
    return saturating_left(x, 1);
}
#endif
