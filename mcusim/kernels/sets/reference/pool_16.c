/* AVERAGE_POOL_2D, MAX_POOL_2D and MEAN of int16. */
#include "mean.h"
#include "pool.h"

POOL(reference_average_pool_s16, int16_t, 0, result + value, mean(result, count))
POOL(reference_max_pool_s16, int16_t, INT16_MIN, value > result ? value : result, result)
MEAN(reference_mean_s16, int16_t)
