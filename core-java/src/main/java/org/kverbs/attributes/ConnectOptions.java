package org.kverbs.attributes;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.Context;
import org.kverbs.QueuePair;

/**
 * The options by which {@link QueuePair#connect} brings a queue pair up. {@link #builder()} makes them and documents
 * the defaults.
 *
 * @param port the local port, from 1
 * @param gidIndex the index of the local GID, or -1 for {@link Context#defaultGidIndex}
 * @param pkeyIndex the index of the partition key
 * @param pathMtu the packet size, or null for the smaller of the port's active MTU and the peer's
 * @param serviceLevel the service level, 0 to 15
 * @param trafficClass the traffic class of the GRH; on RoCE v2 the DSCP and ECN bits of the IP header
 * @param flowLabel the flow label of the GRH, 20 bits
 * @param hopLimit the hop limit of the GRH
 * @param timeout the code of the acknowledge timeout: 4.096 us * 2^timeout, 0 for no timeout; see {@link
 *     QueuePairTimers}
 * @param retryCount how often a lost packet is sent again, 0 to 7
 * @param rnrRetry how often a message is sent again when the peer has no receive posted, 0 to 6; 7 for no limit
 * @param minRnrTimer the code of the time that a peer must wait when this side has no receive posted; see {@link
 *     QueuePairTimers}
 * @param maxReadAtomic how many reads and atomics this side keeps in flight, or -1 for the maximum of the device but at
 *     most 16
 * @param maxDestReadAtomic how many reads and atomics of the peer this side serves at once, or -1 for the maximum of
 *     the device but at most 16
 * @param access the operations that the peer may use through this queue pair, or null for all that its type has
 * @param qkey the key that messages to a UD queue pair must carry
 */
public record ConnectOptions(
        int port,
        int gidIndex,
        int pkeyIndex,
        @Nullable Mtu pathMtu,
        int serviceLevel,
        int trafficClass,
        int flowLabel,
        int hopLimit,
        int timeout,
        int retryCount,
        int rnrRetry,
        int minRnrTimer,
        int maxReadAtomic,
        int maxDestReadAtomic,
        @Nullable Set<AccessFlag> access,
        int qkey) {

    /** The Q_Key of a UD queue pair if the caller chooses none: the one of rdma-core's examples. */
    public static final int DEFAULT_QKEY = 0x11111111;

    /** Options with all defaults. */
    public static final ConnectOptions DEFAULTS = builder().build();

    /** Makes a builder that holds the defaults. */
    public static ConnectOptionsBuilder builder() {
        return new ConnectOptionsBuilder();
    }
}
