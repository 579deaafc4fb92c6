/* Which fault this build has: none, or one of these by -DFAULT=.... */
#ifndef FAULTS_H
#define FAULTS_H

#define NONE 0
#define NDTR_SHORT 1 /* the last byte of a chunk is not counted */
#define CHUNK_OVERLAP 2 /* a chunk begins a byte too early */
#define STREAM_ORDER 3 /* weights, which come by the other stream, are taken to be there when the input is */
#define EARLY_START 4 /* the handler starts the next chunk when half of this one has come */
#define WRONG_FLAG 5 /* what main waits for is the half-transfer flag */
#define WRONG_HALF 6 /* the kernel gets the other input buffer */
#define INPUT_REUSED 7 /* an input buffer is filled again while the kernel reads it */
#define OUTPUT_REUSED 8 /* the kernel writes an output buffer that is still being copied */
#define MISSING_WAIT 9 /* the kernel does not wait for its input */
#define RACE 10 /* main and handler change one counter, unmasked */
#define UNREACHABLE 11 /* an input buffer is in memory that the DMA does not reach */
#define MISSING_INVALIDATE 12 /* lines of the tile before stay in the cache */
#define MISSING_CLEAN 13 /* results stay in the cache */
#define CLEAN_AFTER 14 /* results are cleaned after their copy was asked for */
#define HALF_LINE 15 /* an input buffer shares a line with a variable of main */
#define MISSING_INPUT_CLEAN 16 /* the network's input stays in the cache */

#ifndef FAULT
#define FAULT NONE
#endif

#endif
