/* Flow rules, the last of which is kept as text, and counters, whose values tell what was attached. */
#include "nullverbs.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char text[2048];
static struct ibv_counters *last_counters;
static unsigned attached;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	size_t length = strlen(text);
	va_list values;

	va_start(values, format);
	vsnprintf(text + length, sizeof(text) - length, format, values);
	va_end(values);
}

static void say_mac(const char *name, const uint8_t *mac)
{
	say(" %s=%02x%02x%02x%02x%02x%02x", name, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void say_spec(const void *at)
{
	const struct ibv_flow_spec *spec = at;

	say("; 0x%x size=%u", spec->hdr.type, spec->hdr.size);
	switch (spec->hdr.type & ~IBV_FLOW_SPEC_INNER) {
	case IBV_FLOW_SPEC_ETH:
		say_mac("dst", spec->eth.val.dst_mac);
		say_mac("/", spec->eth.mask.dst_mac);
		say_mac("src", spec->eth.val.src_mac);
		say_mac("/", spec->eth.mask.src_mac);
		say(" type=%04x/%04x vlan=%d/%03x", ntohs(spec->eth.val.ether_type), ntohs(spec->eth.mask.ether_type),
		    ntohs(spec->eth.val.vlan_tag), ntohs(spec->eth.mask.vlan_tag));
		break;
	case IBV_FLOW_SPEC_IPV4:
		say(" src=%08x/%08x dst=%08x/%08x", ntohl(spec->ipv4.val.src_ip), ntohl(spec->ipv4.mask.src_ip),
		    ntohl(spec->ipv4.val.dst_ip), ntohl(spec->ipv4.mask.dst_ip));
		break;
	case IBV_FLOW_SPEC_IPV4_EXT:
		say(" dst=%08x/%08x proto=%d/%d tos=%d/%d ttl=%d/%d flags=%d/%d", ntohl(spec->ipv4_ext.val.dst_ip),
		    ntohl(spec->ipv4_ext.mask.dst_ip), spec->ipv4_ext.val.proto, spec->ipv4_ext.mask.proto,
		    spec->ipv4_ext.val.tos, spec->ipv4_ext.mask.tos, spec->ipv4_ext.val.ttl, spec->ipv4_ext.mask.ttl,
		    spec->ipv4_ext.val.flags, spec->ipv4_ext.mask.flags);
		break;
	case IBV_FLOW_SPEC_IPV6:
		say(" src=%02x..%02x/%02x..%02x label=%05x/%05x next=%d/%d class=%d/%d hops=%d/%d", spec->ipv6.val.src_ip[0],
		    spec->ipv6.val.src_ip[15], spec->ipv6.mask.src_ip[0], spec->ipv6.mask.src_ip[15],
		    ntohl(spec->ipv6.val.flow_label), ntohl(spec->ipv6.mask.flow_label), spec->ipv6.val.next_hdr,
		    spec->ipv6.mask.next_hdr, spec->ipv6.val.traffic_class, spec->ipv6.mask.traffic_class,
		    spec->ipv6.val.hop_limit, spec->ipv6.mask.hop_limit);
		break;
	case IBV_FLOW_SPEC_TCP:
	case IBV_FLOW_SPEC_UDP:
		say(" dst=%d/%04x src=%d/%04x", ntohs(spec->tcp_udp.val.dst_port), ntohs(spec->tcp_udp.mask.dst_port),
		    ntohs(spec->tcp_udp.val.src_port), ntohs(spec->tcp_udp.mask.src_port));
		break;
	case IBV_FLOW_SPEC_VXLAN_TUNNEL:
		say(" id=%d/%08x", ntohl(spec->tunnel.val.tunnel_id), ntohl(spec->tunnel.mask.tunnel_id));
		break;
	case IBV_FLOW_SPEC_ESP:
		say(" spi=%x/%x seq=%x/%x", ntohl(spec->esp.val.spi), ntohl(spec->esp.mask.spi), ntohl(spec->esp.val.seq),
		    ntohl(spec->esp.mask.seq));
		break;
	case IBV_FLOW_SPEC_ACTION_HANDLE:
		say(" %s", spec->handle.action->context ? "an action" : "none");
		break;
	case IBV_FLOW_SPEC_ACTION_COUNT:
		say(" %s", spec->flow_count.counters == last_counters ? "the counters" : "other counters");
		break;
	default:
		break;
	}
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct ibv_flow *flow;
	const char *at = (const char *)(attr + 1);

	text[0] = 0;
	say("type=%d size=%u priority=%u port=%u flags=%u", attr->type, attr->size, attr->priority, attr->port, attr->flags);
	for (int i = 0; i < attr->num_of_specs; i++) {
		struct ibv_flow_spec spec = {0};
		uint16_t size;

		memcpy(&size, at + 4, sizeof(size));
		memcpy(&spec, at, size); /* the parts stand one behind the other, at any address */
		say_spec(&spec);
		at += size;
	}
	say("; %d bytes left", (int)(attr->size - (at - (const char *)attr)));
	flow = null_make(NULL_FLOW, sizeof(*flow));
	flow->context = qp->context;
	return flow;
}

static int destroy_flow(struct ibv_flow *flow)
{
	return null_unmake(NULL_FLOW, flow);
}

static struct ibv_counters *create_counters(struct ibv_context *context, struct ibv_counters_init_attr *init)
{
	struct ibv_counters *counters;

	(void)init;
	counters = null_make(NULL_COUNTERS, sizeof(*counters));
	counters->context = context;
	attached = 0;
	last_counters = counters;
	return counters;
}

static int attach(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	(void)counters;
	if (flow || attr->comp_mask || attr->index >= 32)
		return ENOTSUP;
	attached |= (attr->counter_desc == IBV_COUNTER_BYTES ? 2 : 1) << (2 * (attr->index % 8));
	return 0;
}

static int read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count, uint32_t flags)
{
	(void)counters;
	for (uint32_t i = 0; i < count; i++)
		values[i] = (attached >> (2 * (i % 8)) & 3) * 100 + flags * 1000;
	return 0;
}

static int destroy_counters(struct ibv_counters *counters)
{
	return null_unmake(NULL_COUNTERS, counters);
}

void null_add_flows(struct verbs_context *context)
{
	context->ibv_create_flow = create_flow;
	context->ibv_destroy_flow = destroy_flow;
	context->create_counters = create_counters;
	context->attach_counters_point_flow = attach;
	context->read_counters = read_counters;
	context->destroy_counters = destroy_counters;
}

const char *null_flow(void)
{
	return text;
}
