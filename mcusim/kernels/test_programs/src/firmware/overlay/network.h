/* Three convolutions on a picture of 16 x 16 pixels, each in four tiles of rows. All of it lies in SDRAM. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

enum { HEIGHT = 16, WIDTH = 16, OPERATORS = 3, TILES = 4, ROWS = HEIGHT / TILES };
enum { MOST_CHANNELS = 16, MOST_FILTER = 576, LINE_BYTES = 32 };

typedef struct {
    int32_t in_channels, out_channels, kernel; /* kernel x kernel, stride 1, same size out */
    int32_t input_offset, output_offset;
} layer;

typedef struct { /* what the kernel needs of a layer, each part in whole lines */
    int8_t filter[MOST_FILTER];
    int32_t bias[MOST_CHANNELS], multiplier[MOST_CHANNELS], shift[MOST_CHANNELS];
} parameters;

extern const layer layers[OPERATORS];
extern const uint32_t expected_crc; /* of the last result */
extern parameters weights[OPERATORS];
extern int8_t activations[OPERATORS + 1][HEIGHT * WIDTH * MOST_CHANNELS];

void network_fill(void); /* input and weights by a generator; results of the last run are gone */
uint32_t network_crc(void);

#endif
