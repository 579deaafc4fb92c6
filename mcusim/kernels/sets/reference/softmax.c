/* SOFTMAX of 8 bits. */
#include "softmax.h"

SOFTMAX(reference_softmax, int8_t, int8_t, INT8_MIN, INT8_MIN, INT8_MAX, 8)
SOFTMAX(reference_softmax_u8, uint8_t, uint8_t, 0, 0, UINT8_MAX, 8)
