/* Random calls of the compiled set's kernels on a host, against the reference set's: argv[1] to argv[2] are the seeds.
   Every operand is a block of its own, of no byte more than the manifest says, so that a sanitizer sees what is read or
   written beyond it; all but the scratch begin at any address. Prints what differs and ends with status 1. */
#include "kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t function(const struct conv_call *);
function tinyengine_conv, tinyengine_depthwise, tinyengine_fully_connected, tinyengine_depthwise_plane;
function tinyengine_depthwise_3x3_1_alone, tinyengine_depthwise_3x3_2_alone, tinyengine_depthwise_5x5_1_alone;
function tinyengine_depthwise_5x5_2_alone, tinyengine_depthwise_7x7_1_alone, tinyengine_depthwise_7x7_2_alone;
typedef int32_t moving(const struct move_call *);
moving tinyengine_pad, reference_pad;
function reference_conv, reference_depthwise, reference_fully_connected;
typedef int32_t element(const struct binary_call *);
element tinyengine_add, reference_add, tinyengine_mul, reference_mul;
typedef int32_t pooling(const struct pool_call *);
typedef int32_t unary(const struct unary_call *);
unary tinyengine_relu, reference_requantize;
pooling tinyengine_average_pool, reference_average_pool, tinyengine_max_pool, reference_max_pool;

static uint64_t state;
static uint32_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}
static int32_t between(int32_t low, int32_t high) { return low + (int32_t)(next() % (uint32_t)(high - low + 1)); }
static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t one_in(int32_t n) { return between(1, n) == 1; }

enum { MOST = 32 };
static void *blocks[MOST];
static int used;
static void *block(size_t size, int32_t offset) {
    char *at = malloc(size + (size_t)offset);
    blocks[used++] = at;
    return at + offset;
}
static void *bytes(size_t size) {
    int8_t *at = block(size, between(0, 3));
    for (size_t i = 0; i < size; i++) at[i] = (int8_t)next();
    return at;
}
static void done(void) {
    while (used) free(blocks[--used]);
}

static void scales(struct conv_call *c) {
    const int32_t reach = one_in(6) ? 0x7FFF0000 : one_in(6) ? 1 << 29 : 1000, plain = !one_in(3);
    int32_t *multiplier = block(4 * (size_t)c->out_c, 0), *shift = block(4 * (size_t)c->out_c, 0);
    int32_t *bias = block(4 * (size_t)c->out_c, 0);
    for (int32_t i = 0; i < c->out_c; i++) {
        multiplier[i] = (between(1 << 30, INT32_MAX)) * (one_in(5) ? -1 : 1);
        shift[i] = plain ? between(-12, -4) : between(-31, 1);
        bias[i] = (one_in(4) ? reach : between(0, reach)) * (one_in(2) ? 1 : -1);
    }
    c->multiplier = multiplier, c->shift = shift, c->bias = one_in(8) ? 0 : bias;
    c->bias_bytes = c->bias ? 4 : 0;
    c->least = plain ? -128 : between(-128, 0), c->most = plain ? 127 : between(0, 127);
    c->input_offset = one_in(3) ? 128 : one_in(3) ? -127 : between(-127, 128), c->output_offset = between(-128, 127);
}

static int32_t along(int32_t size, int32_t filter, int32_t stride, int32_t dilation, int32_t before) {
    const int32_t left = size + before + between(0, filter - 1) - (filter - 1) * dilation - 1;
    return left < 0 ? 0 : left / stride + 1;
}

static int windowed(struct conv_call *c, int32_t largest) {
    c->filter_h = between(1, largest), c->filter_w = one_in(2) ? c->filter_h : between(1, largest);
    c->stride_h = between(1, 3), c->stride_w = one_in(2) ? c->stride_h : between(1, 3);
    c->dilation_h = one_in(5) ? between(1, 3) : 1, c->dilation_w = one_in(5) ? between(1, 3) : 1;
    c->in_h = between(1, 9), c->in_w = between(1, 11), c->batch = one_in(4) ? 2 : 1;
    c->pad_top = between(0, c->filter_h - 1), c->pad_left = between(0, c->filter_w - 1);
    c->out_h = along(c->in_h, c->filter_h, c->stride_h, c->dilation_h, c->pad_top);
    c->out_w = along(c->in_w, c->filter_w, c->stride_w, c->dilation_w, c->pad_left);
    return c->out_h && c->out_w;
}

/* Runs both; whether they agree. `order` of the filter: its own, or channels in front (tinyengine_depthwise). */
static int same(const char *name, struct conv_call c, function compiled, function reference, const void *reordered) {
    const size_t size = (size_t)c.batch * (size_t)c.out_h * (size_t)c.out_w * (size_t)c.out_c;
    int8_t *wanted = block(size, 0), *found = block(size, between(0, 3));
    memset(wanted, 0x5A, size), memset(found, 0xA5, size);
    c.output = wanted;
    reference(&c);
    c.output = found, c.filter = reordered ? reordered : c.filter;
    compiled(&c);
    if (!memcmp(wanted, found, size)) return 1;
    printf("%s: %dx%dx%d to %d, %dx%d stride %d\n", name, c.in_h, c.in_w, c.in_c, c.out_c, c.filter_h, c.filter_w, c.stride_h);
    return 0;
}

static int convolution(void) {
    static const int32_t depths[] = {1, 3, 3, 4, 8, 16, 24, 48, 5, 20, 33};
    struct conv_call c = {.depth_multiplier = 1};
    if (!windowed(&c, one_in(2) ? 1 : one_in(2) ? 3 : 5)) return 1;
    if (one_in(3)) c.stride_h = c.stride_w = 1, c.out_h = c.in_h, c.out_w = c.in_w;
    c.in_c = depths[between(0, 10)], c.out_c = between(1, 9);
    const size_t depth = (size_t)(c.filter_h * c.filter_w * c.in_c);
    c.input = bytes((size_t)(c.batch * c.in_h * c.in_w * c.in_c)), c.filter = bytes(depth * (size_t)c.out_c);
    c.scratch = block((depth + 3) / 4 * 16, 0);
    scales(&c);
    return same("conv", c, tinyengine_conv, reference_conv, 0);
}

static int depthwise(void) {
    struct conv_call c = {.depth_multiplier = one_in(6) ? 2 : 1};
    if (!windowed(&c, 7)) return 1;
    c.in_c = between(1, 6), c.out_c = c.in_c * c.depth_multiplier;
    const int32_t taps = c.filter_h * c.filter_w;
    int8_t *turned = block((size_t)(taps * c.out_c), between(0, 3));
    const int8_t *filter = bytes((size_t)(taps * c.out_c));
    for (int32_t i = 0; i < taps * c.out_c; i++) turned[i % c.out_c * taps + i / c.out_c] = filter[i];
    c.filter = filter, c.input = bytes((size_t)(c.batch * c.in_h * c.in_w * c.in_c));
    const int32_t height = (c.out_h - 1) * c.stride_h + c.filter_h, width = (c.out_w - 1) * c.stride_w + c.filter_w;
    const int32_t planes = c.depth_multiplier == 1 && c.batch == 1 && c.dilation_h == 1 && c.dilation_w == 1;
    c.scratch = planes ? block((size_t)(2 * height * width), 0) : 0;
    scales(&c);
    static function *const alone[] = {
        tinyengine_depthwise_3x3_1_alone, tinyengine_depthwise_3x3_2_alone, tinyengine_depthwise_5x5_1_alone,
        tinyengine_depthwise_5x5_2_alone, tinyengine_depthwise_7x7_1_alone, tinyengine_depthwise_7x7_2_alone,
    };
    const int32_t square = c.filter_h == c.filter_w && c.filter_h > 1 && c.filter_h % 2 && c.stride_h == c.stride_w;
    const int32_t one = planes && square && c.stride_h < 3;
    return same("depthwise", c, tinyengine_depthwise, reference_depthwise, turned)
           && (!planes || same("plane", c, tinyengine_depthwise_plane, reference_depthwise, turned))
           && (!one || same("alone", c, alone[c.filter_h - 3 + c.stride_h - 1], reference_depthwise, turned));
}

static int pad(void) {
    struct move_call c = {.shape = {1, 1, 1, 1, 1}, .item = one_in(6) ? 2 : 1, .value = between(-128, 127)};
    size_t size = 1, inner = 1;
    for (int i = 1; i < 5; i++) {
        const int32_t padded = i == 2 || i == 3 || one_in(12);
        c.inside[i] = between(1, 6), c.before[i] = padded ? between(0, 3) : 0;
        c.shape[i] = c.before[i] + c.inside[i] + (padded ? between(0, 3) : 0);
        size *= (size_t)c.shape[i], inner *= (size_t)c.inside[i];
    }
    c.inside[0] = 1;
    c.input = bytes(inner * (size_t)c.item);
    size *= (size_t)c.item;
    int8_t *wanted = block(size, 0), *found = block(size, between(0, 3));
    c.output = wanted, reference_pad(&c);
    c.output = found, tinyengine_pad(&c);
    if (!memcmp(wanted, found, size)) return 1;
    printf("pad: %dx%dx%dx%d\n", c.shape[1], c.shape[2], c.shape[3], c.shape[4]);
    return 0;
}

static int fully_connected(void) {
    struct conv_call c = {.in_h = 1, .in_w = 1, .out_h = 1, .out_w = 1, .filter_h = 1, .filter_w = 1, .stride_h = 1};
    c.stride_w = c.dilation_h = c.dilation_w = c.depth_multiplier = 1;
    c.batch = between(1, 3), c.in_c = between(1, 70), c.out_c = between(1, 20);
    c.input = bytes((size_t)(c.batch * c.in_c)), c.filter = bytes((size_t)(c.out_c * c.in_c));
    scales(&c);
    c.filter_offset = one_in(4) ? between(-128, 127) : 0;
    return same("fully_connected", c, tinyengine_fully_connected, reference_fully_connected, 0);
}

static int of_two(const char *name, element compiled, element reference) {
    struct binary_call c = {.left_shift = 20};
    size_t size = 1;
    for (int i = 0; i < 4; i++) {
        const int32_t n = between(1, 5), narrow = one_in(12);
        c.shape[i] = c.shape1[i] = n, c.shape2[i] = narrow ? 1 : n;
        size *= (size_t)n;
    }
    c.input1_offset = between(-127, 128), c.input2_offset = between(-127, 128), c.output_offset = between(-128, 127);
    c.input1_multiplier = between(1 << 30, INT32_MAX), c.input2_multiplier = between(1 << 30, INT32_MAX);
    c.input1_shift = between(-12, 0), c.input2_shift = one_in(2) ? -1 : between(-12, 0);
    c.output_multiplier = between(1 << 30, INT32_MAX), c.output_shift = between(-24, one_in(3) ? 0 : -15);
    c.least = one_in(3) ? between(-128, 0) : -128, c.most = one_in(3) ? between(0, 127) : 127;
    c.input1 = bytes(size);
    c.input2 = bytes((size_t)(c.shape2[0] * c.shape2[1] * c.shape2[2] * c.shape2[3]));
    int8_t *wanted = block(size, 0), *found = block(size, between(0, 3));
    c.output = wanted, reference(&c);
    c.output = found, compiled(&c);
    if (!memcmp(wanted, found, size)) return 1;
    printf("%s: %dx%dx%dx%d\n", name, c.shape[0], c.shape[1], c.shape[2], c.shape[3]);
    return 0;
}

static int add(void) { return of_two("add", tinyengine_add, reference_add); }
static int mul(void) { return of_two("mul", tinyengine_mul, reference_mul); }

static int pool(const char *name, pooling compiled, pooling reference) {
    const int32_t whole = one_in(8); /* of up to 400 pixels, more than 16 bits can sum */
    struct pool_call c = {.batch = between(1, 2), .in_h = between(1, 20), .in_w = between(1, 20), .channels = between(1, 13)};
    c.filter_h = whole ? c.in_h : between(1, smaller(c.in_h, 5)), c.filter_w = whole ? c.in_w : between(1, smaller(c.in_w, 5));
    c.stride_h = between(1, 3), c.stride_w = between(1, 3), c.pad_top = between(0, c.filter_h - 1);
    c.pad_left = between(0, c.filter_w - 1), c.least = one_in(3) ? between(-128, 0) : -128;
    c.most = one_in(3) ? between(0, 127) : 127;
    c.out_h = (c.in_h + c.pad_top - 1) / c.stride_h + 1, c.out_w = (c.in_w + c.pad_left - 1) / c.stride_w + 1;
    c.input = bytes((size_t)(c.batch * c.in_h * c.in_w * c.channels));
    if (one_in(4)) memset((void *)c.input, one_in(2) ? -128 : 127, (size_t)(c.batch * c.in_h * c.in_w * c.channels));
    const size_t size = (size_t)(c.batch * c.out_h * c.out_w * c.channels);
    int8_t *wanted = block(size, 0), *found = block(size, between(0, 3));
    c.output = wanted, reference(&c);
    c.output = found, compiled(&c);
    if (!memcmp(wanted, found, size)) return 1;
    printf("%s: %dx%dx%d, %dx%d\n", name, c.in_h, c.in_w, c.channels, c.filter_h, c.filter_w);
    return 0;
}
static int average(void) { return pool("average_pool", tinyengine_average_pool, reference_average_pool); }
static int most(void) { return pool("max_pool", tinyengine_max_pool, reference_max_pool); }

static int relu(void) {
    struct unary_call c = {.elements = between(0, 600), .input_offset = between(-127, 128), .output_offset = between(-128, 127)};
    c.multiplier = one_in(9) ? 0 : between(1 << 30, INT32_MAX), c.shift = one_in(3) ? between(-33, 22) : between(-4, 2);
    c.least = between(-128, 0), c.most = between(0, 127);
    c.input = bytes((size_t)c.elements);
    int8_t *wanted = block((size_t)c.elements, 0), *found = block((size_t)c.elements, between(0, 3));
    c.output = wanted, reference_requantize(&c);
    c.output = found, tinyengine_relu(&c);
    if (!memcmp(wanted, found, (size_t)c.elements)) return 1;
    printf("relu: %d elements, %d * 2^%d\n", c.elements, c.multiplier, c.shift);
    return 0;
}

int main(int count, char **arguments) {
    int (*const kinds[])(void) = {convolution, convolution, depthwise, fully_connected, add, mul, average, most, pad, relu};
    int wrong = 0;
    for (long seed = atol(arguments[count > 2 ? 1 : 0]); seed < atol(arguments[count > 2 ? 2 : 0]); seed++) {
        state = (uint64_t)seed * 0x9E3779B97F4A7C15u + 1;
        next();
        if (!kinds[seed % (long)(sizeof kinds / sizeof *kinds)]()) wrong = 1, printf("  seed %ld\n", seed);
        done();
    }
    return wrong;
}
