package org.kverbs;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The traffic of a port, from counters that each driver names in its own way: see {@link Device#counters(int)}. Numbers
 * count from the time when the driver was loaded, or the embedded device created. Subtract two readings for a rate.
 *
 * <p>{@code errors} adds up failures of the link and of requests: the error counters of {@code counters/}, wrong keys,
 * wrong checksums, retries and sequence errors. A repeated packet can count in several of them. {@code discards} adds
 * up packets that were dropped, and messages that found no receive. {@code congestionMarks} adds up packets that a
 * switch had marked (ECN), and notifications of congestion sent and obeyed.
 *
 * @param sentBytes bytes sent; null if the driver does not count them, as Soft-RoCE does not
 * @param receivedBytes bytes received; null if not counted
 * @param sentPackets packets sent; null if not counted
 * @param receivedPackets packets received; null if not counted
 * @param errors errors of all kinds; null if the driver counts none
 * @param discards packets and messages that were dropped; null if not counted
 * @param congestionMarks marks and notifications of congestion; null if not counted
 */
public record PortTraffic(
        @Nullable Long sentBytes,
        @Nullable Long receivedBytes,
        @Nullable Long sentPackets,
        @Nullable Long receivedPackets,
        @Nullable Long errors,
        @Nullable Long discards,
        @Nullable Long congestionMarks) {

    /** The unit of the data counters of InfiniBand: four octets (IBA volume 1, section 16.1.3.5). */
    private static final int WORD = 4;

    private static final List<String> ERRORS = List.of(
            "symbol_error",
            "link_error_recovery",
            "link_downed",
            "port_rcv_errors",
            "port_rcv_remote_physical_errors",
            "port_rcv_constraint_errors",
            "port_xmit_constraint_errors",
            "local_link_integrity_errors",
            "excessive_buffer_overrun_errors",
            "local_ack_timeout_err",
            "packet_seq_err",
            "implied_nak_seq_err",
            "rnr_nak_retry_err",
            "rcvd_seq_err",
            "completer_retry_err",
            "retry_exceeded_err",
            "retry_rnr_exceeded_err",
            "send_err",
            "req_remote_access_errors",
            "resp_remote_access_errors",
            "req_remote_invalid_request",
            "resp_local_length_error",
            "rx_icrc_encapsulated",
            "qkey_viol_cntr",
            "bad_pkey_cntr");
    private static final List<String> DISCARDS =
            List.of("port_xmit_discards", "VL15_dropped", "out_of_buffer", "rx_drops");
    private static final List<String> CONGESTION =
            List.of("np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled");

    /**
     * Takes the traffic out of the counters of a port.
     *
     * @param counters what {@link Device#counters(int)} returns
     */
    public static PortTraffic of(Map<String, Long> counters) {
        return new PortTraffic(
                bytes(counters, "port_xmit_data", "sent_bytes", "tx_bytes"),
                bytes(counters, "port_rcv_data", "rcvd_bytes", "rx_bytes"),
                first(counters, "port_xmit_packets", "sent_pkts", "tx_pkts"),
                first(counters, "port_rcv_packets", "rcvd_pkts", "rx_pkts"),
                sum(counters, ERRORS),
                sum(counters, DISCARDS),
                sum(counters, CONGESTION));
    }

    private static @Nullable Long bytes(Map<String, Long> counters, String words, String... bytes) {
        Long known = counters.get(words);
        return known == null ? first(counters, bytes) : Long.valueOf(WORD * known);
    }

    private static @Nullable Long first(Map<String, Long> counters, String... names) {
        for (String name : names) {
            Long value = counters.get(name);
            if (value != null) {
                return value;
            }
        }
        return null;
    }

    private static @Nullable Long sum(Map<String, Long> counters, List<String> names) {
        List<Long> known =
                names.stream().map(counters::get).filter(Objects::nonNull).toList();
        return known.isEmpty() ? null : known.stream().mapToLong(Long::longValue).sum();
    }
}
