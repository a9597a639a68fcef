package org.kverbs.cm;

import org.kverbs.internal.abi.RdmaPortSpace;

/**
 * Whose port numbers a connection id uses, and so what kind of service it gives: {@code enum rdma_port_space}
 * (rdma_create_id(3)).
 */
public enum PortSpace {
    /** {@code RDMA_PS_TCP}: reliable connections (RC, iWARP). The ports are not those of TCP itself. */
    TCP(RdmaPortSpace.RDMA_PS_TCP),
    /** {@code RDMA_PS_UDP}: datagrams (UD), where connecting asks the peer for its queue pair; and multicast. */
    UDP(RdmaPortSpace.RDMA_PS_UDP),
    /** {@code RDMA_PS_IPOIB}: datagrams to the multicast groups of IP over InfiniBand. */
    IPOIB(RdmaPortSpace.RDMA_PS_IPOIB),
    /** {@code RDMA_PS_IB}: any service, by InfiniBand's own service ids. */
    IB(RdmaPortSpace.RDMA_PS_IB),
    /** No C constant: a value that this release of kverbs has no name for. */
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

    /** Whether its queue pairs send datagrams and are not connected. */
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
