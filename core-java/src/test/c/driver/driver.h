/*
 * What the libraries that stand in for libmlx5 and libefa share: a text of the calls that they got, and options. Such a
 * library is compiled together with libnullverbs and takes the place of both. It needs
 * gcc -Dibv_modify_qp=null_modify_qp: then ibv_modify_qp is the one of driver.c, which notes its calls.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include "nullverbs.h"

enum driver_option {
	DRIVER_FOREIGN,  /* 1: the device is of another driver */
	DRIVER_REFUSE,   /* errno that each call which makes or queries something fails with; 0: none */
	DRIVER_NUMBER,   /* the number that a queue pair gets with the step to RTR; 0: it keeps its own */
	DRIVER_CAPS,     /* what the device has, in the words of the driver */
	DRIVER_OPTIONS
};

extern int driver_options[DRIVER_OPTIONS];

/* Adds a line to the text of calls. */
void driver_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Makes the extended functions of a queue pair note what they are told; ops are IBV_QP_EX_WITH_*. */
void driver_trace(struct ibv_qp *qp, uint64_t ops);

/* Controls of the tests. */
void driver_set(enum driver_option option, int value);
const char *driver_calls(void);
void driver_reset(void);

#endif
