/* Domains, memory, addresses and queue pairs. A parent counts what was made from it and can't be destroyed before. */
#include "nullverbs.h"

#include <string.h>

#undef ibv_reg_mr

static atomic_uint next_number = 1;

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct null_pd *pd = null_make(NULL_PD, sizeof(*pd));

	pd->base.context = context;
	null_context_of(context)->users++;
	return &pd->base;
}

int ibv_dealloc_pd(struct ibv_pd *base)
{
	struct null_pd *pd = (struct null_pd *)base;
	struct null_context *context = null_context_of(base->context);
	struct null_pd *parent = pd->parent;
	struct null_td *td = pd->td;
	int refused = pd->users ? EBUSY : null_unmake(NULL_PD, pd);

	if (!refused)
		context->users--;
	if (!refused && parent)
		parent->users--;
	if (!refused && td)
		td->users--;
	return refused;
}

/* Ends a child of a domain. */
static int unmake_of(struct ibv_pd *pd, enum null_kind kind, void *object)
{
	int refused = null_unmake(kind, object);

	if (!refused)
		((struct null_pd *)pd)->users--;
	return refused;
}

static void *make_of(struct ibv_pd *pd, enum null_kind kind, size_t size)
{
	((struct null_pd *)pd)->users++;
	return null_make(kind, size);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = make_of(pd, NULL_MR, sizeof(struct null_mr));

	(void)access;
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->lkey = next_number++;
	mr->rkey = next_number++;
	return mr;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	(void)pd;
	(void)access;
	if (null_options[NULL_REFUSE_MOVE]) {
		null_fail(null_options[NULL_REFUSE_MOVE]);
		return IBV_REREG_MR_ERR_CMD;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
	}
	mr->rkey = next_number++;
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	atomic_int *parent = ((struct null_mr *)mr)->parent;
	int refused = unmake_of(mr->pd, NULL_MR, mr);

	if (!refused && parent)
		(*parent)--;
	return refused;
}

struct ibv_mw *null_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct null_mw *mw = make_of(pd, NULL_MW, sizeof(*mw));

	mw->base.context = pd->context;
	mw->base.pd = pd;
	mw->base.type = type;
	mw->base.rkey = next_number++ << 8;
	return &mw->base;
}

int null_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	((struct null_mw *)mw)->bound = bind->bind_info;
	mw->rkey = ibv_inc_rkey(mw->rkey);
	return 0;
}

int null_dealloc_mw(struct ibv_mw *mw)
{
	return unmake_of(mw->pd, NULL_MW, mw);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = make_of(pd, NULL_AH, sizeof(*ah));

	(void)attr;
	ah->context = pd->context;
	ah->pd = pd;
	return ah;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->port_num = port;
	attr->dlid = wc->slid;
	attr->is_global = 1;
	attr->grh.dgid = grh->sgid;
	return 0;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	return unmake_of(ah->pd, NULL_AH, ah);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct null_srq *srq = make_of(pd, NULL_SRQ, sizeof(*srq));

	srq->base.context = pd->context;
	srq->base.pd = pd;
	srq->attr = init->attr;
	srq->attr.srq_limit = 0; /* as real ones: ibv_modify_srq sets it (ibv_create_srq(3)) */
	return &srq->base;
}

int ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct null_srq *srq = (struct null_srq *)base;

	if (mask & IBV_SRQ_LIMIT)
		srq->attr.srq_limit = attr->srq_limit;
	if (mask & IBV_SRQ_MAX_WR)
		srq->attr.max_wr = attr->max_wr;
	return 0;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	*attr = ((struct null_srq *)srq)->attr;
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct null_xrcd *xrcd = ((struct null_srq *)srq)->xrcd;
	struct null_cq *cq = ((struct null_srq *)srq)->cq;
	int refused;

	if (((struct null_srq *)srq)->users)
		return EBUSY;
	null_await_acknowledged(srq);
	refused = unmake_of(srq->pd, NULL_SRQ, srq);
	if (!refused && xrcd) {
		xrcd->users--;
		cq->users--;
	}
	return refused;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	int sends_only = init->qp_type == IBV_QPT_XRC_SEND;
	struct null_qp *qp;

	if (sends_only && (init->recv_cq || init->srq || init->cap.max_recv_wr || init->cap.max_recv_sge)) {
		null_fail(EINVAL);
		return NULL;
	}
	qp = make_of(pd, NULL_QP, sizeof(*qp));
	if (null_lend((struct null_pd *)pd, qp)) {
		unmake_of(pd, NULL_QP, qp);
		null_fail(ENOMEM);
		return NULL;
	}
	qp->base.context = pd->context;
	qp->base.pd = pd;
	qp->base.send_cq = init->send_cq;
	qp->base.recv_cq = init->recv_cq;
	qp->base.srq = init->srq;
	qp->base.qp_num = next_number++ & 0xffffff;
	qp->base.qp_type = init->qp_type;
	qp->signal_all = init->sq_sig_all;
	qp->attr.cap = init->cap;
	pthread_spin_init(&qp->send_lock, PTHREAD_PROCESS_PRIVATE);
	((struct null_cq *)init->send_cq)->last_qp = qp;
	((struct null_cq *)init->send_cq)->users++;
	if (init->recv_cq)
		((struct null_cq *)init->recv_cq)->users++;
	if (init->srq)
		((struct null_srq *)init->srq)->users++;
	return &qp->base;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	struct null_qp *qp = (struct null_qp *)base;

	if (mask & IBV_QP_STATE)
		base->state = qp->attr.qp_state = attr->qp_state;
	if (mask & IBV_QP_AV)
		qp->attr.ah_attr = attr->ah_attr;
	if (mask & IBV_QP_ALT_PATH) {
		qp->attr.alt_ah_attr = attr->alt_ah_attr;
		qp->attr.alt_pkey_index = attr->alt_pkey_index;
		qp->attr.alt_port_num = attr->alt_port_num;
		qp->attr.alt_timeout = attr->alt_timeout;
	}
	if (mask & IBV_QP_PATH_MIG_STATE)
		qp->attr.path_mig_state = attr->path_mig_state;
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	(void)mask;
	memset(init, 0, sizeof(*init));
	*attr = ((struct null_qp *)qp)->attr;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct null_cq *send_cq = (struct null_cq *)qp->send_cq;
	struct null_cq *recv_cq = (struct null_cq *)qp->recv_cq;
	struct null_srq *srq = (struct null_srq *)qp->srq;
	struct null_xrcd *xrcd = ((struct null_qp *)qp)->xrcd;
	struct ibv_pd *pd = qp->pd;
	void *queue = ((struct null_qp *)qp)->queue;
	int refused;

	null_await_acknowledged(qp);
	if (((struct null_qp *)qp)->table)
		return null_destroy_spreading_qp((struct null_qp *)qp);
	if (xrcd) {
		refused = null_unmake(NULL_QP, qp);
		if (!refused)
			xrcd->users--;
		return refused;
	}
	refused = unmake_of(qp->pd, NULL_QP, qp);
	if (refused)
		return refused;
	null_give_back((struct null_pd *)pd, queue);
	if (send_cq->last_qp == (struct null_qp *)qp)
		send_cq->last_qp = NULL;
	send_cq->users--;
	if (recv_cq)
		recv_cq->users--;
	if (srq)
		srq->users--;
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)gid;
	(void)lid;
	return qp->qp_type == IBV_QPT_UD ? 0 : EINVAL;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return ibv_attach_mcast(qp, gid, lid);
}
