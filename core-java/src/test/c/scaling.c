/* Work queues, tables of them and queue pairs with a hash; what the last call asked for is kept as text. */
#include "nullverbs.h"

#include <stdio.h>
#include <string.h>

/* What verbs.h initializes in a new work queue, and its driver leaves as it is. */
#define BEGIN offsetof(struct ibv_wq, mutex)
#define END (offsetof(struct ibv_wq, events_completed) + sizeof(uint32_t))

static char text[1024];
static atomic_uint next_number = 0x700;

static int post_wq_recv(struct ibv_wq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct null_wq *wq = (struct null_wq *)base;

	for (int index = 0; wr; wr = wr->next, index++) {
		int error = base->state == IBV_WQS_RESET ? EINVAL : null_refused(index);

		if (error) {
			*bad_wr = wr;
			return error;
		}
		wq->last_id = wr->wr_id;
		if (base->state == IBV_WQS_RDY && null_complete(base->cq, wr->wr_id))
			return ENOMEM;
	}
	return 0;
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *init)
{
	struct null_wq *wq;

	snprintf(text, sizeof(text), "type=%d max_wr=%u max_sge=%u mask=%u flags=%u", init->wq_type, init->max_wr,
		 init->max_sge, init->comp_mask, init->comp_mask ? init->create_flags : 0);
	if (init->max_wr > 1000) {
		null_fail(EINVAL);
		return NULL;
	}
	wq = null_make(NULL_WQ, sizeof(*wq));
	memset(&wq->base, 0xee, sizeof(wq->base)); /* as memory of malloc can be */
	wq->base.context = context;
	wq->base.pd = init->pd;
	wq->base.cq = init->cq;
	wq->base.wq_num = next_number++;
	wq->base.state = IBV_WQS_RESET;
	wq->base.wq_type = init->wq_type;
	wq->base.post_recv = post_wq_recv;
	init->max_wr = (init->max_wr + 63) / 64 * 64;
	init->max_sge = 4;
	((struct null_pd *)init->pd)->users++;
	((struct null_cq *)init->cq)->users++;
	return &wq->base;
}

static int is_initialized(struct ibv_wq *wq)
{
	for (size_t i = BEGIN; i < END; i++)
		if (((char *)wq)[i])
			return 0;
	return !wq->wq_context;
}

static int modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	snprintf(text, sizeof(text), "mask=%u state=%d flags=%u/%u", attr->attr_mask, attr->wq_state, attr->flags,
		 attr->flags_mask);
	if (attr->attr_mask & IBV_WQ_ATTR_STATE) {
		if (attr->wq_state == IBV_WQS_RDY && wq->state == IBV_WQS_ERR)
			return -EINVAL; /* as mlx5 gives it */
		wq->state = attr->wq_state;
	}
	return 0;
}

static int destroy_wq(struct ibv_wq *base)
{
	struct ibv_pd *pd = base->pd;
	struct ibv_cq *cq = base->cq;
	int refused = !is_initialized(base) ? EFAULT : ((struct null_wq *)base)->users ? EBUSY : 0;

	null_await_acknowledged(base);
	if (!refused)
		refused = null_unmake(NULL_WQ, base);
	if (!refused) {
		((struct null_pd *)pd)->users--;
		((struct null_cq *)cq)->users--;
	}
	return refused;
}

static struct ibv_rwq_ind_table *create_table(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *init)
{
	struct null_table *table;
	unsigned size = 1U << init->log_ind_tbl_size;

	snprintf(text, sizeof(text), "mask=%u entries", init->comp_mask);
	if (size > sizeof(table->entries) / sizeof(table->entries[0])) {
		null_fail(EINVAL);
		return NULL;
	}
	table = null_make(NULL_TABLE, sizeof(*table));
	table->base.context = context;
	table->size = size;
	for (unsigned i = 0; i < size; i++) {
		size_t length = strlen(text);

		table->entries[i] = (struct null_wq *)init->ind_tbl[i];
		table->entries[i]->users++;
		snprintf(text + length, sizeof(text) - length, " %x", init->ind_tbl[i]->wq_num);
	}
	return &table->base;
}

static int destroy_table(struct ibv_rwq_ind_table *base)
{
	struct null_table table = *(struct null_table *)base;
	int refused = table.users ? EBUSY : null_unmake(NULL_TABLE, base);

	for (unsigned i = 0; i < table.size && !refused; i++)
		table.entries[i]->users--;
	return refused;
}

struct ibv_qp *null_create_spreading_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	struct ibv_rx_hash_conf *hash = &init->rx_hash_conf;
	struct null_qp *qp;

	snprintf(text, sizeof(text), "mask=%u type=%d send_cq=%d recv_cq=%d sizes=%u %u %u %u function=%d fields=%llx key=%d",
		 init->comp_mask, init->qp_type, !!init->send_cq, !!init->recv_cq, init->cap.max_send_wr,
		 init->cap.max_recv_wr, init->cap.max_send_sge, init->cap.max_recv_sge, hash->rx_hash_function,
		 (unsigned long long)hash->rx_hash_fields_mask, hash->rx_hash_key_len);
	for (int i = 0; i < hash->rx_hash_key_len; i++) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, i ? "%02x" : ":%02x", hash->rx_hash_key[i]);
	}
	if (init->qp_type != IBV_QPT_RAW_PACKET) {
		null_fail(EOPNOTSUPP);
		return NULL;
	}
	qp = null_make(NULL_QP, sizeof(*qp));
	qp->base.context = context;
	qp->base.pd = init->pd;
	qp->base.qp_num = next_number++;
	qp->base.qp_type = init->qp_type;
	qp->table = (struct null_table *)init->rwq_ind_tbl;
	qp->table->users++;
	((struct null_pd *)init->pd)->users++;
	return &qp->base;
}

int null_destroy_spreading_qp(struct null_qp *qp)
{
	struct null_table *table = qp->table;
	struct ibv_pd *pd = qp->base.pd;
	int refused = null_unmake(NULL_QP, qp);

	if (!refused) {
		table->users--;
		((struct null_pd *)pd)->users--;
	}
	return refused;
}

void null_add_scaling(struct verbs_context *context)
{
	context->create_wq = create_wq;
	context->modify_wq = modify_wq;
	context->destroy_wq = destroy_wq;
	context->create_rwq_ind_table = create_table;
	context->destroy_rwq_ind_table = destroy_table;
}

const char *null_scaling(void)
{
	return text;
}
