/* Loops of the kind that general programs spend their time in, small enough to count their cycles by hand: a product of
   integer matrices, a CRC over a table, a hash, an insertion sort, a state machine. */
#include "mcu.h"

enum { N = 8, BYTES = 64, VALUES = 24 };

static int32_t left[N * N], right[N * N], result[N * N], values[VALUES];
static uint8_t bytes[BYTES];
static uint32_t table[256];

/* c = a b, n by n. */
void matrix(const int32_t *a, const int32_t *b, int32_t *c, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* The table of the reflected CRC-32. */
void crc_fill(uint32_t *to) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
        to[i] = value;
    }
}

/* CRC-32 of ``count`` bytes, by a table of 256 words. */
uint32_t crc_table(const uint8_t *data, uint32_t count, const uint32_t *from) {
    uint32_t crc = ~0u;
    for (const uint8_t *end = data + count; data != end; data++) crc = crc >> 8 ^ from[(crc ^ *data) & 255];
    return ~crc;
}

/* FNV-1a of ``count`` bytes. */
uint32_t hash(const uint8_t *data, uint32_t count) {
    uint32_t value = 2166136261u;
    for (const uint8_t *end = data + count; data != end; data++) value = (value ^ *data) * 16777619u;
    return value;
}

/* Insertion sort, ascending. */
void sort(int32_t *what, int32_t count) {
    for (int32_t i = 1; i < count; i++) {
        const int32_t moved = what[i];
        int32_t at = i;
        for (; at > 0 && what[at - 1] > moved; at--) what[at] = what[at - 1];
        what[at] = moved;
    }
}

/* A machine of four states over the low two bits of each byte; returns how often it came to state 3. */
uint32_t states(const uint8_t *event, uint32_t count) {
    uint32_t state = 0, arrived = 0;
    for (const uint8_t *end = event + count; event != end; event++) {
        const uint32_t what = *event & 3;
        if (state == 0) {
            if (what == 1) state = 1;
        } else if (state == 1) {
            state = what == 2 ? 2 : 0;
        } else if (state == 2) {
            if (what == 3) {
                state = 3;
                arrived++;
            } else if (what == 0) {
                state = 0;
            }
        } else {
            state = 0;
        }
    }
    return arrived;
}

/* 0, or which check failed. */
static int all(void) {
    uint32_t seed = 1;
    for (int i = 0; i < N * N; i++) {
        left[i] = (int32_t)lcg(&seed) >> 16;
        right[i] = i % (N + 1) == 0; /* the unit matrix */
    }
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(lcg(&seed) >> 24);
    for (int i = 0; i < VALUES; i++) values[i] = (int32_t)lcg(&seed);
    matrix(left, right, result, N);
    if (crc32(result, sizeof result) != crc32(left, sizeof left)) return 1;
    crc_fill(table);
    if (crc_table(bytes, BYTES, table) != crc32(bytes, BYTES)) return 2;
    if (hash((const uint8_t *)"foobar", 6) != 0xBF9CF968u) return 3;
    sort(values, VALUES);
    for (int i = 1; i < VALUES; i++)
        if (values[i - 1] > values[i]) return 4;
    return states((const uint8_t *)"\1\2\3\0\1\2\0\1\2\3", 10) == 2 ? 0 : 5;
}

int main(void) {
    const int failed = all();
    if (!failed) print("loops: ok\n");
    return failed;
}
