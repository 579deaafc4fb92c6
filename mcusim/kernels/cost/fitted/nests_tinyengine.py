"""Loop nests of the set ``tinyengine``: convolutions over two columns, depthwise by a channel's plane, pools by fours.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Two columns lie in each other: groups of
four elements of the first, then of the second, four words in all. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model; channels whose requantisation is not by one multiplication,
outputs that are clamped to less than the range of a byte, which take a pass of their own, and depthwise windows of more
than 128 pairs of taps.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted import nest as N
from mcusim.kernels.cost.fitted.nest import iterations, load, step, store
from mcusim.native.compile import State, native

IMAGE, TAPS, DEPTH = 1, 2, 3  # how a function is special: unrolled for 3x3x3, any patch, unrolled for one depth
LONGEST = 256  # bytes of a patch that are put together on the stack


@native
def checked(s: State, p: State, level: int) -> None:
    """Shift and bias of every channel, to see whether their sums are quick."""
    for c in range(p[N.OUT_C]):
        load(s, p, p[N.SHIFT] + 4 * c, 4)
        if p[N.BIAS]:
            load(s, p, p[N.BIAS] + 4 * c, 4)
    step(s, p, level, p[N.OUT_C])


@native
def part(s: State, p: State, source: int, size: int, together: int) -> None:
    """One to three bytes; two, and with ``together`` those of three, as a halfword."""
    halves = 1 if size == 2 or (size == 3 and together) else 0
    if halves:
        load(s, p, source, 2)
    for k in range(2 * halves, size):
        load(s, p, source + k, 1)


@native
def widened(s: State, p: State, source: int, to: int, count: int, level: int) -> None:
    """Bytes as elements of a column from ``to`` on: ``level`` a group of four, the next what is left; the loop of the
    groups behind."""
    iterations(s, p, level + 2, count // 4)
    for k in range(0, count - 3, 4):
        load(s, p, source + k, 4)
        step(s, p, level, 1)
        store(s, p, to + 4 * k, 4)
        store(s, p, to + 4 * k + 4, 4)
    rest = count & 3
    if rest:
        part(s, p, source + count - rest, rest, 1 if to == p[N.SCR] or p[N.SPLITS] == 0 else 0)
        step(s, p, level + 1, 1)
        store(s, p, to + 4 * (count - rest), 4)
        store(s, p, to + 4 * (count - rest) + 4, 4)


@native
def group(s: State, p: State, k: int, weights: int, rows: int, depth: int, how: int) -> None:
    """Four elements of both columns by those of one or two filters."""
    for i in range(rows):
        if k + 4 <= depth:
            load(s, p, weights + i * depth + k, 4)
        else:
            part(s, p, weights + i * depth + k, depth - k, 1 if i == 0 and how != IMAGE else 0)
    for i in range(4):
        load(s, p, p[N.SCR] + 4 * k + 4 * i, 4)


@native
def again(s: State, p: State) -> None:
    """Words of the columns that unrolled loops load twice, for which they have no register left: of a depth of 8 all,
    of 16 half of them, of 24 one."""
    depth = p[N.IN_C]
    words = 4 * (depth // 4) if depth == 8 else 2 * (depth // 4) if depth == 16 else 1 if depth == 24 else 0
    for i in range(words):
        load(s, p, p[N.SCR] + 4 * i, 4)


@native
def all_filters(s: State, p: State, depth: int, out: int, columns: int, level: int, how: int) -> None:
    """All filters over both columns: output, quad, rest, odd, odd_quad from ``level`` on, then the quads' loop.

    ``columns`` is 1 where the second one is the first again; ``how`` the loops are: IMAGE or DEPTH unrolled.
    """
    channels = p[N.OUT_C]
    other = out + (channels if columns == 2 else 0)
    for c in range(0, channels - 1, 2):
        if p[N.BIAS]:
            load(s, p, p[N.BIAS] + 4 * c, 4)
            load(s, p, p[N.BIAS] + 4 * c + 4, 4)
        iterations(s, p, level + 5, depth // 4)
        for k in range(0, depth, 4):
            group(s, p, k, p[N.W] + c * depth, 2, depth, how)
            step(s, p, level + 1 if k + 4 <= depth else level + 2, 1)
        if how == DEPTH:
            again(s, p)
        for i in range(2):
            load(s, p, p[N.MUL] + 4 * (c + i), 4)
            load(s, p, p[N.SHIFT] + 4 * (c + i), 4)
        step(s, p, level, 1)
        for i in range(2):
            store(s, p, other + c + i, 1)
            store(s, p, out + c + i, 1)
    if channels & 1:
        c = channels - 1
        if p[N.BIAS]:
            load(s, p, p[N.BIAS] + 4 * c, 4)
        for k in range(0, depth, 4):
            group(s, p, k, p[N.W] + c * depth, 1, depth, how)
            step(s, p, level + 4, 1)
        load(s, p, p[N.MUL] + 4 * c, 4)
        load(s, p, p[N.SHIFT] + 4 * c, 4)
        step(s, p, level + 3, 1)
        store(s, p, other + c, 1)
        store(s, p, out + c, 1)


@native
def pairs(s: State, p: State, how: int) -> None:
    """A 1x1 convolution: call, checked, pair, widened, widened_rest, then its loop; all filters from 9 on."""
    depth, pixels = p[N.IN_C], p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]
    step(s, p, 1, 1)
    checked(s, p, 2)
    for pixel in range(0, pixels, 2):
        columns = min(2, pixels - pixel)
        step(s, p, 3, 1)
        source = p[N.IN] + pixel * depth
        widened(s, p, source, p[N.SCR], depth, 4)
        widened(s, p, source + (depth if columns == 2 else 0), p[N.SCR] + 8, depth, 4)
        all_filters(s, p, depth, p[N.OUT] + pixel * p[N.OUT_C], columns, 9, how)


@native
def pairs_of_pixels(s: State, p: State) -> None:
    """``tinyengine_conv_1x1``."""
    pairs(s, p, 0)


@native
def pairs_of_a_depth(s: State, p: State) -> None:
    """``tinyengine_conv_1x1_DEPTH``."""
    pairs(s, p, DEPTH)


@native
def zeros(s: State, p: State, to: int, first: int, end: int) -> None:
    """Elements outside of the image, straight into a column: 18."""
    for n in range(first, end, 4):
        store(s, p, to + 4 * n, 4)
        store(s, p, to + 4 * n + 4, 4)
        step(s, p, 18, 1)


@native
def rows_of_patch(s: State, p: State, image: int, y: int, x: int, to: int) -> None:
    """Rows of whole groups straight into a column: row 17, outside 18, widened from 4 on."""
    depth = p[N.IN_C]
    row = p[N.KW] * depth
    low = min(max(0, -x), p[N.KW])
    high = max(low, min(p[N.KW], p[N.IN_W] - x))
    for i in range(p[N.KH]):
        iy = y + i
        step(s, p, 17, 1)
        if 0 <= iy < p[N.IN_H]:
            source = p[N.IN] + ((image * p[N.IN_H] + iy) * p[N.IN_W] + x) * depth
            zeros(s, p, to, 0, low * depth)
            widened(s, p, source + low * depth, to + 4 * low * depth, (high - low) * depth, 4)
            zeros(s, p, to, high * depth, row)
        else:
            zeros(s, p, to, 0, row)
        to += 4 * row


@native
def bytes_of_patch(s: State, p: State, image: int, y: int, x: int, to: int) -> None:
    """Bytes put together on the stack first: row 17, outside 18 and edge 19 a byte, word 20 and byte 21 of whole rows;
    then widened, four and what is left."""
    depth = p[N.IN_C]
    row, count = p[N.KW] * depth, p[N.KH] * p[N.KW] * depth
    low = min(max(0, -x), p[N.KW]) * depth
    high = max(low, min(p[N.KW], p[N.IN_W] - x) * depth)
    for i in range(p[N.KH]):
        iy = y + i
        step(s, p, 17, 1)
        source = p[N.IN] + ((image * p[N.IN_H] + iy) * p[N.IN_W] + x) * depth
        if iy < 0 or iy >= p[N.IN_H]:
            step(s, p, 18, row)
        elif high - low == row:
            for k in range(0, row - 3, 4):
                load(s, p, source + k, 4)
                step(s, p, 20, 1)
            for k in range(row // 4 * 4, row):
                load(s, p, source + k, 1)
                step(s, p, 21, 1)
        else:
            for k in range(low, high):
                load(s, p, source + k, 1)
            step(s, p, 19, row)
    put(s, p, to, count)


@native
def put(s: State, p: State, to: int, count: int) -> None:
    """Bytes from the stack into a column: four 4, what is left 5."""
    for k in range(0, count, 4):
        step(s, p, 4 if k + 4 <= count else 5, 1)
        store(s, p, to + 4 * k, 4)
        store(s, p, to + 4 * k + 4, 4)


@native
def taps_of_patch(s: State, p: State, image: int, y: int, x: int, to: int) -> None:
    """Tap by tap onto the stack, so many bytes at a time: tap 17, outside 18 and byte 21 of an element."""
    depth, left = p[N.IN_C], p[N.KH] * p[N.KW] * p[N.IN_C]
    have = 0
    for i in range(p[N.KH]):
        for j in range(p[N.KW]):
            iy, ix = y + i * p[N.DH], x + j * p[N.DW]
            inside = 0 <= iy < p[N.IN_H] and 0 <= ix < p[N.IN_W]
            source = p[N.IN] + ((image * p[N.IN_H] + iy) * p[N.IN_W] + ix) * depth
            step(s, p, 17, 1)
            for k in range(depth):
                if inside:
                    load(s, p, source + k, 1)
            step(s, p, 21 if inside else 18, depth)
            have += depth
            while have >= LONGEST:
                put(s, p, to, LONGEST)
                to += 4 * LONGEST
                have -= LONGEST
                left -= LONGEST
    put(s, p, to, left)


@native
def twin(s: State, p: State, depth: int) -> None:
    """A last column alone is the other one, too: 22 a group."""
    for k in range(0, depth, 4):
        for i in range(2):
            load(s, p, p[N.SCR] + 4 * k + 4 * i, 4)
            store(s, p, p[N.SCR] + 4 * k + 8 + 4 * i, 4)
        step(s, p, 22, 1)


@native
def patches(s: State, p: State, how: int) -> None:
    """A convolution of windows: call, checked, pixel; widened from 4, all filters from 9, patches from 17, a last
    column that is both 22."""
    depth, count = p[N.KH] * p[N.KW] * p[N.IN_C], p[N.ROWS] * p[N.OUT_W]
    step(s, p, 1, 1)
    checked(s, p, 2)
    for image in range(p[N.BATCH]):
        for n in range(count):
            y, x = n // p[N.OUT_W] * p[N.SH] - p[N.PT], n % p[N.OUT_W] * p[N.SW] - p[N.PL]
            to = p[N.SCR] + 8 * (n & 1)
            step(s, p, 3, 1)
            if how == TAPS:
                taps_of_patch(s, p, image, y, x, to)
            elif how == IMAGE or p[N.IN_C] & 3:
                bytes_of_patch(s, p, image, y, x, to)
            else:
                rows_of_patch(s, p, image, y, x, to)
            last = n == count - 1
            if last and n & 1 == 0:
                twin(s, p, depth)
            if last or n & 1:
                out = p[N.OUT] + (image * count + n // 2 * 2) * p[N.OUT_C]
                all_filters(s, p, depth, out, 1 + (n & 1), 9, how)


@native
def window_patches(s: State, p: State) -> None:
    """``tinyengine_conv_window``."""
    patches(s, p, 0)


@native
def byte_patches(s: State, p: State) -> None:
    """``tinyengine_conv_3x3_3``."""
    patches(s, p, IMAGE)


@native
def tap_patches(s: State, p: State) -> None:
    """``tinyengine_conv_taps``."""
    patches(s, p, TAPS)


@native
def cleared(s: State, p: State, width: int, height: int) -> None:
    """Zeros in the plane and around: 2 an element."""
    size = 2 * width * height
    for i in range(0, size - 2, 4):
        store(s, p, p[N.SCR] + i, 4)
    if size & 2:
        store(s, p, p[N.SCR] + size - 2, 2)
    step(s, p, 2, width * height)


@native
def gathered(s: State, p: State, channel: int, width: int, height: int) -> None:
    """A channel's plane: channel 3, row 4, four elements 5, one 6; their loops from 11 on."""
    step(s, p, 3, 1)
    depth = p[N.IN_C]
    rows, columns = min(p[N.IN_H], height - p[N.PT]), min(p[N.IN_W], width - p[N.PL])
    for y in range(rows):
        step(s, p, 4, 1)
        iterations(s, p, 11, columns // 4)
        iterations(s, p, 14, columns & 3)
        to = p[N.SCR] + 2 * ((y + p[N.PT]) * width + p[N.PL])
        source = p[N.IN] + y * p[N.IN_W] * depth + channel
        for x in range(0, columns // 4 * 4, 4):
            for k in range(4):
                load(s, p, source + (x + k) * depth, 1)
            step(s, p, 5, 1)
            for k in range(4):
                store(s, p, to + 2 * (x + k), 2)
        for x in range(columns // 4 * 4, columns):
            load(s, p, source + x * depth, 1)
            step(s, p, 6, 1)
            store(s, p, to + 2 * x, 2)


@native
def scales(s: State, p: State, channel: int) -> None:
    """What a channel has, and its taps."""
    load(s, p, p[N.SHIFT] + 4 * channel, 4)
    if p[N.BIAS]:
        load(s, p, p[N.BIAS] + 4 * channel, 4)
    load(s, p, p[N.MUL] + 4 * channel, 4)


@native
def outputs_of_row(s: State, p: State, row: int, width: int, out: int, together: int) -> None:
    """Outputs next to each other: ``together`` 9, one 10; their loops from 17 on."""
    count = p[N.OUT_W]
    iterations(s, p, 17, count // together)
    iterations(s, p, 20, count % together)
    x = 0
    while x < count:
        n = together if x + together <= count else 1
        elements = (n - 1) * p[N.SW] + p[N.KW]
        for i in range(p[N.KH]):
            words = row + 2 * (i * width + x * p[N.SW])
            for k in range(0, elements - 1, 2):
                load(s, p, words + 2 * k, 4)
            if elements & 1:
                load(s, p, words + 2 * (elements - 1), 2)
        step(s, p, 9 if n == together else 10, 1)
        for i in range(n):
            store(s, p, out + (x + i) * p[N.OUT_C], 1)
        x += n


@native
def channels(s: State, p: State, together: int) -> None:
    """Channels one after the other, outputs of a row ``together`` as long as there are so many."""
    width, height = (p[N.OUT_W] - 1) * p[N.SW] + p[N.KW], (p[N.ROWS] - 1) * p[N.SH] + p[N.KH]
    step(s, p, 1, 1)
    cleared(s, p, width, height)
    for c in range(p[N.IN_C]):
        gathered(s, p, c, width, height)
        scales(s, p, c)
        for i in range(p[N.KH] * p[N.KW]):
            load(s, p, p[N.W] + c * p[N.KH] * p[N.KW] + i, 1)
        step(s, p, 7, 1)
        iterations(s, p, 23, p[N.ROWS])
        for y in range(p[N.ROWS]):
            step(s, p, 8, 1)
            row = p[N.SCR] + 2 * y * p[N.SH] * width
            out = p[N.OUT] + y * p[N.OUT_W] * p[N.OUT_C] + c
            outputs_of_row(s, p, row, width, out, together)


@native
def channel_by_channel(s: State, p: State) -> None:
    """``tinyengine_depthwise_KxK_S``: call, cleared, channel, row, four, one, taps, line, together, single."""
    channels(s, p, 4 if p[N.SW] == 1 else 2)


@native
def channel_alone(s: State, p: State) -> None:
    """``tinyengine_depthwise_KxK_S_alone``: the same; no outputs are single."""
    channels(s, p, 1)


@native
def pairs_of_plane(s: State, p: State, at: int, width: int) -> None:
    """One output, two taps at a time: row 9, pair 10, an odd tap 24; loops of pairs and of rows."""
    iterations(s, p, 20, p[N.KH])
    for i in range(p[N.KH]):
        iterations(s, p, 17, p[N.KW] // 2)
        for k in range(0, p[N.KW] - 1, 2):
            load(s, p, at + 2 * (i * width + k), 4)
            step(s, p, 10, 1)
        if p[N.KW] & 1:
            load(s, p, at + 2 * (i * width + p[N.KW] - 1), 2)
            step(s, p, 24, 1)
        step(s, p, 9, 1)


@native
def plane_by_pairs(s: State, p: State) -> None:
    """``tinyengine_depthwise_plane``: call, cleared, channel, row, four, one, line, output, filter_row, pair, ..."""
    width, height = (p[N.OUT_W] - 1) * p[N.SW] + p[N.KW], (p[N.ROWS] - 1) * p[N.SH] + p[N.KH]
    step(s, p, 1, 1)
    cleared(s, p, width, height)
    for c in range(p[N.IN_C]):
        gathered(s, p, c, width, height)
        load(s, p, p[N.SHIFT] + 4 * c, 4)  # whether it is quick
        load(s, p, p[N.BIAS] + 4 * c, 4)
        scales(s, p, c)
        for i in range(p[N.KH] * p[N.KW]):
            load(s, p, p[N.W] + c * p[N.KH] * p[N.KW] + i, 1)
        step(s, p, 23, p[N.KH] * p[N.KW])
        for y in range(p[N.ROWS]):
            step(s, p, 7, 1)
            for x in range(p[N.OUT_W]):
                pairs_of_plane(s, p, p[N.SCR] + 2 * (y * p[N.SH] * width + x * p[N.SW]), width)
                step(s, p, 8, 1)
                store(s, p, p[N.OUT] + (y * p[N.OUT_W] + x) * p[N.OUT_C] + c, 1)


@native
def vector_by_pairs(s: State, p: State) -> None:
    """``tinyengine_fully_connected``, the last row of an odd number twice: call, vector, output, quad, element, odd,
    odd_quad, odd_element."""
    depth, channels = p[N.IN_C], p[N.OUT_C]
    step(s, p, 1, 1)
    for b in range(p[N.BATCH]):
        step(s, p, 2, 1)
        for c in range(0, channels, 2):
            more = 1 if c + 1 < channels else 0
            level = 3 if more else 6
            first, second = p[N.W] + c * depth, p[N.W] + (c + more) * depth
            for i in range(2):
                if p[N.BIAS]:
                    load(s, p, p[N.BIAS] + 4 * (c + i * more), 4)
            iterations(s, p, 9, depth // 4)
            iterations(s, p, 12, depth & 3)
            k = 0
            while k < depth:
                size = 4 if k + 4 <= depth else 1
                load(s, p, p[N.IN] + b * depth + k, size)
                load(s, p, first + k, size)
                load(s, p, second + k, size)
                step(s, p, level + 1 if size == 4 else level + 2, 1)
                k += size
            for i in range(1 + more):
                load(s, p, p[N.MUL] + 4 * (c + i), 4)
                load(s, p, p[N.SHIFT] + 4 * (c + i), 4)
                step(s, p, level, 1)
                store(s, p, p[N.OUT] + b * channels + c + i, 1)


@native
def pool_by_fours(s: State, p: State) -> None:
    """``tinyengine_average_pool``, ``tinyengine_max_pool``: call, pixel, four, row, tap, one, one_row, one_tap, ..."""
    depth = p[N.IN_C]
    step(s, p, 1, 1)
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row = pixel // p[N.OUT_W]
        image = row // p[N.ROWS] * p[N.IN_H]
        y, x = row % p[N.ROWS] * p[N.SH] - p[N.PT], pixel % p[N.OUT_W] * p[N.SW] - p[N.PL]
        top, bottom = max(0, y), min(p[N.IN_H], y + p[N.KH])
        left, right = max(0, x), min(p[N.IN_W], x + p[N.KW])
        step(s, p, 2, 1)
        c = 0
        while c < depth:
            size = 4 if c + 4 <= depth else 1
            level = 3 if size == 4 else 6
            for iy in range(top, bottom):
                iterations(s, p, 9, right - left)
                for ix in range(left, right):
                    load(s, p, p[N.IN] + ((image + iy) * p[N.IN_W] + ix) * depth + c, size)
                    step(s, p, level + 2, 1)
                step(s, p, level + 1, 1)
            step(s, p, level, 1)
            store(s, p, p[N.OUT] + pixel * depth + c, size)
            c += size


@native
def words_and_bytes(s: State, p: State, to: int, source: int, count: int, level: int) -> int:
    """Stores of ``count`` bytes, with loads unless ``source`` is 0: words at ``level``, what is left at the next; the
    address behind them."""
    k = 0
    while k < count:
        size = 4 if k + 4 <= count else 1
        if source:
            load(s, p, source + k, size)
        store(s, p, to + k, size)
        step(s, p, level if size == 4 else level + 1, 1)
        k += size
    return to + count


@native
def pad_by_words(s: State, p: State) -> None:
    """``tinyengine_pad``: call, row, filled, filled_byte, copied, copied_byte."""
    depth = p[N.OUT_C]
    row, width, left = p[N.IN_W] * depth, p[N.OUT_W] * depth, p[N.PL] * depth
    source, to = p[N.IN], p[N.OUT]
    step(s, p, 1, 1)
    for n in range(p[N.BATCH] * p[N.ROWS]):
        y = n % p[N.ROWS] - p[N.PT]
        step(s, p, 2, 1)
        if 0 <= y < p[N.IN_H]:
            to = words_and_bytes(s, p, to, 0, left, 3)
            to = words_and_bytes(s, p, to, source, row, 5)
            to = words_and_bytes(s, p, to, 0, width - left - row, 3)
            source += row
        else:
            to = words_and_bytes(s, p, to, 0, width, 3)
