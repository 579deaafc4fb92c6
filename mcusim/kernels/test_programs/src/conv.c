/* An int8 convolution, NHWC, stride 1, zero padding to the same size, requantised per channel as TensorFlow Lite does.

   Twice: plain loops as in a reference kernel, and a patch buffer with a SXTB16/SMLAD dot product. Both give the same
   bytes. All data come from a linear congruential generator, so that a host can compute the result for itself. */
#include "mcu.h"

enum { SIDE = 16, MAX_IN = 16, MAX_OUT = 32, INPUT_OFFSET = 3, OUTPUT_OFFSET = -5, LAYERS = 3 };

struct layer {
    int32_t side, kernel, in_channels, out_channels; /* kernel 1 or 3: one side of the window */
    const int32_t *bias, *multiplier, *shift;        /* per output channel; shift counts to the right */
};

static const struct {
    uint8_t kernel, in_channels, out_channels, smlad;
} layers[LAYERS] = {{3, 8, 16, 0}, {3, 8, 16, 1}, {1, 16, 32, 1}};

/* CRC-32 of each layer's output: tests/kernels/test_programs/test_test_programs.py computes them on the host */
const uint32_t expected_crc[LAYERS] = {0x58F15841, 0x58F15841, 0xFB4CD212};

static int8_t input[SIDE * SIDE * MAX_IN], filter[MAX_OUT * 9 * MAX_IN], output[SIDE * SIDE * MAX_OUT];
static int8_t patch[9 * MAX_IN] __attribute__((aligned(4)));
static int32_t bias[MAX_OUT], multiplier[MAX_OUT], shift[MAX_OUT];

int32_t dot_plain(const int8_t *a, const int8_t *b, int32_t n) {
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static inline uint32_t even_bytes(uint32_t word) {
    uint32_t halves;
    __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(word));
    return halves;
}

static inline uint32_t odd_bytes(uint32_t word) {
    uint32_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(word));
    return halves;
}

static inline int32_t smlad(uint32_t a, uint32_t b, int32_t sum) {
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* The same with four products for two SMLAD; any alignment, n of any size. */
int32_t dot(const int8_t *a, const int8_t *b, int32_t n) {
    int32_t sum = 0;
    for (; n >= 4; n -= 4, a += 4, b += 4) {
        const uint32_t x = *(const any_word *)a, y = *(const any_word *)b;
        sum = smlad(even_bytes(x), even_bytes(y), sum);
        sum = smlad(odd_bytes(x), odd_bytes(y), sum);
    }
    while (n-- > 0) sum += *a++ * *b++;
    return sum;
}

/* gemmlowp's saturating rounding doubling high multiplication, then a rounding shift to the right. */
int32_t requantize(int32_t sum, int32_t factor, int32_t right) {
    const int64_t product = (int64_t)sum * factor;
    const int64_t rounded = product + (product >= 0 ? 1 << 30 : 1 - (1 << 30));
    int32_t high = (int32_t)(rounded / (1LL << 31));
    if (sum == factor && sum == INT32_MIN) high = INT32_MAX;
    const int32_t mask = (1 << right) - 1, rest = high & mask, half = (mask >> 1) + (high < 0);
    return (high >> right) + (rest > half);
}

static int8_t activation(int32_t sum, const struct layer *layer, int32_t channel) {
    int32_t value = requantize(sum, layer->multiplier[channel], layer->shift[channel]) + OUTPUT_OFFSET;
    if (value < -128) value = -128;
    if (value > 127) value = 127;
    return (int8_t)value;
}

static int32_t window_sum(const int8_t *in, const int8_t *weights, const struct layer *layer, int32_t y, int32_t x) {
    const int32_t side = layer->side, kernel = layer->kernel, channels = layer->in_channels, pad = kernel / 2;
    int32_t sum = 0;
    for (int32_t ky = 0; ky < kernel; ky++)
        for (int32_t kx = 0; kx < kernel; kx++) {
            const int32_t iy = y + ky - pad, ix = x + kx - pad;
            if (iy < 0 || iy >= side || ix < 0 || ix >= side) continue;
            const int8_t *pixel = in + (iy * side + ix) * channels, *tap = weights + (ky * kernel + kx) * channels;
            for (int32_t c = 0; c < channels; c++) sum += (pixel[c] + INPUT_OFFSET) * tap[c];
        }
    return sum;
}

void conv_plain(const int8_t *in, const int8_t *weights, int8_t *out, const struct layer *layer) {
    const int32_t taps = layer->kernel * layer->kernel * layer->in_channels;
    for (int32_t y = 0; y < layer->side; y++)
        for (int32_t x = 0; x < layer->side; x++)
            for (int32_t c = 0; c < layer->out_channels; c++) {
                const int32_t sum = layer->bias[c] + window_sum(in, weights + c * taps, layer, y, x);
                *out++ = activation(sum, layer, c);
            }
}

static void fill_patch(const int8_t *in, const struct layer *layer, int32_t y, int32_t x) {
    const int32_t side = layer->side, channels = layer->in_channels, pad = layer->kernel / 2;
    int8_t *to = patch;
    for (int32_t iy = y - pad; iy <= y + pad; iy++)
        for (int32_t ix = x - pad; ix <= x + pad; ix++) {
            const int8_t *pixel = in + (iy * side + ix) * channels;
            const int inside = iy >= 0 && iy < side && ix >= 0 && ix < side;
            for (int32_t c = 0; c < channels; c++) *to++ = inside ? pixel[c] : -INPUT_OFFSET;
        }
}

/* As conv_plain; INPUT_OFFSET times the sum of a filter is added to its bias first. At most MAX_OUT channels. */
void conv_smlad(const int8_t *in, const int8_t *weights, int8_t *out, const struct layer *layer) {
    const int32_t taps = layer->kernel * layer->kernel * layer->in_channels;
    int32_t start[MAX_OUT];
    for (int32_t c = 0; c < layer->out_channels; c++) {
        start[c] = layer->bias[c];
        for (int32_t tap = 0; tap < taps; tap++) start[c] += INPUT_OFFSET * weights[c * taps + tap];
    }
    for (int32_t y = 0; y < layer->side; y++)
        for (int32_t x = 0; x < layer->side; x++) {
            fill_patch(in, layer, y, x);
            for (int32_t c = 0; c < layer->out_channels; c++)
                *out++ = activation(start[c] + dot(patch, weights + c * taps, taps), layer, c);
        }
}

static void fill(int8_t *to, int32_t count, uint32_t *state) {
    for (int32_t i = 0; i < count; i++) to[i] = (int8_t)(lcg(state) >> 24);
}

static struct layer prepare(int32_t which) {
    const int32_t kernel = layers[which].kernel, ins = layers[which].in_channels, outs = layers[which].out_channels;
    uint32_t state = 1;
    fill(input, SIDE * SIDE * ins, &state);
    fill(filter, outs * kernel * kernel * ins, &state);
    for (int32_t c = 0; c < outs; c++) {
        bias[c] = (int32_t)(lcg(&state) >> 18) - 8192;
        multiplier[c] = (int32_t)(0x40000000 | lcg(&state) >> 2);
        shift[c] = 7 + (int32_t)(lcg(&state) >> 30);
    }
    return (struct layer){SIDE, kernel, ins, outs, bias, multiplier, shift};
}

/* Runs one of the layers on fresh data ``repeats`` times; returns the CRC-32 of its output. Needs no start-up code. */
uint32_t run_layer(uint32_t which, uint32_t repeats) {
    if (which >= LAYERS) return 0;
    const struct layer layer = prepare((int32_t)which);
    while (repeats--) (layers[which].smlad ? conv_smlad : conv_plain)(input, filter, output, &layer);
    return crc32(output, (uint32_t)(SIDE * SIDE * layer.out_channels));
}

static const char *const names[LAYERS] = {"conv 3x3 plain", "conv 3x3 smlad", "conv 1x1 smlad"};

int main(void) {
    int failed = 0;
    for (uint32_t which = 0; which < LAYERS; which++) {
        const struct layer layer = prepare((int32_t)which);
        cycles_start();
        const uint32_t before = cycles();
        (layers[which].smlad ? conv_smlad : conv_plain)(input, filter, output, &layer);
        const uint32_t spent = cycles() - before, crc = crc32(output, (uint32_t)(SIDE * SIDE * layer.out_channels));
        print(names[which]);
        print_hex(": crc ", crc);
        print_number("  cycles ", spent);
        if (crc != expected_crc[which]) failed = (int)which + 1;
    }
    print(failed ? "conv: wrong result\n" : "conv: ok\n");
    return failed;
}
