/*
 * What few drivers have: further fields of completions, thread domains and parent domains, the device's clock, and the
 * vendor's options and sending rates of queue pairs. Every number here can be computed from what the caller gave.
 */
#include "nullverbs.h"

#include <string.h>

static struct null_cq *cq_of(struct ibv_cq_ex *cq)
{
	return (struct null_cq *)cq;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wr_id * 10;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wr_id * 1000000007;
}

static uint16_t read_cvlan(struct ibv_cq_ex *cq)
{
	return 0xf000 + cq_of(cq)->current.wr_id;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *cq)
{
	return 0xf0000000 + cq_of(cq)->current.wr_id;
}

static void read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info)
{
	info->tag = cq_of(cq)->current.wr_id << 32;
	info->priv = 0xe0000000 + cq_of(cq)->current.wr_id;
}

/* As mlx5: only the functions of the fields that were asked for are there. */
int null_tune_cq(struct ibv_cq_ex *cq, struct ibv_cq_init_attr_ex *init)
{
	const uint64_t sender = IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL;

	if (null_options[NULL_LACKS] && init->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS)
		return null_options[NULL_LACKS];
	if (null_options[NULL_TRAITS] & NULL_LIKE_MLX4) {
		if (init->wc_flags & sender && init->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
			return EOPNOTSUPP;
		if (!(init->wc_flags & sender)) { /* what malloc had there, as it happens */
			cq->read_slid = (void *)(uintptr_t)abs;
			cq->read_sl = (void *)(uintptr_t)abs;
		}
	}
	if (init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		if (!((struct null_pd *)init->parent_domain)->parent)
			return EINVAL;
		cq_of(cq)->domain = (struct null_pd *)init->parent_domain;
		cq_of(cq)->domain->users++;
	}
	if (init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		cq_of(cq)->flags = init->flags;
	if (init->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq->read_completion_ts = read_completion_ts;
	if (init->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
	if (init->wc_flags & IBV_WC_EX_WITH_CVLAN)
		cq->read_cvlan = read_cvlan;
	if (init->wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		cq->read_flow_tag = read_flow_tag;
	if (init->wc_flags & IBV_WC_EX_WITH_TM_INFO)
		cq->read_tm_info = read_tm_info;
	return 0;
}

int null_cq_flags(struct ibv_cq *cq)
{
	return ((struct null_cq *)cq)->flags;
}

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init)
{
	struct null_td *td;

	if (null_lacks())
		return NULL;
	if (init->comp_mask) {
		null_fail(EINVAL);
		return NULL;
	}
	td = null_make(NULL_TD, sizeof(*td));
	td->base.context = context;
	null_context_of(context)->users++;
	return &td->base;
}

static int dealloc_td(struct ibv_td *base)
{
	struct null_td *td = (struct null_td *)base;
	struct null_context *context = null_context_of(base->context);
	int refused = td->users ? EBUSY : null_unmake(NULL_TD, td);

	if (!refused)
		context->users--;
	return refused;
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *init)
{
	struct null_pd *pd;

	if (((struct null_pd *)init->pd)->parent) { /* drivers differ in what they make of one in another */
		null_fail(EINVAL);
		return NULL;
	}
	if (!init->pd || init->comp_mask & ~IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		null_fail(EINVAL);
		return NULL;
	}
	pd = (struct null_pd *)ibv_alloc_pd(context);
	pd->parent = (struct null_pd *)init->pd;
	pd->parent->users++;
	pd->td = (struct null_td *)init->td;
	if (init->comp_mask) {
		pd->alloc = init->alloc;
		pd->free = init->free;
		pd->pd_context = init->pd_context;
	}
	if (pd->td)
		pd->td->users++;
	return &pd->base;
}

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	(void)context;
	if (null_options[NULL_CLOCKLESS]) {
		values->comp_mask = 0;
		return 0;
	}
	if (!(values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = 0x7000000000000001;
	return 0;
}

static int modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	if (null_options[NULL_LACKS])
		return null_options[NULL_LACKS];
	if (attr->comp_mask || attr->rate_limit == 13)
		return EINVAL;
	((struct null_qp *)qp)->rate = *attr;
	return 0;
}

uint64_t null_rate(struct ibv_qp *qp)
{
	struct ibv_qp_rate_limit_attr *rate = &((struct null_qp *)qp)->rate;

	return (uint64_t)rate->rate_limit << 32 | (rate->max_burst_sz & 0xffff) << 16 | rate->typical_pkt_sz;
}

void null_tune_context(struct verbs_context *context)
{
	context->alloc_td = alloc_td;
	context->dealloc_td = dealloc_td;
	context->alloc_parent_domain = alloc_parent_domain;
	context->query_rt_values = query_rt_values;
	context->modify_qp_rate_limit = modify_qp_rate_limit;
}

int ibv_fork_init(void)
{
	return null_options[NULL_FORK_ERRNO];
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t mac[6], uint16_t *vlan)
{
	(void)context;
	if (!attr->is_global || attr->grh.dgid.raw[15] == 0)
		return null_fail(EHOSTUNREACH);
	for (int i = 0; i < 6; i++)
		mac[i] = attr->grh.dgid.raw[15] + i;
	*vlan = attr->port_num == 1 ? 0xffff : 0x123;
	return 0;
}

#if NULL_RELEASE >= 32
int ibv_get_device_index(struct ibv_device *device)
{
	(void)device;
	return 7;
}

/* As mlx5: the vendor's number is the device's, and of the options it takes the low four. */
int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	ece->vendor_id = 0x2c9;
	ece->options = ((struct null_qp *)qp)->ece_options;
	ece->comp_mask = 0;
	return 0;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (!ece->vendor_id)
		return EOPNOTSUPP;
	if (ece->vendor_id != 0x2c9)
		return EINVAL;
	ece->options &= 0xf;
	((struct null_qp *)qp)->ece_options = ece->options;
	return 0;
}
#endif
