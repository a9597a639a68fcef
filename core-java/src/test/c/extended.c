/*
 * Extended completion queues and queue pairs. As in mlx5, mlx4, hns and efa, a spin lock is held from the start to the
 * end of a poll, and from the start to the completion of a post.
 */
#include "nullverbs.h"

#include <string.h>

/* IBV_QP_EX_WITH_FLUSH, from rdma-core 45 on. */
#define NULL_WITH_FLUSH (1ULL << 11)

static struct null_cq *cq_of(struct ibv_cq_ex *cq)
{
	return (struct null_cq *)cq;
}

static int start_poll(struct ibv_cq_ex *extended, struct ibv_poll_cq_attr *attr)
{
	struct null_cq *cq = cq_of(extended);

	(void)attr;
	if (null_options[NULL_BUSY_POLLS] > 0) {
		null_options[NULL_BUSY_POLLS]--;
		return EBUSY;
	}
	pthread_spin_lock(&cq->poll_lock);
	if (null_poll_cq(&cq->base, 1, &cq->current) == 0) {
		pthread_spin_unlock(&cq->poll_lock);
		return ENOENT;
	}
	extended->wr_id = cq->current.wr_id;
	extended->status = cq->current.status;
	return 0;
}

static void end_poll(struct ibv_cq_ex *cq)
{
	pthread_spin_unlock(&cq_of(cq)->poll_lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.dlid_path_bits;
}

struct ibv_cq_ex *null_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
	struct ibv_cq *made = ibv_create_cq(context, init->cqe, init->cq_context, init->channel, init->comp_vector);
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)made;
	int error;

	if (!made)
		return NULL;
	cq->start_poll = start_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
	error = null_tune_cq(cq, init);
	if (error) {
		ibv_destroy_cq(made);
		null_fail(error);
		return NULL;
	}
	return cq;
}

static struct null_qp *qp_of(struct ibv_qp_ex *qp)
{
	return (struct null_qp *)qp;
}

static void wr_start(struct ibv_qp_ex *qp)
{
	pthread_spin_lock(&qp_of(qp)->send_lock);
	qp_of(qp)->told = 0;
}

static int wr_complete(struct ibv_qp_ex *extended)
{
	struct null_qp *qp = qp_of(extended);
	int error = 0;

	for (unsigned i = 0; i < qp->told && !error; i++)
		error = null_refused(i); /* all or none */
	for (unsigned i = 0; i < qp->told && !error; i++)
		error = null_sent(qp, qp->told_id[i], qp->told_flags[i]);
	pthread_spin_unlock(&qp->send_lock);
	return error;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	qp_of(qp)->aborted++;
	pthread_spin_unlock(&qp_of(qp)->send_lock);
}

static void wr_send(struct ibv_qp_ex *extended)
{
	struct null_qp *qp = qp_of(extended);

	if (qp->told < NULL_TOLD) {
		qp->told_id[qp->told] = extended->wr_id;
		qp->told_flags[qp->told++] = extended->wr_flags;
	}
}

static void placed(struct ibv_qp_ex *extended, struct null_placed told)
{
	struct null_qp *qp = qp_of(extended);

	told.count = qp->placed.count + 1;
	qp->placed = told;
	wr_send(extended);
}

static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, const void *bytes)
{
	struct null_placed told = {.rkey = rkey, .address = address};

	memcpy(&told.value, bytes, sizeof(told.value));
	placed(qp, told);
}

/* From rdma-core 45 on. */
static void wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, size_t length, uint8_t type, uint8_t level)
{
	placed(qp, (struct null_placed){
		.rkey = rkey, .address = address, .value = length, .type = type, .level = level});
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	qp_of(qp)->placed.setters++;
	(void)lkey;
	(void)addr;
	(void)length;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
	(void)qp;
	(void)count;
	(void)list;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	qp_of(qp)->last_queue = remote_srqn;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	qp_of(qp)->placed.setters++;
	memcpy(qp_of(qp)->inlined, addr, length < sizeof(qp_of(qp)->inlined) ? length : sizeof(qp_of(qp)->inlined));
}

/* The rest of a queue pair's memory is as malloc left it: what a release lacks isn't there to be called. */
static void set_placing(struct ibv_qp_ex *qp, uint64_t asked)
{
	void (*flush)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t) = wr_flush;

	memset((char *)qp + offsetof(struct ibv_qp_ex, wr_atomic_write), 0xee, 2 * sizeof(void *));
	if (asked & IBV_QP_EX_WITH_ATOMIC_WRITE)
		qp->wr_atomic_write = wr_atomic_write;
	if (asked & NULL_WITH_FLUSH)
		memcpy((char *)qp + offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *), &flush, sizeof(flush));
}

struct ibv_qp *null_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	struct ibv_qp_init_attr plain;
	struct ibv_qp_ex *made;
	uint64_t asked = init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? init->send_ops_flags : 0;
	uint64_t usual = 2 * IBV_QP_EX_WITH_SEND_WITH_INV - 1;

	if (init->qp_type == IBV_QPT_XRC_RECV) {
		if (init->comp_mask == IBV_QP_INIT_ATTR_XRCD)
			return null_make_xrc_receiver(context, init->xrcd, 0x4711);
		null_fail(EINVAL);
		return NULL;
	}
	if (init->comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH))
		return null_create_spreading_qp(context, init);
	if (init->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
		usual |= IBV_QP_EX_WITH_TSO;
	if (asked & ~(usual | (null_options[NULL_PLACES] >= 44 ? IBV_QP_EX_WITH_ATOMIC_WRITE : 0)
		      | (null_options[NULL_PLACES] >= 45 ? NULL_WITH_FLUSH : 0))) {
		null_fail(EOPNOTSUPP);
		return NULL;
	}
	memcpy(&plain, init, sizeof(plain)); /* the extended structure begins with the plain one's members */
	made = (struct ibv_qp_ex *)ibv_create_qp(init->pd, &plain);
	if (!made)
		return NULL;
	made->wr_start = wr_start;
	made->wr_complete = wr_complete;
	made->wr_abort = wr_abort;
	made->wr_send = wr_send;
	made->wr_set_sge = wr_set_sge;
	made->wr_set_xrc_srqn = wr_set_xrc_srqn;
	made->wr_set_sge_list = wr_set_sge_list;
	made->wr_set_inline_data = wr_set_inline_data;
	set_placing(made, asked);
	if (asked & IBV_QP_EX_WITH_TSO)
		made->wr_send_tso = null_wr_send_tso;
	qp_of(made)->is_extended = !!asked;
	return &made->qp_base;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return ((struct null_qp *)qp)->is_extended ? (struct ibv_qp_ex *)qp : NULL;
}

int null_last_queue(struct ibv_qp *qp)
{
	return ((struct null_qp *)qp)->last_queue;
}

const struct null_placed *null_placed(struct ibv_qp *qp)
{
	return &((struct null_qp *)qp)->placed;
}

const char *null_inlined(struct ibv_qp *qp)
{
	return ((struct null_qp *)qp)->inlined;
}

int null_aborted(struct ibv_qp *qp)
{
	return ((struct null_qp *)qp)->aborted;
}
