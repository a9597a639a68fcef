package org.kverbs.umad;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Gid;
import org.kverbs.attributes.GlobalRoute;
import org.kverbs.internal.abi.IbMadAddr;
import org.kverbs.internal.abi.IbUserMad;
import org.kverbs.internal.values.Ranges;

/**
 * Where a management datagram goes, or where it came from: {@code struct ib_mad_addr} (umad_set_addr(3), umad_set_grh
 * (3)). All numbers are in host order.
 *
 * @param lid the LID of the port, 16 bits. RoCE has none: give 0 and a global route
 * @param queuePair the queue pair: 0 for subnet management, 1 for everything else
 * @param qkey the Q_Key: 0 for subnet management, {@link #GENERAL_SERVICES_QKEY} for everything else
 * @param serviceLevel the service level, 0 to 15
 * @param pathBits the low bits of the source LID, for a port with several, 0 to 127
 * @param globalRoute the part for routers, or null; on RoCE each address has it
 * @param pkeyIndex the index of the partition key in the port's table, 16 bits
 */
public record UmadAddress(
        int lid,
        int queuePair,
        int qkey,
        int serviceLevel,
        int pathBits,
        @Nullable GlobalRoute globalRoute,
        int pkeyIndex) {

    /** The Q_Key of queue pair 1 of each port (IBA volume 1, section 10.2.5). */
    public static final int GENERAL_SERVICES_QKEY = 0x8001_0000;

    private static final ValueLayout.OfInt INT = JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfShort SHORT = JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int GID_SIZE = 16;

    /**
     * Checks that each number is in its range.
     *
     * @throws IllegalArgumentException if one is out of its range; the message names it
     */
    public UmadAddress {
        Ranges.require("LID", lid, 0, 0xffff);
        Ranges.require("queue pair", queuePair, 0, 0xff_ffff);
        Ranges.require("service level", serviceLevel, 0, 15);
        Ranges.require("path bits", pathBits, 0, 127);
        Ranges.require("index of the partition key", pkeyIndex, 0, 0xffff);
    }

    /** Returns the address of a port's subnet management: queue pair 0. LID 0xffff is the port itself. */
    public static UmadAddress subnetManagement(int lid) {
        return new UmadAddress(lid, 0, 0, 0, 0, null, 0);
    }

    /** Returns the address of a port's general services: queue pair 1. */
    public static UmadAddress generalServices(int lid) {
        return new UmadAddress(lid, 1, GENERAL_SERVICES_QKEY, 0, 0, null, 0);
    }

    /** Returns the address of the general services of a port on RoCE, which has no LID. */
    public static UmadAddress generalServices(GlobalRoute globalRoute) {
        return new UmadAddress(0, 1, GENERAL_SERVICES_QKEY, 0, 0, globalRoute, 0);
    }

    /** Reads the header before a datagram. Its last word, with the partition key's index, can be absent. */
    static UmadAddress from(MemorySegment header) {
        MemorySegment at = header.asSlice(IbUserMad.ADDR);
        GlobalRoute route = at.get(JAVA_BYTE, IbMadAddr.GRH_PRESENT) == 0 ? null : route(at);
        return new UmadAddress(
                Short.toUnsignedInt(at.get(SHORT, IbMadAddr.LID)),
                at.get(INT, IbMadAddr.QPN) & 0xff_ffff,
                at.get(INT, IbMadAddr.QKEY),
                at.get(JAVA_BYTE, IbMadAddr.SL) & 15,
                at.get(JAVA_BYTE, IbMadAddr.PATH_BITS) & 127,
                route,
                header.byteSize() < IbUserMad.SIZE
                        ? 0
                        : Short.toUnsignedInt(at.get(JAVA_SHORT_UNALIGNED, IbMadAddr.PKEY_INDEX)));
    }

    private static GlobalRoute route(MemorySegment at) {
        return new GlobalRoute(
                Gid.of(at.asSlice(IbMadAddr.GID, GID_SIZE).toArray(JAVA_BYTE)),
                at.get(INT, IbMadAddr.FLOW_LABEL) & 0xf_ffff,
                Byte.toUnsignedInt(at.get(JAVA_BYTE, IbMadAddr.GID_INDEX)),
                Byte.toUnsignedInt(at.get(JAVA_BYTE, IbMadAddr.HOP_LIMIT)),
                Byte.toUnsignedInt(at.get(JAVA_BYTE, IbMadAddr.TRAFFIC_CLASS)));
    }

    /** Writes the header before a datagram. */
    void writeTo(MemorySegment header) {
        MemorySegment at = header.asSlice(IbUserMad.ADDR);
        at.set(INT, IbMadAddr.QPN, queuePair);
        at.set(INT, IbMadAddr.QKEY, qkey);
        at.set(SHORT, IbMadAddr.LID, (short) lid);
        at.set(JAVA_BYTE, IbMadAddr.SL, (byte) serviceLevel);
        at.set(JAVA_BYTE, IbMadAddr.PATH_BITS, (byte) pathBits);
        if (globalRoute != null) {
            at.set(JAVA_BYTE, IbMadAddr.GRH_PRESENT, (byte) 1);
            at.set(JAVA_BYTE, IbMadAddr.GID_INDEX, (byte) globalRoute.sgidIndex());
            at.set(JAVA_BYTE, IbMadAddr.HOP_LIMIT, (byte) globalRoute.hopLimit());
            at.set(JAVA_BYTE, IbMadAddr.TRAFFIC_CLASS, (byte) globalRoute.trafficClass());
            at.asSlice(IbMadAddr.GID, GID_SIZE).copyFrom(MemorySegment.ofArray(globalRoute.dgid().bytes()));
            at.set(INT, IbMadAddr.FLOW_LABEL, globalRoute.flowLabel());
        }
        if (header.byteSize() >= IbUserMad.SIZE) {
            at.set(JAVA_SHORT_UNALIGNED, IbMadAddr.PKEY_INDEX, (short) pkeyIndex);
        } else if (pkeyIndex != 0) {
            throw new IllegalStateException("this kernel takes no index of a partition key with a datagram; give 0");
        }
    }
}
