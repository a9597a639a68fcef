/*
 * Sends that the device cuts into segments, actions of flow rules, and queue memory of the program. What C read of the
 * last call is kept as text.
 */
#include "nullverbs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a queue pair in a parent domain with an allocator asks for. */
#define QUEUE_BYTES 5000
#define QUEUE_ALIGNMENT 4096
#define QUEUE_TYPE 0x500000007ULL

struct null_action {
	struct ibv_flow_action base;
};

static char text[1024];

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	size_t length = strlen(text);
	va_list values;

	va_start(values, format);
	vsnprintf(text + length, sizeof(text) - length, format, values);
	va_end(values);
}

const char *null_offload(void)
{
	return text;
}

void null_wr_send_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	const unsigned char *bytes = hdr;

	text[0] = 0;
	say("tso hdr=%02x..%02x hdr_sz=%u mss=%u flags=%u", bytes[0], bytes[hdr_sz - 1], hdr_sz, mss, qp->wr_flags);
	qp->wr_send(qp);
}

int null_lend(struct null_pd *pd, struct null_qp *qp)
{
	char *queue;

	if (!pd->alloc)
		return 0;
	queue = pd->alloc(&pd->base, pd->pd_context, QUEUE_BYTES, QUEUE_ALIGNMENT, QUEUE_TYPE);
	if (!queue)
		return ENOMEM;
	if (queue == IBV_ALLOCATOR_USE_DEFAULT)
		return 0;
	for (int i = 0; i < QUEUE_BYTES; i++)
		if (queue[i])
			return EFAULT;
	memset(queue, 0x5a, QUEUE_BYTES);
	qp->queue = queue;
	return 0;
}

void null_give_back(struct null_pd *pd, void *queue)
{
	if (queue)
		pd->free(&pd->base, pd->pd_context, queue, QUEUE_TYPE);
}

static int read_esp(struct ibv_flow_action_esp_attr *attr)
{
	struct ib_uverbs_flow_action_esp *esp = (void *)attr->esp_attr;
	struct ib_uverbs_flow_action_esp_keymat_aes_gcm *key = attr->keymat_ptr;
	const unsigned char *salt = (const void *)&key->salt, *bytes = (const void *)key->aes_key;

	if (attr->esp_encap || attr->keymat_proto != IBV_FLOW_ACTION_ESP_KEYMAT_AES_GCM || attr->keymat_len != sizeof(*key))
		return EINVAL;
	text[0] = 0;
	say("flags=%u spi=%x seq=%x pad=%u limit=%llu", esp->flags, esp->spi, esp->seq, esp->tfc_pad,
	    (unsigned long long)esp->hard_limit_pkts);
	say("; iv=%llx algo=%u salt=%02x%02x%02x%02x icv=%u key=%02x..%02x/%u", (unsigned long long)key->iv, key->iv_algo,
	    salt[0], salt[1], salt[2], salt[3], key->icv_len, bytes[0], bytes[key->key_len - 1], key->key_len);
	if (attr->replay_proto == IBV_FLOW_ACTION_ESP_REPLAY_BMP)
		say("; replay=%u/%u", ((struct ib_uverbs_flow_action_esp_replay_bmp *)attr->replay_ptr)->size, attr->replay_len);
	if (attr->comp_mask & IBV_FLOW_ACTION_ESP_MASK_ESN)
		say("; esn=%x", attr->esn);
	return 0;
}

static struct ibv_flow_action *create_flow_action_esp(struct ibv_context *context, struct ibv_flow_action_esp_attr *attr)
{
	struct null_action *action;
	int error = null_options[NULL_LACKS] ? null_options[NULL_LACKS] : read_esp(attr);

	if (error) {
		null_fail(error);
		return NULL;
	}
	action = null_make(NULL_ACTION, sizeof(*action));
	action->base.context = context;
	return &action->base;
}

static int modify_flow_action_esp(struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr)
{
	(void)action;
	return null_options[NULL_LACKS] ? null_options[NULL_LACKS] : read_esp(attr);
}

static int destroy_flow_action(struct ibv_flow_action *action)
{
	return null_unmake(NULL_ACTION, action);
}

void null_add_offloads(struct verbs_context *context)
{
	context->create_flow_action_esp = create_flow_action_esp;
	context->modify_flow_action_esp = modify_flow_action_esp;
	context->destroy_flow_action = destroy_flow_action;
}
