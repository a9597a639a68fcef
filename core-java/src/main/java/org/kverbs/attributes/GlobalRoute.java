package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvGlobalRoute;
import org.kverbs.internal.abi.IbvRoce;
import org.kverbs.internal.values.Ranges;

/**
 * The part of an address that routers use: {@code struct ibv_global_route} (ibv_create_ah(3); IBA volume 1, section
 * 8.3). A path beyond the subnet needs it, and on RoCE every path. On RoCE version 2 its fields become the fields of
 * the IP header.
 *
 * @param dgid the GID of the peer
 * @param flowLabel the flow label, 20 bits; RoCE version 2 also derives the UDP source port from it
 * @param sgidIndex the index of the source GID in the port's table, 0 to 255; its type must be that of the peer's entry
 * @param hopLimit how many routers a packet may pass, 0 to 255; with 0 or 1 it stays in the subnet
 * @param trafficClass the traffic class, 0 to 255; on RoCE version 2 the DSCP and ECN bits
 */
public record GlobalRoute(Gid dgid, int flowLabel, int sgidIndex, int hopLimit, int trafficClass) {
    /** The hop limit of a route if the caller names none: the usual initial value of IP hosts. */
    public static final int DEFAULT_HOP_LIMIT = 64;

    /**
     * Checks that each number is in its range.
     *
     * @throws IllegalArgumentException if one is out of its range; the message names it
     */
    public GlobalRoute {
        Ranges.require("flow label", flowLabel, 0, IbvRoce.IB_GRH_FLOWLABEL_MASK);
        Ranges.require("source GID index", sgidIndex, 0, 255);
        Ranges.require("hop limit", hopLimit, 0, 255);
        Ranges.require("traffic class", trafficClass, 0, 255);
    }

    /**
     * Returns the UDP source port that RoCE version 2 makes of a flow label, 49,152 to 65,535 ({@code
     * ibv_flow_label_to_udp_sport}). Routers spread packets over paths by it. Devices can derive it in another way if
     * the flow label is 0.
     *
     * @param flowLabel the flow label, of which the low 20 bits count
     */
    public static int udpSourcePort(int flowLabel) {
        int low = flowLabel & 0x3fff;
        int high = (flowLabel & 0xfc000) >>> 14;
        return low ^ high | IbvRoce.IB_ROCE_UDP_ENCAP_VALID_PORT_MIN;
    }

    /** Reads the C structure at the start of {@code segment}, in the machine's byte order. */
    static GlobalRoute from(MemorySegment segment) {
        return new GlobalRoute(
                Gid.from(segment, IbvGlobalRoute.DGID),
                segment.get(JAVA_INT, IbvGlobalRoute.FLOW_LABEL) & IbvRoce.IB_GRH_FLOWLABEL_MASK,
                Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvGlobalRoute.SGID_INDEX)),
                Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvGlobalRoute.HOP_LIMIT)),
                Byte.toUnsignedInt(segment.get(JAVA_BYTE, IbvGlobalRoute.TRAFFIC_CLASS)));
    }

    /** Writes the C structure at the start of {@code segment}. */
    void writeTo(MemorySegment segment) {
        dgid.writeTo(segment, IbvGlobalRoute.DGID);
        segment.set(JAVA_INT, IbvGlobalRoute.FLOW_LABEL, flowLabel);
        segment.set(JAVA_BYTE, IbvGlobalRoute.SGID_INDEX, (byte) sgidIndex);
        segment.set(JAVA_BYTE, IbvGlobalRoute.HOP_LIMIT, (byte) hopLimit);
        segment.set(JAVA_BYTE, IbvGlobalRoute.TRAFFIC_CLASS, (byte) trafficClass);
    }
}
