package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvFlowIpv6Filter;
import org.kverbs.internal.abi.IbvFlowSpecIpv6;
import org.kverbs.internal.abi.IbvFlowSpecType;
import org.kverbs.internal.values.Ranges;

/** What a flow rule asks of the IPv6 header: {@code struct ibv_flow_spec_ipv6}. */
public final class Ipv6Match extends FlowMatch {

    private static final int BYTES = 16;
    private static final int LABEL = 0xfffff;

    /** Makes a match of any IPv6 packet. */
    public Ipv6Match() {
        super("ipv6", IbvFlowIpv6Filter.SIZE);
    }

    private Ipv6Match(Ipv6Match from) {
        super(from);
    }

    @Override
    public Ipv6Match copy() {
        return new Ipv6Match(this);
    }

    /** Takes this for the IPv6 header inside of a tunnel. */
    public Ipv6Match inner() {
        setInner();
        return this;
    }

    /** Asks for a source: an address or a network, {@code 2001:db8::1} or {@code 2001:db8::/32}. */
    public Ipv6Match source(String network) {
        askNetwork("source", IbvFlowIpv6Filter.SRC_IP, BYTES, network);
        return this;
    }

    /** Asks for a destination: an address or a network, {@code 2001:db8::1} or {@code 2001:db8::/32}. */
    public Ipv6Match destination(String network) {
        askNetwork("destination", IbvFlowIpv6Filter.DST_IP, BYTES, network);
        return this;
    }

    /** Asks for a flow label, 20 bits. */
    public Ipv6Match flowLabel(int label) {
        Ranges.require("flowLabel", label, 0, LABEL);
        ask("flowLabel", IbvFlowIpv6Filter.FLOW_LABEL, Integer.BYTES, label, LABEL);
        return this;
    }

    /** Asks for the number of the header that follows: 6 for TCP, 17 for UDP. */
    public Ipv6Match nextHeader(int number) {
        ask("nextHeader", IbvFlowIpv6Filter.NEXT_HDR, Byte.BYTES, number, 0xff);
        return this;
    }

    /** Asks for a traffic class, 8 bits. */
    public Ipv6Match trafficClass(int value) {
        ask("trafficClass", IbvFlowIpv6Filter.TRAFFIC_CLASS, Byte.BYTES, value, 0xff);
        return this;
    }

    /** Asks for a hop limit. */
    public Ipv6Match hopLimit(int hops) {
        ask("hopLimit", IbvFlowIpv6Filter.HOP_LIMIT, Byte.BYTES, hops, 0xff);
        return this;
    }

    @Override
    int type() {
        return IbvFlowSpecType.IBV_FLOW_SPEC_IPV6;
    }

    @Override
    int size() {
        return IbvFlowSpecIpv6.SIZE;
    }

    @Override
    int valueOffset() {
        return IbvFlowSpecIpv6.VAL;
    }

    @Override
    int maskOffset() {
        return IbvFlowSpecIpv6.MASK;
    }
}
