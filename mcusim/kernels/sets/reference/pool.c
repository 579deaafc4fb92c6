/* AVERAGE_POOL_2D and MAX_POOL_2D; what is outside the input counts for nothing. */
#include "pool.h"

POOL(reference_average_pool, int8_t, 0, result + value, mean(result, count))
POOL(reference_average_pool_u8, uint8_t, 0, result + value, mean(result, count))
POOL(reference_max_pool, int8_t, INT8_MIN, value > result ? value : result, result)
POOL(reference_max_pool_u8, uint8_t, 0, value > result ? value : result, result)
