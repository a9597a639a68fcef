package org.kverbs.embedded.internal.cm;

import java.nio.ByteOrder;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.memory.Memory;

/** Describes where the packets of a connection go, for {@code struct ibv_ah_attr}. */
record Route(int sourceIndex, long gidHigh, long gidLow, int flowLabel, int hopLimit, int trafficClass) {

    /** The hop limit of packets, as Linux sets it on RoCE. */
    static final int HOPS = 64;
    /** The only port of an embedded device. */
    static final int PORT = 1;

    static Route to(Remote remote, int trafficClass) {
        return new Route(remote.sourceIndex(), remote.gidHigh(), remote.gidLow(), 0, HOPS, trafficClass);
    }

    /** Writes all fields of {@code struct ibv_ah_attr}. */
    void write(long at) {
        Memory.at(at, IbvAhAttr.SIZE).fill((byte) 0);
        putBig(at + IbvAhAttr.GRH_DGID_GLOBAL_SUBNET_PREFIX, gidHigh);
        putBig(at + IbvAhAttr.GRH_DGID_GLOBAL_INTERFACE_ID, gidLow);
        Memory.putInt(at + IbvAhAttr.GRH_FLOW_LABEL, flowLabel);
        Memory.putByte(at + IbvAhAttr.GRH_SGID_INDEX, (byte) sourceIndex);
        Memory.putByte(at + IbvAhAttr.GRH_HOP_LIMIT, (byte) hopLimit);
        Memory.putByte(at + IbvAhAttr.GRH_TRAFFIC_CLASS, (byte) trafficClass);
        Memory.putByte(at + IbvAhAttr.IS_GLOBAL, (byte) 1);
        Memory.putByte(at + IbvAhAttr.PORT_NUM, (byte) PORT);
    }

    private static void putBig(long at, long number) {
        Memory.putLong(at, ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? number : Long.reverseBytes(number));
    }
}
