"""Loop nests of the set ``tinyengine``: convolutions over two columns, depthwise by a channel's plane, pools by fours.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Two columns lie in each other: groups of
four elements of the first, then of the second, four words in all. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model; which of a depthwise convolution's channels are not rescaled by
one product (the first so many of a call are taken to be), and depthwise windows of more than 128 pairs of taps.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted.nest import iterations, load, step, store
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.native.functions import native

# how a function is special: unrolled for 3x3x3, any patch, unrolled for one depth, patches of 3x3x3 by rolled loops
IMAGE, TAPS, DEPTH, ROLLED = 1, 2, 3, 4
LONGEST = 256  # bytes of a patch that are put together on the stack


@native
def checked(call: NestCall, level: int) -> None:
    """Shift and bias of every channel, to see whether their sums are quick."""
    for c in range(call.out_c):
        load(call, call.shift + 4 * c, 4)
        if call.bias:
            load(call, call.bias + 4 * c, 4)
    step(call, level, call.out_c)


@native
def part(call: NestCall, source: int, size: int, together: int) -> None:
    """One to three bytes; two, and with ``together`` those of three, as a halfword."""
    halves = 1 if size == 2 or (size == 3 and together) else 0
    if halves:
        load(call, source, 2)
    for k in range(2 * halves, size):
        load(call, source + k, 1)


@native
def widened(call: NestCall, source: int, to: int, count: int, level: int) -> None:
    """Bytes as elements of a column from ``to`` on: ``level`` a group of four, the next what is left; the loop of the
    groups behind."""
    iterations(call, level + 2, count // 4)
    for k in range(0, count - 3, 4):
        load(call, source + k, 4)
        step(call, level, 1)
        store(call, to + 4 * k, 4)
        store(call, to + 4 * k + 4, 4)
    rest = count & 3
    if rest:
        part(call, source + count - rest, rest, 1 if to == call.scratch or call.splits_words == 0 else 0)
        step(call, level + 1, 1)
        store(call, to + 4 * (count - rest), 4)
        store(call, to + 4 * (count - rest) + 4, 4)


@native
def group(call: NestCall, element: int, weights: int, rows: int, how: int) -> None:
    """Four elements of both columns by those of one or two filters."""
    depth = call.column_depth
    for i in range(rows):
        if element + 4 <= depth:
            load(call, weights + i * depth + element, 4)
        else:
            part(call, weights + i * depth + element, depth - element, 1 if i == 0 and how != IMAGE else 0)
    for i in range(4):
        load(call, call.scratch + 4 * element + 4 * i, 4)


@native
def again(call: NestCall) -> None:
    """Words of the columns that unrolled loops load twice, for which they have no register left: of a depth of 8 all,
    of 16 half of them, of 24 one."""
    depth = call.in_c
    words = 4 * (depth // 4) if depth == 8 else 2 * (depth // 4) if depth == 16 else 1 if depth == 24 else 0
    for i in range(words):
        load(call, call.scratch + 4 * i, 4)


@native
def all_filters(call: NestCall, out: int, columns: int, how: int) -> None:
    """All filters over both columns: output, quad, rest, odd, odd_quad from 9 on, then the quads' loop.

    ``columns`` is 1 where the second one is the first again; ``how`` the loops are: IMAGE or DEPTH unrolled.
    """
    channels, depth, level = call.out_c, call.column_depth, 9
    other = out + (channels if columns == 2 else 0)
    for c in range(0, channels - 1, 2):
        if call.bias:
            load(call, call.bias + 4 * c, 4)
            load(call, call.bias + 4 * c + 4, 4)
        iterations(call, level + 5, depth // 4)
        for k in range(0, depth, 4):
            group(call, k, call.filter + c * depth, 2, how)
            step(call, level + 1 if k + 4 <= depth else level + 2, 1)
        if how == DEPTH:
            again(call)
        for i in range(2):
            load(call, call.multiplier + 4 * (c + i), 4)
            load(call, call.shift + 4 * (c + i), 4)
        step(call, level, 1)
        for i in range(2):
            store(call, other + c + i, 1)
            store(call, out + c + i, 1)
    if channels & 1:
        c = channels - 1
        if call.bias:
            load(call, call.bias + 4 * c, 4)
        for k in range(0, depth, 4):
            group(call, k, call.filter + c * depth, 1, how)
            step(call, level + 4, 1)
        load(call, call.multiplier + 4 * c, 4)
        load(call, call.shift + 4 * c, 4)
        step(call, level + 3, 1)
        store(call, other + c, 1)
        store(call, out + c, 1)


@native
def pairs(call: NestCall, how: int) -> None:
    """A 1x1 convolution: call, checked, pair, widened, widened_rest, then its loop; all filters from 9 on."""
    depth, pixels = call.in_c, call.batch * call.rows * call.out_w
    call.column_depth = depth
    step(call, 1, 1)
    checked(call, 2)
    for pixel in range(0, pixels, 2):
        columns = min(2, pixels - pixel)
        step(call, 3, 1)
        source = call.input + pixel * depth
        widened(call, source, call.scratch, depth, 4)
        widened(call, source + (depth if columns == 2 else 0), call.scratch + 8, depth, 4)
        all_filters(call, call.output + pixel * call.out_c, columns, how)


@native
def pairs_of_pixels(call: NestCall) -> None:
    """``tinyengine_conv_1x1``."""
    pairs(call, 0)


@native
def pairs_of_a_depth(call: NestCall) -> None:
    """``tinyengine_conv_1x1_DEPTH``."""
    pairs(call, DEPTH)


@native
def zeros(call: NestCall, to: int, first: int, end: int) -> None:
    """Elements outside of the image, straight into a column: 18."""
    for n in range(first, end, 4):
        store(call, to + 4 * n, 4)
        store(call, to + 4 * n + 4, 4)
        step(call, 18, 1)


@native
def rows_of_patch(call: NestCall, image: int, y: int, x: int, to: int) -> None:
    """Rows of whole groups straight into a column: row 17, outside 18, widened from 4 on."""
    depth = call.in_c
    row = call.kernel_w * depth
    low = min(max(0, -x), call.kernel_w)
    high = max(low, min(call.kernel_w, call.in_w - x))
    for i in range(call.kernel_h):
        iy = y + i
        step(call, 17, 1)
        if 0 <= iy < call.in_h:
            source = call.input + ((image * call.in_h + iy) * call.in_w + x) * depth
            zeros(call, to, 0, low * depth)
            widened(call, source + low * depth, to + 4 * low * depth, (high - low) * depth, 4)
            zeros(call, to, high * depth, row)
        else:
            zeros(call, to, 0, row)
        to += 4 * row


@native
def bytes_of_patch(call: NestCall, image: int, y: int, x: int, to: int) -> None:
    """Bytes put together on the stack first: row 17, outside 18 and edge 19 a byte, word 20 and byte 21 of whole rows;
    then widened, four and what is left."""
    depth = call.in_c
    row, count = call.kernel_w * depth, call.kernel_h * call.kernel_w * depth
    low = min(max(0, -x), call.kernel_w) * depth
    high = max(low, min(call.kernel_w, call.in_w - x) * depth)
    for i in range(call.kernel_h):
        iy = y + i
        step(call, 17, 1)
        source = call.input + ((image * call.in_h + iy) * call.in_w + x) * depth
        if iy < 0 or iy >= call.in_h:
            step(call, 18, row)
        elif high - low == row:
            for k in range(0, row - 3, 4):
                load(call, source + k, 4)
                step(call, 20, 1)
            for k in range(row // 4 * 4, row):
                load(call, source + k, 1)
                step(call, 21, 1)
        else:
            for k in range(low, high):
                load(call, source + k, 1)
            step(call, 19, row)
    put(call, to, count)


@native
def put(call: NestCall, to: int, count: int) -> None:
    """Bytes from the stack into a column: four 4, what is left 5."""
    for k in range(0, count, 4):
        step(call, 4 if k + 4 <= count else 5, 1)
        store(call, to + 4 * k, 4)
        store(call, to + 4 * k + 4, 4)


@native
def taps_of_patch(call: NestCall, image: int, y: int, x: int, to: int) -> None:
    """Tap by tap onto the stack, 256 bytes at a time: tap 17, outside 18 and byte 21 an element; their loop 23."""
    depth, left = call.in_c, call.kernel_h * call.kernel_w * call.in_c
    have = 0
    for i in range(call.kernel_h):
        for j in range(call.kernel_w):
            iy, ix = y + i * call.dilation_h, x + j * call.dilation_w
            inside = 0 <= iy < call.in_h and 0 <= ix < call.in_w
            source = call.input + ((image * call.in_h + iy) * call.in_w + ix) * depth
            step(call, 17, 1)
            iterations(call, 23, depth)
            for k in range(depth):
                if inside:
                    load(call, source + k, 1)
            step(call, 21 if inside else 18, depth)
            have += depth
            while have >= LONGEST:
                put(call, to, LONGEST)
                to += 4 * LONGEST
                have -= LONGEST
                left -= LONGEST
    put(call, to, left)


@native
def twin(call: NestCall, depth: int) -> None:
    """A last column alone is the other one, too: 22 a group."""
    for k in range(0, depth, 4):
        for i in range(2):
            load(call, call.scratch + 4 * k + 4 * i, 4)
            store(call, call.scratch + 4 * k + 8 + 4 * i, 4)
        step(call, 22, 1)


@native
def patches(call: NestCall, how: int) -> None:
    """A convolution of windows: call, checked, pixel; widened from 4, all filters from 9, patches from 17, a last
    column that is both 22."""
    depth, count = call.kernel_h * call.kernel_w * call.in_c, call.rows * call.out_w
    call.column_depth = depth
    step(call, 1, 1)
    checked(call, 2)
    for image in range(call.batch):
        for n in range(count):
            y, x = n // call.out_w * call.stride_h - call.pad_top, n % call.out_w * call.stride_w - call.pad_left
            to = call.scratch + 8 * (n & 1)
            step(call, 3, 1)
            if how == TAPS:
                taps_of_patch(call, image, y, x, to)
            elif how in (IMAGE, ROLLED) or call.in_c & 3:
                bytes_of_patch(call, image, y, x, to)
            else:
                rows_of_patch(call, image, y, x, to)
            last = n == count - 1
            if last and n & 1 == 0:
                twin(call, depth)
            if last or n & 1:
                out = call.output + (image * count + n // 2 * 2) * call.out_c
                all_filters(call, out, 1 + (n & 1), how)


@native
def window_patches(call: NestCall) -> None:
    """``tinyengine_conv_window``."""
    patches(call, 0)


@native
def byte_patches(call: NestCall) -> None:
    """``tinyengine_conv_3x3_3``."""
    patches(call, IMAGE)


@native
def byte_patches_rolled(call: NestCall) -> None:
    """``tinyengine_conv_3x3_3``, in the plain way."""
    patches(call, ROLLED)


@native
def tap_patches(call: NestCall) -> None:
    """``tinyengine_conv_taps``."""
    patches(call, TAPS)


@native
def cleared(call: NestCall, width: int, height: int) -> None:
    """Zeros in the plane and around: 2 an element."""
    size = 2 * width * height
    for i in range(0, size - 2, 4):
        store(call, call.scratch + i, 4)
    if size & 2:
        store(call, call.scratch + size - 2, 2)
    step(call, 2, width * height)


@native
def gathered(call: NestCall, channel: int, width: int, height: int) -> None:
    """A channel's plane: channel 3, row 4, four elements 5, one 6; their loops from 11 on."""
    step(call, 3, 1)
    depth = call.in_c
    rows, columns = min(call.in_h, height - call.pad_top), min(call.in_w, width - call.pad_left)
    for y in range(rows):
        step(call, 4, 1)
        iterations(call, 11, columns // 4)
        iterations(call, 14, columns & 3)
        to = call.scratch + 2 * ((y + call.pad_top) * width + call.pad_left)
        source = call.input + y * call.in_w * depth + channel
        for x in range(0, columns // 4 * 4, 4):
            for k in range(4):
                load(call, source + (x + k) * depth, 1)
            step(call, 5, 1)
            for k in range(4):
                store(call, to + 2 * (x + k), 2)
        for x in range(columns // 4 * 4, columns):
            load(call, source + x * depth, 1)
            step(call, 6, 1)
            store(call, to + 2 * x, 2)


@native
def is_quick(call: NestCall, channel: int) -> None:
    """What decides whether a channel is."""
    load(call, call.shift + 4 * channel, 4)
    if call.bias:
        load(call, call.bias + 4 * channel, 4)


@native
def scales(call: NestCall, channel: int) -> None:
    """What a channel has, and its taps."""
    load(call, call.shift + 4 * channel, 4)
    if call.bias:
        load(call, call.bias + 4 * channel, 4)
    load(call, call.multiplier + 4 * channel, 4)


@native
def outputs_of_row(call: NestCall, row: int, width: int, out: int, together: int) -> None:
    """Outputs next to each other: ``together`` 9, one 10; their loops from 17 on."""
    count = call.out_w
    iterations(call, 17, count // together)
    iterations(call, 20, count % together)
    x = 0
    while x < count:
        n = together if x + together <= count else 1
        elements = (n - 1) * call.stride_w + call.kernel_w
        for i in range(call.kernel_h):
            words = row + 2 * (i * width + x * call.stride_w)
            for k in range(0, elements - 1, 2):
                load(call, words + 2 * k, 4)
            if elements & 1:
                load(call, words + 2 * (elements - 1), 2)
        step(call, 9 if n == together else 10, 1)
        for i in range(n):
            store(call, out + (x + i) * call.out_c, 1)
        x += n


@native
def plain_channel(call: NestCall, channel: int, width: int, level: int) -> None:
    """A channel tap by tap: plain ``level``, then output, row, tap; loops of taps and of rows."""
    taps = call.filter + channel * call.kernel_h * call.kernel_w
    step(call, level, 1)
    load(call, call.multiplier + 4 * channel, 4)
    load(call, call.shift + 4 * channel, 4)
    for y in range(call.rows):
        for x in range(call.out_w):
            if call.bias:
                load(call, call.bias + 4 * channel, 4)
            iterations(call, level + 7, call.kernel_h)
            for i in range(call.kernel_h):
                row = call.scratch + 2 * ((y * call.stride_h + i) * width + x * call.stride_w)
                iterations(call, level + 4, call.kernel_w)
                for k in range(call.kernel_w):
                    load(call, row + 2 * k, 2)
                    load(call, taps + i * call.kernel_w + k, 1)
                step(call, level + 3, call.kernel_w)
                step(call, level + 2, 1)
            step(call, level + 1, 1)
            store(call, call.output + (y * call.out_w + x) * call.out_c + channel, 1)


@native
def taps_of(call: NestCall, channel: int) -> None:
    """A channel's taps."""
    count = call.kernel_h * call.kernel_w
    for i in range(count):
        load(call, call.filter + channel * count + i, 1)


@native
def channels(call: NestCall, together: int) -> None:
    """Channels one after the other, outputs of a row ``together`` as long as there are so many; plain ones from 26."""
    width, height = (call.out_w - 1) * call.stride_w + call.kernel_w, (call.rows - 1) * call.stride_h + call.kernel_h
    step(call, 1, 1)
    cleared(call, width, height)
    for c in range(call.in_c):
        gathered(call, c, width, height)
        if c < call.slow_channels:
            is_quick(call, c)
            plain_channel(call, c, width, 26)
            continue
        scales(call, c)
        taps_of(call, c)
        step(call, 7, 1)
        iterations(call, 23, call.rows)
        for y in range(call.rows):
            step(call, 8, 1)
            row = call.scratch + 2 * y * call.stride_h * width
            out = call.output + y * call.out_w * call.out_c + c
            outputs_of_row(call, row, width, out, together)


@native
def channel_by_channel(call: NestCall) -> None:
    """``tinyengine_depthwise_KxK_S``: call, cleared, channel, row, four, one, taps, line, together, single."""
    channels(call, 4 if call.stride_w == 1 else 2)


@native
def channel_alone(call: NestCall) -> None:
    """``tinyengine_depthwise_KxK_S_alone``: the same; no outputs are single."""
    channels(call, 1)


@native
def pairs_of_plane(call: NestCall, at: int, width: int) -> None:
    """One output, two taps at a time: row 9, pair 10, an odd tap 24; loops of pairs and of rows."""
    iterations(call, 20, call.kernel_h)
    for i in range(call.kernel_h):
        iterations(call, 17, call.kernel_w // 2)
        for k in range(0, call.kernel_w - 1, 2):
            load(call, at + 2 * (i * width + k), 4)
            step(call, 10, 1)
        if call.kernel_w & 1:
            load(call, at + 2 * (i * width + call.kernel_w - 1), 2)
            step(call, 24, 1)
        step(call, 9, 1)


@native
def plane_by_pairs(call: NestCall) -> None:
    """``tinyengine_depthwise_plane``: call, cleared, channel, row, four, one, line, output, filter_row, pair, ...;
    plain ones from 25."""
    width, height = (call.out_w - 1) * call.stride_w + call.kernel_w, (call.rows - 1) * call.stride_h + call.kernel_h
    step(call, 1, 1)
    cleared(call, width, height)
    for c in range(call.in_c):
        gathered(call, c, width, height)
        is_quick(call, c)
        if c < call.slow_channels or call.bias == 0:
            plain_channel(call, c, width, 25)
            continue
        scales(call, c)
        taps_of(call, c)
        step(call, 23, call.kernel_h * call.kernel_w)
        for y in range(call.rows):
            step(call, 7, 1)
            for x in range(call.out_w):
                pairs_of_plane(call, call.scratch + 2 * (y * call.stride_h * width + x * call.stride_w), width)
                step(call, 8, 1)
                store(call, call.output + (y * call.out_w + x) * call.out_c + c, 1)


@native
def range_pass(call: NestCall) -> None:
    """``tinyengine_range``, over all outputs: call, four, one, their loops."""
    count = call.output_elements
    step(call, 1, 1)
    iterations(call, 4, count // 4)
    iterations(call, 7, count & 3)
    for i in range(0, count - 3, 4):
        load(call, call.output + i, 4)
        store(call, call.output + i, 4)
    for i in range(count // 4 * 4, count):
        load(call, call.output + i, 1)
        store(call, call.output + i, 1)
    step(call, 2, count // 4)
    step(call, 3, count & 3)


@native
def vector_by_pairs(call: NestCall) -> None:
    """``tinyengine_fully_connected``, the last row of an odd number twice: call, vector, output, quad, element, odd,
    odd_quad, odd_element."""
    depth, channels = call.in_c, call.out_c
    step(call, 1, 1)
    for b in range(call.batch):
        step(call, 2, 1)
        for c in range(0, channels, 2):
            more = 1 if c + 1 < channels else 0
            level = 3 if more else 6
            first, second = call.filter + c * depth, call.filter + (c + more) * depth
            for i in range(2):
                if call.bias:
                    load(call, call.bias + 4 * (c + i * more), 4)
            iterations(call, 9, depth // 4)
            iterations(call, 12, depth & 3)
            k = 0
            while k < depth:
                size = 4 if k + 4 <= depth else 1
                load(call, call.input + b * depth + k, size)
                load(call, first + k, size)
                load(call, second + k, size)
                step(call, level + 1 if size == 4 else level + 2, 1)
                k += size
            for i in range(1 + more):
                load(call, call.multiplier + 4 * (c + i), 4)
                load(call, call.shift + 4 * (c + i), 4)
                step(call, level, 1)
                store(call, call.output + b * channels + c + i, 1)


@native
def average_by_fours(call: NestCall) -> None:
    """``tinyengine_average_pool``: its sums of four channels are of 256 elements at most."""
    pooled(call, 256)


@native
def pool_by_fours(call: NestCall) -> None:
    """``tinyengine_max_pool``."""
    pooled(call, call.in_h * call.in_w)


@native
def pooled(call: NestCall, most: int) -> None:
    """Four channels at a time of windows of ``most`` elements, others one by one: call, pixel, four, row, tap, one,
    one_row, one_tap, the loop over a row."""
    depth = call.in_c
    step(call, 1, 1)
    for pixel in range(call.batch * call.rows * call.out_w):
        row = pixel // call.out_w
        image = row // call.rows * call.in_h
        y, x = row % call.rows * call.stride_h - call.pad_top, pixel % call.out_w * call.stride_w - call.pad_left
        top, bottom = max(0, y), min(call.in_h, y + call.kernel_h)
        left, right = max(0, x), min(call.in_w, x + call.kernel_w)
        step(call, 2, 1)
        c = 0
        while c < depth:
            size = 4 if c + 4 <= depth and (bottom - top) * (right - left) <= most else 1
            level = 3 if size == 4 else 6
            for iy in range(top, bottom):
                iterations(call, 9, right - left)
                for ix in range(left, right):
                    load(call, call.input + ((image + iy) * call.in_w + ix) * depth + c, size)
                    step(call, level + 2, 1)
                step(call, level + 1, 1)
            step(call, level, 1)
            store(call, call.output + pixel * depth + c, size)
            c += size


@native
def words_and_bytes(call: NestCall, to: int, source: int, count: int, level: int) -> int:
    """Stores of ``count`` bytes, with loads unless ``source`` is 0: words at ``level``, what is left at the next; words
    off their boundary at 7, the loops of words from 3 * ``level`` - 1 on, those of bytes behind; the address behind."""
    k = 0
    iterations(call, 3 * level - 1, count // 4)
    iterations(call, 3 * level + 2, count & 3)
    if to & 3:
        step(call, 7, count // 4)
    while k < count:
        size = 4 if k + 4 <= count else 1
        if source:
            load(call, source + k, size)
        store(call, to + k, size)
        step(call, level if size == 4 else level + 1, 1)
        k += size
    return to + count


@native
def pad_by_words(call: NestCall) -> None:
    """``tinyengine_pad``: call, row, then ``words_and_bytes``."""
    outer, axis, depth = call.axes[2], call.axes[3], call.axes[4].size
    row, width, left = axis.inside * depth, axis.size * depth, axis.before * depth
    source, to = call.input, call.output
    step(call, 1, 1)
    for n in range(call.axes[0].size * call.axes[1].size * outer.size):
        y = n % outer.size - outer.before
        step(call, 2, 1)
        if 0 <= y < outer.inside:
            to = words_and_bytes(call, to, 0, left, 3)
            to = words_and_bytes(call, to, source, row, 5)
            to = words_and_bytes(call, to, 0, width - left - row, 3)
            source += row
        else:
            to = words_and_bytes(call, to, 0, width, 3)
