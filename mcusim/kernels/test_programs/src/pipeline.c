/* Runs every snippet of pipeline.S and prints its cycles per 100 instructions. */
#include "mcu.h"

enum { ITERATIONS = 20 };

struct snippet {
    const char *name;
    void (*run)(uint32_t iterations, uint32_t first, uint32_t second);
    uint32_t instructions;
};

extern const struct snippet p_table[];

static uint32_t cost(const struct snippet *snippet, uint32_t iterations) {
    const int divides = snippet->name[2] != 'v' && snippet->name[3] == 'd' && snippet->name[4] == 'i' && snippet->name[5] == 'v';
    const uint32_t before = cycles();
    snippet->run(iterations, divides ? 1000000007u : 0, divides ? 17 : 0);
    return cycles() - before;
}

int main(void) {
    cycles_start();
    const uint32_t loop = cost(p_table, 2 * ITERATIONS) - cost(p_table, ITERATIONS);
    for (const struct snippet *snippet = p_table + 1; snippet->name; snippet++) {
        cost(snippet, 1); /* warms caches and branch prediction */
        const uint32_t more = cost(snippet, 2 * ITERATIONS) - cost(snippet, ITERATIONS);
        print(snippet->name);
        print_number(": cycles per 100 instructions ", (more - loop) * 100 / (ITERATIONS * snippet->instructions));
    }
    print("pipeline: ok\n");
    return 0;
}
