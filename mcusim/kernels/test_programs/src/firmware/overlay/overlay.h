#ifndef OVERLAY_H
#define OVERLAY_H

int overlay_run(void); /* the network, once: 0, or 1 after an error of a transfer or of the kernel */

#endif
