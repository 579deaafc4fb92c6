#include "transfers.h"

#include "board.h"
#include "faults.h"

#define DMA2 0x40026400u
#define LISR REGISTER(DMA2 + 0x00)
#define LIFCR REGISTER(DMA2 + 0x08)
enum { EN = 1, TEIE = 1 << 2, HTIE = 1 << 3, TCIE = 1 << 4, M2M = 2 << 6, PINC = 1 << 9, MINC = 1 << 10, HIGH = 2 << 16 };
enum { TEIF = 8, HTIF = 16, TCIF = 32, FLAGS = 0x3D, NO_DIRECT_MODE = 4, LINE = 56, PRIORITY = 1 };
#ifdef STM32F746
enum { THRESHOLD = 0 }; /* a quarter */
#else
enum { THRESHOLD = 3 }; /* full */
#endif

typedef struct {
    volatile uint32_t CR, NDTR, PAR, M0AR, M1AR, FCR;
} registers;

typedef struct {
    const uint8_t *from;
    uint8_t *to;
    uint32_t bytes;
} request;

typedef struct {
    registers *at;
    uint32_t shift, control;          /* of its flags in LISR; of CR */
    request queue[QUEUE];
    uint32_t left;                    /* bytes of the request under way that have not been started */
    volatile uint32_t asked, ended;   /* requests: asked is main's, ended the handler's */
    volatile uint32_t halved;         /* requests whose last chunk has come to its half (WRONG_FLAG) */
    volatile uint32_t waiting;        /* requests that have not ended (RACE) */
    volatile uint32_t failed;
} stream;

static stream streams[STREAMS] = {
    [IN] = {.at = (registers *)(DMA2 + 0x10), .shift = 0, .control = HIGH | M2M | PINC | MINC | TCIE | TEIE},
    [OUT] = {.at = (registers *)(DMA2 + 0x28), .shift = 6, .control = M2M | PINC | MINC | TCIE | TEIE},
};

/* The next chunk of the request under way: one byte a beat. */
static void start_chunk(stream *s) {
    request *r = &s->queue[s->ended % QUEUE];
    const uint32_t bytes = s->left < CHUNK ? s->left : CHUNK;
    const uint32_t done = r->bytes - s->left;
    s->left -= bytes;
    LIFCR = FLAGS << s->shift;
    s->at->PAR = (uint32_t)(FAULT == CHUNK_OVERLAP && done ? r->from + done - 1 : r->from + done);
    s->at->M0AR = (uint32_t)(r->to + done);
    s->at->NDTR = FAULT == NDTR_SHORT ? bytes - 1 : bytes;
    s->at->FCR = NO_DIRECT_MODE | THRESHOLD;
    s->at->CR = s->control | (FAULT == WRONG_FLAG || FAULT == EARLY_START ? HTIE : 0);
    s->at->CR |= EN;
}

static void start_request(stream *s) {
    s->left = s->queue[s->ended % QUEUE].bytes;
    start_chunk(s);
}

static void next(stream *s) {
    if (s->left) {
        start_chunk(s);
        return;
    }
    s->ended++;
    if (FAULT == RACE) s->waiting--;
    if (s->ended != s->asked) start_request(s);
}

static void interrupted(stream *s) {
    const uint32_t flags = LISR >> s->shift & FLAGS;
    LIFCR = flags << s->shift;
    if (flags & TEIF) s->failed = 1;
    if (FAULT == EARLY_START && flags & HTIF && s->left) {
        s->at->CR &= ~(uint32_t)EN;
        while (s->at->CR & EN);
        next(s);
    } else {
        if (FAULT == WRONG_FLAG && flags & HTIF && !s->left) s->halved = s->ended + 1;
        if (flags & TCIF) next(s);
    }
    barrier();
}

void DMA2_Stream0_IRQHandler(void) { interrupted(&streams[IN]); }
void DMA2_Stream1_IRQHandler(void) { interrupted(&streams[OUT]); }

void transfers_start(void) {
    RCC_AHB1ENR |= 1u << 22;
    (void)RCC_AHB1ENR;
    interrupt_enable(LINE + IN, PRIORITY);
    interrupt_enable(LINE + OUT, PRIORITY);
}

uint32_t transfer_request(int number, const void *from, void *to, uint32_t bytes) {
    stream *s = &streams[number];
    const request r = {from, to, bytes};
    while (s->asked - s->ended == QUEUE);
    if (FAULT == RACE) s->waiting++;
    __asm__ volatile("cpsid i" ::: "memory");
    s->queue[s->asked % QUEUE] = r;
    const int idle = s->asked++ == s->ended;
    if (idle) start_request(s);
    __asm__ volatile("cpsie i" ::: "memory");
    return s->asked;
}

static int pending(const stream *s, uint32_t number) {
    if (FAULT == RACE) return s->waiting != 0;
    return (int32_t)((FAULT == WRONG_FLAG ? s->halved : s->ended) - number) < 0;
}

int transfer_wait(int number, uint32_t request) {
    const stream *s = &streams[number];
    for (;;) {
        __asm__ volatile("cpsid i" ::: "memory"); /* an interrupt after the look still ends the sleep */
        const int asleep = pending(s, request) && !s->failed;
        if (asleep) __asm__ volatile("wfi" ::: "memory");
        __asm__ volatile("cpsie i\n\tisb" ::: "memory");
        if (!asleep) return (int)s->failed;
    }
}
