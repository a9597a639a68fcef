package org.kverbs.cm;

import org.kverbs.internal.abi.RdmaPortSpace;

/**
 * The port space of a connection id, which also determines its service: {@code enum rdma_port_space}
 * (rdma_create_id(3)).
 */
public enum PortSpace {
    /** {@code RDMA_PS_TCP}: reliable connections (RC, iWARP). The ports are not those of TCP itself. */
    TCP(RdmaPortSpace.RDMA_PS_TCP),
    /** {@code RDMA_PS_UDP}: datagrams (UD) and multicast. Connecting asks the peer for its queue pair. */
    UDP(RdmaPortSpace.RDMA_PS_UDP),
    /** {@code RDMA_PS_IPOIB}: datagrams to the multicast groups of IP over InfiniBand. */
    IPOIB(RdmaPortSpace.RDMA_PS_IPOIB),
    /** {@code RDMA_PS_IB}: any service, by the service ids of InfiniBand. */
    IB(RdmaPortSpace.RDMA_PS_IB),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final PortSpace[] ALL = values();

    private final int code;

    PortSpace(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum rdma_port_space} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns whether the queue pairs of this port space send datagrams and are not connected. */
    public boolean isDatagram() {
        return this == UDP || this == IPOIB;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static PortSpace of(int code) {
        for (PortSpace each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
