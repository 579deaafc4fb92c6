/* MEAN: a sum for each output, then one multiplication that also divides. */
#include "mean.h"

MEAN(reference_mean, int8_t)
MEAN(reference_mean_u8, uint8_t)
