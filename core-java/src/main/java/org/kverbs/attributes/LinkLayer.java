package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvLinkLayer;

/**
 * The link layer of a port: the {@code IBV_LINK_LAYER_} constants. On {@link #ETHERNET} every address needs a global
 * route; on {@link #INFINIBAND} a LID is enough inside the subnet.
 */
public enum LinkLayer {
    /** {@code IBV_LINK_LAYER_UNSPECIFIED}: the device does not name it; a device older than RoCE means InfiniBand. */
    UNSPECIFIED(IbvLinkLayer.IBV_LINK_LAYER_UNSPECIFIED),
    /** {@code IBV_LINK_LAYER_INFINIBAND}: InfiniBand links. */
    INFINIBAND(IbvLinkLayer.IBV_LINK_LAYER_INFINIBAND),
    /** {@code IBV_LINK_LAYER_ETHERNET}: Ethernet links, for RoCE or iWARP. */
    ETHERNET(IbvLinkLayer.IBV_LINK_LAYER_ETHERNET),
    /** A value that this release of kverbs has no name for. C has no such constant. */
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
