/* The text of the calls that a stand-in for a driver's library got. For one thread. */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef ibv_modify_qp

int driver_options[DRIVER_OPTIONS];

static char text[16384];
static size_t used;

void driver_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (used < sizeof(text) - 1)
		used += vsnprintf(text + used, sizeof(text) - used, format, arguments);
	if (used < sizeof(text) - 1)
		used += snprintf(text + used, sizeof(text) - used, "\n");
	va_end(arguments);
}

const char *driver_calls(void)
{
	return text;
}

void driver_set(enum driver_option option, int value)
{
	driver_options[option] = value;
}

void driver_reset(void)
{
	used = 0;
	text[0] = 0;
	memset(driver_options, 0, sizeof(driver_options));
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	driver_note("ibv_modify_qp state=%d mask=0x%x", attr->qp_state, mask);
	if (attr->qp_state == IBV_QPS_RTR && driver_options[DRIVER_NUMBER])
		qp->qp_num = driver_options[DRIVER_NUMBER];
	return null_modify_qp(qp, attr, mask);
}

/* Counts the request, as every builder does. */
static void (*told)(struct ibv_qp_ex *qp);

static void wr_send(struct ibv_qp_ex *qp)
{
	driver_note("send id=%lu flags=%u", (unsigned long)qp->wr_id, qp->wr_flags);
	told(qp);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
	driver_note("write id=%lu rkey=0x%x address=0x%lx", (unsigned long)qp->wr_id, rkey, (unsigned long)address);
	told(qp);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
	driver_note("read id=%lu rkey=0x%x address=0x%lx", (unsigned long)qp->wr_id, rkey, (unsigned long)address);
	told(qp);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, uint64_t add)
{
	driver_note("fetch_add rkey=0x%x address=0x%lx add=%lu", rkey, (unsigned long)address, (unsigned long)add);
	told(qp);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t address, uint32_t length)
{
	(void)qp;
	(void)lkey;
	(void)address;
	driver_note("sge length=%u", length);
}

void driver_trace(struct ibv_qp *base, uint64_t ops)
{
	struct ibv_qp_ex *qp = (struct ibv_qp_ex *)base;

	told = qp->wr_send;
	qp->wr_send = ops & IBV_QP_EX_WITH_SEND ? wr_send : NULL;
	qp->wr_rdma_write = ops & IBV_QP_EX_WITH_RDMA_WRITE ? wr_rdma_write : NULL;
	qp->wr_rdma_read = ops & IBV_QP_EX_WITH_RDMA_READ ? wr_rdma_read : NULL;
	qp->wr_atomic_fetch_add = ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD ? wr_atomic_fetch_add : NULL;
	qp->wr_set_sge = wr_set_sge;
}
