/* AVERAGE_POOL_2D of 2020: sums of all channels of a window as q15 in scratch (2 bytes a channel), two to one QADD16. 256
   elements of a byte are as many as such a sum holds: windows of more are the reference set's. */
#include "window.h"

int32_t reference_average_pool(const struct pool_call *c);
void cmsis_2020_widen(const int8_t *from, int16_t *to, int32_t count);
void cmsis_2020_accumulate(int16_t *sum, const int8_t *more, int32_t count);

INLINE uint32_t qadd16(uint32_t a, uint32_t b) {
    uint32_t halves;
    __asm__("qadd16 %0, %1, %2" : "=r"(halves) : "r"(a), "r"(b));
    return halves;
}

void cmsis_2020_widen(const int8_t *from, int16_t *to, int32_t count) {
    for (int32_t n = count >> 2; n; n--, to += 4) {
        uint32_t first, last;
        in_order(word_on(&from), &first, &last);
        *(any_word *)to = first;
        *(any_word *)(to + 2) = last;
    }
    for (int32_t n = count & 3; n; n--) *to++ = *from++;
}

void cmsis_2020_accumulate(int16_t *sum, const int8_t *more, int32_t count) {
    for (int32_t n = count >> 2; n; n--, sum += 4) {
        uint32_t first, last;
        in_order(word_on(&more), &first, &last);
        *(any_word *)sum = qadd16(first, word(sum));
        *(any_word *)(sum + 2) = qadd16(last, word(sum + 2));
    }
    for (int32_t n = count & 3; n; n--, sum++) *sum = (int16_t)(*sum + *more++);
}

static int32_t window_sums(const struct pool_call *c, const int8_t *input, struct window w) {
    int32_t count = 0;
    for (int32_t y = w.top; y < w.bottom; y++) {
        for (int32_t x = w.left; x < w.right; x++, count++) {
            const int8_t *pixel = input + (y * c->in_w + x) * c->channels;
            if (count == 0) {
                cmsis_2020_widen(pixel, c->scratch, c->channels);
            } else {
                cmsis_2020_accumulate(c->scratch, pixel, c->channels);
            }
        }
    }
    return count;
}

static __attribute__((noinline)) void averages(const struct pool_call *c, int8_t *out, int32_t count) {
    const int16_t *sum = c->scratch;
    const int32_t least = c->least, most = c->most, half = count / 2;
    for (int32_t i = 0; count && i < c->channels; i++) {
        out[i] = (int8_t)clamped((sum[i] > 0 ? sum[i] + half : sum[i] - half) / count, least, most);
    }
}

int32_t cmsis_2020_average_pool(const struct pool_call *c) {
    const int8_t *input = c->input;
    int8_t *out = c->output;
    if (c->filter_h * c->filter_w > 256) return reference_average_pool(c);
    for (int32_t i = 0; i < c->batch; i++, input += c->in_h * c->in_w * c->channels) {
        for (int32_t y = 0; y < c->out_h; y++) {
            for (int32_t x = 0; x < c->out_w; x++, out += c->channels) {
                averages(c, out, window_sums(c, input, window_at(c, y, x)));
            }
        }
    }
    return 0;
}
