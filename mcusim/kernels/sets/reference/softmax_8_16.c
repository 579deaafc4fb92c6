/* SOFTMAX of 8 bits with a result of 16, the least of which is 0. */
#define exp_of_difference exp_of_difference_8_16 /* a name of its own in the set */
#include "softmax.h"

SOFTMAX(reference_softmax_s8_to_s16, int8_t, int16_t, INT8_MIN, INT16_MIN, INT16_MAX, 16)
