package org.kverbs.embedded.internal.objects;

import java.util.Locale;

/**
 * Lists the counters of a device. Each has the name that a Linux driver gives it in {@code /sys/class/infiniband}. Most
 * names are those of Soft-RoCE ({@code rxe}). The names {@code rx_icrc_encapsulated}, {@code local_ack_timeout_err},
 * {@code out_of_buffer}, those of congestion ({@code np_} and {@code rp_}) and of refused accesses are from mlx5,
 * {@code retrans_pkts} is from efa, {@code bad_pkey_cntr} and {@code qkey_viol_cntr} are from {@code struct
 * ibv_port_attr}, and names that begin with {@code port_} are from InfiniBand itself. The names that begin with {@code
 * page_} are those that mlx5 counts for each region ({@code rdma statistic}).
 */
public enum Counter {
    /** Packets sent, including repeated ones. A message that goes from memory to memory counts as its packets. */
    SENT_PKTS(true),
    RCVD_PKTS(true),
    /** Bytes of payload sent, including repeated ones. */
    SENT_BYTES(true),
    RCVD_BYTES(true),
    /** Packets sent again. */
    RETRANS_PKTS(true),
    /** Requests that arrived again. */
    DUPLICATE_REQUEST(true),
    /** Requests that arrived before a missing one. */
    OUT_OF_SEQ_REQUEST(true),
    /** RNR NAKs sent, because no receive was posted. */
    SEND_RNR_ERR(true),
    /** RNR NAKs that arrived. */
    RCVD_RNR_ERR(true),
    /** Sequence NAKs that arrived. */
    RCVD_SEQ_ERR(true),
    /** Times that a sender went back, after a sequence NAK, a gap in the answers or a timeout. */
    COMPLETER_RETRY_ERR(true),
    /** Times that no answer came within the timeout. */
    LOCAL_ACK_TIMEOUT_ERR(true),
    /** Requests that failed because all retries were used. */
    RETRY_EXCEEDED_ERR(true),
    /** Requests that failed because the peer was never ready. */
    RETRY_RNR_EXCEEDED_ERR(true),
    /** Requests of this side that the peer refused for lack of access to its memory. */
    REQ_REMOTE_ACCESS_ERRORS(true),
    /** Requests of the peer that this side refused for lack of access to its memory. */
    RESP_REMOTE_ACCESS_ERRORS(true),
    /** Datagrams, and messages of UC, that were dropped because no receive was posted. */
    OUT_OF_BUFFER(true),
    /** Pages of regions with on-demand paging that the device met and did not have. */
    PAGE_FAULTS(true),
    /** Packets that the network marked for congestion. */
    NP_ECN_MARKED_ROCE_PACKETS(true),
    /** Congestion notifications (CNP) sent. */
    NP_CNP_SENT(true),
    /** Congestion notifications that arrived and reduced the rate. */
    RP_CNP_HANDLED(true),
    /** Congestion notifications that had no effect: they came too soon after another, or from a stranger. */
    RP_CNP_IGNORED(true),
    /** Datagrams that were dropped because of a wrong Q_Key. */
    QKEY_VIOL_CNTR(true),
    /** Pages that the device got by ibv_advise_mr, before a request needed them. */
    PAGE_PREFETCH(false),
    /** Packets that were dropped because of a wrong P_Key. */
    BAD_PKEY_CNTR(false),
    /** Packets that were lost before they left, because the socket was full or had no route. */
    PORT_XMIT_DISCARDS(false),
    /** Packets with a wrong ICRC. */
    RX_ICRC_ENCAPSULATED(false),
    /**
     * Packets that no queue pair took: the number is unknown, or the queue pair is in the wrong state or has another
     * peer.
     */
    PORT_RCV_ERRORS(false),
    /** Connection requests (REQ) that arrived. */
    CM_RX_REQ(false),
    /** Rejections (REJ) sent. */
    CM_TX_REJ(false),
    /** Rejections (REJ) that arrived. */
    CM_RX_REJ(false);

    static final Counter[] ALL = values();

    final String sysfsName = name().toLowerCase(Locale.ROOT);
    /** True if queue pairs have this counter, too; otherwise only the device has it. */
    final boolean isOfQueuePairs;

    Counter(boolean isOfQueuePairs) {
        this.isOfQueuePairs = isOfQueuePairs;
    }
}
