package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.ProtectionDomain;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.RdmaCmEvent;
import org.kverbs.internal.memory.Memory;

/**
 * An event of a connection id ({@code struct rdma_cm_event}): a copy, so it is already acknowledged. Immutable.
 *
 * @param type the type of the event; UNKNOWN if {@code rawType} has no name
 * @param rawType the number of {@code type}, an {@code enum rdma_cm_event_type}
 * @param status 0 for a success; otherwise the negated errno, or for REJECTED on InfiniBand and RoCE the number of the
 *     {@link RejectReason}; for USER the number that the program gave
 * @param id the id that the event is about; for CONNECT_REQUEST the new id of the connection, which the receiver of the
 *     event accepts or rejects, and closes
 * @param listener the listening id for CONNECT_REQUEST, otherwise null
 * @param privateData the private data of the peer, which can be empty; on InfiniBand and RoCE it has the full length of
 *     the message, with zeros at the end
 * @param responderResources for a request or an answer: how many reads and atomics this side may serve at once
 * @param initiatorDepth for a request or an answer: how many reads and atomics this side may keep in flight
 * @param flowControl whether the peer has end-to-end flow control
 * @param retryCount for a request: how often the peer sends a lost packet again
 * @param rnrRetryCount how often the peer sends a message again when no receive is posted here
 * @param sharedReceiveQueue whether the peer's queue pair has a shared receive queue
 * @param queuePairNumber the number of the peer's queue pair for a request, an answer or ESTABLISHED of datagrams; for
 *     MULTICAST_JOIN the number to send to
 * @param address the destination for ESTABLISHED of datagrams and for MULTICAST_JOIN, for {@link
 *     ProtectionDomain#addressHandle}; otherwise null
 * @param qkey the key to send with to {@code address}; 0 without an address
 * @param argument for USER the argument of {@link ConnectionId#writeEvent}; otherwise 0
 */
public record ConnectionEvent(
        ConnectionEventType type,
        int rawType,
        int status,
        ConnectionId id,
        @Nullable ConnectionId listener,
        byte[] privateData,
        int responderResources,
        int initiatorDepth,
        boolean flowControl,
        int retryCount,
        int rnrRetryCount,
        boolean sharedReceiveQueue,
        int queuePairNumber,
        @Nullable AddressAttributes address,
        int qkey,
        long argument) {

    /** Copies the C structure. */
    static ConnectionEvent from(MemorySegment event, ConnectionId id, @Nullable ConnectionId listener) {
        int rawType = event.get(JAVA_INT, RdmaCmEvent.EVENT);
        ConnectionEventType type = ConnectionEventType.of(rawType);
        boolean hasAddress = type == ConnectionEventType.MULTICAST_JOIN
                || type == ConnectionEventType.ESTABLISHED && id.portSpace().isDatagram();
        if (type == ConnectionEventType.USER) { // the union holds a number
            int status = event.get(JAVA_INT, RdmaCmEvent.STATUS);
            long argument = event.get(JAVA_LONG, RdmaCmEvent.PARAM);
            return new ConnectionEvent(
                    type, rawType, status, id, null, new byte[0], 0, 0, false, 0, 0, false, 0, null, 0, argument);
        }
        // Both members of the union begin with the private data.
        boolean isDatagram = hasAddress || id.portSpace().isDatagram();
        return new ConnectionEvent(
                type,
                rawType,
                event.get(JAVA_INT, RdmaCmEvent.STATUS),
                id,
                listener,
                privateData(event),
                isDatagram ? 0 : uint8(event, RdmaCmEvent.PARAM_CONN_RESPONDER_RESOURCES),
                isDatagram ? 0 : uint8(event, RdmaCmEvent.PARAM_CONN_INITIATOR_DEPTH),
                !isDatagram && uint8(event, RdmaCmEvent.PARAM_CONN_FLOW_CONTROL) != 0,
                isDatagram ? 0 : uint8(event, RdmaCmEvent.PARAM_CONN_RETRY_COUNT),
                isDatagram ? 0 : uint8(event, RdmaCmEvent.PARAM_CONN_RNR_RETRY_COUNT),
                !isDatagram && uint8(event, RdmaCmEvent.PARAM_CONN_SRQ) != 0,
                event.get(JAVA_INT, isDatagram ? RdmaCmEvent.PARAM_UD_QP_NUM : RdmaCmEvent.PARAM_CONN_QP_NUM),
                hasAddress ? Structures.ADDRESS.read(event.asSlice(RdmaCmEvent.PARAM_UD_AH_ATTR)) : null,
                hasAddress ? event.get(JAVA_INT, RdmaCmEvent.PARAM_UD_QKEY) : 0,
                0);
    }

    private static byte[] privateData(MemorySegment event) {
        long address = event.get(JAVA_LONG, RdmaCmEvent.PARAM_CONN_PRIVATE_DATA);
        int length = uint8(event, RdmaCmEvent.PARAM_CONN_PRIVATE_DATA_LEN);
        return address == 0 ? new byte[0] : Memory.at(address, length).toArray(JAVA_BYTE);
    }

    private static int uint8(MemorySegment event, int offset) {
        return Byte.toUnsignedInt(event.get(JAVA_BYTE, offset));
    }

    /** Returns a copy of the private data. */
    @Override
    public byte[] privateData() {
        return privateData.clone();
    }

    /**
     * Returns this event if {@link ConnectionEventType#isError} is false.
     *
     * @throws ConnectionRejectedException if the peer rejected the request
     * @throws ConnectionTimeoutException if the network or the peer did not answer
     * @throws ConnectionException if the step failed otherwise
     */
    public ConnectionEvent orThrow() {
        if (type.isError()) {
            throw ConnectionErrors.of(this);
        }
        return this;
    }

    /** Returns one line, such as {@code REJECTED, status 8, on connection id (TCP) to 10.0.0.1:7471}. */
    @Override
    public String toString() {
        String what = type == ConnectionEventType.UNKNOWN ? "event " + rawType : type.name();
        return what + (status == 0 ? "" : ", status " + status + ",") + " on " + id.describe();
    }
}
