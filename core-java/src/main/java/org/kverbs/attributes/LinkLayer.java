package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvLinkLayer;

/**
 * What is under the transport of a port: the {@code IBV_LINK_LAYER_} constants. On {@link #ETHERNET} every address
 * needs a global route; on {@link #INFINIBAND} a LID is enough inside the subnet.
 */
public enum LinkLayer {
    /** {@code IBV_LINK_LAYER_UNSPECIFIED}: not said; devices from before RoCE mean InfiniBand. */
    UNSPECIFIED(IbvLinkLayer.IBV_LINK_LAYER_UNSPECIFIED),
    /** {@code IBV_LINK_LAYER_INFINIBAND}: InfiniBand. */
    INFINIBAND(IbvLinkLayer.IBV_LINK_LAYER_INFINIBAND),
    /** {@code IBV_LINK_LAYER_ETHERNET}: Ethernet: RoCE or iWARP. */
    ETHERNET(IbvLinkLayer.IBV_LINK_LAYER_ETHERNET),
    /** No C constant: a value that this release of kverbs has no name for. */
    UNKNOWN(-1);

    private static final LinkLayer[] ALL = values();

    private final int code;

    LinkLayer(int code) {
        this.code = code;
    }

    /** Returns the number that {@code IBV_LINK_LAYER_*} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static LinkLayer of(int code) {
        for (LinkLayer each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
