/* Stands in for libmlx5.so.1 over libnullverbs: what kverbs calls, noted in a text. */
#include "driver/driver.h"

#include <infiniband/mlx5dv.h>
#include <string.h>

#define DC_TYPE(init) ((init)->dc_init_attr.dc_type)

static int refused(void)
{
	if (driver_options[DRIVER_REFUSE])
		errno = driver_options[DRIVER_REFUSE];
	return driver_options[DRIVER_REFUSE];
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	driver_note("mlx5dv_is_supported %s", device->name);
	return !driver_options[DRIVER_FOREIGN];
}

/* Fills what was asked for and, as an older driver, knows no more than DRIVER_CAPS has of it. */
int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *attr)
{
	uint64_t known = attr->comp_mask & ~(uint64_t)driver_options[DRIVER_CAPS];

	driver_note("mlx5dv_query_device %s comp_mask=0x%lx", context->device->name, (unsigned long)attr->comp_mask);
	if (refused())
		return driver_options[DRIVER_REFUSE];
	memset(attr, 0xee, sizeof(*attr));
	attr->comp_mask = known;
	attr->flags = MLX5DV_CONTEXT_FLAGS_CQE_V1 | MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD | MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS;
	attr->cqe_comp_caps.max_num = 64;
	attr->cqe_comp_caps.supported_format = MLX5DV_CQE_RES_FORMAT_HASH | MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX | 0x80;
	attr->dc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_READ;
	attr->num_lag_ports = 2;
	attr->dci_streams_caps.max_log_num_concurent = 7;
	attr->dci_streams_caps.max_log_num_errored = 5;
	return 0;
}

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *init,
				   struct mlx5dv_cq_init_attr *mlx5)
{
	driver_note("mlx5dv_create_cq cqe=%u wc_flags=0x%lx comp_mask=0x%lx format=%u flags=%u size=%u", init->cqe,
		    (unsigned long)init->wc_flags, (unsigned long)mlx5->comp_mask, mlx5->cqe_comp_res_format,
		    mlx5->flags, mlx5->cqe_size);
	return refused() ? NULL : null_create_cq_ex(context, init);
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *init,
				struct mlx5dv_qp_init_attr *mlx5)
{
	struct ibv_qp *qp;

	driver_note("mlx5dv_create_qp type=0x%x comp_mask=0x%x ops=0x%lx send=%u recv=%u srq=%d mlx5=0x%lx dc=%d key=0x%lx",
		    init->qp_type, init->comp_mask, (unsigned long)init->send_ops_flags, init->cap.max_send_wr,
		    init->cap.max_recv_wr, init->srq != NULL, (unsigned long)mlx5->comp_mask, DC_TYPE(mlx5),
		    (unsigned long)mlx5->dc_init_attr.dct_access_key);
	if (refused())
		return NULL;
	if (init->pd->context != context)
		return NULL;
	qp = null_create_qp_ex(context, init);
	if (qp)
		driver_trace(qp, init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? init->send_ops_flags : 0);
	if (qp && DC_TYPE(mlx5) == MLX5DV_DCTYPE_DCT)
		qp->qp_num = 0; /* as the real one, until RTR */
	return qp;
}

#ifndef WITHOUT_POSTS /* as before rdma-core 24 */
static struct mlx5dv_qp_ex extended;

static void set_dc_addr(struct mlx5dv_qp_ex *qp, struct ibv_ah *ah, uint32_t number, uint64_t key)
{
	driver_note("dc_addr own=%d of=%s number=0x%x key=0x%lx", qp == &extended, ah->context->device->name, number,
		    (unsigned long)key);
}

struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	driver_note("mlx5dv_qp_ex_from_ibv_qp_ex type=0x%x", qp->qp_base.qp_type);
	extended.wr_set_dc_addr = set_dc_addr;
	return &extended;
}
#endif
