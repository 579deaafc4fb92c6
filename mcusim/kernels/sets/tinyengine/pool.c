/* AVERAGE_POOL_2D, MAX_POOL_2D: four channels at a time over a whole window, so that nothing but registers is needed. Sums
   of up to 256 pixels are halves of a word, two of them to one SXTAB16; the larger of four bytes are SSUB8 and SEL. */
#include "tinyengine.h"

struct window { /* what of an output pixel's window is inside: `step` bytes from row to row */
    const int8_t *from;
    int32_t rows, columns, step;
};

INLINE struct window window_of(const struct pool_call *c, const int8_t *image, int32_t y, int32_t x) {
    const int32_t y0 = y * c->stride_h - c->pad_top, x0 = x * c->stride_w - c->pad_left;
    const int32_t top = larger(0, y0), left = larger(0, x0), step = c->in_w * c->channels;
    const int32_t rows = smaller(y0 + c->filter_h, c->in_h) - top, columns = smaller(x0 + c->filter_w, c->in_w) - left;
    return (struct window){image + top * step + left * c->channels, larger(0, rows), larger(0, columns), step};
}

INLINE int8_t mean(const struct pool_call *c, int32_t sum, int32_t count) {
    const int32_t half = count >> 1, rounded = sum > 0 ? sum + half : sum - half;
    return (int8_t)clamp(count ? rounded / count : 0, c->least, c->most);
}

static int8_t *mean_pixel(const struct pool_call *c, struct window w, int8_t *out) {
    const int32_t count = w.rows * w.columns, channels = c->channels;
    int32_t left = channels;
    for (; left >= 4 && count <= 256; left -= 4, w.from += 4, out += 4) {
        uint32_t even = 0, odd = 0;
        const int8_t *row = w.from;
        for (int32_t y = w.rows; y; y--, row += w.step) {
            const int8_t *at = row;
            for (int32_t x = w.columns; x; x--, at += channels) {
                const uint32_t bytes = word(at);
                even = even_plus(even, bytes), odd = odd_plus(odd, bytes);
            }
        }
        uint32_t four = (uint8_t)mean(c, (int16_t)even, count);
        four |= (uint32_t)(uint8_t)mean(c, (int16_t)odd, count) << 8;
        four |= (uint32_t)(uint8_t)mean(c, (int32_t)even >> 16, count) << 16;
        *(any_word *)out = four | (uint32_t)(uint8_t)mean(c, (int32_t)odd >> 16, count) << 24;
    }
    for (; left; left--, w.from++) {
        int32_t sum = 0;
        const int8_t *row = w.from;
        for (int32_t y = w.rows; y; y--, row += w.step) {
            const int8_t *at = row;
            for (int32_t x = w.columns; x; x--, at += channels) sum += *at;
        }
        *out++ = mean(c, sum, count);
    }
    return out;
}

int32_t tinyengine_average_pool(const struct pool_call *call) {
    const struct pool_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    const int8_t *image = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, image += c->in_h * c->in_w * c->channels) {
        for (int32_t y = 0; y < c->out_h; y++) {
            for (int32_t x = 0; x < c->out_w; x++) out = mean_pixel(c, window_of(c, image, y, x), out);
        }
    }
    return 0;
}

static int8_t *most_pixel(const struct pool_call *c, struct window w, int8_t *out) {
    const uint32_t least = (uint32_t)(uint8_t)c->least * 0x01010101u, most = (uint32_t)(uint8_t)c->most * 0x01010101u;
    const int32_t channels = c->channels;
    int32_t left = channels;
    for (; left >= 4; left -= 4, w.from += 4, out += 4) {
        uint32_t found = 0x80808080u;
        const int8_t *row = w.from;
        for (int32_t y = w.rows; y; y--, row += w.step) {
            const int8_t *at = row;
            for (int32_t x = w.columns; x; x--, at += channels) found = larger_bytes(found, word(at));
        }
        *(any_word *)out = smaller_bytes(larger_bytes(found, least), most);
    }
    for (; left; left--, w.from++) {
        int32_t found = -128;
        const int8_t *row = w.from;
        for (int32_t y = w.rows; y; y--, row += w.step) {
            const int8_t *at = row;
            for (int32_t x = w.columns; x; x--, at += channels) found = larger(found, *at);
        }
        *out++ = (int8_t)clamp(found, c->least, c->most);
    }
    return out;
}

int32_t tinyengine_max_pool(const struct pool_call *call) {
    const struct pool_call copy = *call, *const c = &copy;
    const int8_t *image = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, image += c->in_h * c->in_w * c->channels) {
        for (int32_t y = 0; y < c->out_h; y++) {
            for (int32_t x = 0; x < c->out_w; x++) out = most_pixel(c, window_of(c, image, y, x), out);
        }
    }
    return 0;
}
