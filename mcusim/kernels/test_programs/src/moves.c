/* Copy loops that move a buffer down over memory that it may still overlap, to be called by name, and a main that checks
   them. (to, from, bytes): lowest byte first; move_words takes whole words, move_bytes at least one byte.

   A loop across two lines of flash costs more than one within, wherever the linker happens to put it. These begin so that
   they lie in one line of 16 bytes. */
#include "mcu.h"

enum { BYTES = 4096, HALF = BYTES / 2, FAILED_WORDS = 1, FAILED_BYTES };

typedef void mover(void *, const void *, uint32_t);

static uint8_t buffer[BYTES] __attribute__((aligned(64)));

/* As a library would: one word a turn. */
__attribute__((aligned(32), noinline, optimize("align-loops=16")))
void move_words(void *to, const void *from, uint32_t bytes) {
    uint32_t *target = to;
    const uint32_t *source = from;
    for (uint32_t words = bytes / 4; words; words--) *target++ = *source++;
}

/* As an interpreter without a library would, compiled for size: one byte a turn, by index. */
__attribute__((aligned(32), noinline, optimize("Os")))
void move_bytes(void *to, const void *from, uint32_t bytes) {
    uint8_t *target = to;
    const uint8_t *source = from;
    uint32_t i = 0;
    do target[i] = source[i];
    while (++i != bytes);
}

/* Moves random bytes from offset ``from`` to ``to`` and says what a KiB took; whether they arrived. */
static int moves(mover *move, uint32_t to, uint32_t from, const char *name) {
    uint32_t state = from;
    for (uint32_t i = 0; i < HALF; i++) buffer[from + i] = (uint8_t)(lcg(&state) >> 8);
    const uint32_t before = cycles();
    move(buffer + to, buffer + from, HALF);
    print_number(name, (cycles() - before) / (HALF / 1024));
    state = from;
    for (uint32_t i = 0; i < HALF; i++)
        if (buffer[to + i] != (uint8_t)(lcg(&state) >> 8)) return 0;
    return 1;
}

int main(void) {
    cycles_start();
    int failed = moves(move_words, 16, 512, "move_words: cycles per KiB ") ? 0 : FAILED_WORDS;
    if (!failed) failed = moves(move_bytes, 19, 256, "move_bytes: cycles per KiB ") ? 0 : FAILED_BYTES;
    print(failed ? "moves: wrong result\n" : "moves: ok\n");
    return failed;
}
