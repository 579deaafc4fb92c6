/* DEPTHWISE_CONV_2D, in place or not: a channel's plane is gathered into scratch, widened to 16 bits with the offset added
   and zeros around it; its outputs then go where the input's elements of that channel were, or to another place.

   Filters come with the channels in front. Square ones of 3, 5 and 7 taps and of stride 1 or 2 are unrolled: four outputs
   (two, with stride 2) share the words of a row, two products to an SMLAD; functions that end in "alone" compute one output
   at a time, to see what sharing is worth. Other filters of depth multiplier 1, batch 1, without dilation take the plane one
   output at a time, two products to an SMLAD too where they have at most MOST_PAIRS pairs of taps; channels that are not quick
   tap by tap. The rest is plain loops, which must not run in place.
   Scratch: 2 bytes for each element of the padded plane. */
#include "tinyengine.h"

struct plane {
    int16_t *at;
    int32_t width, height; /* with the padding */
};

/* Zeros around, once for all channels. */
INLINE void clear(const struct plane *p) {
    for (int32_t i = 0; i < p->width * p->height; i++) p->at[i] = 0;
}

INLINE void gather(const struct conv_call *c, struct plane p, const int8_t *from) {
    const int32_t step = c->in_c, offset = c->input_offset;
    int16_t *row = p.at + c->pad_top * p.width + c->pad_left;
    const int32_t rows = smaller(c->in_h, p.height - c->pad_top), width = smaller(c->in_w, p.width - c->pad_left);
    for (int32_t y = 0; y < rows; y++, row += p.width, from += (c->in_w - width) * step) {
        int16_t *to = row;
        int32_t n = width;
        for (; n >= 4; n -= 4, to += 4, from += 4 * step) {
            const int32_t x0 = from[0], x1 = from[step], x2 = from[2 * step], x3 = from[3 * step];
            to[0] = (int16_t)(x0 + offset);
            to[1] = (int16_t)(x1 + offset);
            to[2] = (int16_t)(x2 + offset);
            to[3] = (int16_t)(x3 + offset);
        }
        for (; n; n--, from += step) *to++ = (int16_t)(*from + offset);
    }
}

/* Two taps a word: those of a row from the first one on, then those from the second on; the last tap is the high half of
   the last word. */
INLINE void pairs_of(const int8_t *filter, uint32_t *pairs, int32_t size) {
    for (int32_t i = 0; i < size; i++, filter += size, pairs += size - 1) {
        for (int32_t n = 0; n < size - 1; n++) {
            const int32_t first = 2 * n < size - 1 ? 2 * n : 2 * n - size + 2;
            pairs[n] = ((uint32_t)filter[first] & 0xFFFF) | (uint32_t)filter[first + 1] << 16;
        }
    }
}

/* `count` outputs next to each other: rows of words by words of taps. */
INLINE void outputs(const int16_t *row, int32_t width, const uint32_t *pairs, int32_t size, int32_t stride, int32_t count,
                    int32_t *sum) {
    const int32_t half = size / 2, words = ((count - 1) * stride + size) / 2;
    const int32_t odd = ((count - 1) * stride + size) & 1;
#pragma GCC unroll 7
    for (int32_t i = 0; i < size; i++, row += width, pairs += size - 1) {
        uint32_t x[8];
#pragma GCC unroll 8
        for (int32_t n = 0; n < words; n++) x[n] = word(row + 2 * n);
        if (odd) x[words] = (uint16_t)row[2 * words];
#pragma GCC unroll 4
        for (int32_t n = 0; n < count; n++) {
            const int32_t first = n * stride, at = first / 2;
            if (first & 1) {
                sum[n] = smlatb(x[at], pairs[0], sum[n]);
#pragma GCC unroll 3
                for (int32_t k = 0; k < half; k++) sum[n] = smlad(x[at + 1 + k], pairs[half + k], sum[n]);
            } else {
#pragma GCC unroll 3
                for (int32_t k = 0; k < half; k++) sum[n] = smlad(x[at + k], pairs[k], sum[n]);
                sum[n] = smlabt(x[at + half], pairs[size - 2], sum[n]);
            }
        }
        loads_stay();
    }
}

/* One channel whose sums are quick. */
INLINE void channel(const struct conv_call *c, const struct finish *f, const struct plane *p, int32_t i, int32_t size,
                    int32_t stride, int32_t together) {
    const int32_t bias = c->bias ? c->bias[i] : 0, step = c->out_c;
    const struct rescale r = rescale_of(1, c->multiplier[i], c->shift[i]);
    int8_t *out = (int8_t *)c->output + i;
    uint32_t pairs[7 * 6];
    pairs_of((const int8_t *)c->filter + i * size * size, pairs, size);
    for (int32_t y = 0; y < c->out_h; y++) {
        const int16_t *row = p->at + y * stride * p->width;
        int32_t n = c->out_w;
        for (; n >= together; n -= together, row += together * stride) {
            int32_t sum[4] = {bias, bias, bias, bias};
            outputs(row, p->width, pairs, size, stride, together, sum);
            for (int32_t k = 0; k < together; k++, out += step) *out = finished(1, f, sum[k], &r);
        }
        for (; n; n--, row += stride, out += step) {
            int32_t sum = bias;
            outputs(row, p->width, pairs, size, stride, 1, &sum);
            *out = finished(1, f, sum, &r);
        }
    }
}

enum { MOST_PAIRS = 128 };

/* One channel of any filter of at most so many pairs of taps and of any stride, whose sums are quick. */
static __attribute__((noinline)) void paired_channel(const struct conv_call *call, struct plane p, int32_t i) {
    const struct conv_call copy = *call, *const c = &copy;
    const struct finish f = plain_finish(call);
    const struct rescale r = rescale_of(1, c->multiplier[i], c->shift[i]);
    const int32_t bias = c->bias[i], words = (c->filter_w + 1) >> 1, odd = c->filter_w & 1;
    const int8_t *filter = (const int8_t *)c->filter + i * c->filter_h * c->filter_w;
    int8_t *out = (int8_t *)c->output + i;
    uint32_t pairs[MOST_PAIRS], *to = pairs;
    for (int32_t k = 0; k < c->filter_h; k++) {
        for (int32_t m = 0; m < words; m++, filter += 2) {
            const int32_t last = odd && m == words - 1;
            *to++ = ((uint32_t)filter[0] & 0xFFFF) | (last ? 0 : (uint32_t)filter[1] << 16);
        }
        filter -= odd;
    }
    for (int32_t y = 0; y < c->out_h; y++) {
        for (int32_t x = 0; x < c->out_w; x++, out += c->out_c) {
            const int16_t *row = p.at + y * c->stride_h * p.width + x * c->stride_w;
            const uint32_t *taps = pairs;
            int32_t sum = bias;
            for (int32_t k = 0; k < c->filter_h; k++, row += p.width) {
                const int16_t *at = row;
                for (int32_t m = words - odd; m; m--, at += 2) sum = smlad(word(at), *taps++, sum);
                if (odd) sum += *at * (int16_t)*taps++;
            }
            *out = finished(1, &f, sum, &r);
        }
    }
}

/* One channel of any filter and stride, tap by tap. */
static __attribute__((noinline)) void plain_channel(const struct conv_call *call, struct plane p, int32_t i) {
    const struct conv_call copy = *call, *const c = &copy;
    const struct finish f = plain_finish(call);
    const struct rescale r = {c->multiplier[i], c->shift[i]};
    int8_t *out = (int8_t *)c->output + i;
    for (int32_t y = 0; y < c->out_h; y++) {
        for (int32_t x = 0; x < c->out_w; x++, out += c->out_c) {
            const int16_t *row = p.at + y * c->stride_h * p.width + x * c->stride_w;
            const int8_t *filter = (const int8_t *)c->filter + i * c->filter_h * c->filter_w;
            int32_t sum = c->bias ? c->bias[i] : 0;
            for (int32_t k = 0; k < c->filter_h; k++, row += p.width) {
                for (int32_t m = 0; m < c->filter_w; m++) sum = (int32_t)((uint32_t)sum + (uint32_t)(row[m] * *filter++));
            }
            *out = finished(0, &f, sum, &r);
        }
    }
}

INLINE struct plane plane_of(const struct conv_call *c) {
    const int32_t width = (c->out_w - 1) * c->stride_w + c->filter_w, height = (c->out_h - 1) * c->stride_h + c->filter_h;
    return (struct plane){c->scratch, width, height};
}

INLINE int32_t unrolled(const struct conv_call *call, int32_t size, int32_t stride, int32_t together) {
    const struct conv_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    const struct plane p = plane_of(c);
    const struct finish f = plain_finish(call);
    clear(&p);
    for (int32_t i = 0; i < c->in_c; i++) {
        gather(c, p, (const int8_t *)c->input + i);
        if (quick_channel(c, i)) {
            channel(c, &f, &p, i, size, stride, together);
        } else {
            plain_channel(call, p, i);
        }
    }
    tinyengine_range(call);
    return 0;
}

int32_t tinyengine_depthwise_3x3_1(const struct conv_call *c) { return unrolled(c, 3, 1, 4); }
int32_t tinyengine_depthwise_3x3_2(const struct conv_call *c) { return unrolled(c, 3, 2, 2); }
int32_t tinyengine_depthwise_5x5_1(const struct conv_call *c) { return unrolled(c, 5, 1, 4); }
int32_t tinyengine_depthwise_5x5_2(const struct conv_call *c) { return unrolled(c, 5, 2, 2); }
int32_t tinyengine_depthwise_7x7_1(const struct conv_call *c) { return unrolled(c, 7, 1, 4); }
int32_t tinyengine_depthwise_7x7_2(const struct conv_call *c) { return unrolled(c, 7, 2, 2); }

int32_t tinyengine_depthwise_3x3_1_alone(const struct conv_call *c) { return unrolled(c, 3, 1, 1); }
int32_t tinyengine_depthwise_3x3_2_alone(const struct conv_call *c) { return unrolled(c, 3, 2, 1); }
int32_t tinyengine_depthwise_5x5_1_alone(const struct conv_call *c) { return unrolled(c, 5, 1, 1); }
int32_t tinyengine_depthwise_5x5_2_alone(const struct conv_call *c) { return unrolled(c, 5, 2, 1); }
int32_t tinyengine_depthwise_7x7_1_alone(const struct conv_call *c) { return unrolled(c, 7, 1, 1); }
int32_t tinyengine_depthwise_7x7_2_alone(const struct conv_call *c) { return unrolled(c, 7, 2, 1); }

int32_t tinyengine_depthwise_plane(const struct conv_call *call) {
    const struct conv_call copy = *call, *const c = &copy;
    const struct plane p = plane_of(c);
    const int32_t few = c->filter_h * ((c->filter_w + 1) >> 1) <= MOST_PAIRS && c->bias;
    clear(&p);
    for (int32_t i = 0; i < c->in_c; i++) {
        gather(c, p, (const int8_t *)c->input + i);
        (few && quick_channel(c, i) ? paired_channel : plain_channel)(call, p, i);
    }
    tinyengine_range(call);
    return 0;
}

INLINE int32_t plain_sum(const struct conv_call *c, const int8_t *input, int32_t y0, int32_t x0, int32_t channel) {
    const int8_t *filter = (const int8_t *)c->filter + channel * c->filter_h * c->filter_w;
    uint32_t sum = (uint32_t)(c->bias ? c->bias[channel] : 0);
    for (int32_t i = 0, y = y0; i < c->filter_h; i++, y += c->dilation_h) {
        for (int32_t j = 0, x = x0; j < c->filter_w; j++, x += c->dilation_w, filter++) {
            if (y < 0 || y >= c->in_h || x < 0 || x >= c->in_w) continue;
            sum += (uint32_t)((input[(y * c->in_w + x) * c->in_c] + c->input_offset) * *filter);
        }
    }
    return (int32_t)sum;
}

int32_t tinyengine_depthwise_plain(const struct conv_call *c) {
    const struct finish f = plain_finish(c);
    const int8_t *input = c->input;
    int8_t *out = c->output;
    for (int32_t b = 0; b < c->batch; b++, input += c->in_h * c->in_w * c->in_c) {
        for (int32_t y = 0; y < c->out_h; y++) {
            for (int32_t x = 0; x < c->out_w; x++) {
                for (int32_t i = 0; i < c->out_c; i++) {
                    const int32_t y0 = y * c->stride_h - c->pad_top, x0 = x * c->stride_w - c->pad_left;
                    const int32_t sum = plain_sum(c, input + i / c->depth_multiplier, y0, x0, i);
                    const struct rescale r = {c->multiplier[i], c->shift[i]};
                    *out++ = finished(0, &f, sum, &r);
                }
            }
        }
    }
    tinyengine_range(c);
    return 0;
}

int32_t tinyengine_depthwise(const struct conv_call *c) {
    const int32_t size = c->filter_h == c->filter_w ? c->filter_h : 0, stride = c->stride_h == c->stride_w ? c->stride_h : 0;
    if (c->depth_multiplier != 1 || c->batch != 1 || c->dilation_h != 1 || c->dilation_w != 1) return tinyengine_depthwise_plain(c);
    if (stride == 1) {
        if (size == 3) return tinyengine_depthwise_3x3_1(c);
        if (size == 5) return tinyengine_depthwise_5x5_1(c);
        if (size == 7) return tinyengine_depthwise_7x7_1(c);
    }
    if (stride == 2) {
        if (size == 3) return tinyengine_depthwise_3x3_2(c);
        if (size == 5) return tinyengine_depthwise_5x5_2(c);
        if (size == 7) return tinyengine_depthwise_7x7_2(c);
    }
    return tinyengine_depthwise_plane(c);
}
