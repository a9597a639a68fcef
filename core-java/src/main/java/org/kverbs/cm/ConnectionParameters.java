package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.RdmaConnParam;
import org.kverbs.internal.abi.RdmaLimits;
import org.kverbs.internal.values.Ranges;

/**
 * The parameters of one side of a new connection: {@code struct rdma_conn_param} (rdma_connect(3), rdma_accept(3)).
 * Immutable.
 *
 * <p>InfiniBand and RoCE carry private data of a fixed length and fill it with zeros: 56 bytes in a request and 196 in
 * an answer; for datagrams 180 and 136. iWARP carries the given bytes.
 *
 * @param privateData bytes for the peer, at most as many as the message can carry, and at most 255
 * @param responderResources how many reads and atomics of the peer this side serves at once, 0 to 254; 255 stands for
 *     the maximum of the device, and in an answer at most what the peer asks for
 * @param initiatorDepth how many reads and atomics this side keeps in flight; 255 as above
 * @param flowControl whether the device has end-to-end flow control
 * @param retryCount how often a lost packet is sent again, 0 to 7; the accepting side uses the number of the connecting
 *     side
 * @param rnrRetryCount how often a message is sent again when the peer has no receive posted, 0 to 6; 7 for no limit
 */
public record ConnectionParameters(
        byte[] privateData, int responderResources, int initiatorDepth, boolean flowControl, int retryCount,
        int rnrRetryCount) {

    private static final int MAX_PRIVATE_DATA = 255;
    private static final int MAX_RETRIES = 7;

    /** The defaults: no private data, the device's maximum of reads and atomics, and 7 for both retry counts. */
    public static final ConnectionParameters DEFAULTS = new ConnectionParameters(
            new byte[0], RdmaLimits.RDMA_MAX_RESP_RES, RdmaLimits.RDMA_MAX_INIT_DEPTH, true, MAX_RETRIES, MAX_RETRIES);

    /**
     * Copies the private data and checks the numbers.
     *
     * @throws IllegalArgumentException if a number is out of its range; the message names it
     */
    public ConnectionParameters {
        Ranges.require("length of private data", privateData.length, 0, MAX_PRIVATE_DATA);
        Ranges.require("responder resources", responderResources, 0, RdmaLimits.RDMA_MAX_RESP_RES);
        Ranges.require("initiator depth", initiatorDepth, 0, RdmaLimits.RDMA_MAX_INIT_DEPTH);
        Ranges.require("retry count", retryCount, 0, MAX_RETRIES);
        Ranges.require("receiver-not-ready retry count", rnrRetryCount, 0, MAX_RETRIES);
        privateData = privateData.clone();
    }

    /** Returns a copy of the private data. */
    @Override
    public byte[] privateData() {
        return privateData.clone();
    }

    /** Returns a copy with other private data. */
    public ConnectionParameters withPrivateData(byte[] data) {
        return new ConnectionParameters(data, responderResources, initiatorDepth, flowControl, retryCount,
                rnrRetryCount);
    }

    /** Returns a copy with other numbers of reads and atomics. */
    public ConnectionParameters withReads(int responderResources, int initiatorDepth) {
        return new ConnectionParameters(privateData, responderResources, initiatorDepth, flowControl, retryCount,
                rnrRetryCount);
    }

    /** Returns a copy with other retry counts. */
    public ConnectionParameters withRetries(int retryCount, int rnrRetryCount) {
        return new ConnectionParameters(privateData, responderResources, initiatorDepth, flowControl, retryCount,
                rnrRetryCount);
    }

    /** Allocates the C structure for a queue pair, with its private data, in an arena. */
    MemorySegment allocate(Arena arena, int queuePairNumber, boolean sharedReceiveQueue) {
        MemorySegment made = arena.allocate(RdmaConnParam.SIZE, ADDRESS.byteAlignment());
        made.set(ADDRESS, RdmaConnParam.PRIVATE_DATA, arena.allocateFrom(JAVA_BYTE, privateData));
        made.set(JAVA_BYTE, RdmaConnParam.PRIVATE_DATA_LEN, (byte) privateData.length);
        made.set(JAVA_BYTE, RdmaConnParam.RESPONDER_RESOURCES, (byte) responderResources);
        made.set(JAVA_BYTE, RdmaConnParam.INITIATOR_DEPTH, (byte) initiatorDepth);
        made.set(JAVA_BYTE, RdmaConnParam.FLOW_CONTROL, (byte) (flowControl ? 1 : 0));
        made.set(JAVA_BYTE, RdmaConnParam.RETRY_COUNT, (byte) retryCount);
        made.set(JAVA_BYTE, RdmaConnParam.RNR_RETRY_COUNT, (byte) rnrRetryCount);
        made.set(JAVA_BYTE, RdmaConnParam.SRQ, (byte) (sharedReceiveQueue ? 1 : 0));
        made.set(JAVA_INT, RdmaConnParam.QP_NUM, queuePairNumber);
        return made;
    }

    /** Returns whether all parameters are equal, including the bytes of the private data. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ConnectionParameters that
                && Arrays.equals(privateData, that.privateData)
                && responderResources == that.responderResources
                && initiatorDepth == that.initiatorDepth
                && flowControl == that.flowControl
                && retryCount == that.retryCount
                && rnrRetryCount == that.rnrRetryCount;
    }

    /** Returns a hash of the private data and the responder resources. */
    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(privateData) + responderResources;
    }

    /** Returns all parameters, the private data as hexadecimal digits. */
    @Override
    public String toString() {
        return "ConnectionParameters[privateData=" + HexFormat.of().formatHex(privateData) + ", responderResources="
                + responderResources
                + ", initiatorDepth=" + initiatorDepth + ", flowControl=" + flowControl + ", retryCount=" + retryCount
                + ", rnrRetryCount="
                + rnrRetryCount + "]";
    }
}
