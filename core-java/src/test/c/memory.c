/* Memory that not every device has: the null region, device memory, advice, and dma-bufs. */
#include "nullverbs.h"

#include <string.h>

struct null_dm {
	struct ibv_dm base;
	size_t length;
	atomic_int regions;
	_Alignas(4096) char bytes[4096];
};

static struct ibv_mr *make_mr(struct ibv_pd *pd, size_t length, unsigned access)
{
	struct ibv_mr *mr = null_make(NULL_MR, sizeof(struct null_mr));

	((struct null_pd *)pd)->users++;
	mr->context = pd->context;
	mr->pd = pd;
	mr->length = length;
	mr->lkey = access;
	return mr;
}

struct ibv_mr *null_alloc_null_mr(struct ibv_pd *pd)
{
	return null_lacks() ? NULL : make_mr(pd, SIZE_MAX, 7);
}

static int memcpy_to_dm(struct ibv_dm *base, uint64_t offset, const void *from, size_t length)
{
	struct null_dm *dm = (struct null_dm *)base;

	if (offset % 4 || length % 4)
		return EINVAL;
	memcpy(dm->bytes + offset, from, length);
	return 0;
}

static int memcpy_from_dm(void *to, struct ibv_dm *base, uint64_t offset, size_t length)
{
	struct null_dm *dm = (struct null_dm *)base;

	if (offset % 4 || length % 4)
		return EINVAL;
	memcpy(to, dm->bytes + offset, length);
	return 0;
}

struct ibv_dm *null_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct null_dm *dm;

	if (null_lacks())
		return NULL;
	if (attr->length > sizeof(dm->bytes) || attr->log_align_req > 12 || attr->comp_mask) {
		null_fail(attr->comp_mask ? EINVAL : ENOMEM);
		return NULL;
	}
	dm = null_make(NULL_DM, sizeof(*dm));
	dm->base.context = context;
	dm->base.memcpy_to_dm = memcpy_to_dm;
	dm->base.memcpy_from_dm = memcpy_from_dm;
	if (null_options[NULL_TRAITS] & NULL_LIKE_MANA) {
		dm->base.memcpy_to_dm = (void *)(uintptr_t)abs;
		dm->base.memcpy_from_dm = (void *)(uintptr_t)0x10;
	}
	dm->length = attr->length;
	null_context_of(context)->users++;
	return &dm->base;
}

int null_free_dm(struct ibv_dm *base)
{
	struct null_context *context = null_context_of(base->context);
	int refused = ((struct null_dm *)base)->regions ? EBUSY : null_unmake(NULL_DM, base);

	if (!refused)
		context->users--;
	return refused;
}

struct ibv_mr *null_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *base, uint64_t offset, size_t length, unsigned access)
{
	struct null_dm *dm = (struct null_dm *)base;
	struct ibv_mr *mr;

	if (!(access & IBV_ACCESS_ZERO_BASED) || offset + length > dm->length) {
		null_fail(EINVAL);
		return NULL;
	}
	mr = make_mr(pd, length, access);
	((struct null_mr *)mr)->parent = &dm->regions;
	dm->regions++;
	return mr;
}

/* What the last call of ibv_advise_mr said; the bytes of all entries come last. */
static _Atomic uint64_t advised[4];

uint64_t null_advised(unsigned index)
{
	return advised[index];
}

int null_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *entries,
		   uint32_t count)
{
	(void)pd;
	if (null_lacks())
		return null_options[NULL_LACKS];
	advised[0] = advice;
	advised[1] = flags;
	advised[2] = count;
	advised[3] = 0;
	for (uint32_t i = 0; i < count; i++)
		advised[3] += entries[i].length;
	return entries[0].length == 13 ? EFAULT : 0;
}

#if NULL_RELEASE >= 32
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	if (fd < 0 || offset % 4096 != iova % 4096) {
		null_fail(fd < 0 ? EBADF : EINVAL);
		return NULL;
	}
	return make_mr(pd, length, access);
}
#endif
