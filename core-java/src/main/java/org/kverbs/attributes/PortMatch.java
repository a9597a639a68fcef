package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvFlowSpecTcpUdp;
import org.kverbs.internal.abi.IbvFlowSpecType;
import org.kverbs.internal.abi.IbvFlowTcpUdpFilter;

/** What a flow rule asks of a TCP or UDP header: {@code struct ibv_flow_spec_tcp_udp}. */
public final class PortMatch extends FlowMatch {

    private final int type;

    private PortMatch(String layer, int type) {
        super(layer, IbvFlowTcpUdpFilter.SIZE);
        this.type = type;
    }

    private PortMatch(PortMatch from) {
        super(from);
        this.type = from.type;
    }

    /** Makes a match of any TCP segment. */
    public static PortMatch tcp() {
        return new PortMatch("tcp", IbvFlowSpecType.IBV_FLOW_SPEC_TCP);
    }

    /** Makes a match of any UDP datagram. */
    public static PortMatch udp() {
        return new PortMatch("udp", IbvFlowSpecType.IBV_FLOW_SPEC_UDP);
    }

    @Override
    public PortMatch copy() {
        return new PortMatch(this);
    }

    /** Takes this for the header inside of a tunnel. */
    public PortMatch inner() {
        setInner();
        return this;
    }

    /** Asks for a destination port. */
    public PortMatch destinationPort(int port) {
        return destinationPort(port, 0xffff);
    }

    /** Asks for the bits of a destination port that are set in a mask. */
    public PortMatch destinationPort(int port, int mask) {
        ask("destinationPort", IbvFlowTcpUdpFilter.DST_PORT, Short.BYTES, port, mask);
        return this;
    }

    /** Asks for a source port. */
    public PortMatch sourcePort(int port) {
        return sourcePort(port, 0xffff);
    }

    /** Asks for the bits of a source port that are set in a mask. */
    public PortMatch sourcePort(int port, int mask) {
        ask("sourcePort", IbvFlowTcpUdpFilter.SRC_PORT, Short.BYTES, port, mask);
        return this;
    }

    @Override
    int type() {
        return type;
    }

    @Override
    int size() {
        return IbvFlowSpecTcpUdp.SIZE;
    }

    @Override
    int valueOffset() {
        return IbvFlowSpecTcpUdp.VAL;
    }

    @Override
    int maskOffset() {
        return IbvFlowSpecTcpUdp.MASK;
    }
}
