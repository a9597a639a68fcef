/* Posting, completions and the events that announce them. */
#include "nullverbs.h"

#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int null_events_open(struct null_events *events)
{
	pthread_mutex_init(&events->lock, NULL);
	events->fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	return events->fd < 0 ? errno : 0;
}

int null_events_put(struct null_events *events, struct ibv_async_event event)
{
	int result = ENOSPC;

	pthread_mutex_lock(&events->lock);
	if (events->count < sizeof(events->waiting) / sizeof(events->waiting[0])) {
		events->waiting[events->count++] = event;
		result = eventfd_write(events->fd, 1) ? errno : 0;
	}
	pthread_mutex_unlock(&events->lock);
	return result;
}

/* Takes the oldest away; never blocks: 0, or -1 with EAGAIN. */
int null_events_take(struct null_events *events, struct ibv_async_event *event)
{
	eventfd_t one;
	int result = -1;

	pthread_mutex_lock(&events->lock);
	if (events->count) {
		*event = events->waiting[0];
		memmove(&events->waiting[0], &events->waiting[1], --events->count * sizeof(*event));
		result = eventfd_read(events->fd, &one);
		/* Under the lock, so that who destroys the queue sees either the event or that it was given away. */
		if (events->of_cqs)
			((struct null_cq *)event->element.cq)->events_given++;
	} else {
		errno = EAGAIN;
	}
	pthread_mutex_unlock(&events->lock);
	return result;
}

void null_events_forget_cq(struct null_events *events, struct ibv_cq *cq)
{
	unsigned kept = 0;
	eventfd_t one;

	pthread_mutex_lock(&events->lock);
	for (unsigned i = 0; i < events->count; i++) {
		if (events->waiting[i].element.cq == cq)
			eventfd_read(events->fd, &one);
		else
			events->waiting[kept++] = events->waiting[i];
	}
	events->count = kept;
	pthread_mutex_unlock(&events->lock);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct null_channel *channel = null_make(NULL_CHANNEL, sizeof(*channel));

	if (null_events_open(&channel->events)) {
		null_unmake(NULL_CHANNEL, channel);
		return NULL;
	}
	channel->events.of_cqs = 1;
	channel->base.context = context;
	channel->base.fd = channel->events.fd;
	null_context_of(context)->users++;
	return &channel->base;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *base)
{
	struct null_channel *channel = (struct null_channel *)base;
	struct null_context *context = null_context_of(base->context);
	int fd = base->fd;
	int refused = channel->users ? EBUSY : null_unmake(NULL_CHANNEL, channel);

	if (!refused) {
		close(fd);
		context->users--;
	}
	return refused;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	struct ibv_async_event event;

	if (null_events_take(&((struct null_channel *)channel)->events, &event))
		return -1;
	*cq = event.element.cq;
	*cq_context = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += count;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, struct ibv_comp_channel *channel,
			     int vector)
{
	struct null_cq *cq;

	if (cqe < 1 || vector != 0) {
		null_fail(EINVAL);
		return NULL;
	}
	cq = null_make(NULL_CQ, sizeof(*cq));
	cq->ring = calloc(cqe, sizeof(*cq->ring));
	cq->base.context = context;
	cq->base.channel = channel;
	cq->base.cq_context = cq_context;
	cq->base.cqe = cqe;
	pthread_spin_init(&cq->poll_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&cq->base.mutex, NULL);
	pthread_cond_init(&cq->base.cond, NULL);
	null_context_of(context)->users++;
	if (channel)
		((struct null_channel *)channel)->users++;
	return &cq->base;
}

int ibv_resize_cq(struct ibv_cq *base, int cqe)
{
	struct null_cq *cq = (struct null_cq *)base;
	struct ibv_wc *larger = calloc(cqe, sizeof(*larger));
	int result = 0;

	pthread_mutex_lock(&base->mutex);
	if ((unsigned)cqe < cq->count) {
		free(larger);
		result = EINVAL;
	} else {
		for (unsigned i = 0; i < cq->count; i++)
			larger[i] = cq->ring[(cq->head + i) % base->cqe];
		free(cq->ring);
		cq->ring = larger;
		cq->head = 0;
		base->cqe = cqe;
	}
	pthread_mutex_unlock(&base->mutex);
	return result;
}

/* Like the real one, it waits until all events that were given away are acknowledged. */
int ibv_destroy_cq(struct ibv_cq *base)
{
	struct null_cq *cq = (struct null_cq *)base;
	struct null_channel *channel = (struct null_channel *)base->channel;
	struct null_context *context = null_context_of(base->context);
	struct ibv_wc *ring = cq->ring;
	struct null_pd *domain = cq->domain;
	int refused;

	if (cq->users)
		return EBUSY;
	if (channel)
		null_events_forget_cq(&channel->events, base);
	null_await_acknowledged(base);
	pthread_mutex_lock(&base->mutex);
	while (cq->events_given != base->comp_events_completed)
		pthread_cond_wait(&base->cond, &base->mutex);
	pthread_mutex_unlock(&base->mutex);
	refused = null_unmake(NULL_CQ, cq);
	if (refused)
		return refused;
	free(ring);
	if (channel)
		channel->users--;
	if (domain)
		domain->users--;
	context->users--;
	return 0;
}

static int complete(struct null_cq *cq, const struct ibv_wc *wc)
{
	struct ibv_async_event event = {.element.cq = &cq->base};
	int announce = 0;
	int result = ENOSPC;

	pthread_mutex_lock(&cq->base.mutex);
	if (cq->count < (unsigned)cq->base.cqe) {
		cq->ring[(cq->head + cq->count++) % cq->base.cqe] = *wc;
		cq->late += null_options[NULL_LATE];
		announce = cq->armed;
		cq->armed = 0;
		result = 0;
	}
	pthread_mutex_unlock(&cq->base.mutex);
	return announce ? null_events_put(&((struct null_channel *)cq->base.channel)->events, event) : result;
}

int null_complete(struct ibv_cq *cq, uint64_t wr_id)
{
	return null_complete_as(cq, wr_id, IBV_WC_SEND);
}

int null_complete_as(struct ibv_cq *cq, uint64_t wr_id, int opcode)
{
	struct ibv_wc wc = {.wr_id = wr_id, .status = IBV_WC_SUCCESS, .opcode = opcode};

	return complete((struct null_cq *)cq, &wc);
}

int null_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)solicited_only;
	pthread_mutex_lock(&cq->mutex);
	((struct null_cq *)cq)->armed = 1;
	pthread_mutex_unlock(&cq->mutex);
	return 0;
}

/* What a driver does that looks at the state which a lock of this kind protects. */
static void pass(pthread_spinlock_t *lock)
{
	while (null_options[NULL_WAIT]) {
		int asked = 1;

		atomic_compare_exchange_strong(&null_options[NULL_WAIT], &asked, 2);
		usleep(1000);
	}
	if (null_options[NULL_LOCKS]) {
		pthread_spin_lock(lock);
		pthread_spin_unlock(lock);
	}
}

int null_poll_cq(struct ibv_cq *base, int wanted, struct ibv_wc *wc)
{
	struct null_cq *cq = (struct null_cq *)base;
	int taken = 0;

	if (cq->last_qp)
		pass(&cq->last_qp->send_lock);
	if (null_options[NULL_ENDLESS]) {
		for (; taken < wanted; taken++)
			wc[taken] = (struct ibv_wc){
				.wr_id = taken, .opcode = IBV_WC_RECV, .byte_len = 64, .qp_num = 1, .wc_flags = IBV_WC_GRH};
		return taken;
	}
	if (!cq->count) /* unlocked, as a device's poll looks at one word of memory */
		return 0;
	pthread_mutex_lock(&base->mutex);
	for (; taken < wanted && cq->count > cq->late; taken++, cq->count--) {
		wc[taken] = cq->ring[cq->head];
		cq->head = (cq->head + 1) % base->cqe;
	}
	cq->late = 0;
	pthread_mutex_unlock(&base->mutex);
	return taken;
}

/* Whether this is the request that the option refuses. */
int null_refused(int index)
{
	return index == null_options[NULL_REFUSE_AT] ? null_options[NULL_REFUSE_ERRNO] : 0;
}

/* Takes a request, and completes it where that is wanted: 0 or errno. */
int null_sent(struct null_qp *qp, uint64_t wr_id, unsigned flags)
{
	struct ibv_wc wc = {.wr_id = wr_id, .status = IBV_WC_SUCCESS, .opcode = IBV_WC_SEND, .qp_num = qp->base.qp_num};

	if (null_options[NULL_COMPLETE] && (qp->signal_all || flags & IBV_SEND_SIGNALED) &&
	    complete((struct null_cq *)qp->base.send_cq, &wc))
		return ENOMEM;
	*(volatile uint64_t *)&qp->last_id = wr_id;
	return 0;
}

int null_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct null_qp *qp = (struct null_qp *)base;

	pass(&((struct null_cq *)base->send_cq)->poll_lock);
	for (int index = 0; wr; wr = wr->next, index++) {
		int error = null_refused(index);

		if (!error)
			error = null_sent(qp, wr->wr_id, wr->send_flags);
		qp->last_queue = wr->qp_type.xrc.remote_srqn;
		if (error) {
			if (!null_options[NULL_NAMELESS])
				*bad_wr = wr;
			return error;
		}
	}
	return 0;
}

static int post_receives(struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr, struct ibv_cq *cq, uint32_t number,
			 volatile uint64_t *last_id)
{
	int error = 0;

	for (int index = 0; wr; wr = wr->next, index++) {
		error = null_refused(index);
		if (!error && null_options[NULL_COMPLETE] && cq) {
			struct ibv_wc wc = {.wr_id = wr->wr_id, .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RECV, .qp_num = number};
			error = complete((struct null_cq *)cq, &wc) ? ENOMEM : 0;
		}
		if (error) {
			if (!null_options[NULL_NAMELESS])
				*bad_wr = wr;
			return error;
		}
		*last_id = wr->wr_id;
	}
	return 0;
}

int null_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	pass(&((struct null_cq *)qp->recv_cq)->poll_lock);
	return post_receives(wr, bad_wr, qp->recv_cq, qp->qp_num, &((struct null_qp *)qp)->last_id);
}

int null_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	return post_receives(wr, bad_wr, NULL, 0, &((struct null_srq *)srq)->last_id);
}
