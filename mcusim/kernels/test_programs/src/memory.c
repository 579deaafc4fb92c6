/* Memory micro-benchmarks, to be called by name with an address and a number of bytes, and a main that runs them on RAM.

   Sizes: a multiple of the element, of 32 for copy_ldm, of 4 for copy_words. The loops are volatile and plain, as board
   tests write them: one access per element and turn, in order of address. */
#include "mcu.h"

enum { BYTES = 4096, LINE = 32, FAILED_COPY = 1, FAILED_CHASE, FAILED_FILL };

static uint32_t source[BYTES / 4] __attribute__((aligned(64))), target[BYTES / 4] __attribute__((aligned(64)));

#define READ(name, type)                                                                                               \
    void name(const volatile type *at, uint32_t bytes) {                                                               \
        for (const volatile type *end = at + bytes / sizeof *at; at < end; at++) (void)*at;                            \
    }

#define WRITE(name, type)                                                                                              \
    void name(volatile type *at, uint32_t bytes) {                                                                     \
        const type value = (type)0xA5A5A5A5A5A5A5A5u;                                                                  \
        for (volatile type *end = at + bytes / sizeof *at; at < end; at++) *at = value;                                \
    }

READ(read_u8, uint8_t)
READ(read_u16, uint16_t)
READ(read_u32, uint32_t)
WRITE(write_u8, uint8_t)
WRITE(write_u16, uint16_t)
WRITE(write_u32, uint32_t)

/* LDRD and STRD, whatever the compiler makes of a volatile doubleword */
void read_u64(const uint64_t *at, uint32_t bytes) {
    for (const uint64_t *end = at + bytes / 8; at < end; at++)
        __asm__ volatile("ldrd r2, r3, [%0]" ::"r"(at) : "r2", "r3", "memory");
}

void write_u64(uint64_t *at, uint32_t bytes) {
    for (uint64_t *end = at + bytes / 8; at < end; at++)
        __asm__ volatile("strd %1, %1, [%0]" ::"r"(at), "r"(0xA5A5A5A5u) : "memory");
}

/* One word of every ``stride`` bytes. */
void read_stride(const volatile uint32_t *at, uint32_t bytes, uint32_t stride) {
    const volatile uint32_t *end = at + bytes / 4;
    for (; at < end; at += stride / 4) (void)*at;
}

void write_stride(volatile uint32_t *at, uint32_t bytes, uint32_t stride) {
    volatile uint32_t *end = at + bytes / 4;
    for (; at < end; at += stride / 4) *at = 0xA5A5A5A5u;
}

void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes) {
    while (bytes--) *to++ = *from++;
}

void copy_words(uint32_t *to, const uint32_t *from, uint32_t bytes) {
    for (uint32_t words = bytes / 4; words; words--) *to++ = *from++;
}

void copy_ldm(uint32_t *to, const uint32_t *from, uint32_t bytes) {
    for (uint32_t lines = bytes / LINE; lines; lines--)
        __asm__ volatile("ldmia %1!, {r3-r10}\n\tstmia %0!, {r3-r10}"
                         : "+r"(to), "+r"(from)::"r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "memory");
}

void fill_words(uint32_t *at, uint32_t bytes, uint32_t value) {
    for (const uint32_t *end = at + bytes / 4; at < end; at++) *at = value;
}

/* A ring of pointers, one every ``stride`` bytes, in order of address; chase follows it. */
void chase_ring(uint32_t *base, uint32_t bytes, uint32_t stride) {
    const uint32_t step = stride / 4, slots = bytes / stride;
    for (uint32_t i = 0; i < slots; i++) base[i * step] = (uint32_t)(base + (i + 1) % slots * step);
}

/* The same slots in one random ring (Sattolo's shuffle), the same for the same ``seed``. */
void chase_shuffle(uint32_t *base, uint32_t bytes, uint32_t stride, uint32_t seed) {
    const uint32_t step = stride / 4, slots = bytes / stride;
    for (uint32_t i = 0; i < slots; i++) base[i * step] = (uint32_t)(base + i * step);
    for (uint32_t i = slots - 1; i > 0; i--) {
        const uint32_t j = (lcg(&seed) >> 8) % i, held = base[i * step];
        base[i * step] = base[j * step];
        base[j * step] = held;
    }
}

/* ``steps`` dependent loads; returns where they lead. */
uint32_t *chase(uint32_t *at, uint32_t steps) {
    while (steps--) at = (uint32_t *)*(volatile uint32_t *)at;
    return at;
}

typedef void benchmark(void *, uint32_t);

static const struct {
    const char *name;
    benchmark *run;
    uint32_t size;
} benchmarks[] = {
    {"read_u8    ", (benchmark *)read_u8, 1},   {"read_u16   ", (benchmark *)read_u16, 2},
    {"read_u32   ", (benchmark *)read_u32, 4},  {"read_u64   ", (benchmark *)read_u64, 8},
    {"write_u8   ", (benchmark *)write_u8, 1},  {"write_u16  ", (benchmark *)write_u16, 2},
    {"write_u32  ", (benchmark *)write_u32, 4}, {"write_u64  ", (benchmark *)write_u64, 8},
};

static int differ(void) {
    for (uint32_t i = 0; i < BYTES / 4; i++)
        if (source[i] != target[i]) return 1;
    return 0;
}

static int copies(void) {
    uint32_t state = 1, before = cycles();
    for (uint32_t i = 0; i < BYTES / 4; i++) source[i] = lcg(&state);
    before = cycles();
    copy_words(target, source, BYTES);
    print_number("copy_words : cycles per 4 KiB ", cycles() - before);
    if (differ()) return FAILED_COPY;
    fill_words(target, BYTES, 0);
    before = cycles();
    copy_ldm(target, source, BYTES);
    print_number("copy_ldm   : cycles per 4 KiB ", cycles() - before);
    if (differ()) return FAILED_COPY;
    fill_words(target, BYTES, 0);
    copy_bytes((uint8_t *)target, (const uint8_t *)source, BYTES);
    return differ() ? FAILED_COPY : 0;
}

static int chases(void) {
    const uint32_t slots = BYTES / LINE;
    chase_ring(source, BYTES, LINE);
    if (chase(source, slots) != source || chase(source, slots - 1) == source) return FAILED_CHASE;
    chase_shuffle(source, BYTES, LINE, 1);
    const uint32_t before = cycles();
    const uint32_t *end = chase(source, slots);
    print_number("chase      : cycles per 128 loads ", cycles() - before);
    return end == source && chase(source, slots / 2) != source ? 0 : FAILED_CHASE;
}

int main(void) {
    cycles_start();
    for (uint32_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        const uint32_t before = cycles();
        benchmarks[i].run(source, BYTES);
        const uint32_t hundredths = (cycles() - before) * 100 / (BYTES / benchmarks[i].size);
        print(benchmarks[i].name);
        print_number(": cycles per 100 accesses ", hundredths);
    }
    int failed = source[0] == 0xA5A5A5A5u && source[BYTES / 4 - 1] == 0xA5A5A5A5u ? 0 : FAILED_FILL;
    if (!failed) failed = copies();
    if (!failed) failed = chases();
    print(failed ? "memory: wrong result\n" : "memory: ok\n");
    return failed;
}
