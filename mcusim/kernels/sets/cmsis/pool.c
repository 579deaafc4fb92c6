/* AVERAGE_POOL_2D: sums of all channels of a window in scratch (4 bytes a channel). MAX_POOL_2D: the window's pixels one
   after another onto the output, four bytes at a time, and everything clamped at the end. */
#include "window.h"

INLINE int32_t qadd(int32_t a, int32_t b) {
    int32_t sum;
    __asm__("qadd %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

static int32_t window_sums(const struct pool_call *c, const int8_t *input, struct window w) {
    const int32_t channels = c->channels;
    int32_t *sum = c->scratch, count = 0;
    for (int32_t y = w.top; y < w.bottom; y++) {
        for (int32_t x = w.left; x < w.right; x++, count++) {
            const int8_t *pixel = input + (y * c->in_w + x) * channels;
            if (count == 0) {
                for (int32_t i = 0; i < channels; i++) sum[i] = pixel[i];
            } else {
                for (int32_t i = 0; i < channels; i++) sum[i] = qadd(pixel[i], sum[i]);
            }
        }
    }
    return count;
}

static void average_image(const struct pool_call *c, const int8_t *input, int8_t *out) {
    const int32_t channels = c->channels, *const sum = c->scratch, least = c->least, most = c->most;
    for (int32_t y = 0; y < c->out_h; y++) {
        for (int32_t x = 0; x < c->out_w; x++, out += channels) {
            const int32_t count = window_sums(c, input, window_at(c, y, x)), half = count / 2;
            for (int32_t i = 0; count && i < channels; i++) {
                out[i] = (int8_t)clamped((sum[i] > 0 ? sum[i] + half : sum[i] - half) / count, least, most);
            }
        }
    }
}

int32_t cmsis_average_pool(const struct pool_call *c) {
    const int8_t *input = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++) {
        average_image(c, input, out);
        input += c->in_h * c->in_w * c->channels;
        out += c->out_h * c->out_w * c->channels;
    }
    return 0;
}

union bytes {
    uint32_t word;
    int8_t byte[4];
};

static void keep_larger(int8_t *base, const int8_t *other, int32_t count) {
    for (int32_t n = count >> 2; n; n--, base += 4) {
        union bytes kept = {word(base)}, next = {word_on(&other)};
        for (int32_t i = 0; i < 4; i++) {
            if (next.byte[i] > kept.byte[i]) kept.byte[i] = next.byte[i];
        }
        *(any_word *)base = kept.word;
    }
    for (int32_t n = count & 3; n; n--, base++, other++) {
        if (*other > *base) *base = *other;
    }
}

static void clamp_all(int8_t *at, int32_t count, int32_t least, int32_t most) {
    for (int32_t n = count >> 2; n; n--, at += 4) {
        union bytes four = {word(at)};
        for (int32_t i = 0; i < 4; i++) four.byte[i] = (int8_t)clamped(four.byte[i], least, most);
        *(any_word *)at = four.word;
    }
    for (int32_t n = count & 3; n; n--, at++) *at = (int8_t)clamped(*at, least, most);
}

static int8_t *window_most(const struct pool_call *c, const int8_t *input, struct window w, int8_t *out) {
    const int32_t channels = c->channels;
    int32_t count = 0;
    for (int32_t y = w.top; y < w.bottom; y++) {
        for (int32_t x = w.left; x < w.right; x++) {
            const int8_t *pixel = input + (y * c->in_w + x) * channels;
            if (count++ == 0) {
                memcpy(out, pixel, (size_t)channels);
            } else {
                keep_larger(out, pixel, channels);
            }
        }
    }
    return out + channels;
}

int32_t cmsis_max_pool(const struct pool_call *c) {
    const int8_t *input = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, input += c->in_h * c->in_w * c->channels) {
        for (int32_t y = 0; y < c->out_h; y++) {
            for (int32_t x = 0; x < c->out_w; x++) out = window_most(c, input, window_at(c, y, x), out);
        }
    }
    clamp_all(c->output, c->batch * c->out_h * c->out_w * c->channels, c->least, c->most);
    return 0;
}
