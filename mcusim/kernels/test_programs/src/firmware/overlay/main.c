/* A network whose tensors lie in SDRAM, in tiles that two DMA streams overlay. main returns 0, 1 for a wrong result, 2 for an
   error of a transfer or of the kernel, 3 for clocks or SDRAM that did not start. */
#include "board.h"
#include "network.h"
#include "overlay.h"
#include "transfers.h"

int main(void) {
    if (clock_start()) return 3;
    tick_start();
    caches_start();
    if (sdram_start()) return 3;
    transfers_start();
    network_fill();
    cycles_start();
    const uint32_t from = cycles();
    const int failed = overlay_run();
    const uint32_t taken = cycles() - from;
    const uint32_t crc = network_crc();
    print_number("cycles ", taken);
    print_hex("result ", crc);
    print(failed ? "overlay: a transfer failed\n" : crc == expected_crc ? "overlay: ok\n" : "overlay: WRONG\n");
    return failed ? 2 : crc != expected_crc;
}
