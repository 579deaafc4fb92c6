#include "network.h"

#include "board.h"
#include "caches.h"
#include "faults.h"

#define IN_SDRAM __attribute__((section(".sdram"), aligned(LINE_BYTES)))

const layer layers[OPERATORS] = {
    {8, 8, 3, 5, -3},
    {8, 16, 1, 3, 2},
    {16, 4, 3, -2, 0},
};
const uint32_t expected_crc = 0xa6b87e2d;

IN_SDRAM int8_t activations[OPERATORS + 1][HEIGHT * WIDTH * MOST_CHANNELS];
IN_SDRAM parameters weights[OPERATORS];

static void clean_and_invalidate(const void *at, uint32_t bytes) {
    if (HAS_CACHES) each_line(&DCCIMVAC, at, bytes);
}

static void fill(int8_t *at, int32_t bytes, uint32_t *state) {
    while (bytes--) *at++ = (int8_t)(lcg(state) >> 24);
}

void network_fill(void) {
    uint32_t state = 1;
    for (int n = 0; n < OPERATORS; n++) {
        const layer *l = &layers[n];
        parameters *p = &weights[n];
        fill(p->filter, l->out_channels * l->kernel * l->kernel * l->in_channels, &state);
        for (int c = 0; c < l->out_channels; c++) {
            p->bias[c] = (int32_t)lcg(&state) >> 20;
            p->multiplier[c] = c & 1 ? 0x60000000 : 0x40000000; /* 0.75 or 0.5, times 2^shift */
            p->shift[c] = l->kernel == 1 ? -7 : -9;
        }
        for (int i = 0; i < HEIGHT * WIDTH * l->out_channels; i++) activations[n + 1][i] = 0;
    }
    fill(activations[0], HEIGHT * WIDTH * layers[0].in_channels, &state);
    if (FAULT != MISSING_INPUT_CLEAN) clean_and_invalidate(activations[0], sizeof activations[0]);
    clean_and_invalidate(activations[1], sizeof activations - sizeof activations[0]);
    clean_and_invalidate(weights, sizeof weights);
}

uint32_t network_crc(void) {
    const uint32_t bytes = (uint32_t)(HEIGHT * WIDTH * layers[OPERATORS - 1].out_channels);
    if (HAS_CACHES) each_line(&DCIMVAC, activations[OPERATORS], bytes);
    return crc32(activations[OPERATORS], bytes);
}
