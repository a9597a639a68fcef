/*
 * Stands between ibsim and its clients, and gives each datagram of the fabric its delay:
 * delay PORT SIMULATOR_PORT MICROSECONDS
 *
 * Control messages pass at once. A client says in the one that connects at which port it receives, and learns its number n from the answer;
 * its datagrams go to PORT + 1 + n. A client that comes later takes the place of the one that had its number.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 10
#define QUEUE 65536
#define LONGEST 512
#define TYPE_AT 8
#define NUMBER_AT 16
#define CONNECT 1

struct client {
	int front, back; /* sockets towards the program and towards ibsim */
	struct sockaddr_in program;
};

struct waiting {
	int64_t due;
	int socket, length;
	struct sockaddr_in to;
	char bytes[LONGEST];
};

static struct client clients[CLIENTS];
static struct waiting queue[QUEUE]; /* a ring: all delays are equal, so that what came first is due first */
static unsigned head, tail;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static struct sockaddr_in local(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int bound(int port, int *actual)
{
	struct sockaddr_in at = local(port);
	socklen_t size = sizeof(at);
	int s = socket(AF_INET, SOCK_DGRAM, 0), room = 1 << 20;

	setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(s, (struct sockaddr *)&at, sizeof(at))) {
		perror("bind");
		exit(1);
	}
	getsockname(s, (struct sockaddr *)&at, &size);
	if (actual)
		*actual = ntohs(at.sin_port);
	return s;
}

/* Carries one control message and its answer. */
static void carry_control(int front, int back, int port, int simulator)
{
	struct sockaddr_in from, to = local(simulator);
	socklen_t size = sizeof(from);
	char bytes[LONGEST];
	int length = recvfrom(front, bytes, LONGEST, 0, (struct sockaddr *)&from, &size), type, number, own, s = -1;

	memcpy(&type, bytes + TYPE_AT, 4);
	memcpy(&number, bytes + NUMBER_AT, 4);
	if (type == CONNECT) {
		s = bound(0, &own);
		memcpy(bytes + NUMBER_AT, &own, 4);
	}
	sendto(back, bytes, length, 0, (struct sockaddr *)&to, sizeof(to));
	length = recv(back, bytes, LONGEST, 0);
	if (type == CONNECT) {
		struct client *c;
		int program = number;

		memcpy(&number, bytes + NUMBER_AT, 4);
		if (number < 0 || number >= CLIENTS) {
			close(s);
		} else {
			c = &clients[number];
			if (c->front)
				close(c->back);
			else
				c->front = bound(port + 1 + number, NULL);
			c->back = s;
			c->program = local(program);
		}
	}
	sendto(front, bytes, length, 0, (struct sockaddr *)&from, size);
}

static void take(int from, int through, struct sockaddr_in to, int64_t delay)
{
	struct waiting *w = &queue[head % QUEUE];

	w->length = recv(from, w->bytes, LONGEST, MSG_DONTWAIT);
	if (w->length < 0)
		return;
	w->due = now() + delay;
	w->socket = through;
	w->to = to;
	head++;
}

int main(int argc, char **argv)
{
	int port = argc == 4 ? atoi(argv[1]) : 0, simulator = argc == 4 ? atoi(argv[2]) : 0;
	int64_t delay = argc == 4 ? atoll(argv[3]) * 1000 : 0;

	if (port <= 0 || simulator <= 0) {
		fprintf(stderr, "usage: delay PORT SIMULATOR_PORT MICROSECONDS\n");
		return 2;
	}
	int control = bound(port, NULL), back = bound(0, NULL);

	for (;;) {
		struct pollfd ready[1 + 2 * CLIENTS] = {{control, POLLIN, 0}};
		struct timespec left = {1, 0};
		int64_t until = tail == head ? 1000000000ll : queue[tail % QUEUE].due - now();

		for (int i = 0; i < CLIENTS; i++) {
			ready[1 + 2 * i] = (struct pollfd){clients[i].front ? clients[i].front : -1, POLLIN, 0};
			ready[2 + 2 * i] = (struct pollfd){clients[i].front ? clients[i].back : -1, POLLIN, 0};
		}
		if (until < 0)
			until = 0;
		if (until < 1000000000ll)
			left = (struct timespec){0, until};
		ppoll(ready, 1 + 2 * CLIENTS, &left, NULL);
		if (ready[0].revents)
			carry_control(control, back, port, simulator);
		for (int i = 0; i < CLIENTS; i++) {
			struct client *c = &clients[i];

			if (ready[1 + 2 * i].revents)
				take(c->front, c->back, local(simulator + 1 + i), delay);
			if (ready[2 + 2 * i].revents)
				take(c->back, c->front, c->program, delay);
		}
		for (; tail != head && queue[tail % QUEUE].due <= now(); tail++) {
			struct waiting *w = &queue[tail % QUEUE];

			sendto(w->socket, w->bytes, w->length, 0, (struct sockaddr *)&w->to, sizeof(w->to));
		}
	}
}
