/* XRC domains, and the queues and queue pairs in them. */
#include "nullverbs.h"

#include <sys/stat.h>

#define DOMAINS 16

static struct null_xrcd *domains[DOMAINS];
static atomic_uint next_queue = 0x100;
static atomic_int last_flags;

static struct null_xrcd *domain_of(ino_t inode)
{
	for (int i = 0; i < DOMAINS; i++)
		if (domains[i] && inode && domains[i]->inode == inode)
			return domains[i];
	return NULL;
}

struct ibv_xrcd *null_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init)
{
	struct stat file = {0};
	struct null_xrcd *xrcd;
	int error = 0;

	if (null_lacks())
		return NULL;
	last_flags = init->oflags;
	if (init->comp_mask != (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS))
		error = EINVAL;
	else if (init->fd != -1 && fstat(init->fd, &file))
		error = EBADF;
	else if (init->fd != -1 && !domain_of(file.st_ino) && !(init->oflags & O_CREAT))
		error = EAGAIN;
	else if (domain_of(file.st_ino) && (init->oflags & O_EXCL))
		error = EINVAL;
	if (error) {
		null_fail(error);
		return NULL;
	}
	xrcd = null_make(NULL_XRCD, sizeof(*xrcd));
	xrcd->base.context = context;
	xrcd->inode = file.st_ino;
	for (int i = 0; i < DOMAINS; i++)
		if (!domains[i]) {
			domains[i] = xrcd;
			break;
		}
	null_context_of(context)->users++;
	return &xrcd->base;
}

int null_close_xrcd(struct ibv_xrcd *base)
{
	struct null_xrcd *xrcd = (struct null_xrcd *)base;
	struct ibv_context *context = base->context;
	int refused = xrcd->users ? EBUSY : null_unmake(NULL_XRCD, xrcd);

	if (refused)
		return refused;
	for (int i = 0; i < DOMAINS; i++)
		if (domains[i] == xrcd)
			domains[i] = NULL;
	null_context_of(context)->users--;
	return 0;
}

/* What a queue with tag matching was made with, and the last operation on a list of tags. */
static _Atomic uint64_t tagged[10];

uint64_t null_tagged(unsigned index)
{
	return tagged[index];
}

static struct ibv_srq *null_create_tagged(struct ibv_srq_init_attr_ex *init)
{
	struct ibv_srq_init_attr plain = {.attr = init->attr};

	if (init->comp_mask != (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM)) {
		null_fail(EOPNOTSUPP);
		return NULL;
	}
	tagged[0] = init->tm_cap.max_num_tags;
	tagged[1] = init->tm_cap.max_ops;
	return ibv_create_srq(init->pd, &plain);
}

int null_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad)
{
	(void)srq;
	tagged[2] = wr->opcode;
	tagged[3] = wr->flags;
	tagged[4] = wr->wr_id;
	tagged[5] = wr->tm.unexpected_cnt;
	if (wr->opcode == IBV_WR_TAG_ADD) {
		tagged[6] = wr->tm.add.recv_wr_id;
		tagged[7] = wr->tm.add.tag;
		tagged[8] = wr->tm.add.mask;
		tagged[9] = wr->tm.add.sg_list[0].length;
		wr->tm.handle = 77;
	} else {
		tagged[6] = wr->tm.handle;
	}
	*bad = wr;
	return wr->opcode == IBV_WR_TAG_ADD && wr->tm.add.tag == 13 ? ENOMEM : 0;
}

struct ibv_srq *null_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
	unsigned needed = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	struct ibv_srq_init_attr plain = {.attr = init->attr};
	struct null_srq *srq;

	(void)context;
	if (init->srq_type == IBV_SRQT_TM)
		return null_create_tagged(init);
	if (init->comp_mask != needed || init->srq_type != IBV_SRQT_XRC) {
		null_fail(EOPNOTSUPP);
		return NULL;
	}
	srq = (struct null_srq *)ibv_create_srq(init->pd, &plain);
	srq->xrcd = (struct null_xrcd *)init->xrcd;
	srq->xrcd->users++;
	srq->cq = (struct null_cq *)init->cq;
	srq->cq->users++;
	srq->number = next_queue++;
	return &srq->base;
}

int null_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	if (!((struct null_srq *)srq)->xrcd)
		return EOPNOTSUPP;
	*number = ((struct null_srq *)srq)->number;
	return 0;
}

/* A queue pair without a protection domain and completion queues, as those that receive XRC are. */
struct ibv_qp *null_make_xrc_receiver(struct ibv_context *context, struct ibv_xrcd *xrcd, uint32_t number)
{
	struct null_qp *qp = null_make(NULL_QP, sizeof(*qp));

	qp->base.context = context;
	qp->base.qp_type = IBV_QPT_XRC_RECV;
	qp->base.qp_num = number;
	qp->xrcd = (struct null_xrcd *)xrcd;
	qp->xrcd->users++;
	return &qp->base;
}

struct ibv_qp *null_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	unsigned needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (attr->comp_mask != needed || attr->qp_type != IBV_QPT_XRC_RECV) {
		null_fail(EINVAL);
		return NULL;
	}
	return null_make_xrc_receiver(context, attr->xrcd, attr->qp_num);
}

int null_xrcd_flags(void)
{
	return last_flags;
}
