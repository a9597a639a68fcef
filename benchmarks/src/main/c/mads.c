/*
 * Asks the neighbour of this port for its NodeInfo again and again, by libibumad: mads OUTSTANDING SECONDS. Prints answers a second.
 */
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAD_SIZE 256
#define DIRECTED 0x81
#define GET 1
#define NODE_INFO 0x11

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void ask(int port, int agent, char *buffer, uint32_t number)
{
	uint8_t *mad = umad_get_mad(buffer);
	uint32_t id = htobe32(number);

	memset(buffer, 0, umad_size() + MAD_SIZE);
	umad_set_addr(buffer, 0xffff, 0, 0, 0);
	mad[0] = 1;
	mad[1] = DIRECTED;
	mad[2] = 1;
	mad[3] = GET;
	mad[7] = 1; /* hop count */
	memcpy(mad + 12, &id, 4);
	mad[17] = NODE_INFO;
	memset(mad + 32, 0xff, 4); /* both LIDs are permissive */
	mad[129] = 1; /* the path 0,1 */
	if (umad_send(port, agent, buffer, MAD_SIZE, 1000, 3)) {
		perror("umad_send");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int outstanding = argc == 3 ? atoi(argv[1]) : 0, length = MAD_SIZE;
	double seconds = argc == 3 ? atof(argv[2]) : 0;

	if (outstanding <= 0 || seconds <= 0) {
		fprintf(stderr, "usage: mads OUTSTANDING SECONDS\n");
		return 2;
	}
	umad_init();
	int port = umad_open_port(NULL, 0), agent = umad_register(port, DIRECTED, 1, 0, NULL);
	char *buffer = umad_alloc(1, umad_size() + MAD_SIZE);
	uint32_t next = 1;
	long answers = 0;

	if (port < 0 || agent < 0) {
		fprintf(stderr, "mads: no port\n");
		return 1;
	}
	for (int i = 0; i < outstanding; i++)
		ask(port, agent, buffer, next++);
	double begin = now(), end = begin + seconds;
	while (now() < end) {
		length = MAD_SIZE;
		if (umad_recv(port, buffer, &length, 1000) < 0 || umad_status(buffer))
			continue;
		answers++;
		ask(port, agent, buffer, next++);
	}
	printf("%.0f\n", answers / (now() - begin));
	umad_close_port(port);
	return 0;
}
