/* Operators that only move elements of 2 or 4 bytes: rows of the last axis, whose elements may lie apart. */
#include "kernels.h"
#include <stddef.h>

void *memcpy(void *restrict, const void *restrict, size_t);

#define MOVE(symbol, type) \
    int32_t symbol(const struct move_call *call) \
    { \
        const int32_t *shape = call->shape, *step = call->step, apart = step[4]; \
        type *output = call->output; \
        for (int32_t a = 0; a < shape[0]; a++) \
            for (int32_t b = 0; b < shape[1]; b++) \
                for (int32_t c = 0; c < shape[2]; c++) \
                    for (int32_t d = 0; d < shape[3]; d++, output += shape[4]) { \
                        const int32_t first = call->begin + a * step[0] + b * step[1] + c * step[2] + d * step[3]; \
                        const type *input = (const type *)call->input + first; \
                        if (apart == 1) \
                            memcpy(output, input, (size_t)shape[4] * sizeof *output); \
                        else \
                            for (int32_t i = 0; i < shape[4]; i++) \
                                output[i] = input[i * apart]; \
                    } \
        return 0; \
    }

MOVE(reference_move_halves, int16_t)
MOVE(reference_move_words, int32_t)
