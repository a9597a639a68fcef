/*
 * A librdmacm that connects nothing: event channels, ids, events of the program and look-ups of addresses. Built with
 * -DNULL_RELEASE=44 it lacks what rdma-core 60 brought, and with -DNULL_KERNEL=0 the kernel below it does not know it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef NULL_RELEASE
#define NULL_RELEASE 60
#endif
#ifndef NULL_KERNEL
#define NULL_KERNEL 1
#endif
#define ADDRINFO_RESOLVED 16
#define USER 18

struct channel {
	struct rdma_event_channel channel; /* its descriptor is the end of a pipe that events are read from */
	int writes;
};

struct id {
	struct rdma_cm_id id;
	struct rdma_addrinfo *found;
};

static atomic_int live;

/* Returns how many channels, ids, events and addresses there are. */
int null_live(void)
{
	return live;
}

static void *made(size_t size)
{
	live++;
	return calloc(1, size);
}

static void gone(void *thing)
{
	live--;
	free(thing);
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *channel = made(sizeof(*channel));
	int ends[2];

	if (pipe(ends)) {
		gone(channel);
		return NULL;
	}
	channel->channel.fd = ends[0];
	channel->writes = ends[1];
	return &channel->channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	while (read(channel->fd, &event, sizeof(event)) == sizeof(event)) /* it does not block any more */
		gone(event);
	close(channel->fd);
	close(((struct channel *)channel)->writes);
	gone(channel);
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	return read(channel->fd, event, sizeof(*event)) == sizeof(*event) ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	gone(event);
	return 0;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps)
{
	struct id *new = made(sizeof(*new));

	new->id.channel = channel;
	new->id.context = context;
	new->id.ps = ps;
	*id = &new->id;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	gone(info);
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct id *mine = (struct id *)id;

	if (mine->found)
		rdma_freeaddrinfo(mine->found);
	gone(mine);
	return 0;
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	id->channel = channel;
	return 0;
}

struct ibv_context **rdma_get_devices(int *count)
{
	static struct ibv_device devices[] = {{.name = "null0"}, {.name = "null1"}};
	static struct ibv_context contexts[] = {{.device = devices}, {.device = devices + 1}};
	struct ibv_context **list = made(3 * sizeof(*list));

	list[0] = contexts;
	list[1] = contexts + 1;
	*count = 1; /* null1 is there for a caller that reads on */
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	gone(list);
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **result)
{
	struct {
		struct rdma_addrinfo info;
		struct sockaddr_in address;
	} *found;

	if (!node || strcmp(node, "10.0.0.1"))
		return -2; /* EAI_NONAME */
	found = made(sizeof(*found));
	found->address.sin_family = AF_INET;
	found->address.sin_addr.s_addr = htonl(0x0a000001);
	found->address.sin_port = htons(atoi(service));
	found->info.ai_port_space = hints->ai_port_space;
	found->info.ai_qp_type = hints->ai_qp_type;
	found->info.ai_dst_len = sizeof(found->address);
	found->info.ai_dst_addr = (struct sockaddr *)&found->address;
	*result = &found->info;
	return 0;
}

#if NULL_RELEASE >= 60
static int raised(struct rdma_cm_id *id, int type, int status, uint64_t argument)
{
	struct rdma_cm_event *event = made(sizeof(*event));

	event->id = id;
	event->event = type;
	event->status = status;
	memcpy(&event->param, &argument, sizeof(argument));
	return write(((struct channel *)id->channel)->writes, &event, sizeof(event)) == sizeof(event) ? 0 : -1;
}

static int refused(int error)
{
	errno = error;
	return -1;
}

int rdma_write_cm_event(struct rdma_cm_id *id, int event, int status, uint64_t argument)
{
	return NULL_KERNEL && event == USER ? raised(id, USER, status, argument) : refused(EINVAL);
}

int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints)
{
	struct id *mine = (struct id *)id;
	int result;

	if (mine->found)
		return refused(EBUSY);
	result = rdma_getaddrinfo(node, service, hints, &mine->found);
	if (result)
		return refused(result); /* as librdmacm does it, which takes this number for an errno */
	if (!NULL_KERNEL) {
		rdma_freeaddrinfo(mine->found);
		mine->found = NULL;
		return refused(-1); /* the same for an event that the kernel does not take */
	}
	return raised(id, ADDRINFO_RESOLVED, 0, 0);
}

int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	struct id *mine = (struct id *)id;

	if (!mine->found)
		return refused(ENOENT);
	*info = mine->found;
	mine->found = NULL;
	return 0;
}
#endif
