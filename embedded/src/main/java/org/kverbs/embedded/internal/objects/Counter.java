package org.kverbs.embedded.internal.objects;

import java.util.Locale;

/**
 * What a device counts. Each is called as in {@code /sys/class/infiniband} of Linux, where a driver has such a counter:
 * most names are of Soft-RoCE ({@code rxe}), {@code rx_icrc_encapsulated}, {@code local_ack_timeout_err}, {@code
 * out_of_buffer} and the refused accesses of mlx5, {@code retrans_pkts} of efa, {@code bad_pkey_cntr} and {@code
 * qkey_viol_cntr} of {@code struct ibv_port_attr}, those that begin with {@code port_} of InfiniBand itself.
 */
public enum Counter {
    /**
     * Packets sent, those that were sent again too; a message that goes from memory to memory counts as its packets.
     */
    SENT_PKTS(true),
    RCVD_PKTS(true),
    /** Bytes of payload sent, those that were sent again too. */
    SENT_BYTES(true),
    RCVD_BYTES(true),
    /** Packets that were sent before. */
    RETRANS_PKTS(true),
    /** Requests that came again. */
    DUPLICATE_REQUEST(true),
    /** Requests that came before one that is missing. */
    OUT_OF_SEQ_REQUEST(true),
    /** RNR NAKs sent: there was no receive. */
    SEND_RNR_ERR(true),
    /** RNR NAKs that came. */
    RCVD_RNR_ERR(true),
    /** NAKs of sequence that came. */
    RCVD_SEQ_ERR(true),
    /** Times that a sender went back, for a NAK of sequence, a gap in the answers or a timeout. */
    COMPLETER_RETRY_ERR(true),
    /** Times that no answer came in time. */
    LOCAL_ACK_TIMEOUT_ERR(true),
    /** Requests that failed as all retries were used up. */
    RETRY_EXCEEDED_ERR(true),
    /** The same for a peer that was never ready. */
    RETRY_RNR_EXCEEDED_ERR(true),
    /** Requests of this side that the peer refused for its memory. */
    REQ_REMOTE_ACCESS_ERRORS(true),
    /** Requests of the peer that this side refused for its memory. */
    RESP_REMOTE_ACCESS_ERRORS(true),
    /** Datagrams, and messages of UC, that were dropped as there was no receive. */
    OUT_OF_BUFFER(true),
    /** Datagrams that were dropped for their Q_Key. */
    QKEY_VIOL_CNTR(true),
    /** Packets that were dropped for their P_Key. */
    BAD_PKEY_CNTR(false),
    /** Packets that were lost before they left, as the socket was full or knew no way. */
    PORT_XMIT_DISCARDS(false),
    /** Packets whose ICRC was wrong. */
    RX_ICRC_ENCAPSULATED(false),
    /** Packets that no queue pair took: none has that number, it is in the wrong state, or has another peer. */
    PORT_RCV_ERRORS(false),
    /** Connection requests (REQ) that came. */
    CM_RX_REQ(false),
    /** Connection requests and connections that were refused (REJ). */
    CM_TX_REJ(false),
    /** Refusals (REJ) that came. */
    CM_RX_REJ(false);

    static final Counter[] ALL = values();

    final String sysfsName = name().toLowerCase(Locale.ROOT);
    /** Whether a queue pair has it too; else it is the device's only. */
    final boolean isOfQueuePairs;

    Counter(boolean isOfQueuePairs) {
        this.isOfQueuePairs = isOfQueuePairs;
    }
}
