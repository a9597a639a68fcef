package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvTransportType;

/**
 * The transport of a device: {@code enum ibv_transport_type}. A RoCE device has {@link #IB}; the {@link LinkLayer} of
 * its port tells it from InfiniBand.
 */
public enum TransportType {
    /** {@code IBV_TRANSPORT_IB}: the InfiniBand transport, over InfiniBand or over Ethernet (RoCE). */
    IB(IbvTransportType.IBV_TRANSPORT_IB),
    /** {@code IBV_TRANSPORT_IWARP}: iWARP, RDMA over TCP. */
    IWARP(IbvTransportType.IBV_TRANSPORT_IWARP),
    /** {@code IBV_TRANSPORT_USNIC}: Cisco usNIC's own transport. */
    USNIC(IbvTransportType.IBV_TRANSPORT_USNIC),
    /** {@code IBV_TRANSPORT_USNIC_UDP}: Cisco usNIC over UDP. */
    USNIC_UDP(IbvTransportType.IBV_TRANSPORT_USNIC_UDP),
    /** {@code IBV_TRANSPORT_UNSPECIFIED}: another transport, such as that of EFA. */
    UNSPECIFIED(IbvTransportType.IBV_TRANSPORT_UNSPECIFIED),
    /** {@code IBV_TRANSPORT_UNKNOWN}: a transport for which the library or this release of kverbs has no name. */
    UNKNOWN(-1);

    private static final TransportType[] ALL = values();

    private final int code;

    TransportType(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_transport_type} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static TransportType of(int code) {
        for (TransportType each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
