/* The schedule: input rows and weights come to on-chip buffers, results go back, while the kernel computes in the other
   buffer of each pair. A transfer is asked for as soon as its buffer is free; the weights of the next operator while this
   one computes. */
#include "overlay.h"

#include "board.h"
#include "caches.h"
#include "faults.h"
#include "kernels.h"
#include "network.h"
#include "transfers.h"

#define IN_SRAM __attribute__((section(".buffers"), aligned(LINE_BYTES)))
enum { TILE_IN = (ROWS + 2) * WIDTH * MOST_CHANNELS, TILE_OUT = ROWS * WIDTH * MOST_CHANNELS };

int32_t cmsis_conv(const struct conv_call *call);

typedef struct { /* rows of an operator's input that a tile needs, and how many of the border's they lack */
    int32_t first, count, above;
} rows;

#if FAULT == HALF_LINE
IN_SRAM static struct {
    volatile uint32_t tiles_done, unused[3];
    int8_t tiles[2][TILE_IN];
} shared;
#define tile_in shared.tiles
#define TILE_DONE shared.tiles_done++
#else
IN_SRAM int8_t tile_in[2][TILE_IN];
static volatile uint32_t tiles_done;
#define TILE_DONE tiles_done++
#endif
IN_SRAM int8_t tile_out[2][TILE_OUT];
IN_SRAM parameters overlaid[2];
__attribute__((section(".core_only"), aligned(LINE_BYTES))) int8_t tile_core_only[TILE_IN];
static int16_t scratch[2 * 9 * MOST_CHANNELS];

static uint32_t came[2], went[2], weights_came[2]; /* numbers of the last transfer of each buffer */

static int8_t *input_buffer(int tile) {
    return FAULT == UNREACHABLE && tile == 1 ? tile_core_only : tile_in[tile & 1];
}

static int8_t *output_buffer(int tile) { return tile_out[FAULT == OUTPUT_REUSED ? 0 : tile & 1]; }

static rows rows_of(const layer *l, int tile) {
    const int32_t halo = l->kernel / 2, first = tile * ROWS - halo, end = (tile + 1) * ROWS + halo;
    const rows r = {first < 0 ? 0 : first, 0, first < 0 ? -first : 0};
    return (rows){r.first, (end > HEIGHT ? HEIGHT : end) - r.first, r.above};
}

static void request_input(int n, int tile) {
    const layer *l = &layers[n];
    const rows r = rows_of(l, tile);
    const int32_t row = WIDTH * l->in_channels;
    came[tile & 1] = transfer_request(IN, activations[n] + r.first * row, input_buffer(tile), (uint32_t)(r.count * row));
}

static void request_weights(int n) {
    const layer *l = &layers[n];
    const uint32_t words = (uint32_t)l->out_channels * 4;
    parameters *from = &weights[n], *to = &overlaid[n & 1];
    transfer_request(OUT, from->filter, to->filter, (uint32_t)(l->in_channels * l->kernel * l->kernel * l->out_channels));
    transfer_request(OUT, from->bias, to->bias, words);
    transfer_request(OUT, from->multiplier, to->multiplier, words);
    weights_came[n & 1] = transfer_request(OUT, from->shift, to->shift, words);
}

static uint32_t output_bytes(int n) { return (uint32_t)(ROWS * WIDTH * layers[n].out_channels); }

static void request_output(int n, int tile) {
    const uint32_t bytes = output_bytes(n);
    went[tile & 1] = transfer_request(OUT, output_buffer(tile), activations[n + 1] + (uint32_t)tile * bytes, bytes);
}

static void invalidate(const void *at, uint32_t bytes) {
    if (HAS_CACHES) each_line(&DCIMVAC, at, bytes);
}

static void clean(const void *at, uint32_t bytes) {
    if (HAS_CACHES) each_line(&DCCMVAC, at, bytes);
}

static int compute(int n, int tile) {
    const layer *l = &layers[n];
    const rows r = rows_of(l, tile);
    const parameters *p = &overlaid[n & 1];
    const struct conv_call call = {
        .input = input_buffer(FAULT == WRONG_HALF ? tile + 1 : tile),
        .filter = p->filter,
        .bias = p->bias,
        .output = output_buffer(tile),
        .scratch = scratch,
        .multiplier = p->multiplier,
        .shift = p->shift,
        .batch = 1,
        .in_h = r.count,
        .in_w = WIDTH,
        .in_c = l->in_channels,
        .out_h = ROWS,
        .out_w = WIDTH,
        .out_c = l->out_channels,
        .filter_h = l->kernel,
        .filter_w = l->kernel,
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = 1,
        .dilation_w = 1,
        .pad_top = r.above,
        .pad_left = l->kernel / 2,
        .depth_multiplier = 1,
        .input_offset = l->input_offset,
        .output_offset = l->output_offset,
        .least = -128,
        .most = 127,
        .bias_bytes = 4,
    };
    return (int)cmsis_conv(&call);
}

static int run_tile(int n, int tile) {
    int failed = 0;
    if (FAULT != MISSING_WAIT) failed |= transfer_wait(IN, came[tile & 1]);
    if (FAULT != MISSING_INVALIDATE) invalidate(input_buffer(tile), sizeof tile_in[0]);
    if (FAULT != OUTPUT_REUSED) failed |= transfer_wait(OUT, went[tile & 1]);
    if (FAULT == INPUT_REUSED && tile + 2 < TILES) request_input(n, tile + 2);
    if (failed || compute(n, tile)) return 1;
    TILE_DONE;
    if (FAULT != MISSING_CLEAN && FAULT != CLEAN_AFTER) clean(output_buffer(tile), output_bytes(n));
    request_output(n, tile);
    if (FAULT == CLEAN_AFTER) clean(output_buffer(tile), output_bytes(n));
    if (FAULT != INPUT_REUSED && tile + 2 < TILES) request_input(n, tile + 2);
    return 0;
}

static int run_operator(int n) {
    for (int tile = 0; tile < 2; tile++) request_input(n, tile);
    if (FAULT != STREAM_ORDER && transfer_wait(OUT, weights_came[n & 1])) return 1;
    invalidate(&overlaid[n & 1], sizeof overlaid[0]);
    if (n + 1 < OPERATORS) request_weights(n + 1);
    for (int tile = 0; tile < TILES; tile++)
        if (run_tile(n, tile)) return 1;
    return transfer_wait(OUT, went[(TILES - 1) & 1]); /* the next operator reads it by the other stream */
}

int overlay_run(void) {
    request_weights(0);
    for (int n = 0; n < OPERATORS; n++)
        if (run_operator(n)) return 1;
    return 0;
}
