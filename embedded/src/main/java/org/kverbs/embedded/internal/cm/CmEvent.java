package org.kverbs.embedded.internal.cm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.cm.Message.Rep;
import org.kverbs.embedded.internal.cm.Message.Req;
import org.kverbs.internal.abi.RdmaCmEvent;
import org.kverbs.internal.abi.RdmaCmEventType;
import org.kverbs.internal.memory.Memory;

/** Holds a {@code struct rdma_cm_event} and its private data; the memory lives as long as this object. */
final class CmEvent {

    /** RDMA_CM_EVENT_ADDRINFO_RESOLVED and RDMA_CM_EVENT_USER, which the headers have since rdma-core 60. */
    static final int ADDRINFO_RESOLVED = 16;

    private static final int USER = 18;

    private static final int PRIVATE_DATA = (RdmaCmEvent.SIZE + 7) & ~7;

    private final MemorySegment structure = Arena.ofAuto().allocate(PRIVATE_DATA + 256, 8);
    final Id id;
    /** The listener in whose backlog this request waits. */
    @Nullable Id listener;

    /** @param status 0, -errno, or a reject reason of the protocol */
    CmEvent(Id id, int type, int status) {
        this.id = id;
        Memory.putLong(at(RdmaCmEvent.ID), id.handle());
        Memory.putInt(at(RdmaCmEvent.EVENT), type);
        Memory.putInt(at(RdmaCmEvent.STATUS), status);
    }

    /**
     * Makes the event of a connection request. The initiator depth of one side is the responder resources of the other.
     */
    static CmEvent of(Id id, Id listener, Req req, byte[] privateData) {
        var event = new CmEvent(id, RdmaCmEventType.RDMA_CM_EVENT_CONNECT_REQUEST, 0);
        event.listener(listener)
                .connection(req.initiatorDepth(), req.responderResources(), req.qpn(), req.srq(), req.flowControl());
        event.putByte(RdmaCmEvent.PARAM_CONN_RETRY_COUNT, req.retryCount());
        event.putByte(RdmaCmEvent.PARAM_CONN_RNR_RETRY_COUNT, req.rnrRetry());
        return event.data(privateData);
    }

    /** Makes the event of a request for a datagram queue pair. */
    static CmEvent datagramRequest(Id id, Id listener, byte[] privateData) {
        return new CmEvent(id, RdmaCmEventType.RDMA_CM_EVENT_CONNECT_REQUEST, 0).listener(listener).data(privateData);
    }

    /** Makes the event of the peer's answer to a request. */
    static CmEvent of(Id id, Rep rep) {
        var event = new CmEvent(id, RdmaCmEventType.RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
        event.connection(rep.initiatorDepth(), rep.responderResources(), rep.qpn(), rep.srq(), rep.flowControl());
        event.putByte(RdmaCmEvent.PARAM_CONN_RNR_RETRY_COUNT, rep.rnrRetry());
        return event.data(rep.privateData());
    }

    /** Makes the event that tells the address of a datagram peer or of a multicast group. */
    static CmEvent datagrams(Id id, int type, Route route, int qpn, int qkey) {
        var event = new CmEvent(id, type, 0);
        route.write(event.at(RdmaCmEvent.PARAM_UD_AH_ATTR));
        Memory.putInt(event.at(RdmaCmEvent.PARAM_UD_QP_NUM), qpn);
        Memory.putInt(event.at(RdmaCmEvent.PARAM_UD_QKEY), qkey);
        return event;
    }

    /** Makes an event of the program. */
    static CmEvent ofProgram(Id id, int status, long argument) {
        var event = new CmEvent(id, USER, status);
        Memory.putLong(event.at(RdmaCmEvent.PARAM), argument);
        return event;
    }

    long handle() {
        return structure.address();
    }

    private long at(int offset) {
        return structure.address() + offset;
    }

    private void putByte(int offset, int value) {
        Memory.putByte(at(offset), (byte) value);
    }

    private CmEvent listener(Id asked) {
        listener = asked;
        Memory.putLong(at(RdmaCmEvent.LISTEN_ID), asked.handle());
        return this;
    }

    /** Puts in the private data. Connection and datagram events have the field at the same offset. */
    CmEvent data(byte[] privateData) {
        MemorySegment.copy(privateData, 0, structure, ValueLayout.JAVA_BYTE, PRIVATE_DATA, privateData.length);
        Memory.putLong(at(RdmaCmEvent.PARAM_CONN_PRIVATE_DATA), privateData.length == 0 ? 0 : at(PRIVATE_DATA));
        putByte(RdmaCmEvent.PARAM_CONN_PRIVATE_DATA_LEN, privateData.length);
        return this;
    }

    private void connection(int responder, int initiator, int qpn, boolean srq, boolean flowControl) {
        putByte(RdmaCmEvent.PARAM_CONN_RESPONDER_RESOURCES, responder);
        putByte(RdmaCmEvent.PARAM_CONN_INITIATOR_DEPTH, initiator);
        putByte(RdmaCmEvent.PARAM_CONN_SRQ, srq ? 1 : 0);
        putByte(RdmaCmEvent.PARAM_CONN_FLOW_CONTROL, flowControl ? 1 : 0);
        Memory.putInt(at(RdmaCmEvent.PARAM_CONN_QP_NUM), qpn);
    }
}
