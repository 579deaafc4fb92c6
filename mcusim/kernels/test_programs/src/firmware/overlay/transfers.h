/* Copies by DMA2, queued: each of two streams makes its own one after another, in chunks, started by its interrupt. */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "mcu.h"

enum { IN, OUT, STREAMS }; /* what comes in has priority */
enum { CHUNK = 512, QUEUE = 16 };

void transfers_start(void);
/* returns the number that the copy has among those of its stream */
uint32_t transfer_request(int stream, const void *from, void *to, uint32_t bytes);
int transfer_wait(int stream, uint32_t number); /* asleep until it has ended; 0, or 1 after an error of the stream */

#endif
