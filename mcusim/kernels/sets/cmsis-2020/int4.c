/* Filters of int4 with the functions of this set. */
#include "../reference/int4.h"

INT4(cmsis_2020_conv_s4, cmsis_2020_conv, CONV_ELEMENTS)
INT4(cmsis_2020_depthwise_s4, cmsis_2020_depthwise, DEPTHWISE_ELEMENTS)
INT4(cmsis_2020_fully_connected_s4, cmsis_2020_fully_connected, c->out_c *c->in_c)
