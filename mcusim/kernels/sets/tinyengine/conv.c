/* CONV_2D: which function runs, and those of windows: patches of two output pixels as columns.

   Scratch: two columns of 16 bits, in_c * filter_h * filter_w filled up to a multiple of 4. Rows of a patch go straight
   into the columns where a pixel's channels are a multiple of 4; of other patches the bytes are put together first, on the
   stack, up to 256. Dilated ones, and longer ones of such pixels, are put together tap by tap, 256 bytes at a time. */
#include "columns.h"

int32_t tinyengine_conv_1x1(const struct conv_call *c);
int32_t tinyengine_conv_1x1_8(const struct conv_call *c);
int32_t tinyengine_conv_1x1_16(const struct conv_call *c);
int32_t tinyengine_conv_1x1_24(const struct conv_call *c);
int32_t tinyengine_conv_1x1_48(const struct conv_call *c);

enum { LONGEST = 256 };

struct patch { /* an image, and what of a patch is inside */
    const struct conv_call *c;
    const int8_t *input;
    int32_t y0, x0, left, right; /* columns of taps */
};

INLINE struct patch patch_at(const struct conv_call *c, const int8_t *input, int32_t y, int32_t x) {
    const int32_t x0 = x * c->stride_w - c->pad_left;
    const int32_t left = smaller(larger(0, -x0), c->filter_w), right = larger(left, smaller(c->filter_w, c->in_w - x0));
    return (struct patch){c, input, y * c->stride_h - c->pad_top, x0, left, right};
}

/* Rows of whole groups straight into a column. */
INLINE void rows_to_column(const struct patch *p, uint32_t *to, uint32_t offsets) {
    const struct conv_call *const c = p->c;
    const int32_t depth = c->in_c, row = c->filter_w * depth;
    for (int32_t i = 0, y = p->y0; i < c->filter_h; i++, y++, to += row) {
        const int32_t inside = y >= 0 && y < c->in_h;
        const int32_t left = inside ? p->left * depth : row, right = inside ? p->right * depth : row;
        for (int32_t n = 0; n < left; n += 4) to[n] = 0, to[n + 1] = 0;
        if (inside) widened(p->input + (y * c->in_w + p->x0) * depth + left, to + left, right - left, offsets);
        for (int32_t n = right; n < row; n += 4) to[n] = 0, to[n + 1] = 0;
    }
}

INLINE void bytes_of_patch(const struct patch *p, int8_t *to, int32_t filter_h, int32_t filter_w, int32_t depth) {
    const struct conv_call *const c = p->c;
    const int32_t row = filter_w * depth, nothing = -c->input_offset;
    for (int32_t i = 0, y = p->y0; i < filter_h; i++, y++, to += row) {
        const int8_t *from = p->input + (y * c->in_w + p->x0) * depth;
        const int32_t inside = y >= 0 && y < c->in_h;
        const int32_t left = inside ? p->left * depth : row, right = inside ? p->right * depth : row;
        if (right - left == row) {
            int32_t n = 0;
            for (; n <= row - 4; n += 4) *(any_word *)(to + n) = word(from + n);
            for (; n < row; n++) to[n] = from[n];
            continue;
        }
        for (int32_t n = 0; n < row; n++) to[n] = (int8_t)(n < left || n >= right ? nothing : from[n]);
    }
}

INLINE void column_of(const struct patch *p, uint32_t *to, int32_t filter_h, int32_t filter_w, int32_t depth) {
    const uint32_t offsets = twice(p->c->input_offset);
    if (depth % 4 == 0) {
        rows_to_column(p, to, offsets);
        return;
    }
    int8_t bytes[LONGEST];
    bytes_of_patch(p, bytes, filter_h, filter_w, depth);
    widened(bytes, to, filter_h * filter_w * depth, offsets);
}

/* Any patch: its bytes tap by tap, LONGEST at a time. */
INLINE void taps_to_column(const struct patch *p, uint32_t *to) {
    const struct conv_call *const c = p->c;
    const uint32_t offsets = twice(c->input_offset);
    int8_t bytes[LONGEST];
    int32_t have = 0;
    for (int32_t i = 0, y = p->y0; i < c->filter_h; i++, y += c->dilation_h) {
        for (int32_t j = 0, x = p->x0; j < c->filter_w; j++, x += c->dilation_w) {
            const int32_t inside = y >= 0 && y < c->in_h && x >= 0 && x < c->in_w;
            const int8_t *from = inside ? p->input + (y * c->in_w + x) * c->in_c : 0;
            for (int32_t n = 0; n < c->in_c; n++) {
                bytes[have++] = inside ? from[n] : (int8_t)-c->input_offset;
                if (have < LONGEST) continue;
                to = widened(bytes, to, LONGEST, offsets);
                have = 0;
            }
        }
    }
    widened(bytes, to, have, offsets);
}

/* A last column alone is the other one, too. */
INLINE void other_column(uint32_t *columns, int32_t depth) {
    for (int32_t n = 0; n < depth; n += 4, columns += 4) columns[2] = columns[0], columns[3] = columns[1];
}

INLINE void image(const struct conv_call *c, const struct finish *f, const int8_t *input, int8_t *out, int32_t filter_h,
                  int32_t filter_w, int32_t in_c, int32_t by_taps) {
    const int32_t depth = filter_h * filter_w * in_c, count = c->out_h * c->out_w;
    uint32_t *const columns = c->scratch;
    for (int32_t n = 0, y = 0, x = 0; n < count; n++) {
        const struct patch p = patch_at(c, input, y, x);
        const int32_t second = n & 1, last = n == count - 1;
        uint32_t *const to = columns + 2 * second;
        if (by_taps) {
            taps_to_column(&p, to);
        } else {
            column_of(&p, to, filter_h, filter_w, in_c);
        }
        if (last && !second) other_column(columns, depth);
        if (second || last) {
            all_filters(c, f, columns, depth, out, last && !second ? out : out + c->out_c);
            out += 2 * c->out_c;
        }
        if (++x == c->out_w) x = 0, y++;
    }
}

INLINE int32_t images(const struct conv_call *call, int32_t filter_h, int32_t filter_w, int32_t in_c,
                      int32_t by_taps) {
    const struct conv_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    const struct finish f = finish_of(call, filter_h * filter_w * in_c);
    const int8_t *input = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, input += c->in_h * c->in_w * in_c, out += c->out_h * c->out_w * c->out_c) {
        image(c, &f, input, out, filter_h, filter_w, in_c, by_taps);
    }
    tinyengine_range(call);
    return 0;
}

int32_t tinyengine_conv_window(const struct conv_call *c) { return images(c, c->filter_h, c->filter_w, c->in_c, 0); }
int32_t tinyengine_conv_3x3_3(const struct conv_call *c) { return images(c, 3, 3, 3, 0); }
int32_t tinyengine_conv_taps(const struct conv_call *c) { return images(c, c->filter_h, c->filter_w, c->in_c, 1); }

int32_t tinyengine_conv(const struct conv_call *c) {
    const int32_t depth = c->in_c * c->filter_h * c->filter_w, one = c->filter_h == 1 && c->filter_w == 1;
    if (one && c->stride_h == 1 && c->stride_w == 1 && c->out_h == c->in_h && c->out_w == c->in_w) {
        if (c->pad_top == 0 && c->pad_left == 0) {
            if (c->in_c == 8) return tinyengine_conv_1x1_8(c);
            if (c->in_c == 16) return tinyengine_conv_1x1_16(c);
            if (c->in_c == 24) return tinyengine_conv_1x1_24(c);
            if (c->in_c == 48) return tinyengine_conv_1x1_48(c);
            return tinyengine_conv_1x1(c);
        }
    }
    if (c->dilation_h != 1 || c->dilation_w != 1 || (c->in_c % 4 && depth > LONGEST)) return tinyengine_conv_taps(c);
    if (c->in_c == 3 && c->filter_h == 3 && c->filter_w == 3) return tinyengine_conv_3x3_3(c);
    return tinyengine_conv_window(c);
}
