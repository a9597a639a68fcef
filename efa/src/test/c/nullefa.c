/* Stands in for libefa.so.1 over libnullverbs: what kverbs calls, noted in a text. */
#include "driver/driver.h"

#include <infiniband/efadv.h>
#include <stdbool.h>
#include <string.h>

static int refused(void)
{
	if (driver_options[DRIVER_FOREIGN])
		errno = EOPNOTSUPP;
	else if (driver_options[DRIVER_REFUSE])
		errno = driver_options[DRIVER_REFUSE];
	return driver_options[DRIVER_FOREIGN] ? EOPNOTSUPP : driver_options[DRIVER_REFUSE];
}

int efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr, uint32_t length)
{
	driver_note("efadv_query_device %s length=%u", context->device->name, length);
	if (driver_options[DRIVER_FOREIGN])
		return EOPNOTSUPP;
	memset(attr, 0, length);
	attr->max_sq_wr = 4096;
	attr->max_rq_wr = 32768;
	attr->max_sq_sge = 2;
	attr->max_rq_sge = 0xfffe;
	attr->inline_buf_size = 32;
	attr->device_caps = driver_options[DRIVER_CAPS];
	attr->max_rdma_size = 1 << 30;
	return 0;
}

int efadv_query_ah(struct ibv_ah *ah, struct efadv_ah_attr *attr, uint32_t length)
{
	driver_note("efadv_query_ah %s length=%u", ah->context->device->name, length);
	if (refused())
		return refused();
	attr->comp_mask = 0;
	attr->ahn = 0xfedc;
	return 0;
}

/* struct efadv_cq as of rdma-core 52, which adds the last member. */
static struct {
	struct efadv_cq base;
	bool (*wc_is_unsolicited)(struct efadv_cq *cq);
} fields;

static struct null_cq *polled;

static int read_sgid(struct efadv_cq *cq, union ibv_gid *gid)
{
	(void)cq;
	if (polled->current.wr_id % 2) /* a known sender */
		return -ENOENT;
	memset(gid, 0x20 + (int)polled->current.wr_id, sizeof(*gid));
	return 0;
}

static bool is_unsolicited(struct efadv_cq *cq)
{
	(void)cq;
	return polled->current.wr_id >= 4;
}

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *init,
				  struct efadv_cq_init_attr *efa, uint32_t length)
{
	struct ibv_cq_ex *cq;

	driver_note("efadv_create_cq cqe=%u efa=0x%lx comp_mask=%lu length=%u", init->cqe, (unsigned long)efa->wc_flags,
		    (unsigned long)efa->comp_mask, length);
	if (refused())
		return NULL;
	cq = null_create_cq_ex(context, init);
	if (!cq)
		return NULL;
	memset(&fields, 0xee, sizeof(fields)); /* what was not asked for is not there to be called */
	if (efa->wc_flags & 1)
		fields.base.wc_read_sgid = read_sgid;
	if (efa->wc_flags & 2)
		fields.wc_is_unsolicited = is_unsolicited;
	polled = (struct null_cq *)cq;
	return cq;
}

struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq)
{
	return (struct null_cq *)cq == polled ? &fields.base : NULL;
}

static void set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t number, uint32_t qkey)
{
	driver_note("ud_addr type=0x%x of=%s number=0x%x qkey=0x%x", qp->qp_base.qp_type, ah->context->device->name,
		    number, qkey);
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
				  struct efadv_qp_init_attr *efa, uint32_t length)
{
	struct ibv_qp *qp;

	driver_note("efadv_create_qp_ex type=0x%x comp_mask=0x%x ops=0x%lx efa=%u comp_mask=%lu length=%u", init->qp_type,
		    init->comp_mask, (unsigned long)init->send_ops_flags, efa->driver_qp_type,
		    (unsigned long)efa->comp_mask, length);
	if (refused())
		return NULL;
	qp = null_create_qp_ex(context, init);
	if (!qp)
		return NULL;
	driver_trace(qp, init->send_ops_flags);
	((struct ibv_qp_ex *)qp)->wr_set_ud_addr = set_ud_addr;
	return qp;
}
