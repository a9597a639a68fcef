/*
 * libnullverbs: takes the place of libibverbs.so.1 where there is no RDMA. One device, null0, whose objects are real C
 * structures and whose queues move nothing: what is measured or counted over it is the caller's own doing.
 *
 * All functions that kverbs calls are here but _ibv_query_gid_table, ibv_is_fork_initialized, ibv_query_qp_data_in_order
 * and ibv_query_port_speed (it is here with -DNULL_RELEASE=62), which are left out so that a missing symbol can be
 * tested. With -DNULL_RELEASE=22 it has the symbols of rdma-core 22
 * alone, and more GIDs; what a kernel says of those in sysfs stands in the folder that the environment's NULL_SYSFS
 * names. Otherwise it has those of rdma-core 32, and ibv_reg_dmabuf_mr of 34. Nothing here sets errno to 0, as nothing in rdma-core does. The null_ functions at the end are the controls of
 * the tests and benchmarks; any thread may call them.
 *
 *   gcc -O2 -shared -fPIC -o libnullverbs.so *.c
 */
#ifndef NULLVERBS_H
#define NULLVERBS_H

#ifndef NULL_RELEASE
#define NULL_RELEASE 32
#endif

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum null_kind {
	NULL_CONTEXT,
	NULL_PD,
	NULL_MR,
	NULL_MW,
	NULL_CHANNEL,
	NULL_CQ,
	NULL_SRQ,
	NULL_QP,
	NULL_AH,
	NULL_TD,
	NULL_DM,
	NULL_XRCD,
	NULL_FLOW,
	NULL_COUNTERS,
	NULL_WQ,
	NULL_TABLE,
	NULL_ACTION,
	NULL_KINDS
};

enum null_option {
	NULL_EXTENDED,  /* 1: contexts opened from now on have the extension in front (struct verbs_context) */
	NULL_COMPLETE,  /* 1: each signaled send and each receive makes a completion at once */
	NULL_ENDLESS,   /* 1: every poll gives as many completions as it asks for, made up */
	NULL_REFUSE_AT, /* index of the work request that each post refuses; -1: none */
	NULL_REFUSE_ERRNO,
	NULL_KEEP_KIND, /* the enum null_kind that can't be destroyed; -1: none */
	NULL_KEEP_ERRNO,
	NULL_MUTE,      /* 1: what fails leaves errno as it was, as some drivers do */
	NULL_NAMELESS,  /* 1: a refused post doesn't say which request it refused */
	NULL_LOCKS,     /* 1: a post takes its CQ's lock, as in mlx5, and a poll that of the CQ's last queue pair, as in efa */
	NULL_WAIT,      /* 1: posts and polls wait, as a system call may, until this is 0; the first that waits makes it 2 */
	NULL_REFUSE_MOVE, /* errno that ibv_rereg_mr fails with; 0: none */
	NULL_CLOCKLESS,   /* 1: ibv_query_rt_values_ex succeeds and gives no value */
	NULL_FORK_ERRNO,  /* what ibv_fork_init answers */
	NULL_BUSY_POLLS,  /* how many of the next extended polls fail with EBUSY, as mlx5 while its clock is written */
	NULL_PLACES,    /* the release that atomic write and flush are as in: 44 or 45, on a kernel with both; 0: neither */
	NULL_LACKS,     /* errno of the calls that a driver or a kernel can lack; 0: they work */
	NULL_TRAITS,    /* bits of enum null_trait */
	NULL_MIGRATES,  /* 1: the attributes of the device show automatic path migration; 2: those of its port; 3: both */
	NULL_LATE,      /* 1: a poll takes only completions that were there at the poll before */
	NULL_OPTIONS
};

/* How the device resembles that of a driver. Those of a context count for contexts opened from now on. */
enum null_trait {
	NULL_FOREIGN = 1,   /* the calls that a driver has are not of this library; they must not be made */
	NULL_BARE = 2,      /* the attributes show no device memory, no limits of the rate, and no XRC */
	NULL_LIKE_MLX4 = 4, /* a completion has either a timestamp or the sender's LID and service level */
	NULL_LIKE_MANA = 8, /* device memory has no functions for copies, but what malloc had there */
	NULL_LIKE_RXE = 16, /* advice goes by the library's own function for the kernel's call */
};

/* So many requests an extended post may have. */
#define NULL_TOLD 64

/* Every object begins with its C structure, and is made by null_make and ended by null_unmake. */
struct null_td {
	struct ibv_td base;
	atomic_int users;
};

struct null_pd {
	struct ibv_pd base;
	atomic_int users;
	struct null_pd *parent; /* of a parent domain, as is the next */
	struct null_td *td;
	void *(*alloc)(struct ibv_pd *, void *, size_t, size_t, uint64_t); /* of one with an allocator, as the next two */
	void (*free)(struct ibv_pd *, void *, void *, uint64_t);
	void *pd_context;
};

struct null_mr {
	struct ibv_mr base;
	atomic_int *parent; /* the count of regions of its device memory; NULL for others */
};

struct null_mw {
	struct ibv_mw base;
	struct ibv_mw_bind_info bound;
};

/* A queue of what waits to be read, with a descriptor that is readable as long as it isn't empty. */
struct null_events {
	pthread_mutex_t lock;
	int fd;
	unsigned count;
	int of_cqs; /* on a channel: then element.cq is all that an event has */
	struct ibv_async_event waiting[64];
};

struct null_channel {
	struct ibv_comp_channel base;
	struct null_events events;
	atomic_int users;
};

struct null_cq {
	union {
		struct ibv_cq base;
		struct ibv_cq_ex extended;
	};
	atomic_int users;
	pthread_spinlock_t poll_lock; /* held from start_poll to end_poll, as mlx5, mlx4 and hns hold theirs */
	struct null_qp *last_qp;
	struct ibv_wc current;   /* between start_poll and end_poll */
	struct null_pd *domain;  /* the parent domain that it counts in */
	unsigned flags;          /* enum ibv_create_cq_attr_flags */
	int armed;               /* under base.mutex, like all below */
	unsigned events_given;
	unsigned head, count;
	unsigned late; /* how many of them no poll has missed yet */
	struct ibv_wc *ring;
};

struct null_xrcd {
	struct ibv_xrcd base;
	ino_t inode; /* 0: of no file */
	atomic_int users;
};

struct null_srq {
	struct ibv_srq base;
	struct ibv_srq_attr attr;
	atomic_int users;
	uint64_t last_id;
	struct null_xrcd *xrcd; /* of a queue of XRC, as the next two */
	struct null_cq *cq;
	uint32_t number;
};

/* The last atomic write or flush that a queue pair was told, and the setters that were called after it. */
struct null_placed {
	uint64_t count, rkey, address, value; /* value: the 8 bytes to write, or the length to flush */
	uint64_t type, level, setters;
};

struct null_wq {
	struct ibv_wq base;
	atomic_int users; /* entries of tables */
	uint64_t last_id;
};

struct null_table {
	struct ibv_rwq_ind_table base;
	atomic_int users;
	unsigned size;
	struct null_wq *entries[16];
};

struct null_qp {
	union {
		struct ibv_qp base;
		struct ibv_qp_ex extended;
		char room[offsetof(struct ibv_qp_ex, wr_atomic_write) + 2 * sizeof(void *)]; /* wr_flush, of release 45 */
	};
	struct null_placed placed;
	char inlined[64]; /* the last inline data */
	int is_extended;
	pthread_spinlock_t send_lock; /* held from wr_start to wr_complete or wr_abort */
	unsigned told;                /* requests of the post that is under way, under send_lock */
	uint64_t told_id[NULL_TOLD];
	unsigned told_flags[NULL_TOLD];
	atomic_uint aborted;
	struct ibv_qp_attr attr;
	int signal_all;
	struct null_xrcd *xrcd;  /* of one that receives XRC */
	uint32_t last_queue;     /* the shared receive queue that the last request named */
	uint64_t last_id;        /* what a post stores, so that the compiler keeps its loop */
	struct null_table *table; /* of one that spreads what it receives */
	void *queue;             /* memory of the program; NULL if it gave none */
	uint32_t ece_options;
	struct ibv_qp_rate_limit_attr rate;
};

struct null_context {
	struct null_events events;
	atomic_int users;
	struct verbs_context extension; /* the context is its last member; abi_compat says whether the rest counts */
};

#ifndef NULL_RELEASE
#define NULL_RELEASE 32
#endif

extern atomic_int null_options[NULL_OPTIONS];

void *null_make(enum null_kind kind, size_t size);
int null_unmake(enum null_kind kind, void *object);
/* Waits until every asynchronous event of an object that was taken is acknowledged, as the real destroy functions do. */
void null_await_acknowledged(void *element);
int null_fail(int error);
struct null_context *null_context_of(struct ibv_context *context);

int null_events_open(struct null_events *events);
int null_events_put(struct null_events *events, struct ibv_async_event event);
int null_events_take(struct null_events *events, struct ibv_async_event *event);
void null_events_forget_cq(struct null_events *events, struct ibv_cq *cq);

int null_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int null_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int null_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int null_refused(int index);
int null_sent(struct null_qp *qp, uint64_t wr_id, unsigned flags);
int null_poll_cq(struct ibv_cq *cq, int wanted, struct ibv_wc *wc);
int null_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_mw *null_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int null_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int null_dealloc_mw(struct ibv_mw *mw);
struct ibv_mr *null_alloc_null_mr(struct ibv_pd *pd);
struct ibv_dm *null_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int null_free_dm(struct ibv_dm *dm);
struct ibv_mr *null_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned access);
int null_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *entries,
		   uint32_t count);
struct ibv_cq_ex *null_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init);
struct ibv_xrcd *null_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init);
int null_close_xrcd(struct ibv_xrcd *xrcd);
int null_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad);
struct ibv_srq *null_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init);
int null_get_srq_num(struct ibv_srq *srq, uint32_t *number);
struct ibv_qp *null_make_xrc_receiver(struct ibv_context *context, struct ibv_xrcd *xrcd, uint32_t number);
struct ibv_qp *null_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
struct ibv_qp *null_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);

int null_tune_cq(struct ibv_cq_ex *cq, struct ibv_cq_init_attr_ex *init);
void null_tune_context(struct verbs_context *context);

/* How often the extended attributes of the device were queried since the last reset. */
int null_queries(void);
/* Returns whether a call is to be refused as one that the driver or the kernel lacks; sets errno. */
int null_lacks(void);

/* The flags that a completion queue was made with. */
int null_cq_flags(struct ibv_cq *cq);
/* The limit of a queue pair's rate: the rate, and 16 bits each of the burst and the packet. */
uint64_t null_rate(struct ibv_qp *qp);

/* Puts the functions of flow rules and their counters into a context. */
void null_add_flows(struct verbs_context *context);
/* What the last ibv_create_flow was asked for, as text. */
const char *null_flow(void);

/* Puts the functions of work queues and their tables into a context. */
void null_add_scaling(struct verbs_context *context);
struct ibv_qp *null_create_spreading_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);
int null_destroy_spreading_qp(struct null_qp *qp);
/* What the last call on work queues, tables or queue pairs with a table was asked for, as text. */
const char *null_scaling(void);

/* Takes memory for a queue pair from the allocator of its domain, if it has one; 0 or errno. And gives it back. */
int null_lend(struct null_pd *pd, struct null_qp *qp);
void null_give_back(struct null_pd *pd, void *queue);
void null_wr_send_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss);
/* Puts the functions of flow actions into a context. */
void null_add_offloads(struct verbs_context *context);
/* What the last send in segments or the last flow action was asked for, as text. */
const char *null_offload(void);

/* Sets an option; all are 0 or none at first. */
void null_set(enum null_option option, int value);
/* Sets all options back and forgets the log. */
void null_reset(void);
/* How many objects of a kind there are now. */
int null_live(enum null_kind kind);
/* The address of the object that was destroyed as the index-th since the last reset; 0 if not so many were. */
uint64_t null_destroyed(unsigned index);
/* Puts a successful completion with this id into a queue; ENOSPC if it is full. */
int null_complete(struct ibv_cq *cq, uint64_t wr_id);
/* The same with an enum ibv_wc_opcode. */
int null_complete_as(struct ibv_cq *cq, uint64_t wr_id, int opcode);
/* The advice, the flags, the number of entries and their bytes in the last call of ibv_advise_mr. */
uint64_t null_advised(unsigned index);
uint64_t null_tagged(unsigned index);
/* How many extended posts were given up on a queue pair. */
int null_aborted(struct ibv_qp *qp);
/* The flags with which an XRC domain was opened last. */
int null_xrcd_flags(void);
/* The number of the shared receive queue that the last request of a queue pair named. */
int null_last_queue(struct ibv_qp *qp);
/* What a queue pair was told last of an atomic write or a flush. */
const struct null_placed *null_placed(struct ibv_qp *qp);
/* The inline data that a queue pair was told last. */
const char *null_inlined(struct ibv_qp *qp);
/* Raises an asynchronous event. */
int null_raise(struct ibv_context *context, enum ibv_event_type type, void *element);

#endif
