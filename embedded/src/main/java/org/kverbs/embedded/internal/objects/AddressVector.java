package org.kverbs.embedded.internal.objects;

import java.nio.ByteOrder;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.memory.Memory;

/** Describes the source and destination of packets: the RoCE fields of a {@code struct ibv_ah_attr}. */
public final class AddressVector {

    /** The hop limit if none is given. */
    public static final int HOPS = 64;

    public long gidHigh;
    public long gidLow;
    public int sourceIndex;
    int flowLabel;
    int hopLimit;
    int trafficClass;

    /** Reads a {@code struct ibv_ah_attr}; the caller has checked its global part. */
    public void read(long attributes) {
        gidHigh = bigEndian(attributes + IbvAhAttr.GRH_DGID_GLOBAL_SUBNET_PREFIX);
        gidLow = bigEndian(attributes + IbvAhAttr.GRH_DGID_GLOBAL_INTERFACE_ID);
        sourceIndex = Byte.toUnsignedInt(Memory.getByte(attributes + IbvAhAttr.GRH_SGID_INDEX));
        flowLabel = Memory.getInt(attributes + IbvAhAttr.GRH_FLOW_LABEL) & 0xfffff;
        hopLimit = Byte.toUnsignedInt(Memory.getByte(attributes + IbvAhAttr.GRH_HOP_LIMIT));
        trafficClass = Byte.toUnsignedInt(Memory.getByte(attributes + IbvAhAttr.GRH_TRAFFIC_CLASS));
    }

    /** Tells whether packets leave with the mark of congestion, which the program can ask for. */
    public boolean marksCongestion() {
        return (trafficClass & Packet.CONGESTED) == Packet.CONGESTED;
    }

    public void copy(AddressVector from) {
        gidHigh = from.gidHigh;
        gidLow = from.gidLow;
        sourceIndex = from.sourceIndex;
        flowLabel = from.flowLabel;
        hopLimit = from.hopLimit;
        trafficClass = from.trafficClass;
    }

    /** Writes the addresses into a packet. */
    public void address(Packet packet, Gids gids) {
        packet.sourceGidHigh = gids.high(sourceIndex);
        packet.sourceGidLow = gids.low(sourceIndex);
        packet.destinationGidHigh = gidHigh;
        packet.destinationGidLow = gidLow;
        packet.trafficClass = trafficClass;
        packet.hopLimit = hopLimit == 0 ? HOPS : hopLimit;
        packet.flowLabel = flowLabel;
    }

    /**
     * Returns the UDP source port of packets (IBA annex A17.4.8). Packets that must stay in order have one port, and
     * the network may spread packets with different ports. If there is a flow label, the port follows from it.
     *
     * @param numbers the numbers of the queue pairs, mixed
     */
    public int sourcePort(int numbers) {
        int from = flowLabel == 0 ? numbers : flowLabel;
        return 0xc000 | (from ^ from >>> 14) & 0x3fff;
    }

    private static long bigEndian(long address) {
        long number = Memory.getLong(address);
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? number : Long.reverseBytes(number);
    }
}
