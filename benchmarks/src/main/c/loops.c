/*
 * Does in C what the JMH benchmarks of this module do, over the same libnullverbs.so. Prints a line for each benchmark:
 * its name, and the median and the lowest of its repetitions, in nanoseconds of the thread's processor time: on a
 * machine that others use, a clock would count them, too. An argument is the seconds of a repetition, in place of 0.2.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REPETITIONS 7
#define LIST 16

void null_set(int option, int value); /* nullverbs.h */
#define NULL_ENDLESS 2

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char buffer[4096];
static struct ibv_wc wc[LIST];
static struct ibv_send_wr sends[LIST];
static struct ibv_sge entries[LIST];
static volatile uint64_t sink;
static double wanted = 0.2;

/* Without this gcc would keep the request in registers between calls; a program with several requests cannot do so. */
#define forget_memory() __asm__ volatile("" ::: "memory")

static void fill_write(int i, uint64_t id)
{
	struct ibv_send_wr *wr = &sends[i];

	entries[i] = (struct ibv_sge){.addr = (uintptr_t)buffer, .length = 64, .lkey = mr->lkey};
	wr->wr_id = id;
	wr->next = NULL;
	wr->sg_list = &entries[i];
	wr->num_sge = 1;
	wr->opcode = IBV_WR_RDMA_WRITE;
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->wr.rdma.remote_addr = 0x1000;
	wr->wr.rdma.rkey = 7;
}

static void check(int result)
{
	if (result) {
		fprintf(stderr, "loops: a post was refused\n");
		exit(1);
	}
}

static void empty_poll(long rounds)
{
	for (long i = 0; i < rounds; i++)
		sink = ibv_poll_cq(cq, LIST, wc);
}

static void poll_and_decode(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		int count = ibv_poll_cq(cq, LIST, wc);
		uint64_t sum = 0;

		for (int j = 0; j < count; j++)
			sum += wc[j].wr_id + wc[j].status + wc[j].opcode + wc[j].byte_len + wc[j].qp_num;
		sink = sum;
	}
}

static void prebuilt_write(long rounds)
{
	struct ibv_send_wr *bad;

	fill_write(0, 1);
	for (long i = 0; i < rounds; i++)
		check(ibv_post_send(qp, &sends[0], &bad));
}

static void write_one(long rounds)
{
	struct ibv_send_wr *bad;

	for (long i = 0; i < rounds; i++) {
		fill_write(0, i);
		forget_memory();
		check(ibv_post_send(qp, &sends[0], &bad));
	}
}

static void write_list(long rounds)
{
	struct ibv_send_wr *bad;

	for (long i = 0; i < rounds; i++) {
		for (int j = 0; j < LIST; j++) {
			fill_write(j, j);
			if (j)
				sends[j - 1].next = &sends[j];
		}
		forget_memory();
		check(ibv_post_send(qp, &sends[0], &bad));
	}
}

static void post_receive(long rounds)
{
	struct ibv_recv_wr *bad;

	for (long i = 0; i < rounds; i++) {
		struct ibv_sge entry = {.addr = (uintptr_t)buffer, .length = 64, .lkey = mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &entry, .num_sge = 1};

		check(ibv_post_recv(qp, &wr, &bad));
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static void measure(const char *name, void (*loop)(long))
{
	double nanos[REPETITIONS];
	long rounds = 1000;
	double start, took;

	do { /* repeats until the time is over */
		rounds *= 2;
		start = seconds();
		loop(rounds);
		took = seconds() - start;
	} while (took < wanted);
	for (int i = 0; i < REPETITIONS; i++) {
		start = seconds();
		loop(rounds);
		nanos[i] = (seconds() - start) * 1e9 / rounds;
	}
	qsort(nanos, REPETITIONS, sizeof(nanos[0]), ascending);
	printf("%s %.2f %.2f\n", name, nanos[REPETITIONS / 2], nanos[0]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = ibv_open_device(ibv_get_device_list(NULL)[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC, .cap = {128, 128, 1, 1, 0}};

	if (argc > 1)
		wanted = atof(argv[1]);
	cq = ibv_create_cq(context, 256, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	measure("emptyPoll", empty_poll);
	measure("prebuiltWrite", prebuilt_write);
	measure("write", write_one);
	measure("writeList", write_list);
	measure("postReceive", post_receive);
	null_set(NULL_ENDLESS, 1);
	measure("pollAndDecode", poll_and_decode);
	return 0;
}
