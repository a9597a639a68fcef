/* The device, its context and what can be asked of them, the count of live objects, and the options. */
#include "nullverbs.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#undef ibv_query_port

#define LOGGED 1024
#define GUID 0x0200000000000001ULL

atomic_int null_options[NULL_OPTIONS] = {[NULL_REFUSE_AT] = -1, [NULL_KEEP_KIND] = -1};

static atomic_int live[NULL_KINDS];
static _Atomic uint64_t destroyed[LOGGED];
static atomic_uint destroyed_count;
static atomic_int queries;
/*
 * Objects that were destroyed, of each kind. The next one is at the address of the last: what malloc does now and then,
 * and the worst case for a caller that holds on to an address for too long.
 */
static struct spare {
	struct spare *next;
} *spares[NULL_KINDS];
static pthread_mutex_t spares_lock = PTHREAD_MUTEX_INITIALIZER;
/*
 * Asynchronous events that were taken and not acknowledged. Real ones are counted in each object; here those of objects
 * whose addresses have the same hash are counted together, which is too strict only for a caller that acknowledges
 * late.
 */
static unsigned taken[LOGGED];
static pthread_mutex_t taken_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t acknowledged = PTHREAD_COND_INITIALIZER;
static struct ibv_device null_device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = "null0",
	.dev_name = "uverbs-null0",
};

void null_set(enum null_option option, int value)
{
	null_options[option] = value;
}

void null_reset(void)
{
	for (int i = 0; i < NULL_OPTIONS; i++)
		null_options[i] = i == NULL_REFUSE_AT || i == NULL_KEEP_KIND ? -1 : 0;
	for (int i = 0; i < LOGGED; i++)
		destroyed[i] = 0;
	destroyed_count = 0;
	queries = 0;
}

int null_queries(void)
{
	return queries;
}

int null_lacks(void)
{
	if (null_options[NULL_LACKS])
		null_fail(null_options[NULL_LACKS]);
	return null_options[NULL_LACKS];
}

int null_live(enum null_kind kind)
{
	return live[kind];
}

uint64_t null_destroyed(unsigned index)
{
	return index < LOGGED ? destroyed[index] : 0;
}

void *null_make(enum null_kind kind, size_t size)
{
	struct spare *object;

	pthread_mutex_lock(&spares_lock);
	object = spares[kind];
	if (object)
		spares[kind] = object->next;
	pthread_mutex_unlock(&spares_lock);
	if (!object)
		object = malloc(size);
	if (object) {
		memset(object, 0, size);
		live[kind]++;
	}
	return object;
}

/* A failure that says why, unless the test wants none of that. */
int null_fail(int error)
{
	if (!null_options[NULL_MUTE])
		errno = error;
	return -1;
}

/* Ends an object, or gives the errno of its refusal. */
int null_unmake(enum null_kind kind, void *object)
{
	unsigned index;

	if (null_options[NULL_KEEP_KIND] == (int)kind)
		return null_options[NULL_KEEP_ERRNO];
	live[kind]--;
	index = destroyed_count++;
	if (index < LOGGED)
		destroyed[index] = (uintptr_t)object;
	pthread_mutex_lock(&spares_lock);
	((struct spare *)object)->next = spares[kind];
	spares[kind] = object;
	pthread_mutex_unlock(&spares_lock);
	return 0;
}

struct null_context *null_context_of(struct ibv_context *context)
{
	return (struct null_context *)((char *)context - offsetof(struct null_context, extension.context));
}

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(2, sizeof(*list));
	const char *sysfs = getenv("NULL_SYSFS");

	if (sysfs)
		snprintf(null_device.ibdev_path, sizeof(null_device.ibdev_path), "%s", sysfs);
	list[0] = &null_device;
	if (count)
		*count = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	(void)device;
	return htobe64(GUID);
}

#if NULL_RELEASE >= 32
static const char *const gids[] = {"::ffff:10.0.0.1"};
#else
static const char *const gids[] = {"fe80::1", "fe80::1", "::ffff:10.0.0.1", "::ffff:10.0.0.1", "::"};
#endif

static int fill_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	struct ibv_port_attr all = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_1024,
		.gid_tbl_len = sizeof(gids) / sizeof(*gids),
		.pkey_tbl_len = 1,
		.max_msg_sz = 0x800000,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
		.port_cap_flags = null_options[NULL_MIGRATES] & 2 ? IBV_PORT_AUTO_MIGR_SUP : 0,
	};

	(void)context;
	if (port != 1)
		return EINVAL;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return fill_port(context, port, (struct ibv_port_attr *)attr, 48);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	strcpy(attr->fw_ver, "0");
	attr->node_guid = htobe64(GUID);
	attr->phys_port_cnt = 1;
	attr->max_qp = attr->max_cq = attr->max_mr = attr->max_pd = 1 << 20;
	attr->max_qp_wr = attr->max_cqe = 1 << 16;
	attr->max_sge = 32;
	if (!(null_options[NULL_TRAITS] & NULL_BARE))
		attr->device_cap_flags = IBV_DEVICE_XRC;
	if (null_options[NULL_MIGRATES] & 1)
		attr->device_cap_flags |= IBV_DEVICE_AUTO_PATH_MIG;
	return 0;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	(void)input;
	queries++;
	memset(attr, 0, size);
	if (!(null_options[NULL_TRAITS] & NULL_BARE)) {
		attr->max_dm_size = 4096;
		attr->tso_caps.max_tso = 65536;
		attr->tso_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
		attr->packet_pacing_caps.qp_rate_limit_min = 1;
		attr->packet_pacing_caps.qp_rate_limit_max = UINT32_MAX;
	}
	if (null_options[NULL_PLACES]) /* IB_UVERBS_DEVICE_FLUSH_GLOBAL and ATOMIC_WRITE: the kernel's, whatever the library */
		attr->device_cap_flags_ex = 1ULL << 38 | 1ULL << 40;
	return ibv_query_device(context, &attr->orig_attr);
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	(void)context;
	if (port != 1 || index < 0 || index >= (int)(sizeof(gids) / sizeof(*gids)))
		return null_fail(EINVAL);
	return inet_pton(AF_INET6, gids[index], gid->raw) == 1 ? 0 : -1;
}

#if NULL_RELEASE >= 32
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t size)
{
	(void)flags;
	memset(entry, 0, size);
	if (ibv_query_gid(context, port, index, &entry->gid))
		return ENODATA;
	entry->gid_index = index;
	entry->port_num = port;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}
#endif

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index != 0)
		return null_fail(EINVAL);
	*pkey = 0xffff;
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	(void)context;
	if (port == 1 && pkey == 0xffff)
		return 0;
	return null_fail(EINVAL);
}

#if NULL_RELEASE >= 62
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	(void)context;
	if (getenv("NULL_SPEEDLESS"))
		return EOPNOTSUPP;
	*speed = 1000 * port;
	return 0;
}
#endif

/* As libibverbs has it for its drivers. */
int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *entries,
		      uint32_t count)
{
	return null_advise_mr(pd, advice, flags, entries, count);
}

/* Functions of another library in place of those that a driver has: their addresses are looked at. */
static void estrange(struct verbs_context *extension)
{
	extension->open_xrcd = (void *)(uintptr_t)getenv;
	extension->alloc_dm = (void *)(uintptr_t)getenv;
	extension->modify_qp_rate_limit = (void *)(uintptr_t)getenv;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct null_context *made = null_make(NULL_CONTEXT, sizeof(*made));
	struct ibv_context *context = &made->extension.context;

	if (null_events_open(&made->events)) {
		null_unmake(NULL_CONTEXT, made);
		return NULL;
	}
	context->device = device;
	context->cmd_fd = -1;
	context->async_fd = made->events.fd;
	context->num_comp_vectors = 1;
	pthread_mutex_init(&context->mutex, NULL);
	context->ops.post_send = null_post_send;
	context->ops.post_recv = null_post_recv;
	context->ops.post_srq_recv = null_post_srq_recv;
	context->ops.poll_cq = null_poll_cq;
	context->ops.req_notify_cq = null_req_notify_cq;
	context->ops.alloc_mw = null_alloc_mw;
	context->ops.bind_mw = null_bind_mw;
	context->ops.dealloc_mw = null_dealloc_mw;
	if (null_options[NULL_EXTENDED]) {
		context->abi_compat = __VERBS_ABI_IS_EXTENDED;
		made->extension.sz = sizeof(made->extension);
		null_add_offloads(&made->extension);
		null_add_flows(&made->extension);
		null_add_scaling(&made->extension);
		made->extension.query_port = fill_port;
		made->extension.open_xrcd = null_open_xrcd;
		made->extension.close_xrcd = null_close_xrcd;
		made->extension.create_srq_ex = null_create_srq_ex;
		made->extension.post_srq_ops = null_post_srq_ops;
		made->extension.get_srq_num = null_get_srq_num;
		made->extension.open_qp = null_open_qp;
		made->extension.query_device_ex = query_device_ex;
		made->extension.create_cq_ex = null_create_cq_ex;
		made->extension.create_qp_ex = null_create_qp_ex;
		null_tune_context(&made->extension);
		made->extension.alloc_null_mr = null_alloc_null_mr;
		made->extension.alloc_dm = null_alloc_dm;
		made->extension.free_dm = null_free_dm;
		made->extension.reg_dm_mr = null_reg_dm_mr;
		made->extension.advise_mr =
			null_options[NULL_TRAITS] & NULL_LIKE_RXE ? ibv_cmd_advise_mr : null_advise_mr;
		if (null_options[NULL_TRAITS] & NULL_FOREIGN)
			estrange(&made->extension);
	}
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	struct null_context *made = null_context_of(context);
	int fd = made->events.fd;
	int refused = made->users ? EBUSY : null_unmake(NULL_CONTEXT, made);

	if (!refused)
		close(fd);
	return refused ? null_fail(refused) : 0;
}

static unsigned *taken_of(void *element)
{
	return &taken[(uintptr_t)element / 16 % LOGGED];
}

static void count_taken(struct ibv_async_event *event, int difference)
{
	pthread_mutex_lock(&taken_lock);
	*taken_of(event->element.cq) += difference;
	pthread_cond_broadcast(&acknowledged);
	pthread_mutex_unlock(&taken_lock);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int result = null_events_take(&null_context_of(context)->events, event);

	if (!result)
		count_taken(event, 1);
	return result;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	count_taken(event, -1);
}

void null_await_acknowledged(void *element)
{
	pthread_mutex_lock(&taken_lock);
	while (*taken_of(element))
		pthread_cond_wait(&acknowledged, &taken_lock);
	pthread_mutex_unlock(&taken_lock);
}

int null_raise(struct ibv_context *context, enum ibv_event_type type, void *element)
{
	struct ibv_async_event event = {.event_type = type, .element.cq = element};

	return null_events_put(&null_context_of(context)->events, event);
}
