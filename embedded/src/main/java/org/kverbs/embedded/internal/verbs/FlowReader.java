package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.FlowCounts;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.transport.EspAction;
import org.kverbs.embedded.internal.transport.FlowRule;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.embedded.internal.wire.HeaderLayer;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvFlowAttr;
import org.kverbs.internal.abi.IbvFlowAttrType;
import org.kverbs.internal.abi.IbvFlowFlags;
import org.kverbs.internal.abi.IbvFlowSpecActionDrop;
import org.kverbs.internal.abi.IbvFlowSpecActionHandle;
import org.kverbs.internal.abi.IbvFlowSpecCounterAction;
import org.kverbs.internal.abi.IbvFlowSpecEsp;
import org.kverbs.internal.abi.IbvFlowSpecEth;
import org.kverbs.internal.abi.IbvFlowSpecIpv4;
import org.kverbs.internal.abi.IbvFlowSpecIpv4Ext;
import org.kverbs.internal.abi.IbvFlowSpecIpv6;
import org.kverbs.internal.abi.IbvFlowSpecTcpUdp;
import org.kverbs.internal.abi.IbvFlowSpecTunnel;
import org.kverbs.internal.abi.IbvFlowSpecType;

/** Reads a {@code struct ibv_flow_attr} and the structures that follow it. For one rule. */
final class FlowReader {

    /** The most structures after the first, as Linux has it. */
    private static final int MOST = 10;

    /** A layout of {@code struct ibv_flow_spec_*} with a header to match. */
    private record Shape(HeaderLayer layer, int size, int value, int mask) {}

    private final MemorySegment flow;
    private final LongFunction<@Nullable FlowCounts> counters;
    private final LongFunction<@Nullable EspAction> actions;
    private final List<FlowRule.Match> matches = new ArrayList<>();
    private boolean drops;
    private @Nullable FlowCounts counts;
    private @Nullable EspAction action;
    /** A bit for each place in a frame that has a match. */
    private int places;

    private @Nullable FlowRule rule;

    FlowReader(
            MemorySegment flow,
            LongFunction<@Nullable FlowCounts> counters,
            LongFunction<@Nullable EspAction> actions) {
        this.flow = flow;
        this.counters = counters;
        this.actions = actions;
    }

    /** Returns the rule after {@link #read} returned 0. */
    FlowRule rule() {
        return Objects.requireNonNull(rule);
    }

    /** Reads the rule for a queue pair. Returns 0 or -errno. */
    int read(Qp qp) {
        if (flow.byteSize() < IbvFlowAttr.SIZE) {
            return -Errno.EINVAL;
        }
        int type = flow.get(ValueLayout.JAVA_INT_UNALIGNED, IbvFlowAttr.TYPE);
        int size = size(IbvFlowAttr.SIZE_FIELD);
        int count = Byte.toUnsignedInt(flow.get(ValueLayout.JAVA_BYTE, IbvFlowAttr.NUM_OF_SPECS));
        int flags = flow.get(ValueLayout.JAVA_INT_UNALIGNED, IbvFlowAttr.FLAGS);
        boolean passesOn = (flags & IbvFlowFlags.IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0;
        boolean isNormal = type == IbvFlowAttrType.IBV_FLOW_ATTR_NORMAL;
        if ((flags & IbvFlowFlags.IBV_FLOW_ATTR_FLAGS_EGRESS) != 0) {
            return Refusal.because(Errno.EOPNOTSUPP, "The embedded device has no rules for frames that leave.");
        }
        if (flow.get(ValueLayout.JAVA_INT_UNALIGNED, IbvFlowAttr.COMP_MASK) != 0
                || type < 0 || type > IbvFlowAttrType.IBV_FLOW_ATTR_SNIFFER
                || size < IbvFlowAttr.SIZE || size > flow.byteSize()
                || count > MOST
                || (flags & ~IbvFlowFlags.IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0
                || passesOn && !isNormal
                || flow.get(ValueLayout.JAVA_BYTE, IbvFlowAttr.PORT) != Limits.PORT) {
            return -Errno.EINVAL;
        }
        int at = IbvFlowAttr.SIZE;
        for (int i = 0; i < count; i++) {
            int length = at + IbvFlowSpecActionDrop.SIZE > size ? 0 : size(at + IbvFlowSpecActionDrop.SIZE_FIELD);
            if (length < IbvFlowSpecActionDrop.SIZE || at + length > size) {
                return -Errno.EINVAL;
            }
            int result = readPart(at, length);
            if (result < 0) {
                return result;
            }
            at += length;
        }
        if (!isNormal && !matches.isEmpty()) {
            return Refusal.because(Errno.EINVAL, "Only a rule of type IBV_FLOW_ATTR_NORMAL matches headers.");
        }
        rule = new FlowRule(
                qp, type, size(IbvFlowAttr.PRIORITY), passesOn, List.copyOf(matches), drops, counts, action);
        return 0;
    }

    private int size(int at) {
        return Short.toUnsignedInt(flow.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
    }

    private int readPart(int at, int length) {
        int type = flow.get(ValueLayout.JAVA_INT_UNALIGNED, at);
        if (type == IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_DROP) {
            drops = true;
            return 0;
        }
        if (type == IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_COUNT) {
            if (length != IbvFlowSpecCounterAction.SIZE || counts != null) {
                return -Errno.EINVAL;
            }
            counts = counters.apply(
                    flow.get(ValueLayout.JAVA_LONG_UNALIGNED, at + IbvFlowSpecCounterAction.COUNTERS));
            return counts == null ? -Errno.EINVAL : 0;
        }
        if (type == IbvFlowSpecType.IBV_FLOW_SPEC_ACTION_HANDLE) {
            if (length != IbvFlowSpecActionHandle.SIZE || action != null) {
                return -Errno.EINVAL;
            }
            action = actions.apply(flow.get(ValueLayout.JAVA_LONG_UNALIGNED, at + IbvFlowSpecActionHandle.ACTION));
            return action == null ? -Errno.EINVAL : 0;
        }
        boolean isInner = (type & IbvFlowSpecType.IBV_FLOW_SPEC_INNER) != 0;
        Shape shape = shape(type & ~IbvFlowSpecType.IBV_FLOW_SPEC_INNER);
        if (shape == null || isInner && shape.layer == HeaderLayer.VXLAN) {
            return Refusal.because(
                    Errno.EOPNOTSUPP,
                    "The embedded device has no flow rules with a part of type 0x%x: it has Ethernet, IPv4, IPv6, TCP, "
                                    .formatted(type)
                            + "UDP, ESP and VXLAN, drop, count and decrypt.");
        }
        if (length != shape.size) {
            return -Errno.EINVAL;
        }
        int place = 1 << place(shape.layer) + (isInner ? HeaderLayer.values().length : 0);
        if ((places & place) != 0) {
            return Refusal.because(
                    Errno.EINVAL,
                    "No frame has both: %s and another match of the same layer of the network."
                            .formatted(shape.layer));
        }
        places |= place;
        int bytes = shape.mask - shape.value;
        matches.add(new FlowRule.Match(shape.layer, isInner, bytes(at + shape.value, bytes),
                bytes(at + shape.mask, bytes)));
        return 0;
    }

    private byte[] bytes(int at, int length) {
        return flow.asSlice(at, length).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Returns the place of a layer in a frame; layers that exclude each other have the same. */
    private static int place(HeaderLayer layer) {
        return switch (layer) {
            case ETHERNET -> 0;
            case IPV4, IPV6 -> 1;
            case TCP, UDP, ESP -> 2;
            case VXLAN -> 3;
        };
    }

    private static @Nullable Shape shape(int type) {
        return switch (type) {
            case IbvFlowSpecType.IBV_FLOW_SPEC_ETH ->
                new Shape(HeaderLayer.ETHERNET, IbvFlowSpecEth.SIZE, IbvFlowSpecEth.VAL, IbvFlowSpecEth.MASK);
            case IbvFlowSpecType.IBV_FLOW_SPEC_IPV4 ->
                new Shape(HeaderLayer.IPV4, IbvFlowSpecIpv4.SIZE, IbvFlowSpecIpv4.VAL, IbvFlowSpecIpv4.MASK);
            case IbvFlowSpecType.IBV_FLOW_SPEC_IPV4_EXT -> new Shape(
                    HeaderLayer.IPV4, IbvFlowSpecIpv4Ext.SIZE, IbvFlowSpecIpv4Ext.VAL, IbvFlowSpecIpv4Ext.MASK);
            case IbvFlowSpecType.IBV_FLOW_SPEC_IPV6 ->
                new Shape(HeaderLayer.IPV6, IbvFlowSpecIpv6.SIZE, IbvFlowSpecIpv6.VAL, IbvFlowSpecIpv6.MASK);
            case IbvFlowSpecType.IBV_FLOW_SPEC_ESP ->
                new Shape(HeaderLayer.ESP, IbvFlowSpecEsp.SIZE, IbvFlowSpecEsp.VAL, IbvFlowSpecEsp.MASK);
            case IbvFlowSpecType.IBV_FLOW_SPEC_TCP -> ports(HeaderLayer.TCP);
            case IbvFlowSpecType.IBV_FLOW_SPEC_UDP -> ports(HeaderLayer.UDP);
            case IbvFlowSpecType.IBV_FLOW_SPEC_VXLAN_TUNNEL ->
                new Shape(HeaderLayer.VXLAN, IbvFlowSpecTunnel.SIZE, IbvFlowSpecTunnel.VAL, IbvFlowSpecTunnel.MASK);
            default -> null;
        };
    }

    private static Shape ports(HeaderLayer layer) {
        return new Shape(layer, IbvFlowSpecTcpUdp.SIZE, IbvFlowSpecTcpUdp.VAL, IbvFlowSpecTcpUdp.MASK);
    }
}
