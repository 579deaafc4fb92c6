/* PAD of height and width, elements of a byte: rows filled and copied word by word. Others go through the plain function. */
#include "tinyengine.h"

int32_t reference_pad(const struct move_call *c);

INLINE int8_t *filled(int8_t *to, int32_t count, int32_t value) {
    const uint32_t four = ((uint32_t)value & 0xFF) * 0x01010101u;
    for (; count >= 4; count -= 4, to += 4) {
        *(any_word *)to = four;
        loads_stay(); /* no call of memset */
    }
    for (; count > 0; count--) *to++ = (int8_t)value;
    return to;
}

INLINE int8_t *copied(int8_t *to, const int8_t *from, int32_t count) {
    for (; count >= 4; count -= 4, to += 4, from += 4) {
        *(any_word *)to = word(from);
        loads_stay(); /* no call of memcpy */
    }
    for (; count > 0; count--) *to++ = *from++;
    return to;
}

INLINE int32_t whole(const struct move_call *c, int32_t axis) { return c->inside[axis] == c->shape[axis]; }

int32_t tinyengine_pad(const struct move_call *call) {
    const struct move_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    if (c->item != 1 || !whole(c, 0) || !whole(c, 1) || !whole(c, 4)) return reference_pad(call);
    const int32_t depth = c->shape[4], row = c->inside[3] * depth, left = c->before[3] * depth;
    const int32_t right = (c->shape[3] - c->inside[3]) * depth - left, width = left + row + right;
    const int8_t *from = c->input;
    int8_t *to = c->output;
    for (int32_t n = 0; n < c->shape[0] * c->shape[1]; n++) {
        for (int32_t y = 0; y < c->shape[2]; y++) {
            if (y < c->before[2] || y >= c->before[2] + c->inside[2]) {
                to = filled(to, width, c->value);
                continue;
            }
            to = filled(to, left, c->value);
            to = copied(to, from, row);
            to = filled(to, right, c->value);
            from += row;
        }
    }
    return 0;
}
