/* Contexts, domains, regions and device memory of another context. The kernel's number of an object is its count. */
#include "nullverbs.h"

#if NULL_RELEASE >= 32
#include <unistd.h>

enum { MOST_HANDLE = 1000 };

struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct ibv_context *made;
	int count;
	struct ibv_device **list;

	if (cmd_fd < 3) {
		null_fail(cmd_fd == 0 ? EOPNOTSUPP : EINVAL);
		return NULL;
	}
	list = ibv_get_device_list(&count);
	made = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (made)
		made->cmd_fd = cmd_fd;
	return made;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct ibv_pd *pd;

	if (handle > MOST_HANDLE) {
		null_fail(ENOENT);
		return NULL;
	}
	pd = null_make(NULL_PD, sizeof(struct null_pd));
	pd->context = context;
	pd->handle = handle;
	return pd;
}

void ibv_unimport_pd(struct ibv_pd *pd)
{
	null_unmake(NULL_PD, pd);
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct ibv_mr *mr;

	if (handle > MOST_HANDLE) {
		null_fail(ENOENT);
		return NULL;
	}
	mr = null_make(NULL_MR, sizeof(struct null_mr));
	mr->context = pd->context;
	mr->pd = pd;
	mr->handle = handle;
	mr->length = 4096;
	mr->lkey = handle + 1;
	mr->rkey = handle + 2;
	return mr;
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	null_unmake(NULL_MR, mr);
}
#endif
