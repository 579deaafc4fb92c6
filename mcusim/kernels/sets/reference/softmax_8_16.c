/* SOFTMAX of 8 bits with a result of 16, the least of which is 0. */
#include "softmax.h"

SOFTMAX(reference_softmax_s8_to_s16, int8_t, int16_t, INT8_MIN, INT16_MIN, INT16_MAX, 16)
