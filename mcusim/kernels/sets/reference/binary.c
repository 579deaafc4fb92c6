/* Operators of two inputs; a dimension of 1 is repeated. */
#include "binary.h"

BINARY(reference_add, int8_t, sum)
BINARY(reference_add_u8, uint8_t, sum)
BINARY(reference_sub, int8_t, difference)
BINARY(reference_sub_u8, uint8_t, difference)
BINARY(reference_mul, int8_t, product)
BINARY(reference_mul_u8, uint8_t, product)
BINARY(reference_maximum, int8_t, larger)
BINARY(reference_maximum_u8, uint8_t, larger)
BINARY(reference_minimum, int8_t, smaller)
BINARY(reference_minimum_u8, uint8_t, smaller)
