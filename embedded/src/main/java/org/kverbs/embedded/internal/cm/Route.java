package org.kverbs.embedded.internal.cm;

import java.nio.ByteOrder;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.ffm.Memory;

/** Where the packets of a connection go, as its {@code struct ibv_ah_attr} says. */
record Route(int sourceIndex, long gidHigh, long gidLow, int flowLabel, int hopLimit, int trafficClass) {

    /** Routers that a packet may pass, as Linux has it on RoCE. */
    static final int HOPS = 64;
    /** The one port that an embedded device has. */
    static final int PORT = 1;

    static Route to(Remote remote, int trafficClass) {
        return new Route(remote.sourceIndex(), remote.gidHigh(), remote.gidLow(), 0, HOPS, trafficClass);
    }

    /** Writes {@code struct ibv_ah_attr}, all of it. */
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
