package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvFlowIpv4ExtFilter;
import org.kverbs.internal.abi.IbvFlowSpecIpv4;
import org.kverbs.internal.abi.IbvFlowSpecIpv4Ext;
import org.kverbs.internal.abi.IbvFlowSpecType;

/**
 * What a flow rule asks of the IPv4 header: {@code struct ibv_flow_spec_ipv4}, or {@code struct ibv_flow_spec_ipv4_ext}
 * if it asks for more than addresses.
 */
public final class Ipv4Match extends FlowMatch {

    private static final int BYTES = 4;

    private boolean isExtended;

    /** Makes a match of any IPv4 packet. */
    public Ipv4Match() {
        super("ipv4", IbvFlowIpv4ExtFilter.SIZE); // begins with the fields of the plain filter
    }

    private Ipv4Match(Ipv4Match from) {
        super(from);
        isExtended = from.isExtended;
    }

    @Override
    public Ipv4Match copy() {
        return new Ipv4Match(this);
    }

    /** Takes this for the IPv4 header inside of a tunnel. */
    public Ipv4Match inner() {
        setInner();
        return this;
    }

    /** Asks for a source: an address or a network, {@code 192.0.2.1} or {@code 192.0.2.0/24}. */
    public Ipv4Match source(String network) {
        askNetwork("source", IbvFlowIpv4ExtFilter.SRC_IP, BYTES, network);
        return this;
    }

    /** Asks for a destination: an address or a network, {@code 192.0.2.1} or {@code 192.0.2.0/24}. */
    public Ipv4Match destination(String network) {
        askNetwork("destination", IbvFlowIpv4ExtFilter.DST_IP, BYTES, network);
        return this;
    }

    /** Asks for a protocol: 6 for TCP, 17 for UDP. */
    public Ipv4Match protocol(int number) {
        return extended("protocol", IbvFlowIpv4ExtFilter.PROTO, number);
    }

    /** Asks for a type of service, 8 bits. */
    public Ipv4Match typeOfService(int value) {
        return extended("typeOfService", IbvFlowIpv4ExtFilter.TOS, value);
    }

    /** Asks for a time to live. */
    public Ipv4Match timeToLive(int hops) {
        return extended("timeToLive", IbvFlowIpv4ExtFilter.TTL, hops);
    }

    private Ipv4Match extended(String name, int offset, int value) {
        isExtended = true;
        ask(name, offset, Byte.BYTES, value, 0xff);
        return this;
    }

    @Override
    int type() {
        return isExtended ? IbvFlowSpecType.IBV_FLOW_SPEC_IPV4_EXT : IbvFlowSpecType.IBV_FLOW_SPEC_IPV4;
    }

    @Override
    int size() {
        return isExtended ? IbvFlowSpecIpv4Ext.SIZE : IbvFlowSpecIpv4.SIZE;
    }

    @Override
    int valueOffset() {
        return isExtended ? IbvFlowSpecIpv4Ext.VAL : IbvFlowSpecIpv4.VAL;
    }

    @Override
    int maskOffset() {
        return isExtended ? IbvFlowSpecIpv4Ext.MASK : IbvFlowSpecIpv4.MASK;
    }
}
