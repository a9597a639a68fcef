package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvTransportType;

/**
 * Which transport a device speaks: {@code enum ibv_transport_type}. RoCE devices say {@link #IB}; {@link LinkLayer}
 * tells the two apart.
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
    /** {@code IBV_TRANSPORT_UNSPECIFIED}: a transport of its own, such as EFA. */
    UNSPECIFIED(IbvTransportType.IBV_TRANSPORT_UNSPECIFIED),
    /** {@code IBV_TRANSPORT_UNKNOWN}: a transport that the library, or this release of kverbs, has no name for. */
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
