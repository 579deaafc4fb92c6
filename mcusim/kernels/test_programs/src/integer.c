/* Integer code of the kind that general benchmarks run: a linked list sorted and reversed, small matrices, a state machine
   over a text, and a CRC-16 over all results. The text is in .data, so the start-up code has something to copy. */
#include "mcu.h"

enum { NODES = 96, N = 12, ITERATIONS = 10, EXPECTED = 0x27DF };

struct node {
    struct node *next;
    int16_t key, index;
};

static struct node nodes[NODES];
static int16_t left[N * N], right[N * N];
static int32_t product[N * N];
static char text[] = "5012,-17,+3.25,1e9,.5,0x1F,abc,-2.5E-3,,77,12a,1.2.3,9E,+,0,-0.0,6e+2,31415926,e5,42";

uint16_t crc16(uint32_t value, uint16_t crc) {
    for (int bit = 0; bit < 32; bit++, value >>= 1) {
        const int carry = (crc ^ value) & 1;
        crc >>= 1;
        if (carry) crc ^= 0xA001;
    }
    return crc;
}

static struct node *make_list(uint32_t *seed) {
    for (int i = 0; i < NODES; i++) {
        nodes[i].key = (int16_t)(lcg(seed) >> 16);
        nodes[i].index = (int16_t)i;
        nodes[i].next = i + 1 < NODES ? &nodes[i + 1] : 0;
    }
    return nodes;
}

struct node *list_reverse(struct node *list) {
    struct node *reversed = 0;
    while (list) {
        struct node *next = list->next;
        list->next = reversed;
        reversed = list;
        list = next;
    }
    return reversed;
}

static struct node *merge(struct node *a, struct node *b) {
    struct node *first = 0, **tail = &first;
    while (a && b) {
        struct node **smaller = a->key <= b->key ? &a : &b;
        *tail = *smaller;
        tail = &(*smaller)->next;
        *smaller = *tail;
    }
    *tail = a ? a : b;
    return first;
}

struct node *list_sort(struct node *list) {
    struct node *middle = list;
    if (!list || !list->next) return list;
    for (struct node *end = list->next; end && end->next; end = end->next->next) middle = middle->next;
    struct node *second = middle->next;
    middle->next = 0;
    return merge(list_sort(list), list_sort(second));
}

static uint16_t list_part(uint32_t *seed, uint16_t crc) {
    struct node *list = list_reverse(list_sort(make_list(seed)));
    for (int place = 0; list; list = list->next, place++) crc = crc16((uint32_t)(list->key * 128 + list->index + place), crc);
    return crc;
}

void matrix_multiply(const int16_t *a, const int16_t *b, int32_t *c, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

static uint16_t matrix_part(uint32_t *seed, uint16_t crc) {
    for (int i = 0; i < N * N; i++) {
        left[i] = (int16_t)((int32_t)lcg(seed) >> 20);
        right[i] = (int16_t)((int32_t)lcg(seed) >> 20);
    }
    matrix_multiply(left, right, product, N);
    int32_t sum = 0;
    for (int i = 0; i < N * N; i++) {
        sum += product[i] / (1 + (left[i] & 15));
        product[i] = product[i] >> 4 ^ sum;
    }
    for (int i = 0; i < N; i++) crc = crc16((uint32_t)product[i * N + i], crc);
    return crc16((uint32_t)sum, crc);
}

enum state { START, SIGN, INTEGER, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, POWER, INVALID, STATES };

static enum state step(enum state state, char c) {
    const int digit = c >= '0' && c <= '9', sign = c == '+' || c == '-', power = c == 'e' || c == 'E';
    switch (state) {
    case START: return digit ? INTEGER : sign ? SIGN : c == '.' ? POINT : INVALID;
    case SIGN: return digit ? INTEGER : c == '.' ? POINT : INVALID;
    case INTEGER: return digit ? INTEGER : c == '.' ? FRACTION : power ? EXPONENT : INVALID;
    case POINT: return digit ? FRACTION : INVALID;
    case FRACTION: return digit ? FRACTION : power ? EXPONENT : INVALID;
    case EXPONENT: return digit ? POWER : sign ? EXPONENT_SIGN : INVALID;
    case EXPONENT_SIGN:
    case POWER: return digit ? POWER : INVALID;
    default: return INVALID;
    }
}

/* How many of the comma-separated fields end in each state, 3 bits a state. */
uint32_t scan(const char *at) {
    uint32_t ends[STATES] = {0}, packed = 0;
    while (*at) {
        enum state state = START;
        for (; *at && *at != ','; at++) state = step(state, *at);
        ends[state]++;
        if (*at) at++;
    }
    for (int state = 0; state < STATES; state++) packed = packed << 3 | (ends[state] & 7);
    return packed;
}

static uint16_t text_part(uint32_t *seed, uint16_t crc) {
    char *damaged = text + (lcg(seed) >> 16) % (sizeof text - 1);
    const char before = *damaged;
    crc = crc16(scan(text), crc);
    *damaged = (char)(before ^ 1);
    crc = crc16(scan(text), crc);
    *damaged = before;
    return crc;
}

/* The three parts ``iterations`` times; returns the CRC-16 of all results. Called by name, it needs reset to have run. */
uint32_t integer(uint32_t iterations) {
    uint32_t seed = 1;
    uint16_t crc = 0;
    while (iterations--) crc = text_part(&seed, matrix_part(&seed, list_part(&seed, crc)));
    return crc;
}

int main(void) {
    cycles_start();
    const uint32_t before = cycles(), crc = integer(ITERATIONS), spent = cycles() - before;
    print_hex("integer: crc ", crc);
    print_number("  cycles per iteration ", spent / ITERATIONS);
    print(crc == EXPECTED ? "integer: ok\n" : "integer: wrong result\n");
    return crc != EXPECTED;
}
