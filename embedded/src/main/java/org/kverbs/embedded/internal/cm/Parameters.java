package org.kverbs.embedded.internal.cm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.kverbs.internal.abi.RdmaConnParam;
import org.kverbs.internal.abi.RdmaLimits;
import org.kverbs.internal.memory.Memory;

/**
 * Holds the caller's wishes for a connection: {@code struct rdma_conn_param}.
 *
 * @param responderResources reads and atomics of the peer that the queue pair answers at once
 * @param initiatorDepth the queue pair's own reads and atomics in flight
 */
record Parameters(
        byte[] privateData,
        int responderResources,
        int initiatorDepth,
        boolean flowControl,
        int retryCount,
        int rnrRetry,
        boolean srq,
        int qpn) {

    /**
     * How many reads and atomics a queue pair of an embedded device can have in flight, and how many it answers at
     * once.
     */
    static final int READS = 128;

    static Parameters read(MemorySegment from) {
        long data = from.get(ValueLayout.JAVA_LONG_UNALIGNED, RdmaConnParam.PRIVATE_DATA);
        int length = data == 0 ? 0 : getByte(from, RdmaConnParam.PRIVATE_DATA_LEN);
        return new Parameters(
                length == 0 ? new byte[0] : Memory.at(data, length).toArray(ValueLayout.JAVA_BYTE),
                getByte(from, RdmaConnParam.RESPONDER_RESOURCES),
                getByte(from, RdmaConnParam.INITIATOR_DEPTH),
                getByte(from, RdmaConnParam.FLOW_CONTROL) != 0,
                Math.min(7, getByte(from, RdmaConnParam.RETRY_COUNT)),
                Math.min(7, getByte(from, RdmaConnParam.RNR_RETRY_COUNT)),
                getByte(from, RdmaConnParam.SRQ) != 0,
                from.get(ValueLayout.JAVA_INT_UNALIGNED, RdmaConnParam.QP_NUM));
    }

    private static int getByte(MemorySegment from, int offset) {
        return Byte.toUnsignedInt(from.get(ValueLayout.JAVA_BYTE, offset));
    }

    /** Tells whether the device supports these values and the message has room for the private data. */
    boolean fit(int room) {
        return (responderResources <= READS || responderResources == RdmaLimits.RDMA_MAX_RESP_RES)
                && (initiatorDepth <= READS || initiatorDepth == RdmaLimits.RDMA_MAX_INIT_DEPTH)
                && privateData.length <= room
                && (qpn & ~0xffffff) == 0;
    }

    /** Returns a copy with the largest possible numbers instead of RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH. */
    Parameters atMost(int responder, int initiator) {
        return new Parameters(
                privateData,
                responderResources == RdmaLimits.RDMA_MAX_RESP_RES ? Math.min(READS, responder) : responderResources,
                initiatorDepth == RdmaLimits.RDMA_MAX_INIT_DEPTH ? Math.min(READS, initiator) : initiatorDepth,
                flowControl,
                retryCount,
                rnrRetry,
                srq,
                qpn);
    }
}
